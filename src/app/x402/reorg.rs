//! Settlements whose block a reorg replaced after they had ended: deeper than the confirmations
//! that were asked for.
//!
//! The watcher's evidence that the block is gone is enough to take the end back, that of a failure
//! too: the same bytes are sent again, so nobody pays twice, and the wallet's later nonces do not
//! wait for ever. What a settlement brought is a deposit, which the watcher reverses and books
//! itself.

use uuid::Uuid;

use crate::{
    app::Gateway,
    asset::{Network, catalogue::Catalogue},
    fail_point::fail_point,
    ledger::{Account, Entry, EntryKind},
    storage::{
        PgConnection, StorageError, alerts, ledger,
        x402::reorgs::{self, Reorged},
    },
    x402::settlement::{Event, State, after},
};

/// The alert of settlements that were replaced.
const ALERT: &str = "x402_reorged";
/// Settlements that one step takes back.
const BITE: i64 = 200;

impl Gateway {
    /// Takes back the ends of a network's settlements whose blocks are gone. `true` if there were
    /// any.
    pub(super) async fn take_back_settlements(
        &self,
        network: Network,
    ) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let reorged = reorgs::marked(&mut connection, network, BITE).await?;
        drop(connection);
        let Some(lowest) = reorged.iter().map(|one| one.height).min() else { return Ok(false) };
        let mut tx = self.db.begin().await?;
        let (mut count, mut failed) = (0_u64, 0_u64);
        for one in &reorged {
            if take_back(&mut tx, network, one).await? {
                count += 1;
                failed += u64::from(one.state == State::Failed);
            }
        }
        if count == 0 {
            return Ok(false);
        }
        let detail = format!(
            "a reorg on {network} replaced the blocks of {count} settlements that were final, of which {failed} had failed: they \
             are open again and sent again"
        );
        tracing::error!(%network, count, failed, lowest, "a reorg took back settlements");
        let subject = format!("{network} at {lowest}");
        alerts::raise(&mut tx, ALERT, &subject, &detail).await?;
        fail_point("x402.taking_back");
        tx.commit().await?;
        metrics::counter!("x402_reorged_total", "network" => network.name()).increment(count);
        Ok(true)
    }
}

/// Takes back one end, and its fee by an entry of its own. `false` if another worker was first.
async fn take_back(
    tx: &mut PgConnection,
    network: Network,
    reorged: &Reorged,
) -> Result<bool, StorageError> {
    let booked_as = Uuid::now_v7();
    let to = after(reorged.state, Event::Reorged);
    if !reorgs::take_back(tx, reorged, to, booked_as).await? {
        return Ok(false);
    }
    if reorged.fee.is_zero() {
        return Ok(true);
    }
    let entry = Entry {
        kind: EntryKind::NetworkFeeReversal,
        source: booked_as,
        asset: Catalogue::get().native(network).token_id(),
        debit: Account::X402Gas(network),
        credit: Account::Treasury,
        amount: reorged.fee,
    };
    ledger::book(tx, &entry).await?;
    Ok(true)
}
