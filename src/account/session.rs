//! Times of sessions, links and budgets, in seconds of the database's clock.

/// A session ends this long after its last request.
pub const IDLE_SECONDS: i32 = 30 * 60;
/// It ends this long after it was opened, whatever it does.
pub const LIFE_SECONDS: i32 = 12 * 60 * 60;
/// The time for the second factor.
pub const HALF_SECONDS: i32 = 10 * 60;
/// The time for which a repeated password counts (attack A28).
pub const CONFIRMED_SECONDS: i32 = 5 * 60;
pub const INVITATION_SECONDS: i32 = 72 * 60 * 60;
pub const SIGN_IN_LINK_SECONDS: i32 = 10 * 60;
/// The time to enter the first code of an authenticator app.
pub const PENDING_CODES_SECONDS: i32 = 15 * 60;
/// A browser counts as known this long after its last sign-in.
pub const DEVICE_DAYS: i32 = 180;
/// Known browsers of one account.
pub const DEVICES_MAX: i64 = 20;
/// The window of all budgets of guesses.
pub const BUDGET_SECONDS: i32 = 15 * 60;

/// Guesses in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// From one address, over all accounts.
    Address,
    /// Of one account's password, from addresses at which it has never signed in: strangers cannot
    /// lock it out of those that it uses.
    Account,
    /// Of one account's password from one address.
    Pair,
    /// Of one account's password in a browser in which it signed in before, whatever its address.
    Device,
    /// Of one account's second factor, behind its password, from browsers and addresses at which it
    /// has never signed in.
    Code,
    /// The same from one browser or address that it uses, and of a fresh proof in one session.
    KnownCode,
    /// Test events that one merchant's accounts send from the dashboard.
    TestEvent,
    /// Invitations that one merchant's team sends by mail: nobody is to send strangers mails from
    /// here.
    InvitationMail,
}

impl Budget {
    pub const fn guesses(self) -> i32 {
        match self {
            Self::Address | Self::TestEvent => 60,
            Self::Account | Self::InvitationMail => 20,
            Self::Pair | Self::Device | Self::Code | Self::KnownCode => 8,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Account => "account",
            Self::Pair => "pair",
            Self::Device => "device",
            Self::Code => "code",
            Self::KnownCode => "known-code",
            Self::TestEvent => "test-event",
            Self::InvitationMail => "invitation-mail",
        }
    }
}
