//! Building: whatever kind of transaction the network takes.

use std::sync::Arc;

use super::NcPayoutError;
use crate::{
    app::{
        Gateway,
        payers::{Payers, Purpose},
    },
    asset::{Network, catalogue::Currency},
    chain::pay::Payer,
    money::BaseUnits,
    nc_payout::{FeeLevel, Unsigned},
    storage::payouts::coins::{CoinRow, Place},
};

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
    /// Those of the earlier build on EVM networks: nobody is paid by both. None where it is the first.
    pub nonces: &'a [u64],
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
    /// The nodes of a network on which such payouts can be made.
    pub(super) fn nc_payers(&self, network: Network) -> Result<Arc<Payers>, NcPayoutError> {
        self.payers(network, Purpose::Merchants)?.ok_or(NcPayoutError::UnsupportedNetwork)
    }

    /// Builds what pays `plan`, if the sender can.
    pub(super) async fn build_nc_payout(&self, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
        match &self.nc_payers(plan.currency.network)?.payer {
            Payer::Utxo(node) => super::utxo::build(node, plan).await,
            node @ (Payer::Evm(_) | Payer::Simulated(_)) => self.build_evm(node, plan).await,
        }
    }
}
