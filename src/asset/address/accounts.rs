//! Accounts of a seed, one for each use, so that the key of one use spends nothing of another
//! (BIP-44, BIP-84).
//!
//! Invoices have account 0, payouts account 1, and the wallet that fronts gas account 2. Account 3
//! pays the gas of x402, account 4 that of collecting. Whoever may spend has a seed of their own as
//! well: the seed of the invoices can stay cold.

use bip32::{DerivationPath, Prefix, XPrv};

use super::{AccountKey, Family, Realm, pool, slip10};

/// Path of the key of all wallets on TON, each step hardened.
const TON_WALLET: [u32; 3] = [44, 607, 0];

/// What addresses of an account are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    Invoices,
    Payouts,
    Gas,
    /// The wallet that pays the gas of x402's settlements.
    X402,
    /// The wallet that pays the gas of tokens that are collected; its seed is the invoices'.
    Sweeps,
}

impl Account {
    const fn number(self) -> u32 {
        match self {
            Self::Invoices => 0,
            Self::Payouts => 1,
            Self::Gas => 2,
            Self::X402 => 3,
            Self::Sweeps => 4,
        }
    }

    /// Name of the use, as command lines print it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Invoices => "invoices",
            Self::Payouts => "payouts",
            Self::Gas => "gas",
            Self::X402 => "x402",
            Self::Sweeps => "sweeps",
        }
    }

    /// The path of the account; `None` for families that this use has no account in, and for those
    /// whose keys are ed25519. Test networks of the bitcoin-like chains share one coin type.
    pub fn path(self, family: Family, realm: Realm) -> Option<String> {
        let (purpose, coin) = match (family, realm) {
            (Family::Evm, _) => (44, 60),
            (Family::Bitcoin, Realm::Main) => (84, 0),
            (Family::Litecoin, Realm::Main) => (84, 2),
            (Family::Dogecoin, Realm::Main) => (44, 3),
            (Family::Bitcoin | Family::Litecoin, Realm::Regtest) => (84, 1),
            (Family::Dogecoin, Realm::Regtest) => (44, 1),
            (Family::Tron, _) if self == Self::Invoices => (44, 195),
            (Family::Thorchain, _) if self == Self::Invoices => (44, 931),
            (Family::Tron | Family::Solana | Family::Near | Family::Ton | Family::Thorchain, _) => {
                return None;
            }
        };
        Some(format!("m/{purpose}'/{coin}'/{}'", self.number()))
    }

    /// The branch of the account that receives, with its private keys.
    pub fn receiving(self, seed: &[u8], family: Family, realm: Realm) -> Option<XPrv> {
        let path: DerivationPath = format!("{}/0", self.path(family, realm)?).parse().ok()?;
        XPrv::derive_from_path(seed, &path).ok()
    }

    /// The public key of the account, as the configuration takes it.
    pub fn xpub(self, seed: &[u8], family: Family, realm: Realm) -> Option<String> {
        let path: DerivationPath = self.path(family, realm)?.parse().ok()?;
        let key = XPrv::derive_from_path(seed, &path).ok()?.public_key();
        let prefix = match (family, realm) {
            (Family::Bitcoin | Family::Litecoin | Family::Dogecoin, Realm::Regtest) => Prefix::TPUB,
            _ => Prefix::XPUB,
        };
        Some(key.to_string(prefix))
    }

    /// The public key in the form that the configuration takes: an xpub, or of TON's wallet the
    /// ed25519 key in hex. `None` as for [`Self::path`], and for families with a pool.
    pub fn public_key(self, seed: &[u8], family: Family, realm: Realm) -> Option<String> {
        match (self, family) {
            (Self::Invoices, Family::Ton) => slip10::public_key(seed, &TON_WALLET).map(hex::encode),
            _ => self.xpub(seed, family, realm),
        }
    }

    /// The path that a wallet is given to show the same addresses; `n` is the index of an address,
    /// where each has a key of its own.
    pub fn wallet_path(self, family: Family, realm: Realm) -> Option<String> {
        let ed25519 = match family {
            Family::Ton => "m/44'/607'/0'",
            Family::Solana => "m/44'/501'/n'/0'",
            Family::Near => "m/44'/397'/n'",
            Family::Bitcoin
            | Family::Litecoin
            | Family::Dogecoin
            | Family::Evm
            | Family::Tron
            | Family::Thorchain => return self.path(family, realm),
        };
        (self == Self::Invoices).then(|| ed25519.to_owned())
    }

    /// The address at index 0.
    pub fn first_address(self, seed: &[u8], family: Family, realm: Realm) -> Option<String> {
        if family.has_pool() {
            return pool::address(seed, family, 0).filter(|_| self == Self::Invoices);
        }
        let key = self.public_key(seed, family, realm)?;
        AccountKey::parse_in(realm, family, &key).ok()?.address(0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sandbox, *};
    use crate::asset::AccountKey;

    const FAMILIES: [Family; 4] =
        [Family::Evm, Family::Bitcoin, Family::Litecoin, Family::Dogecoin];

    #[test]
    fn the_account_of_the_invoices_is_the_one_that_the_sandbox_has_always_had() {
        let seed = hex::decode(sandbox::seed()).unwrap();
        for (family, realm) in
            Family::ALL.into_iter().flat_map(|f| [Realm::Main, Realm::Regtest].map(|r| (f, r)))
        {
            let key = Account::Invoices.public_key(&seed, family, realm);
            assert_eq!(key.as_deref(), sandbox::account_key(realm, family), "{family:?}");
        }
    }

    #[test]
    fn accounts_of_one_seed_share_no_address_and_give_the_keys_of_their_own() {
        let seed = hex::decode(sandbox::seed()).unwrap();
        let mut seen = std::collections::HashSet::new();
        for family in FAMILIES {
            for account in
                [Account::Invoices, Account::Payouts, Account::Gas, Account::X402, Account::Sweeps]
            {
                let xpub = account.xpub(&seed, family, Realm::Main).unwrap();
                let public = AccountKey::parse(family, &xpub).unwrap();
                let private = account.receiving(&seed, family, Realm::Main).unwrap();
                let number = bip32::ChildNumber::new(7, false).unwrap();
                let key = private.derive_child(number).unwrap().private_key().clone();
                let address = public.address(7).unwrap();
                let key = k256::PublicKey::from(key.verifying_key());
                assert_eq!(public.spells(&key).as_deref(), Some(address.as_str()));
                assert!(seen.insert(address), "{family:?} {account:?}");
            }
        }
    }

    #[test]
    fn networks_without_payouts_have_no_payout_account() {
        for family in [Family::Tron, Family::Thorchain, Family::Ton, Family::Solana, Family::Near] {
            for account in [Account::Payouts, Account::Gas, Account::X402] {
                assert_eq!(account.wallet_path(family, Realm::Main), None, "{family:?}");
                assert_eq!(account.public_key(&[7; 64], family, Realm::Main), None, "{family:?}");
                assert_eq!(account.first_address(&[7; 64], family, Realm::Main), None);
            }
        }
        let [gas, path] = [(Account::Gas, Family::Evm), (Account::Payouts, Family::Bitcoin)]
            .map(|(account, family)| account.path(family, Realm::Main).unwrap());
        assert_eq!((gas.as_str(), path.as_str()), ("m/44'/60'/2'", "m/84'/0'/1'"));
    }
}
