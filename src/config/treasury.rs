//! The addresses at which deposits of invoices are collected, and by which a plan is judged.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Config;
use crate::{
    asset::{Family, Network, Realm, address::validate_in, catalogue::Catalogue},
    money::BaseUnits,
    sweep::check::Pinned,
};

/// Far above the fee of any sum that is worth collecting.
const PERCENT_MAX: u8 = 50;

/// All EVM networks share a spelling.
const EVM: Network = Network::Ethereum;

/// Section `treasury`: one address per network on which collecting is done by this program.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Treasury {
    /// Most that the network may take of a collected amount.
    pub fee_percent_max: u8,
    /// Most coins that one transfer of a token may cost, by the name of the network: without rates
    /// a machine cannot compare them with the token's worth.
    pub token_fee_max: BTreeMap<String, String>,
    /// The wallet that pays the gas of tokens at addresses without coins: the first address of
    /// account 4 of the invoices' seed.
    pub gas_payer: Option<String>,
    pub bitcoin: Option<String>,
    pub litecoin: Option<String>,
    pub dogecoin: Option<String>,
    pub ethereum: Option<String>,
    pub polygon: Option<String>,
    pub bsc: Option<String>,
    pub arbitrum: Option<String>,
    pub optimism: Option<String>,
    pub base: Option<String>,
    pub avalanche: Option<String>,
}

/// Reason why nothing of a network is collected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unpinned {
    #[error("{0} is not collected by this program; docs/collecting.md says how a wallet does it")]
    NotSwept(Network),
    #[error("treasury.{0} is not set, and nothing is sent anywhere else")]
    Missing(Network),
    #[error("treasury.{0} {1}")]
    Wrong(Network, String),
    #[error("treasury.token_fee_max.{0} {1}; write coins of the network, such as \"0.01\"")]
    WrongFee(Network, String),
}

impl Treasury {
    /// Networks whose tokens are collected.
    pub(super) fn of_tokens() -> impl Iterator<Item = &'static str> {
        let networks = Network::ALL.into_iter();
        networks.filter(|network| network.family() == Family::Evm).map(Network::name)
    }

    fn of(&self, network: Network) -> Option<&str> {
        let address = match network {
            Network::Bitcoin => &self.bitcoin,
            Network::Litecoin => &self.litecoin,
            Network::Dogecoin => &self.dogecoin,
            Network::Ethereum => &self.ethereum,
            Network::Polygon => &self.polygon,
            Network::Bsc => &self.bsc,
            Network::Arbitrum => &self.arbitrum,
            Network::Optimism => &self.optimism,
            Network::Base => &self.base,
            Network::Avalanche => &self.avalanche,
            Network::Tron | Network::Solana | Network::Near | Network::Ton | Network::Thorchain => {
                return None;
            }
        };
        address.as_deref().filter(|address| !address.is_empty())
    }
}

impl Config {
    /// The settings by which a network's deposits are collected.
    ///
    /// # Errors
    /// If the network is not collected here, or has no usable address of the treasury.
    pub fn pinned(&self, network: Network) -> Result<Pinned, Unpinned> {
        if !crate::sweep::is_swept(network.family()) {
            return Err(Unpinned::NotSwept(network));
        }
        let address = self.treasury.of(network).ok_or(Unpinned::Missing(network))?;
        let chain = self.chain(network);
        let realm = if chain.genesis.is_some() { Realm::Regtest } else { Realm::Main };
        let treasury = validate_in(realm, network, address);
        let treasury = treasury.map_err(|error| Unpinned::Wrong(network, error.to_string()))?;
        Ok(Pinned {
            treasury,
            realm,
            chain_id: chain.chain_id.or(network.evm_chain_id()),
            fee_rate_max: chain.fee_rate_max,
            fee_percent_max: self.treasury.fee_percent_max,
            token_fee_max: self.token_fee_max(network)?,
        })
    }

    /// Zero where no tokens are collected: then none may cost anything.
    fn token_fee_max(&self, network: Network) -> Result<BaseUnits, Unpinned> {
        let Some(text) = self.treasury.token_fee_max.get(network.name()) else {
            return Ok(BaseUnits::ZERO);
        };
        let decimals = u32::from(Catalogue::get().native(network).decimals);
        BaseUnits::parse(text, decimals)
            .map_err(|error| Unpinned::WrongFee(network, error.to_string()))
    }

    /// The wallet that pays the gas of tokens at addresses without coins.
    pub fn gas_payer(&self) -> Option<&str> {
        self.treasury.gas_payer.as_deref().filter(|address| !address.is_empty())
    }

    pub(super) fn treasury_faults(&self) -> Vec<String> {
        let wrong = |network| match self.pinned(network) {
            Err(fault @ (Unpinned::Wrong(..) | Unpinned::WrongFee(..))) => Some(fault.to_string()),
            Ok(_) | Err(Unpinned::Missing(_) | Unpinned::NotSwept(_)) => None,
        };
        let mut faults: Vec<_> = Network::ALL.into_iter().filter_map(wrong).collect();
        let gas_payer = self.gas_payer();
        if let Some(Err(error)) = gas_payer.map(|text| validate_in(Realm::Main, EVM, text)) {
            faults.push(format!("treasury.gas_payer {error}"));
        }
        if !(1..=PERCENT_MAX).contains(&self.treasury.fee_percent_max) {
            faults.push(format!("treasury.fee_percent_max must lie between 1 and {PERCENT_MAX}"));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(section: &str) -> Result<Config, super::super::ConfigError> {
        Config::from_toml(&format!(
            "database_url = \"postgres://a:b@localhost/c\"\namqp_url = \"amqp://localhost/v\"\n\
             master_key = \"{}\"\n{section}",
            "00".repeat(32)
        ))
    }

    #[test]
    fn an_address_of_another_network_refuses_the_start() {
        let fine = "[treasury]\npolygon = \"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\"\n";
        let settings = config(fine).unwrap();
        let polygon = settings.pinned(Network::Polygon).unwrap();
        assert_eq!(polygon.chain_id, Some(137));
        assert_eq!(polygon.token_fee_max, BaseUnits::new(10_u128.pow(18)));
        assert_eq!(settings.pinned(Network::Base), Err(Unpinned::Missing(Network::Base)));
        assert_eq!(settings.pinned(Network::Tron), Err(Unpinned::NotSwept(Network::Tron)));
        for (wrong, words) in [
            (
                "[treasury]\nbitcoin = \"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\"",
                "treasury.bitcoin",
            ),
            (
                "[treasury]\nbitcoin = \"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080\"",
                "treasury.bitcoin",
            ),
            (
                "[treasury]\npolygon = \"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\"\n\
                 token_fee_max.polygon = \"much\"",
                "treasury.token_fee_max.polygon",
            ),
            ("[treasury.token_fee_max]\nbitcoin = \"1\"", "token_fee_max.bitcoin"),
            ("[treasury]\nfee_percent_max = 0", "fee_percent_max"),
            ("[treasury]\nfee_percent_max = 51", "fee_percent_max"),
        ] {
            let fault = config(wrong).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(fault.contains(words), "{wrong}: {fault}");
        }
    }
}
