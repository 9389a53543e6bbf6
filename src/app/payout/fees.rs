//! Current network fees, stored for quotes, and how long the gas wallets last.

use super::advance::AdvanceError;
use crate::{
    app::Gateway,
    asset::{Network, catalogue::Catalogue},
    config::ChainSourceKind,
    payout::quote,
    storage::{network_fees, payouts::gas},
};

impl Gateway {
    /// Networks on which payments go to real nodes.
    pub fn paying_networks(&self) -> Vec<Network> {
        let pays = |network: &Network| {
            self.config.pays_out_on(*network)
                && self.config.chain(*network).source == ChainSourceKind::Node
        };
        if self.config.payouts_enabled() {
            Network::ALL.into_iter().filter(pays).collect()
        } else {
            Vec::new()
        }
    }

    /// Reads the unit fee from the node of `network` and stores it. Quotes use no fee older than
    /// some minutes.
    pub async fn note_network_fee(&self, network: Network) -> Result<(), AdvanceError> {
        let payers = self.payers_of(network)?;
        let payer = &payers.payer;
        let Some(fee) = payer.fee().await? else { return Ok(()) };
        let mut connection = self.db.connection().await?;
        network_fees::store(&mut connection, network, fee).await?;
        let coin = Catalogue::get().native(network);
        let Some(address) = self.gas_address().filter(|_| network.evm_chain_id().is_some()) else {
            return Ok(());
        };
        if !gas::is_needed(&mut connection, network, &coin.token_id()).await? {
            return Ok(());
        }
        drop(connection);
        if let Some(balance) = payer.coins_for_gas(&address).await? {
            let each = fee.most(quote::GAS_PER_TOKEN_TRANSFER).max(1);
            let left = u32::try_from(balance.get() / each).unwrap_or(u32::MAX);
            metrics::gauge!("payout_gas_transfers", "network" => network.name()).set(left);
        }
        Ok(())
    }
}
