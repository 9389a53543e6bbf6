//! Following settlements: sending stored bytes, again after any doubt, raising the price when the
//! market does, and the end.

use std::time::Duration;

use super::{
    GasWallet, X402Error,
    price::Prices,
    sign::{GAS_LIMIT, TABLE},
    token::Token,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::catalogue::Catalogue,
    chain::pay::{Mined, Sent, Standing, Wanted},
    fail_point::fail_point,
    ledger::{Account, Entry, EntryKind},
    payout::{
        batch::{self, Move, Seen, Signed as Prospect},
        eip1559,
        fee::Fee,
        transfer::address_bytes,
    },
    storage::{
        PgConnection, StorageError, alerts, ledger,
        x402::following::{self, End, OpenSettlement, Version},
    },
    x402::{
        Reason, gas,
        settlement::{Event, after},
    },
};

/// Alert of a transaction that succeeded and shows no payment; its subject is the settlement.
pub(super) const UNEXPLAINED: &str = "x402_unexplained";
/// Time without a block after which more is offered: a client waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

impl Gateway {
    /// Sends what was signed and not sent. `true` if anything was.
    pub(super) async fn send_settlements(
        &self,
        open: &[OpenSettlement],
        payers: &Payers,
    ) -> Result<bool, X402Error> {
        let mut sent = false;
        for settlement in open {
            let is_new = !settlement.versions.is_empty() && settlement.sent_for_seconds.is_none();
            if is_new {
                self.send_settlement(settlement, payers).await?;
                sent = true;
            }
        }
        Ok(sent)
    }

    /// Hands the newest version in. A node's answer decides nothing but whether it has it: bytes
    /// that it refuses may be in the chain, and are looked for from now on.
    async fn send_settlement(
        &self,
        settlement: &OpenSettlement,
        payers: &Payers,
    ) -> Result<(), X402Error> {
        let Some(version) = settlement.versions.last() else { return Ok(()) };
        fail_point("x402.sending");
        let answer = payers.payer.send(&version.raw, &version.tx_hash).await?;
        fail_point("x402.sent");
        if let Sent::Refused(reason) = answer {
            tracing::warn!(tx.hash = version.tx_hash, reason, "a node refuses a settlement");
        }
        let mut connection = self.db.connection().await?;
        following::mark_sent(&mut connection, settlement.id).await?;
        Ok(())
    }

    /// Looks for those of `due` that were sent. `true` if anything changed.
    pub(super) async fn follow_settlements(
        &self,
        token: &Token,
        due: Vec<&OpenSettlement>,
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        let sent: Vec<_> = due.into_iter().filter(|one| one.sent_for_seconds.is_some()).collect();
        if sent.is_empty() {
            return Ok(false);
        }
        let required = self.config.chain(token.network).confirmations;
        let wanted: Vec<_> = sent.iter().map(|one| wanted(one)).collect();
        let standings = payers.standings(&wanted, required).await?;
        let mut prices = Prices::new(self, token, payers);
        let mut changed = false;
        for (settlement, standing) in sent.into_iter().zip(&standings) {
            // A node that does not report its present price only keeps it as it is.
            let asked = if needs_price(settlement) {
                prices.of(&settlement.call).await.unwrap_or_default()
            } else {
                None
            };
            let prospect = prospect(settlement, prices.cap(), asked);
            let next = batch::next_move(prospect, standing.seen, required);
            if matches!(next, Move::Wait | Move::Send | Move::Replace) {
                // A block that a reorg took away is noted before anything is sent again.
                changed |= self.note_standing(settlement, standing).await?;
            }
            match next {
                Move::Wait => {}
                Move::Send => self.send_settlement(settlement, payers).await?,
                Move::Replace => {
                    let parts = (payers, wallet);
                    let raised =
                        self.raise_settlement(token, settlement, &mut prices, parts).await?;
                    changed |= raised;
                    // A transaction that a node has lost goes out all the same: nothing else would
                    // ever come of it.
                    if !raised && standing.seen == Seen::Nowhere {
                        self.send_settlement(settlement, payers).await?;
                    }
                }
                Move::Succeeded => {
                    changed |=
                        self.end_settlement(token, settlement, standing, Event::Moved).await?;
                }
                Move::Failed => {
                    changed |=
                        self.end_settlement(token, settlement, standing, Event::Reverted).await?;
                }
                Move::Alarm => {
                    changed |= self.alarm_settlement(token, settlement, standing, payers).await?;
                }
            }
        }
        Ok(changed)
    }

