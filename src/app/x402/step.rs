//! One step of the role with a network: send, follow, sign, send.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use uuid::Uuid;

use super::{GasWallet, X402Error, cost::GAS_OF_ONE};
use crate::{
    app::Gateway,
    asset::Network,
    storage::x402::{
        following::{self, OpenSettlement},
        health,
    },
    x402::call::BY_KEY_BYTES,
};

/// Settlements of one network that are looked at in one step, in no block and in one; the oldest
/// come first.
const OPEN_MAX: i64 = 200;
/// Time between two looks for the blocks of settlements, for which their payers wait. A network
/// that its watcher looks at more often is looked at as often.
const LOOK_FOR_BLOCKS: Duration = Duration::from_millis(250);
/// The same for those that wait in a block for their confirmations. They are many where finality is
/// slow, and a node counts every question.
const LOOK_AT_BLOCKS: Duration = Duration::from_secs(2);

/// Time after which a settlement is tried again that a limit of its own kept from being signed.
const PUT_OFF_FOR: Duration = Duration::from_secs(5);

/// When the chain of a network was last asked about settlements in no block, and in one.
#[derive(Default)]
pub(super) struct Looks(Mutex<HashMap<(Network, bool), Instant>>);

impl Looks {
    /// Returns true, and takes note, if the last look was long enough ago.
    fn is_due(&self, network: Network, in_block: bool, poll: Duration) -> bool {
        let pause = if in_block { LOOK_AT_BLOCKS } else { LOOK_FOR_BLOCKS }.min(poll);
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = looks.get(&(network, in_block)).is_none_or(|at| at.elapsed() >= pause);
        if is_due {
            looks.insert((network, in_block), Instant::now());
        }
        is_due
    }

    fn due<'a>(
        &self,
        network: Network,
        open: &'a [OpenSettlement],
        poll: Duration,
    ) -> Vec<&'a OpenSettlement> {
        let [for_blocks, at_blocks] =
            [false, true].map(|in_block| self.is_due(network, in_block, poll));
        let is_due =
            |one: &&OpenSettlement| if one.height.is_some() { at_blocks } else { for_blocks };
        open.iter().filter(is_due).collect()
    }
}

/// Settlements whose signature something of their own keeps back, and since when. They are tried
/// again after a pause, so that they do not take the places of those behind them.
#[derive(Default)]
pub(super) struct PutOff(Mutex<HashMap<Uuid, Instant>>);

impl PutOff {
    pub(super) fn note(&self, id: Uuid) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, at| at.elapsed() < PUT_OFF_FOR);
        all.insert(id, Instant::now());
    }

    pub(super) fn has(&self, id: Uuid) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&id).is_some_and(|at| at.elapsed() < PUT_OFF_FOR)
    }
}

impl Gateway {
    /// Takes the steps that are due for a network's settlements. `true` if anything changed, so
    /// that the next step is due at once.
    pub async fn step_x402(&self, network: Network, wallet: &GasWallet) -> Result<bool, X402Error> {
        let taken_back = self.take_back_settlements(network).await?;
        let mut connection = self.db.connection().await?;
        let mut open = following::open(&mut connection, network, OPEN_MAX).await?;
        drop(connection);
        if open.is_empty() {
            return Ok(taken_back);
        }
        let (token, payers) = (self.x402_token(network).await?, self.x402_payers(network)?);
        let parts = (payers.as_ref(), wallet);
        // What was signed goes first: a crash may have come between its commit and its sending.
        let sent = self.send_settlements(&open, &payers).await?;
        let due = self.x402.looks.due(network, &open, self.config.chain(network).poll);
        let followed = self.follow_settlements(&token, due, parts).await;
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
        Ok(followed? || signed || taken_back)
    }

    /// Notes what a settlement costs, and sets the gauges of waiting settlements and of the gas
    /// that is left.
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
        let fee = node.gas_price(BY_KEY_BYTES).await?;
        self.note_x402_cost(network, fee, GAS_OF_ONE).await?;
        let each = fee.most(GAS_OF_ONE).max(1);
        if let Some(coins) = payers.payer.coins_for_gas(wallet.address()).await? {
            let left = u32::try_from(coins.get() / each).unwrap_or(u32::MAX);
            metrics::gauge!("x402_gas_settlements", "network" => network.name()).set(left);
            let mut connection = self.db.connection().await?;
            let held = (coins, i64::from(left));
            health::note_gas(&mut connection, network, wallet.address(), held).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_off_leaves_the_others_as_they_are() {
        let put_off = PutOff::default();
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        put_off.note(one);
        assert!(put_off.has(one) && !put_off.has(other));
    }

    #[test]
    fn a_network_is_asked_again_after_a_pause_and_apart_from_others() {
        let looks = Looks::default();
        for in_block in [false, true] {
            let is_due = |network, poll| looks.is_due(network, in_block, poll);
            assert!(is_due(Network::Base, LOOK_AT_BLOCKS));
            assert!(!is_due(Network::Base, LOOK_AT_BLOCKS));
            assert!(is_due(Network::Polygon, LOOK_AT_BLOCKS));
            assert!(is_due(Network::Base, Duration::ZERO), "its watcher looks as often");
        }
    }
}
