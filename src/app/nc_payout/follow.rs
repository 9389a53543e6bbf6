//! Following: stored bytes go out, and go out again after any doubt, until a block that is deep
//! enough has decided.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{NcPayoutError, read::locked};
use crate::{
    app::{Gateway, payout::payers::Payers},
    chain::{
        ChainError,
        pay::{Payer, Sent, Standing as Found, Wanted},
    },
    fail_point::fail_point,
    nc_payout::{
        Problem, State, TransactionState,
        build::IN_FLIGHT_MAX,
        lifecycle::{self, Event, Tally, Verdict},
    },
    payout::batch::{self, Move, Seen, Signed},
    storage::{
        self, StorageError, alerts,
        nc_payouts::{
            self, NcPayout, Standing, coins,
            parts::{self, Look, Parts, TransactionRow},
        },
    },
};

/// Longer than one look may take.
const LEASE_SECONDS: i32 = 60;
const LOOK_AGAIN_MIN: TimeDelta = TimeDelta::milliseconds(300);
/// A transaction that no block has taken for so long is looked for less often.
const PATIENT_AFTER: TimeDelta = TimeDelta::hours(1);
const LOOK_AGAIN_PATIENTLY: TimeDelta = TimeDelta::minutes(1);

impl Gateway {
    /// Takes up to `limit` payouts that are due. A worker that dies with them leaves them to the
    /// next.
    pub async fn due_nc_payouts(&self, limit: i64) -> Result<Vec<Uuid>, StorageError> {
        let mut connection = self.db.connection().await?;
        nc_payouts::claim_due(&mut connection, LEASE_SECONDS, limit).await
    }

    /// Looks at one payout and takes the steps that are due.
    pub async fn follow_nc_payout(&self, id: Uuid) -> Result<(), NcPayoutError> {
        let mut tx = self.db.begin().await?;
        let (payout, parts) = locked(&mut tx, id).await?;
        if payout.state == State::AwaitingSignature {
            let now = storage::now(&mut tx).await?;
            let due = Event::DeadlinePassed;
            let step = lifecycle::step(payout.state, payout.expires_at, due, now);
            let changed = step.verdict == Verdict::Moved;
            let standing = Standing { state: step.state, look_at: payout.expires_at, changed };
            nc_payouts::set_standing(&mut tx, id, standing).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(());
        }
        drop(tx);
        if payout.state.is_terminal() {
            return Ok(());
        }
        let payers = self.nc_payers(payout.currency.network)?;
        let required = self.required_of_nc(&payout);
        let (looks, failure) = look(&payers, &payout, &parts, required).await;
        if looks.iter().any(|look| look.handed_in) {
            payers.payer.after_sending(required).await?;
        }
        self.note_looks(&payout, &parts, &looks).await?;
        failure.map_or(Ok(()), |error| Err(error.into()))
    }

    async fn note_looks(
        &self,
        payout: &NcPayout,
        before: &Parts,
        looks: &[Look],
    ) -> Result<(), StorageError> {
        let mut tx = self.db.begin().await?;
        let (payout, _) = locked(&mut tx, payout.id).await?;
        for look in looks {
            parts::note(&mut tx, payout.id, look).await?;
        }
        let parts = parts::of_payout(&mut tx, payout.id).await?;
        let now = storage::now(&mut tx).await?;
        let event = Event::Followed(tally(&parts));
        let step = lifecycle::step(payout.state, payout.expires_at, event, now);
        let changed = step.verdict == Verdict::Moved || differ(before, &parts);
        let poll = self.config.chain(payout.currency.network).poll;
        let look_at = now + pause(poll, payout.submitted_at, now);
        let standing = Standing { state: step.state, look_at, changed };
        nc_payouts::set_standing(&mut tx, payout.id, standing).await?;
        if step.state == State::Failed {
            coins::give_back(&mut tx, payout.id).await?;
        }
        let is_new = |look: &&Look| {
            let was = before.transactions.iter().find(|part| part.position == look.position);
            let is_unexplained = |problem: &Option<Problem>| *problem == Some(Problem::Unexplained);
            is_unexplained(&look.problem) && was.is_none_or(|part| !is_unexplained(&part.problem))
        };
        for look in looks.iter().filter(is_new) {
            let (position, problem) = (look.position, Problem::Unexplained);
            let detail = format!("transaction {position}: {}", problem.as_str());
            alerts::raise(&mut tx, "nc_payout_unexplained", &payout.payout_id, &detail).await?;
        }
        fail_point("nc_payout.noting");
        tx.commit().await?;
        if step.verdict == Verdict::Moved {
            let (id, state) = (&payout.payout_id, step.state.as_str());
            tracing::info!(payout.id = id, state, "a non-custodial payout changed its state");
        }
        Ok(())
    }
}

/// Looks for every transaction that may be in the chain, and hands in those that are nowhere.
/// Results found before a failure are worth noting too.
async fn look(
    payers: &Payers,
    payout: &NcPayout,
    parts: &Parts,
    required: u64,
) -> (Vec<Look>, Option<ChainError>) {
    let open = in_flight(parts);
    let wanted: Vec<_> = open.iter().map(|part| wanted(payout, part)).collect();
    let found = match payers.standings(&wanted, required).await {
        Ok(found) => found,
        Err(error) => return (vec![], Some(error)),
    };
    let mut looks = Vec::with_capacity(open.len());
    for (part, found) in open.iter().zip(&found) {
        let seconds = |s| Duration::from_secs(u64::try_from(s).unwrap_or(0));
        let sent_for = part.sent_for_seconds.map(seconds);
        // Only the merchant could sign a higher fee.
        let patience = Duration::MAX;
        let signed = Signed { sent_for, versions: 1, can_pay_more: false, outbid: false, patience };
        match batch::next_move(signed, found.seen, required) {
            Move::Send => match hand_in(&payers.payer, part).await {
                Ok(look) => looks.push(look),
                Err(error) => return (looks, Some(error)),
            },
            next @ (Move::Wait | Move::Replace | Move::Succeeded | Move::Failed | Move::Alarm) => {
                looks.push(verdict(part, found, next));
            }
        }
    }
    (looks, None)
}

