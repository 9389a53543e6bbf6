//! The end of a sweep's transaction, and its booking.

use super::{
    SweepError,
    stranger::{self, CarriedOut},
};
use crate::{
    app::{Gateway, payout::payers::Payers},
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
const BY_ANOTHER: &str = "another transaction carried its authorization out";
const OTHERWISE: &str = "another plan's authorization was used, and did not move the same";
const UNTOLD: &str = "the token says that its authorization was used, and the node has no log of it; look at the address";
const UNEXPLAINED: &str =
    "it succeeded without the token's log of the transfer; look at the address";

impl Gateway {
    /// Ends a transaction by its standing in the chain, and books that in the same commit.
    pub(super) async fn end_sweep(
        &self,
        transaction: &TransactionRow,
        standing: &Standing,
        (payers, required): (&Payers, u64),
    ) -> Result<(), SweepError> {
        let moved_nothing =
            matches!(standing.seen, Seen::Mined { succeeded: false, .. } | Seen::Displaced);
        if transaction.relayed && moved_nothing {
            let done = stranger::carried_out(transaction, (payers, required)).await?;
            let own = standing.mined.as_ref().map(|mined| mined.fee);
            match done {
                CarriedOut::Not => {}
                CarriedOut::By(mined) => return Ok(self.end_by(transaction, &mined, own).await?),
                CarriedOut::NotFinal => return Ok(()),
                CarriedOut::Otherwise(hash) => {
                    return Ok(self.end_otherwise(transaction, standing, &hash).await?);
                }
                CarriedOut::Unknown => {
                    let mined = standing.mined.as_ref();
                    return Ok(self.note_unexplained(transaction, mined, UNTOLD).await?);
                }
            }
        }
        match (standing.seen, &standing.mined) {
            (Seen::Mined { succeeded: true, .. }, Some(mined)) => {
                self.end_succeeded(transaction, mined).await?;
            }
            (Seen::Mined { succeeded: false, .. }, Some(mined)) => {
                self.end_failed(transaction, Some(mined), ("sweep_failed", REVERTED)).await?;
            }
            (Seen::Displaced, _) => {
                self.end_failed(transaction, None, ("sweep_displaced", DISPLACED)).await?;
            }
            // The token lies, or a node left its log out: a person must look, and the account is
            // left alone until then.
            (Seen::Unexplained { .. }, mined) => {
                self.note_unexplained(transaction, mined.as_ref(), UNEXPLAINED).await?;
            }
            (Seen::Mined { .. } | Seen::Nowhere | Seen::Waiting, _) => {}
        }
        Ok(())
    }

    async fn note_unexplained(
        &self,
        transaction: &TransactionRow,
        mined: Option<&Mined>,
        why: &str,
    ) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        raise(&mut connection, "sweep_unexplained", transaction, why).await?;
        let height = mined.map(|mined| mined.height);
        following::note(&mut connection, transaction.id, height, Some(why)).await
    }

    async fn end_succeeded(
        &self,
        transaction: &TransactionRow,
        mined: &Mined,
    ) -> Result<(), StorageError> {
        let end = End {
            state: State::Confirmed,
            height: Some(mined.height),
            fee: mined.fee,
            error: None,
            relayed: transaction.relayed,
        };
        self.end_as(transaction, &end, None).await
    }

    /// The transaction of somebody else carried the same authorization out: the tokens are where
    /// the plan sends them. Our own, if it was mined after that, has cost its gas.
    async fn end_by(
        &self,
        transaction: &TransactionRow,
        mined: &Mined,
        own_fee: Option<BaseUnits>,
    ) -> Result<(), StorageError> {
        let end = End {
            state: State::Confirmed,
            height: Some(mined.height),
            fee: own_fee.unwrap_or(BaseUnits::ZERO),
            error: Some(format!("{BY_ANOTHER}: {}", mined.hash)),
            relayed: transaction.relayed,
        };
        self.end_as(transaction, &end, None).await
    }

    /// It took nothing: it was reverted, or whoever has the words moved the coins, or there are two
    /// seeds of one key.
    async fn end_failed(
        &self,
        transaction: &TransactionRow,
        mined: Option<&Mined>,
        (kind, why): (&str, &str),
    ) -> Result<(), StorageError> {
        let end = End {
            state: State::Failed,
            height: mined.map(|mined| mined.height),
            fee: mined.map_or(BaseUnits::ZERO, |mined| mined.fee),
            error: Some(why.to_owned()),
            relayed: transaction.relayed,
        };
        self.end_as(transaction, &end, Some((kind, why))).await
    }

    /// Its authorization was used, and the tokens did not move as planned: bytes of a plan that was
    /// given up are the only ones that can do that.
    async fn end_otherwise(
        &self,
        transaction: &TransactionRow,
        standing: &Standing,
        hash: &str,
    ) -> Result<(), StorageError> {
        let why = format!("{OTHERWISE}: {hash}");
        self.end_failed(transaction, standing.mined.as_ref(), ("sweep_displaced", &why)).await
    }

    async fn end_as(
        &self,
        transaction: &TransactionRow,
        end: &End,
        alert: Option<(&str, &str)>,
    ) -> Result<(), StorageError> {
        let mut tx = self.db.begin().await?;
        if !following::end(&mut tx, transaction.id, end).await? {
            return Ok(());
        }
        if end.state == State::Confirmed {
            book_moved(&mut tx, transaction).await?;
        }
        if let Some((kind, why)) = alert {
            raise(&mut tx, kind, transaction, why).await?;
        }
        book_fee(&mut tx, transaction, end.fee).await?;
        fail_point("sweep.ending");
        tx.commit().await?;
        fail_point("sweep.ended");
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
