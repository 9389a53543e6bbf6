//! Building: whatever kind of transaction the network takes.

use std::time::Duration;

use secrecy::SecretString;

use super::NcPayoutError;
use crate::{
    app::Gateway,
    asset::{Network, catalogue::Currency},
    chain::{
        UnusableSource,
        pay::{EvmPayer, Payer, SimulatedPayer, UtxoPayer, Witnesses},
    },
    config::{ChainSettings, ChainSourceKind},
    money::BaseUnits,
    nc_payout::{FeeLevel, Unsigned},
    payout::PayoutFamily,
    storage::payouts::coins::{CoinRow, Place},
};

/// Building asks twice, and a request lasts at most 12 seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// What is asked for.
pub(super) struct Plan<'a> {
    pub currency: &'static Currency,
    /// As `match_key` spells it.
    pub sender: &'a str,
    pub fee_level: FeeLevel,
    /// Recipients as wallets write them.
    pub outputs: Vec<(&'a str, BaseUnits)>,
    /// What is spent on bitcoin-like networks, as `txid:n`.
    pub inputs: &'a [String],
}

/// Transactions to be signed: one for each output in their order, or one for all.
pub(super) struct Built {
    pub chain_id: Option<u64>,
    pub transactions: Vec<Unsigned>,
    pub spends: Option<Spends>,
}

/// What a transaction of a bitcoin-like network spends, and from where on it is looked for.
pub(super) struct Spends {
    pub coins: Vec<CoinRow>,
    pub begin: Place,
}

impl Gateway {
    /// The node of a network on which such payouts can be made.
    pub(super) fn nc_node(&self, network: Network) -> Result<Payer, NcPayoutError> {
        let family = PayoutFamily::of(network).ok_or(NcPayoutError::UnsupportedNetwork)?;
        let chain = self.config.chain(network);
        match (chain.source, family) {
            (ChainSourceKind::Simulated, PayoutFamily::Evm) => {
                Ok(Payer::Simulated(SimulatedPayer::new(network, self.db.clone())))
            }
            (ChainSourceKind::Node, _) => {
                let url = chain.rpc_url.as_ref().ok_or(UnusableSource::NoUrl(network))?;
                self.nc_node_at(&chain, family, url)
            }
            // The simulated chain has no outputs that could be spent.
            (ChainSourceKind::Simulated, PayoutFamily::Utxo) | (ChainSourceKind::Off, _) => {
                Err(NcPayoutError::UnsupportedNetwork)
            }
        }
    }

    /// The other nodes of that network, without whose word no payout has ended; none where there is one node alone.
    pub(super) fn nc_witnesses(&self, network: Network) -> Result<Witnesses, NcPayoutError> {
        let family = PayoutFamily::of(network).ok_or(NcPayoutError::UnsupportedNetwork)?;
        let chain = self.config.chain(network);
        let urls = chain.witnesses.iter().filter(|_| chain.source == ChainSourceKind::Node);
        let nodes =
            urls.map(|url| self.nc_node_at(&chain, family, url)).collect::<Result<_, _>>()?;
        Ok(Witnesses { network, nodes })
    }

    fn nc_node_at(
        &self,
        chain: &ChainSettings,
        family: PayoutFamily,
        url: &SecretString,
    ) -> Result<Payer, NcPayoutError> {
        let network = chain.network;
        match family {
            PayoutFamily::Evm => {
                let payer = EvmPayer::new(network, url, chain.chain_id)?;
                Ok(Payer::Evm(payer.with_deadline(ANSWER_WITHIN)))
            }
            PayoutFamily::Utxo => {
                let (genesis, db) = (chain.genesis.as_deref(), self.db.clone());
                let payer = UtxoPayer::new(network, url, genesis, chain.fee_rate, db)?;
                Ok(Payer::Utxo(Box::new(payer.for_merchants(ANSWER_WITHIN))))
            }
        }
    }

    /// Builds what pays `plan`, if the sender can.
    pub(super) async fn build_nc_payout(&self, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
        match self.nc_node(plan.currency.network)? {
            Payer::Utxo(node) => super::utxo::build(&node, plan).await,
            node @ (Payer::Evm(_) | Payer::Simulated(_)) => self.build_evm(&node, plan).await,
        }
    }
}
