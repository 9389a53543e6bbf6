//! Account keys of the settings, and what a process refuses before it has asked any server.

use std::collections::HashMap;

use secrecy::ExposeSecret;

use crate::app::{
    Gateway,
    address::first_address::{self, WrongFirstAddress},
    operator::master_key::MasterKeyError,
    payout::accounts::{self, AccountsNotApart},
    realm_of,
};
use crate::{
    asset::{
        Family,
        address::{AccountKey, sandbox::account_key as sandbox_key},
    },
    broker::topology::InvalidPrefix,
    config::{Config, ConfigError},
    storage::{Db, StorageError},
};

/// Why a process cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the database address cannot be used")]
    Database(#[from] StorageError),
    #[error(transparent)]
    Pooler(StorageError),
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    #[error("the {family} key in section addresses {reason}")]
    AccountKey { family: &'static str, reason: String },
    #[error("the key payouts.accounts.{name} {reason}")]
    PayoutAccount { name: &'static str, reason: String },
    #[error("the key x402.account {reason}")]
    X402Account { reason: String },
    #[error(transparent)]
    AccountsNotApart(#[from] AccountsNotApart),
    #[error(transparent)]
    FirstAddress(#[from] WrongFirstAddress),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
}

/// Everything for which [`Gateway::new`] refuses these settings. No server is asked; whether the
/// settings themselves are complete is for [`Config::load`].
pub fn refusals(config: &Config) -> Vec<StartError> {
    let mut faults = addresses_of_databases(config);
    let (accounts, unreadable) = Accounts::read(config);
    if unreadable.is_empty() {
        faults.extend(accounts.faults(config));
    } else {
        // A key that cannot be read would look as if it were not set.
        let wrong = accounts.wrong_first_addresses(config).into_iter().map(StartError::from);
        faults.extend(unreadable.into_iter().chain(wrong));
    }
    faults
}

fn addresses_of_databases(config: &Config) -> Vec<StartError> {
    let direct_url = config.database_direct_url();
    let exports_url = config.exports_database_url();
    [Some(&config.database_url), direct_url.as_ref(), exports_url.as_ref()]
        .into_iter()
        .flatten()
        // Without one the settings are incomplete, which is told already.
        .filter(|url| !url.expose_secret().is_empty())
        .filter_map(|url| Db::check_address(url).err())
        .map(StartError::from)
        .collect()
}

/// The keys from which addresses are derived, by their uses; in the sandbox the published test
/// keys stand in for missing ones.
#[derive(Clone, Default)]
pub(crate) struct Accounts {
    pub invoices: HashMap<Family, AccountKey>,
    pub payouts: HashMap<Family, AccountKey>,
    pub gas: Option<AccountKey>,
    pub x402: Option<AccountKey>,
}

impl Accounts {
    /// # Errors
    /// The first key that cannot be read.
    pub fn of(config: &Config) -> Result<Self, StartError> {
        let (accounts, unreadable) = Self::read(config);
        unreadable.into_iter().next().map_or(Ok(accounts), Err)
    }

    /// All keys that can be read, and the faults of the others.
    fn read(config: &Config) -> (Self, Vec<StartError>) {
        let mut faults = Vec::new();
        let mut accounts = Self::default();
        for read in invoice_keys(config) {
            accounts.invoices.extend(sound(read, &mut faults));
        }
        for read in accounts::payout_keys(config) {
            accounts.payouts.extend(sound(read, &mut faults));
        }
        accounts.gas = sound(accounts::gas_key(config), &mut faults).flatten();
        accounts.x402 = sound(accounts::x402_key(config), &mut faults).flatten();
        (accounts, faults)
    }

    /// What is wrong with keys that can be read: they are of another wallet, missing or shared.
    pub fn faults(&self, config: &Config) -> Vec<StartError> {
        let wrong = self.wrong_first_addresses(config).into_iter().map(StartError::from);
        let apart = self.payouts_not_apart(config).into_iter().chain(self.x402_not_apart(config));
        wrong.chain(apart.map(StartError::from)).collect()
    }

    fn wrong_first_addresses(&self, config: &Config) -> Vec<WrongFirstAddress> {
        let first = |family| Some((family, self.invoices.get(&family)?.address(0).ok()?));
        Family::ALL
            .into_iter()
            .filter_map(first)
            .filter_map(|(family, found)| first_address::compare(config, family, &found).err())
            .collect()
    }
}

fn sound<T>(read: Result<T, StartError>, faults: &mut Vec<StartError>) -> Option<T> {
    read.map_err(|fault| faults.push(fault)).ok()
}

fn invoice_keys(config: &Config) -> Vec<Result<(Family, AccountKey), StartError>> {
    let addresses = &config.addresses;
    let configured = [
        (Family::Bitcoin, &addresses.bitcoin),
        (Family::Litecoin, &addresses.litecoin),
        (Family::Dogecoin, &addresses.dogecoin),
        (Family::Evm, &addresses.evm),
        (Family::Tron, &addresses.tron),
        (Family::Thorchain, &addresses.thorchain),
        (Family::Ton, &addresses.ton),
    ];
    let read = |(family, key): (Family, &Option<String>)| {
        let realm = realm_of(config, family);
        let fallback = || config.is_sandbox().then(|| sandbox_key(realm, family)).flatten();
        let text = key.as_deref().or_else(fallback)?;
        let key = AccountKey::parse_in(realm, family, text);
        Some(key.map(|key| (family, key)).map_err(|error| StartError::AccountKey {
            family: family.name(),
            reason: error.to_string(),
        }))
    };
    configured.into_iter().filter_map(read).collect()
}

impl Gateway {
    /// The account keys of this process.
    pub(crate) fn accounts(&self) -> Accounts {
        Accounts {
            invoices: self.account_keys.clone(),
            payouts: self.payout_keys.clone(),
            gas: self.gas_key.clone(),
            x402: self.x402_key.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        asset::{
            Network,
            address::{Account, Realm},
        },
        merchant::secret::SEED_BYTES,
    };

    const OF_INVOICES: [u8; SEED_BYTES] = [8; SEED_BYTES];
    const OF_PAYOUTS: [u8; SEED_BYTES] = [7; SEED_BYTES];

    fn key(account: Account, seed: &[u8]) -> String {
        account.xpub(seed, Family::Evm, Realm::Main).unwrap()
    }

    /// The refusals of a production that follows polygon, with `more` on top.
    fn refused(more: &str) -> Vec<String> {
        let others = Network::ALL.into_iter().filter(|network| *network != Network::Polygon);
        let off: String =
            others.map(|network| format!("chains.{network}.source = \"off\"\n")).collect();
        let toml = format!(
            "profile = \"production\"\ndatabase_url = \"postgres://a:b-long-one@127.0.0.1/x\"\n\
             amqp_url = \"amqp://a:b-long-one@127.0.0.1/x\"\nmaster_key = {:?}\nrates.providers = [\"kraken\"]\n\
             chains.polygon = {{ source = \"node\", rpc_url = \"http://127.0.0.1:2\" }}\n{off}{more}",
            "ab".repeat(32),
        );
        let config = Config::from_toml(&toml).unwrap();
        let refused: Vec<_> = refusals(&config).iter().map(ToString::to_string).collect();
        assert_eq!(refused.is_empty(), Gateway::new(config).is_ok(), "{refused:?}");
        refused
    }

    #[tokio::test]
    async fn every_fault_that_a_start_stops_at_is_told_without_a_server() {
        let invoices = format!("addresses.evm = {:?}\n", key(Account::Invoices, &OF_INVOICES));
        let first =
            Account::Invoices.first_address(&OF_INVOICES, Family::Evm, Realm::Main).unwrap();
        let expected = |address: &str| {
            format!("{invoices}addresses.expected_first_address.evm = \"{address}\"\n")
        };
        assert_eq!(refused(&expected(&first)), Vec::<String>::new());
        let of_payouts = |account| key(account, &OF_PAYOUTS);
        let gas = format!("payouts.accounts.gas = {:?}\n", of_payouts(Account::Gas));
        let shared = format!("payouts.accounts.evm = {:?}\n", key(Account::Invoices, &OF_INVOICES));
        let other = "0x0000000000000000000000000000000000000001";
        for (settings, told) in [
            (
                "addresses.evm = \"xpub-of-ours\"\naddresses.tron = \"xpub-of-ours\"\n".to_owned(),
                &[
                    "the evm key in section addresses is not an extended public key",
                    "the tron key in section addresses is not",
                ][..],
            ),
            (expected(other), &["the first evm address is 0x"]),
            (
                format!("{invoices}payouts.enabled = true\n"),
                &["payouts.accounts.evm is not set", "payouts.accounts.gas is not set"],
            ),
            (
                format!(
                    "{}payouts.enabled = true\n{shared}{gas}x402.enabled = true\n",
                    expected(other)
                ),
                &[
                    "the first evm address is",
                    "payouts.accounts.evm is the account of invoices too",
                    "x402.account is not set",
                ],
            ),
            (
                format!(
                    "{invoices}payouts.accounts.gas = \"xpub-of-ours\"\nx402.account = \"x\"\n"
                ),
                &["the key payouts.accounts.gas is not", "the key x402.account is not"],
            ),
            (
                format!("{invoices}exports.database_url = \"replica of ours\"\n"),
                &["the database address cannot be used"],
            ),
        ] {
            let refused = refused(&settings);
            assert_eq!(refused.len(), told.len(), "{settings}: {refused:?}");
            for (refused, told) in refused.iter().zip(told) {
                assert!(refused.starts_with(told), "{settings}: {refused:?}");
            }
        }
    }
}
