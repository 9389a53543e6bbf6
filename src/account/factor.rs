//! Second factors of an account, and the rule that the last one stays.

/// Everything by which an account proves itself beside its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Factors {
    /// An authenticator app.
    pub has_codes: bool,
    pub passkeys: i64,
    pub recovery_codes: i64,
}

/// One of the two kinds was asked to go, and what would be left is too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LastFactor {
    #[error(
        "Keep the authenticator app until you have two passkeys, or one and recovery codes: a single device gets lost."
    )]
    Codes,
    #[error(
        "This passkey is still needed. Set up an authenticator app or add other passkeys first: two, or one and recovery codes."
    )]
    Passkey,
}

impl Factors {
    /// Returns true if the password alone does not sign in. Recovery codes are no factor of their
    /// own.
    pub const fn is_any(self) -> bool {
        self.has_codes || self.passkeys > 0
    }

    pub const fn without_codes(self) -> Result<(), LastFactor> {
        let left = Self { has_codes: false, ..self };
        if left.is_enough() { Ok(()) } else { Err(LastFactor::Codes) }
    }

    pub const fn without_one_passkey(self) -> Result<(), LastFactor> {
        let left = Self { passkeys: self.passkeys - 1, ..self };
        if left.is_enough() { Ok(()) } else { Err(LastFactor::Passkey) }
    }

    const fn is_enough(self) -> bool {
        self.has_codes || self.passkeys >= 2 || (self.passkeys == 1 && self.recovery_codes > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_second_factor_stays() {
        for (has_codes, passkeys, recovery_codes, may_lose_codes, may_lose_passkey) in [
            (true, 0, 10, false, true),
            (true, 1, 0, false, true),
            (true, 1, 1, true, true),
            (true, 2, 0, true, true),
            (false, 1, 10, true, false),
            (false, 2, 0, true, false),
            (false, 2, 1, true, true),
            (false, 3, 0, true, true),
        ] {
            let factors = Factors { has_codes, passkeys, recovery_codes };
            assert_eq!(factors.without_codes().is_ok(), may_lose_codes, "{factors:?}");
            assert_eq!(factors.without_one_passkey().is_ok(), may_lose_passkey, "{factors:?}");
        }
        assert!(!Factors { recovery_codes: 10, ..Factors::default() }.is_any());
        assert!(Factors { passkeys: 1, ..Factors::default() }.is_any());
    }
}
