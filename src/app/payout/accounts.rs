//! The accounts that pay: public keys of their own, which no invoice uses.

use crate::app::{Gateway, StartError, realm_of, start::Accounts};
use crate::{
    asset::{
        Family, Network,
        address::{Account, AccountKey, Realm, sandbox},
    },
    config::Config,
    merchant::secret::SEED_BYTES,
};

/// Why production does not start with payouts switched on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AccountsNotApart {
    #[error(
        "payouts.accounts.{name} is not set: payouts need the xpub of an account that no invoice uses ({path} of a seed of their \
         own); gatewayctl payouts accounts prints it"
    )]
    Missing { name: &'static str, path: String },
    #[error(
        "payouts.accounts.{name} is the account of {other} too: whoever may pay out could spend all that it receives. Take the \
         account of a seed of its own; gatewayctl payouts accounts prints it"
    )]
    Shared { name: &'static str, other: &'static str },
    #[error(
        "x402.account is not set: settlements of programs need the xpub of an account that nothing else uses (m/44'/60'/3' of a seed \
         of their own); gatewayctl payouts accounts --x402 prints it"
    )]
    X402Missing,
    #[error(
        "x402.account is the account of {0} too: whoever settles payments of programs could spend all that it receives. Take the \
         account of a seed of its own; gatewayctl payouts accounts --x402 prints it"
    )]
    X402Shared(&'static str),
}

const GAS: &str = "gas";

/// In the sandbox those of the published test seed stand in for missing ones.
pub(crate) fn payout_keys(config: &Config) -> Vec<Result<(Family, AccountKey), StartError>> {
    let accounts = &config.payouts.accounts;
    let configured = [
        (Family::Bitcoin, &accounts.bitcoin),
        (Family::Litecoin, &accounts.litecoin),
        (Family::Dogecoin, &accounts.dogecoin),
        (Family::Evm, &accounts.evm),
    ];
    let read = |(family, text): (Family, &Option<String>)| {
        let realm = realm_of(config, family);
        let key = parsed(config, Account::Payouts, family, realm, text.as_deref()).transpose()?;
        let key = key.map(|key| (family, key));
        Some(key.map_err(|reason| StartError::PayoutAccount { name: family.name(), reason }))
    };
    configured.into_iter().filter_map(read).collect()
}

pub(crate) fn gas_key(config: &Config) -> Result<Option<AccountKey>, StartError> {
    let text = config.payouts.accounts.gas.as_deref();
    parsed(config, Account::Gas, Family::Evm, Realm::Main, text)
        .map_err(|reason| StartError::PayoutAccount { name: GAS, reason })
}

/// The account of the wallet that pays the gas of x402's settlements.
pub(crate) fn x402_key(config: &Config) -> Result<Option<AccountKey>, StartError> {
    let text = config.x402.account.as_deref();
    parsed(config, Account::X402, Family::Evm, Realm::Main, text)
        .map_err(|reason| StartError::X402Account { reason })
}

/// An error is what is wrong with the key, in words.
fn parsed(
    config: &Config,
    account: Account,
    family: Family,
    realm: Realm,
    text: Option<&str>,
) -> Result<Option<AccountKey>, String> {
    let of_sandbox =
        || sandbox::spending_key(account, realm, family).filter(|_| config.is_sandbox());
    let Some(text) = text.or_else(of_sandbox) else { return Ok(None) };
    AccountKey::parse_in(realm, family, text).map(Some).map_err(|error| error.to_string())
}

/// The account keys of a payout seed, by the names that section `payouts.accounts` has for them.
pub fn xpubs_of(config: &Config, seed: &[u8; SEED_BYTES]) -> Vec<(&'static str, String)> {
    let payouts =
        [Family::Bitcoin, Family::Litecoin, Family::Dogecoin, Family::Evm].map(|family| {
            (family.name(), Account::Payouts.xpub(seed, family, realm_of(config, family)))
        });
    let gas = (GAS, Account::Gas.xpub(seed, Family::Evm, Realm::Main));
    payouts.into_iter().chain([gas]).filter_map(|(name, key)| Some((name, key?))).collect()
}

/// The account key of a seed for the wallet that pays the gas of x402's settlements, as
/// `x402.account` takes it; `None` for a seed that gives no key.
pub fn x402_xpub_of(seed: &[u8; SEED_BYTES]) -> Option<String> {
    Account::X402.xpub(seed, Family::Evm, Realm::Main)
}

/// The families on whose networks payouts are offered.
fn families_paid_from(config: &Config) -> Vec<Family> {
    let mut families: Vec<_> = Network::ALL
        .into_iter()
        .filter(|network| config.pays_out_on(*network))
        .map(Network::family)
        .collect();
    families.dedup();
    families
}

impl Gateway {
    /// The families on whose networks payouts are offered.
    pub(crate) fn families_paid_from(&self) -> Vec<Family> {
        families_paid_from(&self.config)
    }

    /// The address of the gas wallet, which needs no key to be known: operators send it coins.
    pub fn gas_address(&self) -> Option<String> {
        self.gas_key.as_ref()?.address(0).ok()
    }
}

impl Accounts {
    /// Faults of the wallet that pays the gas of x402's settlements, which must be apart from all
    /// that receives money; none where x402 is off, and in the sandbox.
    pub(crate) fn x402_not_apart(&self, config: &Config) -> Option<AccountsNotApart> {
        if config.is_sandbox() || !config.x402.enabled {
            return None;
        }
        let Some(own) = &self.x402 else { return Some(AccountsNotApart::X402Missing) };
        let others = [
            ("invoices", self.invoices.get(&Family::Evm)),
            ("payouts", self.payouts.get(&Family::Evm)),
            ("the gas of payouts", self.gas.as_ref()),
        ];
        let shared =
            others.into_iter().find(|(_, key)| key.is_some_and(|key| first(key) == first(own)));
        shared.map(|(other, _)| AccountsNotApart::X402Shared(other))
    }

    /// Faults of the accounts of payouts and gas, which must be apart from each other and from
    /// invoices; none where payouts are off, and in the sandbox.
    pub(crate) fn payouts_not_apart(&self, config: &Config) -> Vec<AccountsNotApart> {
        if config.is_sandbox() || !config.payouts_enabled() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        for family in families_paid_from(config) {
            let missing = |account: Account, name| {
                let path = account.path(family, realm_of(config, family)).unwrap_or_default();
                AccountsNotApart::Missing { name, path }
            };
            let invoices = self.invoices.get(&family).and_then(first);
            let own = self.payouts.get(&family);
            match own {
                None => faults.push(missing(Account::Payouts, family.name())),
                Some(own) if invoices == first(own) => {
                    faults
                        .push(AccountsNotApart::Shared { name: family.name(), other: "invoices" });
                }
                Some(_) => {}
            }
            if family != Family::Evm {
                continue;
            }
            let shared = |other| AccountsNotApart::Shared { name: GAS, other };
            match &self.gas {
                None => faults.push(missing(Account::Gas, GAS)),
                Some(gas) if invoices == first(gas) => faults.push(shared("invoices")),
                Some(gas) if own.and_then(first) == first(gas) => faults.push(shared("payouts")),
                Some(_) => {}
            }
        }
        faults
    }
}

fn first(key: &AccountKey) -> Option<String> {
    key.address(0).ok()
}
