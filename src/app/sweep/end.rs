//! The end of a sweep's transaction, and its booking.

use crate::{
    app::Gateway,
    asset::catalogue::Catalogue,
    chain::pay::{Mined, Standing},
    fail_point::fail_point,
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    payout::batch::Seen,
    storage::{
        PgConnection, StorageError, alerts, ledger,
        sweeps::{
            TransactionRow,
            following::{self, End},
        },
    },
    sweep::State,
};

const REVERTED: &str = "it was reverted in its block";
const DISPLACED: &str = "another transaction took its nonce, or one of its outputs";
const UNEXPLAINED: &str =
    "it succeeded without the token's log of the transfer; look at the address";

impl Gateway {
    /// Ends a transaction by its standing in the chain, and books that in the same commit.
    pub(super) async fn end_sweep(
        &self,
        transaction: &TransactionRow,
        standing: &Standing,
    ) -> Result<(), StorageError> {
        match (standing.seen, &standing.mined) {
            (Seen::Mined { succeeded, .. }, Some(mined)) => {
                self.end_mined(transaction, mined, succeeded).await
            }
            (Seen::Displaced, _) => self.end_displaced(transaction).await,
            // The token lies, or a node left its log out: a person must look, and the account is
            // left alone until then.
            (Seen::Unexplained { .. }, mined) => {
                let mut connection = self.db.connection().await?;
                raise(&mut connection, "sweep_unexplained", transaction, UNEXPLAINED).await?;
                let height = mined.as_ref().map(|mined| mined.height);
                following::note(&mut connection, transaction.id, height, Some(UNEXPLAINED)).await
            }
            (Seen::Mined { .. } | Seen::Nowhere | Seen::Waiting, _) => Ok(()),
        }
    }

    async fn end_mined(
        &self,
        transaction: &TransactionRow,
        mined: &Mined,
        succeeded: bool,
    ) -> Result<(), StorageError> {
        let end = End {
            state: if succeeded { State::Confirmed } else { State::Failed },
            height: Some(mined.height),
            fee: mined.fee,
            error: (!succeeded).then(|| REVERTED.to_owned()),
            relayed: transaction.relayed,
        };
        let mut tx = self.db.begin().await?;
        if !following::end(&mut tx, transaction.id, &end).await? {
            return Ok(());
        }
        if succeeded {
            book_moved(&mut tx, transaction).await?;
        } else {
            raise(&mut tx, "sweep_failed", transaction, REVERTED).await?;
        }
        book_fee(&mut tx, transaction, mined.fee).await?;
        fail_point("sweep.ending");
        tx.commit().await?;
        fail_point("sweep.ended");
        Ok(())
    }

    /// It took nothing: whoever has the words moved the coins, or there are two seeds of one key.
    async fn end_displaced(&self, transaction: &TransactionRow) -> Result<(), StorageError> {
        let (fee, error) = (BaseUnits::ZERO, Some(DISPLACED.to_owned()));
        let relayed = transaction.relayed;
        let end = End { state: State::Failed, height: None, fee, error, relayed };
        let mut tx = self.db.begin().await?;
        if following::end(&mut tx, transaction.id, &end).await? {
            raise(&mut tx, "sweep_displaced", transaction, DISPLACED).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

async fn raise(
    connection: &mut PgConnection,
    kind: &str,
    transaction: &TransactionRow,
    what: &str,
) -> Result<(), StorageError> {
    let hash = transaction.tx_hash.as_deref().unwrap_or_default();
    let detail = format!("{hash} on {}: {what}", transaction.network);
    alerts::raise(connection, kind, &transaction.id.to_string(), &detail).await?;
    Ok(())
}

/// The coins are elsewhere, and still the same people's.
async fn book_moved(
    tx: &mut PgConnection,
    transaction: &TransactionRow,
) -> Result<(), StorageError> {
    let network = transaction.network;
    let entry = Entry {
        kind: EntryKind::Sweep,
        source: transaction.id,
        asset: transaction.token_id.clone(),
        debit: Account::TreasuryCustody(network),
        credit: Account::Custody(network),
        amount: transaction.amount,
    };
    ledger::book(tx, &entry).await
}

/// The network's part is the operator's cost, whoever's coins were there.
async fn book_fee(
    tx: &mut PgConnection,
    transaction: &TransactionRow,
    fee: BaseUnits,
) -> Result<(), StorageError> {
    if fee.is_zero() {
        return Ok(());
    }
    let network = transaction.network;
    let paid_from =
        if transaction.relayed { Account::SweepGas(network) } else { Account::Custody(network) };
    let entry = Entry {
        kind: EntryKind::NetworkFee,
        source: transaction.id,
        asset: Catalogue::get().native(network).token_id(),
        debit: Account::Treasury,
        credit: paid_from,
        amount: fee,
    };
    ledger::book(tx, &entry).await
}
