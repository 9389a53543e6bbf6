//! Check that the gas wallet holds the rest that its payments have left. Operators' top-ups are not
//! watched, so their total is derived: the balance, plus the coins that its payments took, minus
//! those that came back. This total can only grow.

use super::ReconcileError;
use crate::{
    app::{Gateway, deposit::follow_chain::source_of},
    asset::{Catalogue, Family, Network, address},
    chain::{ChainSource, TransferAsset},
    config::ChainSourceKind,
    money::BaseUnits,
    storage::{StorageError, alerts, cursors, payouts::held},
};

impl Gateway {
    /// Compares the wallet's balance at a final block, while none of its payments is pending. Coins
    /// that left by another way raise an alert, once.
    pub(super) async fn check_gas_wallet(&self, network: Network) -> Result<(), ReconcileError> {
        let Some(wallet) = self.gas_wallet_of(network) else { return Ok(()) };
        let settings = self.config.chain(network);
        let Some(source) = source_of(self, &settings)? else { return Ok(()) };
        let mut connection = self.db.connection().await?;
        let cursor = cursors::load(&mut connection, network).await?;
        drop(connection);
        let cursor = cursor.ok_or(ReconcileError::NotFollowed(network))?;
        let Some(height) = (cursor.height + 1).checked_sub(settings.confirmations) else {
            return Ok(());
        };
        let Some(at) = source.header(height).await? else { return Ok(()) };
        let wallets = std::slice::from_ref(&wallet);
        let Some(held) = source.holdings(&at, wallets, &[TransferAsset::Native]).await? else {
            return Ok(());
        };
        let Some(coins) = held.by_address.first().and_then(|of| of.first().copied().flatten())
        else {
            return Ok(());
        };
        // The rows are read after the chain: a payment that is pending by now may have been in that
        // block.
        let mut tx = self.db.begin().await?;
        let Some(moved) = held::of_gas_wallet(&mut tx, network, &wallet, height).await? else {
            return Ok(());
        };
        let paid_in = coins.saturating_add(moved.went).remaining_after(moved.came);
        let before = held::note_paid_in(&mut tx, network, &wallet, paid_in, height).await?;
        if let Some(before) = before {
            let lost = coins_of(network, before.remaining_after(paid_in));
            let detail = format!(
                "{lost} left the gas wallet {wallet} on {network} without a payment of ours"
            );
            let subject = format!("{network} at {height}");
            alerts::raise(&mut tx, "gas_wallet_short", &subject, &detail).await?;
            tracing::error!(%network, wallet, height, "coins left the gas wallet without a payment of ours");
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// Gas wallet in the spelling of transfers, if the network's payments are real.
    fn gas_wallet_of(&self, network: Network) -> Option<String> {
        let pays = self.config.payouts_enabled() && self.config.pays_out_on(network);
        let real = self.config.chain(network).source == ChainSourceKind::Node;
        let evm = network.family() == Family::Evm;
        let wallet = self.gas_address().filter(|_| pays && real && evm)?;
        Some(address::match_key(Family::Evm, &wallet))
    }
}

fn coins_of(network: Network, units: BaseUnits) -> String {
    let coin = Catalogue::get().native(network);
    format!("{} {}", units.to_decimal(u32::from(coin.decimals)), coin.symbol)
}
