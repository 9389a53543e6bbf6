//! Sending: the bytes are stored first, sent again after any doubt, and followed until they are
//! final. Only stored bytes are sent, so a repeat moves nothing twice.

use std::{collections::BTreeMap, time::Duration};

use super::SweepError;
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::Network,
    chain::pay::{Sent, Standing, Wanted},
    fail_point::fail_point,
    payout::batch::{self, Move, Seen, Signed as Prospect},
    storage::{
        StorageError,
        sweeps::{self, SweepRow, TransactionRow, following},
    },
    sweep::{
        State,
        plan::Plan,
        signed::{SignedPlan, Sound},
    },
};

/// Nothing is ever replaced: only the cold seed could sign it.
const PATIENCE: Duration = Duration::MAX;

/// Where a plan stands after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub open: usize,
    pub confirmed: usize,
    pub failed: usize,
}

impl Gateway {
    /// Stores the bytes of a signed file, if they make exactly its plan's transactions. The same
    /// file again is no error. Returns the plan's id.
    ///
    /// # Errors
    /// If the bytes do anything else, or the plan is unknown, dropped, or signed otherwise.
    pub async fn accept_sweep(&self, text: &str) -> Result<String, SweepError> {
        let signed = SignedPlan::read(text)?;
        let plan_id = signed.plan.clone();
        let mut tx = self.db.begin().await?;
        let row = sweeps::lock(&mut tx, &plan_id).await?;
        let row = row.ok_or_else(|| SweepError::Unknown(plan_id.clone()))?;
        if row.dropped_at.is_some() {
            return Err(SweepError::Dropped(plan_id));
        }
        let sound = self.sound(&signed, &row)?;
        if row.signed_at.is_some() {
            let stored = sweeps::transactions(&mut tx, row.id).await?;
            return if is_same(&stored, &sound) {
                Ok(plan_id)
            } else {
                Err(SweepError::OtherBytes(plan_id))
            };
        }
        let bytes: Vec<_> = sound.into_iter().map(|one| (one.raw, one.hash)).collect();
        following::sign(&mut tx, row.id, &bytes).await?;
        fail_point("sweep.storing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("sweep.stored");
        Ok(plan_id)
    }

    fn sound(&self, signed: &SignedPlan, row: &SweepRow) -> Result<Vec<Sound>, SweepError> {
        let plan = Plan::read(&row.plan)?;
        Ok(signed.of_plan(&plan, |network| self.config.pinned(network).ok())?)
    }

    /// Sends the unsent, looks where the rest stands, and books the final ones. Whatever
    /// fails, the next look goes on.
    ///
    /// # Errors
    /// If the plan is unknown or unsigned, or a node or the database does not answer.
    pub async fn advance_sweep(&self, plan_id: &str) -> Result<Progress, SweepError> {
        let mut connection = self.db.connection().await?;
        let row = sweeps::of_id(&mut connection, plan_id).await?;
        let row = row.ok_or_else(|| SweepError::Unknown(plan_id.to_owned()))?;
        if row.signed_at.is_none() {
            return Err(SweepError::Unsigned(plan_id.to_owned()));
        }
        let transactions = sweeps::transactions(&mut connection, row.id).await?;
        drop(connection);
        let mut by_network: BTreeMap<Network, Vec<&TransactionRow>> = BTreeMap::new();
        for transaction in transactions.iter().filter(|one| one.state.is_open()) {
            by_network.entry(transaction.network).or_default().push(transaction);
        }
        let mut failure = None;
        for (network, open) in by_network {
            // A node that is away keeps no other network waiting.
            if let Err(error) = self.advance_on(network, &open).await {
                failure.get_or_insert(error);
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        let mut connection = self.db.connection().await?;
        let transactions = sweeps::transactions(&mut connection, row.id).await?;
        Ok(progress(&transactions))
    }

    async fn advance_on(
        &self,
        network: Network,
        open: &[&TransactionRow],
    ) -> Result<(), SweepError> {
        let payers = self.sweepers(network)?;
        // In the plan's order, in which the nonces of an account are.
        for transaction in open.iter().filter(|one| one.state == State::Signed) {
            self.send_sweep(transaction, &payers).await?;
        }
        let sent: Vec<_> = open.iter().filter(|one| one.state == State::Sent).collect();
        let required = self.config.chain(network).large_confirmations;
        let wanted: Vec<_> = sent.iter().map(|one| wanted(one)).collect();
        let (standings, failure) = payers.standings_told(&wanted, required).await;
        for (transaction, standing) in sent.iter().zip(standings) {
            if let Some(standing) = standing {
                self.follow_sweep(transaction, &standing, (&payers, required)).await?;
            }
        }
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Hands the stored bytes in. A node's answer decides nothing but whether it has them: bytes
    /// that it refuses may be in the chain, and are looked for from now on.
    async fn send_sweep(
        &self,
        transaction: &TransactionRow,
        payers: &Payers,
    ) -> Result<(), SweepError> {
        let (Some(raw), Some(hash)) = (&transaction.raw, &transaction.tx_hash) else {
            return Ok(());
        };
        fail_point("sweep.sending");
        let answer = payers.payer.send(raw, hash).await?;
        fail_point("sweep.sent");
        let mut connection = self.db.connection().await?;
        if let Sent::Refused(reason) = &answer {
            tracing::warn!(tx.hash = hash, reason, "a node refuses a sweep");
            following::note(&mut connection, transaction.id, None, Some(reason)).await?;
        }
        following::mark_sent(&mut connection, transaction.id).await?;
        Ok(())
    }

    async fn follow_sweep(
        &self,
        transaction: &TransactionRow,
        standing: &Standing,
        (payers, required): (&Payers, u64),
    ) -> Result<(), SweepError> {
        match batch::next_move(prospect(transaction), standing.seen, required) {
            Move::Send => self.send_sweep(transaction, payers).await,
            Move::Wait | Move::Replace => {
                let is_there = !matches!(standing.seen, Seen::Nowhere | Seen::Displaced);
                let error = transaction.error.as_deref().filter(|_| !is_there);
                let height = standing.mined.as_ref().map(|mined| mined.height);
                let mut connection = self.db.connection().await?;
                following::note(&mut connection, transaction.id, height, error).await?;
                Ok(())
            }
            Move::Succeeded | Move::Failed | Move::Alarm => {
                self.end_sweep(transaction, standing, (payers, required)).await
            }
        }
    }
}

fn is_same(stored: &[TransactionRow], sound: &[Sound]) -> bool {
    let stored = stored.iter().map(|row| row.raw.as_deref());
    stored.eq(sound.iter().map(|one| Some(one.raw.as_slice())))
}

pub(super) fn wanted(transaction: &TransactionRow) -> Wanted {
    Wanted {
        sender: transaction.sender.clone().unwrap_or_default(),
        nonce: transaction.nonce.and_then(|nonce| nonce.try_into().ok()).unwrap_or(u64::MAX),
        hashes: transaction.tx_hash.iter().cloned().collect(),
        raw: transaction.raw.clone().unwrap_or_default(),
    }
}

fn prospect(transaction: &TransactionRow) -> Prospect {
    let seconds = |seconds: i64| Duration::from_secs(seconds.try_into().unwrap_or(0));
    Prospect {
        sent_for: transaction.sent_for_seconds.map(seconds),
        versions: 1,
        can_pay_more: false,
        outbid: false,
        patience: PATIENCE,
    }
}

fn progress(transactions: &[TransactionRow]) -> Progress {
    let count = |is: fn(State) -> bool| transactions.iter().filter(|one| is(one.state)).count();
    Progress {
        open: count(State::is_open),
        confirmed: count(|state| state == State::Confirmed),
        failed: count(|state| state == State::Failed),
    }
}
