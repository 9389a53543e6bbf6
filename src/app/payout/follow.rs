//! Following payments: their state on the chain, their replacement, and their booking when they are
//! final.

use std::time::Duration;

use k256::ecdsa::SigningKey;
use uuid::Uuid;

use super::{
    bind::Bound,
    booking::{book_network_fee, booked_sum},
    errors::AdvanceError,
    gas::GasMove,
    intent::{Intent, fee_cap, unsigned},
    order::locked,
    permit::{Allowed, Signing, permit},
    price::quoted_gas,
    spendable,
    together::{is_transfer, pays_many},
    wallet::Wallet,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::Family,
    chain::{
        ChainError,
        pay::{Mined, Output, Payer, SignError, Standing, Unsigned, Wanted, Work},
    },
    fail_point::fail_point,
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    payout::{
        PayoutFamily,
        batch::{self, ItemState, Move, Seen, Signed},
        fee::Fee,
        hold::Hold,
        payment::{PaymentState, Purpose},
        quote,
    },
    storage::{
        PgConnection, StorageError, ledger,
        payouts::{
            self, PayoutOrder, coins,
            items::{self, ItemRow},
            payments::{self, Ended, OpenPayment, Version},
            reorgs, token_gas,
        },
    },
};

impl Gateway {
    /// Looks for every payment that is not final. `true` if anything changed.
    pub(super) async fn follow_payments(
        &self,
        order_id: Uuid,
        payers: &Payers,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let payer = &payers.payer;
        let mut connection = self.db.connection().await?;
        let open = payments::open(&mut connection, order_id).await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        drop(connection);
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        let required = self.required_of(&order);
        let is_mined = open.iter().any(|payment| payment.height.is_some());
        let head = if is_mined { payer.head().await? } else { None };
        // Never sent and never replaced: there is nothing to find, and it is sent below.
        let looked_for: Vec<_> = open
            .into_iter()
            .filter(|payment| payment.state != PaymentState::Signed || payment.versions.len() > 1)
            .filter(|payment| may_be_final(payment, head, required))
            .collect();
        let wanted: Vec<_> = looked_for.iter().map(wanted).collect();
        let (standings, failure) = payers.standings_told(&wanted, required).await;
        let mut failure: Option<AdvanceError> = failure.map(Into::into);
        let prospects = self.prospects(&order, payer, &looked_for).await?;
        let (mut changed, mut ended) = (false, Vec::new());
        for (payment, standing) in looked_for.iter().zip(&standings) {
            let Some(standing) = standing else { continue };
            let next = batch::next_move(prospects.of(payment), standing.seen, required);
            if let (Move::Succeeded | Move::Failed, Some(mined)) = (next, &standing.mined) {
                let end = Ended {
                    succeeded: next == Move::Succeeded,
                    tx_hash: mined.hash.clone(),
                    fee: mined.fee,
                    gas: mined.gas,
                    height: mined.height,
                    why: "the network executed the transaction without an effect",
                };
                ended.push((payment, end));
                continue;
            }
            match self.act(&order, payment, (next, standing), payer, wallet).await {
                Ok(done) => changed |= done,
                // Payments that have ended are booked all the same.
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        changed |= !ended.is_empty();
        self.end_payments(order_id, &ended).await?;
        match failure {
            Some(error) if !changed => Err(error),
            Some(_) | None => Ok(changed),
        }
    }

    /// Takes the steps that are due for a payment that has not ended. `true` if anything changed.
    async fn act(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        (next, standing): (Move, &Standing),
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        match next {
            // A node that reports the end without the block gives no evidence.
            Move::Succeeded | Move::Failed => Ok(false),
            Move::Wait => {
                self.note_height(payment, standing.mined.as_ref()).await?;
                Ok(false)
            }
            Move::Send => {
                let is_sent = !self.send(order, &[payment], payer).await?.is_empty();
                if is_sent {
                    payer.after_sending(self.required_of(order)).await?;
                }
                Ok(is_sent)
            }
            Move::Replace => {
                let replaced = self.replace(order, payment, payer, wallet).await?;
                // There may be no gas for a higher fee, or nothing may be signed. A payment that a
                // node has lost goes out all the same: nothing else would ever come of it.
                let is_lost = !replaced && standing.seen == Seen::Nowhere;
                Ok(replaced || is_lost && !self.send(order, &[payment], payer).await?.is_empty())
            }
            Move::Alarm => {
                self.alarm(order, payment, standing.seen).await?;
                Ok(false)
            }
        }
    }

    /// The prospects of payments that wait. A node that does not report its present fee only keeps
    /// them as they are.
    async fn prospects(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
        open: &[OpenPayment],
    ) -> Result<Prospects, StorageError> {
        let are_many = open.iter().any(|payment| version_count(payment) >= batch::VERSIONS_MAX);
        let asked = if are_many { payer.fee().await.unwrap_or_default() } else { None };
        let patience = patience(order.currency.family());
        Ok(Prospects { helped: self.can_be_helped(order, payer, open).await?, asked, patience })
    }

    /// For how many of the payments that wait for a block more can be offered now.
    pub(super) async fn can_be_raised(&self, order: &PayoutOrder) -> Result<u64, AdvanceError> {
        let payers = self.payers_of(order.currency.network)?;
        let mut connection = self.db.connection().await?;
        let mut waiting = payments::open(&mut connection, order.id).await?;
        drop(connection);
        waiting.retain(|payment| payment.state == PaymentState::Sent && payment.height.is_none());
        let prospects = self.prospects(order, &payers.payer, &waiting).await?;
        let mut raised = 0;
        for payment in &waiting {
            let may_sign = !self.nothing_is_signed(order, payment).await?;
            raised += u64::from(may_sign && prospects.of(payment).may_be_raised());
        }
        Ok(raised)
    }

    /// Payments for which more may still be offered: within the quote, and where only a child can
    /// do that, with something left for one.
    async fn can_be_helped(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
        open: &[OpenPayment],
    ) -> Result<Vec<Uuid>, StorageError> {
        let within = |payment: &&OpenPayment| {
            let (last, cap) = (payment.versions.last(), cap_of(order, payment, payer));
            last.is_some_and(|version| version.fee.raised(version.fee, cap).is_some())
        };
        let within: Vec<_> = open.iter().filter(within).map(|payment| payment.id).collect();
        if within.is_empty() || payer.replaces() {
            return Ok(within);
        }
        let mut connection = self.db.connection().await?;
        let change = coins::waiting_change(&mut connection, order.id).await?;
        Ok(within.into_iter().filter(|id| change.contains_key(id)).collect())
    }

    async fn note_height(
        &self,
        payment: &OpenPayment,
        mined: Option<&Mined>,
    ) -> Result<(), StorageError> {
        let height = mined.map(|mined| mined.height);
        let hash = mined.map_or(&payment.tx_hash, |mined| &mined.hash);
        if height == payment.height && *hash == payment.tx_hash {
            return Ok(());
        }
        let mut connection = self.db.connection().await?;
        payments::set_height(&mut connection, payment.id, height, hash).await
    }

    async fn alarm(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        seen: Seen,
    ) -> Result<(), StorageError> {
        let (kind, what) = match seen {
            Seen::Unexplained { moved: true, .. } => {
                ("payout_unexplained", "moved another amount than was signed")
            }
            Seen::Unexplained { moved: false, .. } => {
                ("payout_unexplained", "is used, but the token's own log of the payment is missing")
            }
            Seen::Nowhere | Seen::Waiting | Seen::Mined { .. } | Seen::Displaced => {
                ("payout_displaced", "was used by a transaction that is not ours")
            }
        };
        let reason = if order.family == PayoutFamily::Utxo {
            format!(
                "the inputs of {} are gone (double-spend or reorganisation), and no block contains it",
                payment.tx_hash
            )
        } else {
            format!("nonce {} of {} {what}", payment.nonce, payment.sender)
        };
        let mut tx = self.db.begin().await?;
        self.hold_payout(&mut tx, order, kind, &Hold::for_review(&reason)).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Books payments that are final: each once, all under the order's row lock.
    async fn end_payments(
        &self,
        order_id: Uuid,
        ended: &[(&OpenPayment, Ended)],
    ) -> Result<(), AdvanceError> {
        if ended.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, order_id).await?;
        for (payment, end) in ended {
            self.end_payment(&mut tx, &mut order, payment, end).await?;
        }
        note_gas(&mut tx, &order, ended).await?;
        payouts::update_standing(&mut tx, &order).await?;
        fail_point("payout.ending");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("payout.ended");
        Ok(())
    }

    pub(super) async fn end_payment(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        payment: &OpenPayment,
        ended: &Ended,
    ) -> Result<(), StorageError> {
        if !payments::end(tx, payment.id, ended).await? {
            return Ok(());
        }
        let source = reorgs::booked_as(tx, payment.id).await?;
        let amount = payment.amount;
        let sum = |total: BaseUnits| booked_sum(total, amount);
        let kind = match (payment.purpose, ended.succeeded) {
            (Purpose::Gas, _) => {
                return self.end_gas(tx, order, (payment, source, GasMove::Fronted), ended).await;
            }
            (Purpose::GasReturn, _) => {
                return self.end_gas(tx, order, (payment, source, GasMove::Returned), ended).await;
            }
            (Purpose::Bump | Purpose::Allowance, _) => None,
            (Purpose::Refund, true) => {
                order.books.returned = sum(order.books.returned)?;
                Some(EntryKind::PayoutRefund)
            }
            (Purpose::Refund, false) => {
                let hold = Hold::for_review("its refund failed");
                self.hold_payout(tx, order, "payout_refund_failed", &hold).await?;
                None
            }
            (Purpose::Pay, true) => {
                order.books.paid = sum(order.books.paid)?;
                items::follow_payments(tx, &[payment.id], ItemState::Confirmed, None).await?;
                Some(EntryKind::PayoutSent)
            }
            // All or nobody, and it was nobody: each gets a payment of his own.
            (Purpose::Pay, false) if pays_many(payment) => {
                items::release(tx, payment.id).await?;
                None
            }
            (Purpose::Pay, false) => {
                order.books.failed = sum(order.books.failed)?;
                let (failed, why) = (ItemState::Failed, Some(ended.why));
                items::follow_payments(tx, &[payment.id], failed, why).await?;
                None
            }
        };
        order.books.reserved = order.books.reserved.remaining_after(amount);
        let custody = Account::Custody(order.currency.network);
        if let Some(kind) = kind {
            let entry = Entry {
                kind,
                source,
                asset: order.currency.token_id(),
                debit: Account::Payout(order.id),
                credit: custody,
                amount,
            };
            ledger::book(tx, &entry).await?;
        }
        book_network_fee(tx, order, source, ended.fee, custody).await
    }

    /// Replace-by-fee (RBF): the same nonce or the same coins, the same recipients and the same
    /// amounts with a higher fee, so that only one of the two can ever confirm.
    async fn replace(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let Some(last) = payment.versions.last() else { return Ok(false) };
        let asked = payer.fee().await?.unwrap_or(last.fee);
        // The fee for its bytes is part of the price that was quoted.
        let data = Fee { rate: 0, ..asked }.all_in(quoted_gas(order)?);
        let cap = cap_of(order, payment, payer).saturating_sub(data);
        let Some(fee) = last.fee.raised(asked, cap) else {
            return Ok(false);
        };
        if self.nothing_is_signed(order, payment).await?
            || !self.gas_covers(order, payment, fee, payer).await?
        {
            return Ok(false);
        }
        if !payer.replaces() {
            return self.bump_with_child(order, payment, fee, payer, wallet).await;
        }
        let Some(bound) = self.bound_now(order.id).await? else { return Ok(false) };
        let again = self.unsigned_again(order, payment, fee, (wallet, &bound)).await?;
        let Some((mut unsigned, key)) = again else { return Ok(false) };
        // Another sender's nonce would be a second transaction beside the first: the gas wallet is
        // another one now.
        if unsigned.sender != payment.sender {
            return Ok(false);
        }
        if payer.spends_coins() {
            let mut connection = self.db.connection().await?;
            let spendable = spendable::of_version(&mut connection, order, payment).await?;
            unsigned.spendable = Some(spendable);
        }
        unsigned.nonce = u64::try_from(payment.nonce).unwrap_or(u64::MAX);
        match payer.work(&unsigned).await {
            Ok(Work::Units(work)) => unsigned.work = work.min(unsigned.work),
            Ok(Work::Refused(_)) => {}
            // Such payments are impossible now. Payments signed before stay, and go out again if a
            // node has lost them.
            Err(ChainError::Refused { reason, .. }) => {
                tracing::warn!(order.id = order.order_id, reason, "no higher fee is offered");
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        let signed = match payer.sign(key.as_ref(), &unsigned) {
            // Nothing is left for a higher fee.
            Err(SignError::Spend(_)) => return Ok(false),
            signed => signed?,
        };
        let (taken, change) = match &signed.spent {
            Some(spent) if Some(spent.fee) <= last.taken => return Ok(false),
            Some(spent) => (Some(spent.fee), spent.change),
            None => (None, None),
        };
        let version = Version {
            version: last.version + 1,
            raw: signed.raw,
            tx_hash: signed.hash,
            fee,
            taken,
            change,
        };
        let mut connection = self.db.connection().await?;
        payments::add_version(&mut connection, payment.id, &version).await?;
        fail_point("payout.replaced");
        Ok(true)
    }

    /// A payment as it is signed again with another fee, and its key; `None` if it differs from the
    /// confirmed order.
    async fn unsigned_again(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        fee: Fee,
        (wallet, bound): (&Wallet, &Bound),
    ) -> Result<Option<(Unsigned, Option<SigningKey>)>, AdvanceError> {
        let again = |way| self.gas_unsigned(order, (payment, way), fee, (wallet, bound));
        let (outputs, (purpose, rows)) = match payment.purpose {
            Purpose::Gas => return Ok(again(GasMove::Fronted)),
            Purpose::GasReturn => return Ok(again(GasMove::Returned)),
            Purpose::Pay => self.recipients_of(payment).await?,
            Purpose::Refund => {
                let address = order.refund_address.clone().unwrap_or_default();
                let output = Output { address, amount: payment.amount };
                (vec![output], (Purpose::Refund, vec![]))
            }
            // All that it spends returns, less the fee.
            Purpose::Bump => (vec![], (Purpose::Bump, vec![])),
            Purpose::Allowance => (vec![], (Purpose::Allowance, vec![])),
        };
        let Some((means, work)) = self.means_again(order, payment) else { return Ok(None) };
        let unsigned = unsigned(order, outputs, fee).map(|unsigned| {
            let work = work.unwrap_or(unsigned.work);
            Unsigned { means, work, ..unsigned }
        });
        let unsigned = unsigned.filter(|unsigned| bound.covers(order, unsigned, (purpose, &rows)));
        Ok(unsigned.map(|unsigned| (unsigned, wallet.key(order.currency.family(), bound))))
    }

    /// CPFP: signs a child that spends the output which a payment returns to us, and pays for both:
    /// a miner that takes it must mine its parent.
    async fn bump_with_child(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        fee: Fee,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let Some(child) = unsigned(order, vec![], fee) else { return Ok(false) };
        let parent = Some(payment.id);
        let intent =
            Intent { purpose: Purpose::Bump, items: vec![], kept: BaseUnits::ZERO, parent };
        self.sign_and_store(order.id, vec![(intent, child)], payer, wallet).await
    }

    /// Returns whether a higher fee may not be signed for a payment that was sent.
    async fn nothing_is_signed(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
    ) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let permitted = permit(&mut connection, order, Signing::Again(payment.purpose)).await?;
        Ok(!matches!(permitted, Allowed::Now(())))
    }

    /// The recipients of a signed payment of rows: the outputs, its purpose and its rows.
    async fn recipients_of(
        &self,
        payment: &OpenPayment,
    ) -> Result<(Vec<Output>, (Purpose, Vec<Uuid>)), AdvanceError> {
        let mut connection = self.db.connection().await?;
        let rows = items::of_payment(&mut connection, payment.id).await?;
        let ids = rows.iter().map(|row| row.id).collect();
        let output = |row: ItemRow| Output { address: row.address, amount: row.net_amount };
        Ok((rows.into_iter().map(output).collect(), (Purpose::Pay, ids)))
    }
}

/// Measures tokens by the transfers that a block has ended.
async fn note_gas(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    ended: &[(&OpenPayment, Ended)],
) -> Result<(), StorageError> {
    let transfers = ended.iter().filter(|(payment, end)| {
        end.succeeded && !payment.purpose.moves_gas() && is_transfer(payment)
    });
    match transfers.filter_map(|(_, end)| end.gas).max() {
        Some(gas) if !order.currency.is_native() => {
            token_gas::note(tx, &order.currency.token_id(), gas).await
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns whether a look can show anything new of a payment. In a block that is not deep enough
/// yet it stays as it is, and should that block be replaced, it is missed as soon as it would have
/// counted.
fn may_be_final(payment: &OpenPayment, head: Option<u64>, required: u64) -> bool {
    let depth = |(height, head): (u64, u64)| (head + 1).saturating_sub(height);
    payment.height.zip(head).is_none_or(|block| depth(block) >= required)
}

/// Which payment to look for.
pub(super) fn wanted(payment: &OpenPayment) -> Wanted {
    Wanted {
        sender: payment.sender.clone(),
        nonce: u64::try_from(payment.nonce).unwrap_or(u64::MAX),
        hashes: payment.versions.iter().rev().map(|v| v.tx_hash.clone()).collect(),
        raw: payment.versions.first().map(|v| v.raw.clone()).unwrap_or_default(),
    }
}

/// The facts that decide how payments waiting for a block go on.
struct Prospects {
    /// Those for which the quote has more.
    helped: Vec<Uuid>,
    /// The fee that the network asks now, where that matters.
    asked: Option<Fee>,
    patience: Duration,
}

impl Prospects {
    fn of(&self, payment: &OpenPayment) -> Signed {
        let seconds = |s| Duration::from_secs(u64::try_from(s).unwrap_or(0));
        let offered = payment.versions.last().map_or(0, |version| version.fee.rate);
        Signed {
            sent_for: payment.sent_for_seconds.map(seconds),
            versions: version_count(payment),
            can_pay_more: self.helped.contains(&payment.id),
            outbid: self.asked.is_some_and(|asked| asked.rate > offered),
            patience: self.patience,
        }
    }
}

fn version_count(payment: &OpenPayment) -> u32 {
    u32::try_from(payment.versions.len()).unwrap_or(u32::MAX)
}

/// The time that a payment may wait for a block before more is offered: some blocks of its network.
const fn patience(family: Family) -> Duration {
    Duration::from_secs(match family {
        Family::Bitcoin => 45 * 60,
        Family::Litecoin => 15 * 60,
        Family::Dogecoin => 6 * 60,
        Family::Evm
        | Family::Tron
        | Family::Solana
        | Family::Near
        | Family::Ton
        | Family::Thorchain => 180,
    })
}

/// The most that one unit of a payment's work may cost.
fn cap_of(order: &PayoutOrder, payment: &OpenPayment, payer: &Payer) -> u128 {
    if payment.purpose.moves_gas() {
        // A few transfers of coins, for which the orders behind them must not wait.
        let (_, most) = quote::fee_rate_bounds(order.currency.family());
        return most;
    }
    fee_cap(order, payer)
}
