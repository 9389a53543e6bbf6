//! Builds the transactions of a payout, for every kind of network.

use std::sync::Arc;

use super::{
    NcPayoutError,
    plan::{Built, Plan},
    utxo,
};
use crate::{
    app::{
        Gateway,
        payout::payers::{Payers, Purpose},
    },
    asset::Network,
    chain::pay::Payer,
};

impl Gateway {
    /// Nodes of a network that supports non-custodial payouts.
    pub(super) fn nc_payers(&self, network: Network) -> Result<Arc<Payers>, NcPayoutError> {
        self.payers(network, Purpose::Merchants)?.ok_or(NcPayoutError::UnsupportedNetwork)
    }

    /// Builds the transactions of `plan`, if the sender's funds suffice.
    pub(super) async fn build_nc_payout(&self, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
        let payers = self.nc_payers(plan.currency.network)?;
        match &payers.payer {
            Payer::Utxo(node) => utxo::build(node, plan).await,
            Payer::Evm(_) | Payer::Simulated(_) => self.build_evm(&payers, plan).await,
        }
    }
}
