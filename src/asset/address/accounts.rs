//! Accounts of a seed, one for each use, so that the key of one use spends nothing of another
//! (BIP-44, BIP-84).
//!
//! Invoices have account 0, payouts account 1, and the wallet that fronts gas account 2. Whoever
//! may spend has a seed of their own as well: the seed of the invoices can stay cold.

use bip32::{DerivationPath, Prefix, XPrv};

use super::{Family, Realm};

/// What addresses of an account are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Account {
    Invoices,
    Payouts,
    Gas,
    /// The wallet that pays the gas of x402's settlements.
    X402,
}

impl Account {
    const fn number(self) -> u32 {
        match self {
            Self::Invoices => 0,
            Self::Payouts => 1,
            Self::Gas => 2,
            Self::X402 => 3,
        }
    }

    /// The path of the account; `None` for families whose keys are made otherwise. Test networks of
    /// the bitcoin-like chains share one coin type.
    pub fn path(self, family: Family, realm: Realm) -> Option<String> {
        let (purpose, coin) = match (family, realm) {
            (Family::Evm, _) => (44, 60),
            (Family::Bitcoin, Realm::Main) => (84, 0),
            (Family::Litecoin, Realm::Main) => (84, 2),
            (Family::Dogecoin, Realm::Main) => (44, 3),
            (Family::Bitcoin | Family::Litecoin, Realm::Regtest) => (84, 1),
            (Family::Dogecoin, Realm::Regtest) => (44, 1),
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
            (Family::Evm, _) | (_, Realm::Main) => Prefix::XPUB,
            (_, Realm::Regtest) => Prefix::TPUB,
        };
        Some(key.to_string(prefix))
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
            FAMILIES.into_iter().flat_map(|f| [Realm::Main, Realm::Regtest].map(|r| (f, r)))
        {
            let xpub = Account::Invoices.xpub(&seed, family, realm).unwrap();
            assert_eq!(Some(xpub.as_str()), sandbox::account_key(realm, family), "{family:?}");
        }
    }

    #[test]
    fn accounts_of_one_seed_share_no_address_and_give_the_keys_of_their_own() {
        let seed = hex::decode(sandbox::seed()).unwrap();
        let mut seen = std::collections::HashSet::new();
        for family in FAMILIES {
            for account in [Account::Invoices, Account::Payouts, Account::Gas, Account::X402] {
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
        assert_eq!(Account::Payouts.path(Family::Tron, Realm::Main), None);
        let [gas, path] = [(Account::Gas, Family::Evm), (Account::Payouts, Family::Bitcoin)]
            .map(|(account, family)| account.path(family, Realm::Main).unwrap());
        assert_eq!((gas.as_str(), path.as_str()), ("m/44'/60'/2'", "m/84'/0'/1'"));
    }
}
