//! The public half of an installation's keys, of every family and use.

use secrecy::ExposeSecret;

use super::Seeds;
use crate::asset::{
    Family,
    address::{Account, Realm, pool::PoolSigner},
};

/// Families that orders of payouts receive in.
const PAID_FROM: [Family; 4] = [Family::Bitcoin, Family::Litecoin, Family::Dogecoin, Family::Evm];

/// A row for people and for the settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKey {
    pub account: Account,
    pub family: Family,
    /// Path for a wallet that is to show the same addresses.
    pub path: String,
    /// Form of the settings; `None` for families whose addresses come from a pool.
    pub key: Option<String>,
    pub first_address: String,
}

/// All public keys. From them every address of the installation follows, and nothing can be spent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublicKeys {
    /// Of invoices first, then of payouts, then of the wallets that pay gas.
    pub keys: Vec<PublicKey>,
    /// The key that signs files of pools, in hex.
    pub pool_signer: String,
    pub realm: Realm,
}

impl PublicKeys {
    /// `None` with a probability below 2⁻¹²⁰: a derivation met a number that is no key.
    pub fn of(seeds: &Seeds, realm: Realm) -> Option<Self> {
        let invoices = Family::ALL.map(|family| (Account::Invoices, family));
        let payouts = PAID_FROM.map(|family| (Account::Payouts, family));
        let gas = [(Account::Gas, Family::Evm)];
        let x402 = seeds.x402.as_ref().map(|_| (Account::X402, Family::Evm));
        let keys = invoices.into_iter().chain(payouts).chain(gas).chain(x402);
        let keys = keys.map(|(account, family)| row(seeds, account, family, realm));
        let signer = PoolSigner::of_seed(seeds.invoices.expose_secret())?;
        Some(Self { keys: keys.collect::<Option<_>>()?, pool_signer: signer.to_hex(), realm })
    }

    /// Rows of one use.
    pub fn of_account(&self, account: Account) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter().filter(move |row| row.account == account)
    }
}

fn row(seeds: &Seeds, account: Account, family: Family, realm: Realm) -> Option<PublicKey> {
    let seed = match account {
        Account::Invoices | Account::Sweeps => &seeds.invoices,
        Account::Payouts | Account::Gas => &seeds.payouts,
        Account::X402 => seeds.x402.as_ref()?,
    };
    let seed = seed.expose_secret();
    Some(PublicKey {
        account,
        family,
        path: account.wallet_path(family, realm)?,
        key: account.public_key(seed, family, realm),
        first_address: account.first_address(seed, family, realm)?,
    })
}
