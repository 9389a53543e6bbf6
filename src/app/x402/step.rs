//! One step of the role with a network: send, follow, sign, send.

use super::{GasWallet, X402Error};
use crate::{app::Gateway, asset::Network, storage::x402::following};

/// Settlements of one network that are looked at in one step, in no block and in one; the oldest
/// come first.
const OPEN_MAX: i64 = 200;

impl Gateway {
    /// Takes the steps that are due for a network's settlements. `true` if anything changed, so
    /// that the next step is due at once.
    pub async fn step_x402(&self, network: Network, wallet: &GasWallet) -> Result<bool, X402Error> {
        let mut connection = self.db.connection().await?;
        let mut open = following::open(&mut connection, network, OPEN_MAX).await?;
        drop(connection);
        if open.is_empty() {
            return Ok(false);
        }
        let (token, payers) = (self.x402_token(network).await?, self.x402_payers(network)?);
        let parts = (payers.as_ref(), wallet);
        // What was signed goes first: a crash may have come between its commit and its sending.
        let sent = self.send_settlements(&open, &payers).await?;
        let followed = self.follow_settlements(&token, &open, parts).await;
        if followed.is_err() || sent {
            let mut connection = self.db.connection().await?;
            open = following::open(&mut connection, network, OPEN_MAX).await?;
        }
        let signed = self.sign_settlements(&token, &open, parts).await?;
        if signed {
            let mut connection = self.db.connection().await?;
            open = following::open(&mut connection, network, OPEN_MAX).await?;
            drop(connection);
            self.send_settlements(&open, &payers).await?;
        }
        Ok(followed? || signed)
    }

    /// Sets the gauges of waiting settlements and of the gas that is left.
    pub async fn measure_x402(
        &self,
        network: Network,
        wallet: &GasWallet,
    ) -> Result<(), X402Error> {
        let mut connection = self.db.connection().await?;
        let backlog = following::backlog(&mut connection).await?;
        drop(connection);
        let waiting =
            backlog.iter().find(|(name, _)| name == network.name()).map_or(0, |row| row.1);
        let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
        metrics::gauge!("x402_open_settlements", "network" => network.name()).set(waiting);
        let payers = self.x402_payers(network)?;
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let each = node.gas_price().await?.most(GAS_OF_ONE).max(1);
        if let Some(coins) = payers.payer.coins_for_gas(wallet.address()).await? {
            let left = u32::try_from(coins.get() / each).unwrap_or(u32::MAX);
            metrics::gauge!("x402_gas_settlements", "network" => network.name()).set(left);
        }
        Ok(())
    }
}

/// Gas of a usual settlement of USDC.
const GAS_OF_ONE: u128 = 90_000;
