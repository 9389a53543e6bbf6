//! Builds the transactions of a payout, for every kind of network.

use std::sync::Arc;

use super::NcPayoutError;
use crate::{
    app::{
        Gateway,
        payout::payers::{Payers, Purpose},
    },
    asset::{Network, catalogue::Currency},
    chain::pay::Payer,
    money::BaseUnits,
    nc_payout::{FeeLevel, Unsigned},
    payout::coins::{HeldCoin, Place},
};

/// Payout to build.
pub(super) struct Plan<'a> {
    pub currency: &'static Currency,
    /// Spelt as by `match_key`.
    pub sender: &'a str,
    pub fee_level: FeeLevel,
    /// Recipients in the spelling of wallets.
    pub outputs: Vec<(&'a str, BaseUnits)>,
    /// Inputs to spend on bitcoin-like networks, as `txid:n`.
    pub inputs: &'a [String],
    /// Nonces of the earlier build on EVM networks, reused so that no recipient is paid by both
    /// builds. Empty for the first build.
    pub nonces: &'a [u64],
}

/// Transactions to be signed: one per output in their order, or one for all outputs.
pub(super) struct Built {
    pub chain_id: Option<u64>,
    pub transactions: Vec<Unsigned>,
    pub spends: Option<Spends>,
}

/// Inputs of a transaction on a bitcoin-like network, and the block from which the search for it
/// starts.
pub(super) struct Spends {
    pub coins: Vec<HeldCoin>,
    pub begin: Place,
}

impl Gateway {
    /// Nodes of a network that supports non-custodial payouts.
    pub(super) fn nc_payers(&self, network: Network) -> Result<Arc<Payers>, NcPayoutError> {
        self.payers(network, Purpose::Merchants)?.ok_or(NcPayoutError::UnsupportedNetwork)
    }

    /// Builds the transactions of `plan`, if the sender's funds suffice.
    pub(super) async fn build_nc_payout(&self, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
        let payers = self.nc_payers(plan.currency.network)?;
        match &payers.payer {
            Payer::Utxo(node) => super::utxo::build(node, plan).await,
            Payer::Evm(_) | Payer::Simulated(_) => self.build_evm(&payers, plan).await,
        }
    }
}
