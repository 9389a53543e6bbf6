//! Current network fees, stored for quotes; how long the gas wallets last; the fees that go back.

use super::{errors::AdvanceError, spendable};
use crate::{
    app::Gateway,
    asset::{Network, catalogue::Catalogue},
    config::ChainSourceKind,
    money::BaseUnits,
    payout::{
        PayoutFamily,
        quote::{self, Unearned},
    },
    storage::{
        PgConnection, StorageError, network_fees,
        payouts::{PayoutOrder, gas},
    },
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

    /// The fees of an order, all of whose rows have ended, that go back with its refund: those of
    /// rows that never went out, and on real EVM networks all that the network did not take.
    ///
    /// Without a refund address the margin stays: nobody could be told where to send so little.
    pub(super) async fn fees_to_return(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
    ) -> Result<BaseUnits, StorageError> {
        let is_real = self.config.chain(order.currency.network).source == ChainSourceKind::Node;
        if order.family != PayoutFamily::Evm || !is_real || order.refund_address.is_none() {
            return spendable::to_give_back(tx, order).await;
        }
        let Unearned { network, service } = spendable::unearned(tx, order).await?;
        let network = network.max(spendable::unused(tx, order).await?);
        Ok(network.saturating_add(service))
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
