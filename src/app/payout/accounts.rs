//! The accounts that pay: public keys of their own, which no invoice uses.

use std::collections::HashMap;

use crate::app::{Gateway, StartError, realm_of};
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
const X402: &str = "x402";

/// By family; in the sandbox those of the published test seed stand in for missing ones.
pub(crate) fn payout_keys(config: &Config) -> Result<HashMap<Family, AccountKey>, StartError> {
    let accounts = &config.payouts.accounts;
    let configured = [
        (Family::Bitcoin, &accounts.bitcoin),
        (Family::Litecoin, &accounts.litecoin),
        (Family::Dogecoin, &accounts.dogecoin),
        (Family::Evm, &accounts.evm),
    ];
    let mut keys = HashMap::new();
    for (family, text) in configured {
        let realm = realm_of(config, family);
        let key = parsed(config, Account::Payouts, (family, family.name()), realm, text.as_deref());
        keys.extend(key?.map(|key| (family, key)));
    }
    Ok(keys)
}

pub(crate) fn gas_key(config: &Config) -> Result<Option<AccountKey>, StartError> {
    let text = config.payouts.accounts.gas.as_deref();
    parsed(config, Account::Gas, (Family::Evm, GAS), Realm::Main, text)
}

/// The account of the wallet that pays the gas of x402's settlements.
pub(crate) fn x402_key(config: &Config) -> Result<Option<AccountKey>, StartError> {
    let text = config.x402.account.as_deref();
    parsed(config, Account::X402, (Family::Evm, X402), Realm::Main, text)
}

fn parsed(
    config: &Config,
    account: Account,
    (family, name): (Family, &'static str),
    realm: Realm,
    text: Option<&str>,
) -> Result<Option<AccountKey>, StartError> {
    let of_sandbox =
        || sandbox::spending_key(account, realm, family).filter(|_| config.is_sandbox());
    let Some(text) = text.or_else(of_sandbox) else { return Ok(None) };
    let key = AccountKey::parse_in(realm, family, text);
    let reason = |error: crate::asset::address::KeyError| error.to_string();
    key.map(Some).map_err(|error| StartError::PayoutAccount { name, reason: reason(error) })
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

impl Gateway {
    /// The families on whose networks payouts are offered.
    pub(crate) fn families_paid_from(&self) -> Vec<Family> {
        let mut families: Vec<_> = Network::ALL
            .into_iter()
            .filter(|network| self.config.pays_out_on(*network))
            .map(Network::family)
            .collect();
        families.dedup();
        families
    }

    /// The address of the gas wallet, which needs no key to be known: operators send it coins.
    pub fn gas_address(&self) -> Option<String> {
        self.gas_key.as_ref()?.address(0).ok()
    }

    /// Keeps the wallet that pays the gas of x402's settlements apart from all that receives money;
    /// nothing where x402 is off, and in the sandbox.
    pub(crate) fn check_x402_apart(&self) -> Result<(), AccountsNotApart> {
        if self.config.is_sandbox() || !self.config.x402.enabled {
            return Ok(());
        }
        let first = |key: &AccountKey| key.address(0).ok();
        let own = self.x402_key.as_ref().ok_or(AccountsNotApart::X402Missing)?;
        let others = [
            ("invoices", self.account_keys.get(&Family::Evm)),
            ("payouts", self.payout_keys.get(&Family::Evm)),
            ("the gas of payouts", self.gas_key.as_ref()),
        ];
        let shared =
            others.into_iter().find(|(_, key)| key.is_some_and(|key| first(key) == first(own)));
        shared.map_or(Ok(()), |(other, _)| Err(AccountsNotApart::X402Shared(other)))
    }

    /// Everything that keeps payouts, gas and invoices apart; nothing where payouts are off, and in
    /// the sandbox.
    pub(crate) fn check_accounts_apart(&self) -> Result<(), AccountsNotApart> {
        if self.config.is_sandbox() || !self.config.payouts_enabled() {
            return Ok(());
        }
        let first = |key: &AccountKey| key.address(0).ok();
        for family in self.families_paid_from() {
            let (name, invoices) = (family.name(), self.account_keys.get(&family));
            let path = |account: Account| account.path(family, realm_of(&self.config, family));
            let own = self.payout_keys.get(&family).ok_or_else(|| AccountsNotApart::Missing {
                name,
                path: path(Account::Payouts).unwrap_or_default(),
            })?;
            if invoices.and_then(first) == first(own) {
                return Err(AccountsNotApart::Shared { name, other: "invoices" });
            }
            if family != Family::Evm {
                continue;
            }
            let gas = self.gas_key.as_ref().ok_or_else(|| AccountsNotApart::Missing {
                name: GAS,
                path: path(Account::Gas).unwrap_or_default(),
            })?;
            if invoices.and_then(first) == first(gas) {
                return Err(AccountsNotApart::Shared { name: GAS, other: "invoices" });
            }
            if first(own) == first(gas) {
                return Err(AccountsNotApart::Shared { name: GAS, other: "payouts" });
            }
        }
        Ok(())
    }
}