    /// Notes the block that holds it now, or that none does any more: a reorg sends the same bytes
    /// again. Only a block with the token's own log answers anybody.
    async fn note_standing(
        &self,
        settlement: &OpenSettlement,
        standing: &Standing,
    ) -> Result<bool, StorageError> {
        let mined = standing.mined.as_ref();
        let has_moved = matches!(standing.seen, Seen::Mined { succeeded: true, .. });
        let moved_by = mined.filter(|_| has_moved).map(|mined| mined.hash.as_str());
        let height = mined.map(|mined| mined.height);
        let is_news =
            height != settlement.height || moved_by.is_some() && settlement.answered_hash.is_none();
        if !is_news {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        following::note_block(&mut connection, settlement.id, height, moved_by).await?;
        fail_point("x402.answered");
        Ok(true)
    }

    /// The same nonce and the same call with a higher fee, so that only one of the two can ever
    /// confirm.
    ///
    /// One whose authorization has ended is raised as well: the token refuses it before it does any
    /// work, which costs little more than an empty transfer, and frees the nonce for those behind.
    async fn raise_settlement(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        prices: &mut Prices<'_>,
        (payers, wallet): (&Payers, &GasWallet),
    ) -> Result<bool, X402Error> {
        let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
        let (Some(last), Some(tx_nonce)) = (settlement.versions.last(), settlement.tx_nonce) else {
            return Ok(false);
        };
        let is_own = settlement.sender.as_deref() == Some(wallet.address());
        if !is_own || self.x402.put_off.has(settlement.id) {
            return Ok(false);
        }
        let asked = prices.of(&settlement.call).await?.unwrap_or(last.fee);
        let Some(fee) = last.fee.raised(asked, prices.cap()) else { return Ok(false) };
        let Ok(before) = eip1559::read_own(&last.raw) else { return Ok(false) };
        let cost = self.gas_usd(token, fee.most(before.gas_limit.into())).await?;
        let Some(cost) = cost else { return Ok(false) };
        if self.is_x402_stopped(token).await? {
            return Ok(self.refuse_raise(settlement, "raise_stopped"));
        }
        let nonce = u64::try_from(tx_nonce).unwrap_or(u64::MAX);
        let made = node.sign_call(
            wallet.key(),
            wallet.address(),
            (nonce, before.gas_limit, fee),
            (before.to, before.data),
        )?;
        let version = Version { version: last.version + 1, raw: made.raw, tx_hash: made.hash, fee };
        let (mut tx, subject) = (self.db.begin().await?, settlement.id.to_string());
        let spent = following::gas_lately(&mut tx, settlement.merchant_id, settlement.id).await?;
        if let Some(beyond) = gas::exceeded_by_any(cost, &spent, &self.gas_limits()) {
            alerts::raise(&mut tx, GAS_LIMIT, &subject, &beyond.why).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(self.refuse_raise(settlement, "raise_limit"));
        }
        match following::add_version(&mut tx, settlement.id, &version, cost).await {
            // Another worker was first.
            Err(StorageError::Constraint { .. }) => return Ok(false),
            other => other?,
        }
        alerts::withdraw(&mut tx, GAS_LIMIT, &subject).await?;
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("x402.replaced");
        tracing::info!(settlement.id = %settlement.id, "a settlement offers more for its place");
        Ok(true)
    }

    /// Counts a higher fee that is not signed, and tries again after a pause. Returns false.
    fn refuse_raise(&self, settlement: &OpenSettlement, reason: &'static str) -> bool {
        self.x402.put_off.note(settlement.id);
        metrics::counter!("x402_refused_total", "reason" => reason).increment(1);
        false
    }

    /// Ends a settlement whose transaction is final, and books the gas. What it moved is the
    /// watcher's to book.
    async fn end_settlement(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        standing: &Standing,
        event: Event,
    ) -> Result<bool, StorageError> {
        // A node that reports the end without the block gives no evidence.
        let Some(mined) = &standing.mined else { return Ok(false) };
        let has_moved = event == Event::Moved;
        let why = "the token refused the transfer when it was mined";
        let end = End {
            from: settlement.state,
            to: after(settlement.state, event),
            reason: (!has_moved).then_some(Reason::Transaction.as_str()),
            message: (!has_moved).then_some(why),
            tx_hash: Some(&mined.hash),
            fee: Some(mined.fee),
            height: Some(mined.height),
        };
        let mut tx = self.db.begin().await?;
        if !following::end(&mut tx, settlement.id, &end).await? {
            return Ok(false);
        }
        book_gas(&mut tx, token, settlement, mined).await?;
        alerts::withdraw(&mut tx, GAS_LIMIT, &settlement.id.to_string()).await?;
        if !has_moved {
            alert_of_lost(&mut tx, settlement, &mined.hash).await?;
        }
        fail_point("x402.ending");
        tx.commit().await?;
        fail_point("x402.ended");
        let result = if has_moved { "settled" } else { "reverted" };
        count_end(token, result, true);
        Ok(true)
    }

    /// A transaction without the token's own log of the movement is none: the token lies, or is
    /// not the one that we know. One whose nonce another transaction used was not ours to send, and
    /// can never be mined.
    ///
    /// A log may also be missing because the node left it out. If the token saw the payer's nonce
    /// used, the money may have moved: then the settlement stays as it is until the node shows the
    /// log, and an operator looks at it.
    async fn alarm_settlement(
        &self,
        token: &Token,
        settlement: &OpenSettlement,
        standing: &Standing,
        payers: &Payers,
    ) -> Result<bool, X402Error> {
        let (kind, what) = match standing.seen {
            Seen::Unexplained { .. } => {
                (UNEXPLAINED, "succeeded without the token's log of the payment")
            }
            Seen::Nowhere | Seen::Waiting | Seen::Mined { .. } | Seen::Displaced => {
                ("x402_displaced", "lost its nonce to a transaction that is not ours")
            }
        };
        let has_no_log = matches!(standing.seen, Seen::Unexplained { moved: false, .. });
        let may_have_moved = has_no_log && may_be_used(token, settlement, payers).await?;
        let hash = settlement.versions.last().map_or("", |version| version.tx_hash.as_str());
        let detail = format!("{hash} on {} {what}", token.network);
        let detail = if may_have_moved {
            let id = settlement.id;
            format!("{detail}; the nonce is used, so it stays open: gatewayctl x402 give-up {id}")
        } else {
            detail
        };
        let mut tx = self.db.begin().await?;
        if !following::lock_if_open(&mut tx, settlement.id).await? {
            // An operator gave it up meanwhile, and its alert is gone.
            return Ok(false);
        }
        alerts::raise(&mut tx, kind, &settlement.id.to_string(), &detail).await?;
        if matches!(standing.seen, Seen::Unexplained { .. }) {
            tx.commit().await.map_err(StorageError::from)?;
            // Its height shows that it takes no place among those that wait for a block.
            return Ok(if may_have_moved {
                self.note_standing(settlement, standing).await?
            } else {
                self.end_settlement(token, settlement, standing, Event::Reverted).await?
            });
        }
        let has_ended = end_displaced(&mut tx, settlement).await?;
        if has_ended {
            alerts::withdraw(&mut tx, GAS_LIMIT, &settlement.id.to_string()).await?;
            alert_of_lost(&mut tx, settlement, hash).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        count_end(token, "displaced", has_ended);
        Ok(has_ended)
    }
}

/// Returns whether the token may have seen the payer's nonce used: a node that cannot say it proves
/// nothing.
async fn may_be_used(
    token: &Token,
    settlement: &OpenSettlement,
    payers: &Payers,
) -> Result<bool, X402Error> {
    let node = payers.payer.evm().ok_or(X402Error::NotOffered)?;
    let unreadable = || StorageError::damaged(TABLE, "its payer is no address");
    let payer = address_bytes(&settlement.payer).ok_or_else(unreadable)?;
    let told = node.is_used(&token.domain.token, &payer, &settlement.nonce).await;
    Ok(told.unwrap_or_else(|error| {
        tracing::warn!(settlement.id = %settlement.id, %error, "a payer's nonce cannot be read");
        true
    }))
}

/// Ends a settlement that can never be mined. While it was open, its payer could promise nothing
/// else of the same balance. It cost nothing: the gas was another transaction's.
async fn end_displaced(
    tx: &mut PgConnection,
    settlement: &OpenSettlement,
) -> Result<bool, StorageError> {
    let end = End {
        from: settlement.state,
        to: after(settlement.state, Event::Displaced),
        reason: Some(Reason::Settling.as_str()),
        message: Some("the transaction lost its nonce; sign another authorization"),
        tx_hash: None,
        fee: None,
        height: None,
    };
    following::end(tx, settlement.id, &end).await
}

/// Alerts to a settlement that was answered from a block which a reorg replaced, and failed later:
/// afterwards the payer's money was gone, or his nonce, or ours.
pub(super) async fn alert_of_lost(
    tx: &mut PgConnection,
    settlement: &OpenSettlement,
    hash: &str,
) -> Result<(), StorageError> {
    if settlement.answered_hash.is_none() {
        return Ok(());
    }
    let detail = format!("{hash} was answered as settled and failed later");
    alerts::raise(tx, "x402_lost", &settlement.id.to_string(), &detail).await?;
    Ok(())
}

fn count_end(token: &Token, result: &'static str, has_ended: bool) {
    let network = token.network.name();
    metrics::counter!("x402_ended_total", "network" => network, "result" => result)
        .increment(u64::from(has_ended));
}

pub(super) async fn book_gas(
    tx: &mut PgConnection,
    token: &Token,
    settlement: &OpenSettlement,
    mined: &Mined,
) -> Result<(), StorageError> {
    if mined.fee.is_zero() {
        return Ok(());
    }
    let entry = Entry {
        kind: EntryKind::NetworkFee,
        source: settlement.booked_as,
        asset: Catalogue::get().native(token.network).token_id(),
        debit: Account::Treasury,
        credit: Account::X402Gas(token.network),
        amount: mined.fee,
    };
    ledger::book(tx, &entry).await
}

pub(super) fn wanted(settlement: &OpenSettlement) -> Wanted {
    let versions = &settlement.versions;
    Wanted {
        sender: settlement.sender.clone().unwrap_or_default(),
        nonce: settlement.tx_nonce.and_then(|nonce| nonce.try_into().ok()).unwrap_or(u64::MAX),
        hashes: versions.iter().rev().map(|version| version.tx_hash.clone()).collect(),
        raw: versions.first().map(|version| version.raw.clone()).unwrap_or_default(),
    }
}

/// Returns whether the price of now decides if it may be raised: so many versions were signed that
/// only one which the network asks for is another.
fn needs_price(settlement: &OpenSettlement) -> bool {
    settlement.height.is_none() && version_count(settlement) >= batch::VERSIONS_MAX
}

fn version_count(settlement: &OpenSettlement) -> u32 {
    settlement.versions.len().try_into().unwrap_or(u32::MAX)
}

fn prospect(settlement: &OpenSettlement, cap: u128, asked: Option<Fee>) -> Prospect {
    let last = settlement.versions.last().map(|version| version.fee);
    let seconds = |seconds: i64| Duration::from_secs(seconds.try_into().unwrap_or(0));
    Prospect {
        sent_for: settlement.sent_for_seconds.map(seconds),
        versions: version_count(settlement),
        can_pay_more: last.is_some_and(|fee| fee.raised(fee, cap).is_some()),
        outbid: asked.zip(last).is_some_and(|(asked, last)| asked.rate > last.rate),
        patience: PATIENCE,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{money::BaseUnits, x402::settlement::State};

    #[test]
    fn a_raise_stops_at_the_operator_s_cap() {
        let fee = Fee { tip: 1, ..Fee::of(100) };
        assert!(fee.raised(fee, 113).is_some());
        assert!(fee.raised(fee, 112).is_none());
    }

    fn with_versions(count: i16) -> OpenSettlement {
        let version = |version| Version {
            version,
            raw: vec![],
            tx_hash: format!("0x{version}"),
            fee: Fee { tip: 1, ..Fee::of(100) },
        };
        OpenSettlement {
            id: Uuid::from_u128(1),
            merchant_id: Uuid::from_u128(2),
            is_suspended: false,
            asset: String::new(),
            payer: String::new(),
            nonce: 1_u64.into(),
            pay_to: String::new(),
            is_of_merchant: true,
            amount: BaseUnits::new(1),
            call: vec![],
            state: State::Submitted,
            sender: None,
            tx_nonce: Some(0),
            height: None,
            answered_hash: None,
            sent_for_seconds: Some(3_600),
            payer_reverted: 0,
            known_for_seconds: 3_600,
            now: 0,
            booked_as: Uuid::nil(),
            versions: (1..=count).map(version).collect(),
        }
    }

    /// Without the price a settlement of so many versions would never be raised again, and all
    /// nonces behind it would wait.
    #[test]
    fn after_the_sixth_version_the_price_of_now_decides() {
        let (fifth, sixth) = (with_versions(5), with_versions(6));
        assert!(!needs_price(&fifth) && needs_price(&sixth));
        assert!(!needs_price(&OpenSettlement { height: Some(7), ..sixth.clone() }));
        let next = |asked| batch::next_move(prospect(&sixth, 1_000, asked), Seen::Waiting, 2);
        assert_eq!(next(Some(Fee::of(101))), Move::Replace);
        assert_eq!(next(Some(Fee::of(100))), Move::Wait);
        assert_eq!(next(None), Move::Wait);
        let next = batch::next_move(prospect(&fifth, 1_000, None), Seen::Waiting, 2);
        assert_eq!(next, Move::Replace);
    }
}