/// Transactions that are not final: all that are in a block, and of the others as many as nodes
/// keep of one sender.
fn in_flight(parts: &Parts) -> Vec<&TransactionRow> {
    let open = parts
        .transactions
        .iter()
        .filter(|part| matches!(part.state, TransactionState::Signed | TransactionState::Sent));
    let mut waiting = 0;
    open.take_while(|part| {
        waiting += usize::from(part.confirmations == 0);
        waiting <= IN_FLIGHT_MAX
    })
    .collect()
}

fn wanted(payout: &NcPayout, part: &TransactionRow) -> Wanted {
    Wanted {
        sender: payout.sender.clone(),
        // Outputs are no accounts: there the hash says all.
        nonce: part.unsigned.nonce().unwrap_or(0),
        hashes: part.tx_hash.iter().cloned().collect(),
        raw: part.raw.clone().unwrap_or_default(),
    }
}

/// Hands stored bytes in. A node's answer decides nothing but when they go out again.
async fn hand_in(node: &Payer, part: &TransactionRow) -> Result<Look, ChainError> {
    let (Some(raw), Some(hash)) = (&part.raw, &part.tx_hash) else { return Ok(unchanged(part)) };
    fail_point("nc_payout.sending");
    let sent = node.send(raw, hash).await?;
    fail_point("nc_payout.sent");
    let look = Look { handed_in: true, confirmations: 0, ..unchanged(part) };
    Ok(match sent {
        Sent::Taken => Look { state: TransactionState::Sent, problem: None, ..look },
        Sent::Refused(reason) => {
            let reason = format!("a node refuses it, and is asked again: {reason}");
            Look { problem: Some(Problem::Other(reason)), ..look }
        }
    })
}

fn verdict(part: &TransactionRow, found: &Found, next: Move) -> Look {
    let same = unchanged(part);
    let fee = found.mined.as_ref().map(|mined| part.unsigned.fee_exact().unwrap_or(mined.fee));
    let failed = |why: String| Look {
        state: TransactionState::Failed,
        fee,
        problem: Some(Problem::Other(why)),
        ..same.clone()
    };
    match (next, found.seen) {
        (Move::Succeeded, Seen::Mined { depth, .. }) => Look {
            state: TransactionState::Confirmed,
            confirmations: depth,
            height: found.mined.as_ref().map(|mined| mined.height),
            fee,
            problem: None,
            ..same
        },
        (Move::Failed, Seen::Mined { depth, .. }) => {
            let why = "the network executed the transaction without an effect".to_owned();
            let height = found.mined.as_ref().map(|mined| mined.height);
            Look { confirmations: depth, height, ..failed(why) }
        }
        (Move::Alarm, Seen::Displaced) => failed(match part.unsigned.nonce() {
            Some(nonce) => format!("nonce {nonce} of fromAddress was used by another transaction"),
            None => "one of its inputs was spent by another transaction".to_owned(),
        }),
        // Only the token's own log of exactly this movement is a payment, and no missing log proves
        // that there was none: called failed, the recipient would be paid again.
        (Move::Alarm, Seen::Unexplained { depth, .. }) => Look {
            state: TransactionState::Sent,
            confirmations: depth,
            problem: Some(Problem::Unexplained),
            ..same
        },
        (_, Seen::Mined { depth, .. } | Seen::Unexplained { depth, .. }) => {
            Look { state: TransactionState::Sent, confirmations: depth, problem: None, ..same }
        }
        (_, Seen::Waiting) => {
            Look { state: TransactionState::Sent, confirmations: 0, problem: None, ..same }
        }
        // A block that held it may have been lost.
        (_, Seen::Nowhere | Seen::Displaced) => Look { confirmations: 0, ..same },
    }
}

fn unchanged(part: &TransactionRow) -> Look {
    Look {
        position: part.position,
        state: part.state,
        handed_in: false,
        confirmations: u64::try_from(part.confirmations).unwrap_or(0),
        height: None,
        fee: part.fee,
        problem: part.problem.clone(),
    }
}

fn tally(parts: &Parts) -> Tally {
    let mut tally = Tally::default();
    for part in &parts.transactions {
        let place = match part.state {
            TransactionState::Confirmed => &mut tally.paid,
            TransactionState::Failed => &mut tally.failed,
            TransactionState::Sent if part.confirmations > 0 => &mut tally.mined,
            TransactionState::Unsigned | TransactionState::Signed | TransactionState::Sent => {
                &mut tally.waiting
            }
        };
        *place += 1;
    }
    tally
}

fn differ(before: &Parts, after: &Parts) -> bool {
    let of = |part: &TransactionRow| (part.state, part.confirmations, part.problem.clone());
    !before.transactions.iter().map(of).eq(after.transactions.iter().map(of))
}

fn pause(poll: Duration, submitted_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> TimeDelta {
    let age = submitted_at.map_or(TimeDelta::zero(), |at| now - at);
    let poll = TimeDelta::from_std(poll).unwrap_or(LOOK_AGAIN_PATIENTLY).max(LOOK_AGAIN_MIN);
    if age < PATIENT_AFTER { poll } else { poll.max(LOOK_AGAIN_PATIENTLY) }
}
