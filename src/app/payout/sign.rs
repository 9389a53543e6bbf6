//! Signing: the next payments of an order, each with its nonce, its bytes and its reserved funds in
//! one commit.

use k256::ecdsa::SigningKey;
use uuid::Uuid;

use super::{
    booking::{booked_sum, keep},
    errors::AdvanceError,
    intent::{Intent, Prepared, TAKEN, fee_cap, unsigned},
    order::{locked, value_usd, waits},
    permit::Allowed,
    price::quoted_gas,
    spendable,
    together::Plan,
    wallet::Wallet,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    chain::pay::{Output, Payer, SignError, Unsigned, Work, utxo::spend::SpendError},
    fail_point::fail_point,
    money::BaseUnits,
    payout::{
        PayoutFamily, State,
        fee::Fee,
        hold::Hold,
        limit::{self, Limits},
        multisend::ROWS_MAX,
        payment::Purpose,
    },
    storage::{
        PgConnection, StorageError,
        payouts::{
            self, PayoutOrder,
            items::{self, ItemRow},
            payments::{self, NewPayment, OpenPayment},
            safety,
        },
    },
};

/// Payments of an order that are not final, which are looked for again and again.
const OPEN_MAX: usize = 500;

impl Gateway {
    /// Signs the next payments, each in one transaction with its nonce, its bytes and its reserved
    /// funds.
    pub(super) async fn sign_next(
        &self,
        order_id: Uuid,
        payers: &Payers,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let payer = &payers.payer;
        let mut connection = self.db.connection().await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        if order.state != State::Processing || order.held.is_some() {
            return Ok(false);
        }
        let open = payments::open(&mut connection, order_id).await?;
        let room = room(payer, &open);
        let rows = match order.family {
            PayoutFamily::Evm if room > 0 => room.max(ROWS_MAX),
            PayoutFamily::Evm => 0,
            PayoutFamily::Utxo => order.family.batch_rows_max() * usize::from(room > 0),
        };
        let limit = i64::try_from(rows).unwrap_or(i64::MAX);
        let mut waiting = items::unsigned(&mut connection, order_id, limit).await?;
        let limits = self.payout_limits(&mut connection, order.merchant_id).await?;
        drop(connection);
        if waiting.is_empty() {
            return Ok(false);
        }
        let Some(fee) = self.affordable_fee(&order, payer).await? else { return Ok(false) };
        waiting.truncate(self.payments_with_gas(&order, &open, payer, fee).await?);
        if waiting.is_empty() {
            return Ok(false);
        }
        let together = match self.plan(&order, waiting.len(), payer).await? {
            Plan::OneByOne => None,
            Plan::Later => return Ok(false),
            Plan::Allow { contract, amount } => {
                let allowance = (contract, amount);
                if let Some(signed) = self.allow(&order, allowance, fee, payers, wallet).await? {
                    return Ok(signed);
                }
                None
            }
            Plan::Together { contract, waiting: unpaid } => {
                let (rows, by) = ((waiting.as_slice(), unpaid), (contract, fee));
                self.prepare_together(&order, rows, by, &limits, payers).await?
            }
        };
        let prepared = match together {
            Some(prepared) => prepared,
            None => {
                if order.family == PayoutFamily::Evm {
                    waiting.truncate(room);
                }
                let groups = groups(&order, &waiting, &limits);
                self.prepare_all(&order, &groups, fee, payers).await?
            }
        };
        if prepared.ready.is_empty() && prepared.failure.is_none() {
            // Nothing is left of the reason for which it may have waited.
            let mut connection = self.db.connection().await?;
            safety::note_wait(&mut connection, order_id, None).await?;
        }
        let signed = self.sign_and_store(order_id, prepared.ready, payer, wallet).await?;
        match prepared.failure {
            Some(error) if !(signed || prepared.any_failed) => Err(error.into()),
            Some(_) | None => Ok(signed || prepared.any_failed),
        }
    }

    async fn prepare_all(
        &self,
        order: &PayoutOrder,
        groups: &[Vec<&ItemRow>],
        fee: Fee,
        payers: &Payers,
    ) -> Result<Prepared, AdvanceError> {
        let payments = groups.iter().map(|group| payment_of(order, group, fee));
        let payments = payments.collect::<Result<Vec<_>, _>>()?;
        let works = payers.works(&payments).await?;
        let mut prepared = Prepared::default();
        for (group, (payment, work)) in groups.iter().zip(payments.into_iter().zip(works)) {
            let work = match work {
                Ok(work) => work,
                // Whatever the node has against this one, the others are paid.
                Err(error) => {
                    prepared.failure = Some(error);
                    continue;
                }
            };
            match self.prepare(order, group, (payment, work), &payers.payer).await? {
                Some(payment) => prepared.ready.push(payment),
                None => prepared.any_failed = true,
            }
        }
        Ok(prepared)
    }

    /// The offer for a payment now, at most the quoted one; `None` while the quote buys no place in
    /// a block.
    pub(super) async fn affordable_fee(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
    ) -> Result<Option<Fee>, AdvanceError> {
        let cap = fee_cap(order, payer);
        let Some(asked) = payer.fee().await? else {
            return Ok(Some(Fee::of(order.quote.fee_rate)));
        };
        let work = quoted_gas(order)?;
        let within = asked.within(cap, work);
        if within.is_none() {
            let all_in = asked.all_in(work);
            let why =
                format!("the network asks {all_in} for a unit of work, above the quoted {cap}");
            let mut connection = self.db.connection().await?;
            waits(&mut connection, order, &why).await?;
        }
        Ok(within)
    }

    /// A payment with the work it takes; `None` if its recipient refuses every transfer.
    async fn prepare(
        &self,
        order: &PayoutOrder,
        group: &[&ItemRow],
        (mut payment, work): (Unsigned, Work),
        payer: &Payer,
    ) -> Result<Option<(Intent, Unsigned)>, AdvanceError> {
        let refused = match work {
            Work::Units(work) if work <= payment.work => {
                payment.work = work;
                None
            }
            Work::Units(work) => {
                Some(format!("the recipient needs {work} gas, more than a payout may use"))
            }
            Work::Refused(why) => Some(why),
        };
        if let Some(why) = refused {
            self.fail_items(order.id, group, &why).await?;
            return Ok(None);
        }
        if self.fail_refused(order, group, &mut payment, payer).await? {
            return Ok(None);
        }
        let ids: Vec<_> = group.iter().map(|item| item.id).collect();
        let intent =
            Intent { purpose: Purpose::Pay, items: ids, kept: BaseUnits::ZERO, parent: None };
        Ok(Some((intent, payment)))
    }

    /// Where one transaction pays many, a row that nodes would not carry fails alone: the others
    /// are signed without it.
    async fn fail_refused(
        &self,
        order: &PayoutOrder,
        group: &[&ItemRow],
        payment: &mut Unsigned,
        payer: &Payer,
    ) -> Result<bool, AdvanceError> {
        if !payer.spends_coins() {
            return Ok(false);
        }
        let mut connection = self.db.connection().await?;
        let wanted = (group.len(), BaseUnits::ZERO);
        let spendable = spendable::of_order(&mut connection, order, payment.fee, wanted).await?;
        drop(connection);
        payment.spendable = Some(spendable);
        let refused = payer.refused(payment).await?;
        for (place, reason) in &refused {
            let why = format!("the network refuses it: {reason}");
            self.fail_items(order.id, &group[*place..=*place], &why).await?;
        }
        Ok(!refused.is_empty())
    }

    /// Rows whose recipient refuses everything end unpaid; their money goes back with the refund.
    async fn fail_items(
        &self,
        order_id: Uuid,
        group: &[&ItemRow],
        why: &str,
    ) -> Result<(), AdvanceError> {
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, order_id).await?;
        // Cancelled meanwhile: all of it goes back as it is.
        if order.state != State::Processing {
            return Ok(());
        }
        for item in group {
            // A new quote may have changed the amount since the row was read.
            if let Some(net_amount) = items::fail_unsigned(&mut tx, item.id, why).await? {
                order.books.failed = booked_sum(order.books.failed, net_amount)?;
            }
        }
        payouts::update_standing(&mut tx, &order).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// Where new payments are signed. Everything is decided again under the order's row lock; the
    /// nonces, the bytes, the rows they pay and the amounts they reserve are stored in one commit,
    /// before anything is sent. `false` if nothing may be signed now.
    pub(super) async fn sign_and_store(
        &self,
        order_id: Uuid,
        ready: Vec<(Intent, Unsigned)>,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        if ready.is_empty() {
            return Ok(false);
        }
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, order_id).await?;
        let is_bump = ready.iter().all(|(intent, _)| intent.purpose == Purpose::Bump);
        let mut room = match self.room(&mut tx, &order, is_bump).await? {
            Allowed::Now(room) => room,
            Allowed::Later(why) => {
                waits(&mut tx, &order, &why).await?;
                tx.commit().await.map_err(StorageError::from)?;
                return Ok(false);
            }
            Allowed::No => return Ok(false),
        };
        let Some(bound) = self.bound_for(&mut tx, &order, &ready).await? else {
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(false);
        };
        let key = wallet.key(order.currency.family(), &bound);
        let (mut signed, mut later) = (0_u32, None);
        for (intent, payment) in ready {
            let value = value_usd(&order, total(&payment)?);
            match self.may_sign(&mut tx, &order, &intent, value, &mut room).await? {
                Allowed::Now(()) => {}
                Allowed::Later(why) => {
                    later = Some(why);
                    break;
                }
                Allowed::No => break,
            }
            match self.sign_one(&mut tx, &mut order, &intent, payment, payer, key.as_ref()).await {
                Ok(()) => signed += 1,
                // Another worker was first: nothing of this transaction stays.
                Err(AdvanceError::Storage(error))
                    if TAKEN.iter().any(|name| error.is_constraint(name)) =>
                {
                    return Ok(false);
                }
                // Its parent may be mined without it, and the order is paid as it was.
                Err(AdvanceError::Sign(SignError::Spend(_))) if intent.purpose == Purpose::Bump => {
                    return Ok(false);
                }
                Err(AdvanceError::Sign(SignError::Spend(error))) => {
                    tx.rollback().await.map_err(StorageError::from)?;
                    let reason = format!("it cannot be paid from its deposits: {error}");
                    return self.hold_unpayable(order_id, &reason).await;
                }
                Err(AdvanceError::Sign(SignError::Scattered { error, deposit })) => {
                    tx.rollback().await.map_err(StorageError::from)?;
                    return self.hold_unpayable(order_id, &scattered(&order, error, deposit)).await;
                }
                Err(error) => return Err(error),
            }
        }
        if signed > 0 {
            payouts::update_standing(&mut tx, &order).await?;
        }
        match later {
            Some(why) => waits(&mut tx, &order, &why).await?,
            None => safety::note_wait(&mut tx, order.id, None).await?,
        }
        fail_point("payout.signing");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("payout.signed");
        if signed > 0 {
            tracing::info!(order.id = order.order_id, payments = signed, "signed and stored");
        }
        Ok(signed > 0)
    }

    async fn hold_unpayable(&self, order_id: Uuid, reason: &str) -> Result<bool, AdvanceError> {
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, order_id).await?;
        let hold = Hold::for_review(reason);
        self.hold_payout(&mut tx, &order, "payout_unpayable", &hold).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(false)
    }

    async fn sign_one(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        intent: &Intent,
        mut payment: Unsigned,
        payer: &Payer,
        key: Option<&SigningKey>,
    ) -> Result<(), AdvanceError> {
        let network = order.currency.network;
        let amount = total(&payment)?;
        let nonce = payments::next_nonce(tx, network, &payment.sender).await?;
        payment.nonce = u64::try_from(nonce).unwrap_or(u64::MAX);
        if payer.spends_coins() {
            payment.spendable = Some(match intent.parent {
                Some(parent) => spendable::of_child(tx, order, parent, payment.fee.rate)
                    .await?
                    .ok_or(SignError::Spend(SpendError::TooLittle))?,
                None => {
                    let wanted = (intent.items.len(), intent.kept);
                    spendable::of_order(tx, order, payment.fee, wanted).await?
                }
            });
        }
        let signed = payer.sign(key, &payment)?;
        let new = NewPayment {
            id: Uuid::now_v7(),
            order_id: order.id,
            purpose: intent.purpose,
            network,
            sender: payment.sender.clone(),
            nonce,
            amount,
            value_usd: value_usd(order, amount),
            raw: signed.raw,
            tx_hash: signed.hash,
            fee: payment.fee,
            spent: signed.spent,
            returned_to: None,
        };
        payments::insert(tx, &new).await?;
        let items = &intent.items;
        let assigned = items::assign(tx, items, new.id).await?;
        if assigned != u64::try_from(items.len()).unwrap_or(u64::MAX) {
            let constraint = TAKEN[0].to_owned();
            return Err(StorageError::Constraint { constraint }.into());
        }
        order.books.reserved = booked_sum(order.books.reserved, amount)?;
        keep(tx, order, new.id, intent.kept).await?;
        Ok(())
    }
}

/// The operator's remedy for an order whose money came in too many pieces.
fn scattered(order: &PayoutOrder, error: SpendError, deposit: u64) -> String {
    let amount = BaseUnits::new(deposit.into()).to_decimal(u32::from(order.currency.decimals));
    let (symbol, place) = (order.currency.symbol, order.deposit.as_ref());
    let address = place.map_or("its address", |place| place.address.as_str());
    format!(
        "it cannot be paid from its deposits: {error}. One more deposit of {amount} {symbol} or more to {address}, and then \
         a release, pays it; what that leaves goes back"
    )
}

/// The rows that each transaction pays: one, or those of one batch. A batch that exceeds a limit,
/// because the limit was lowered or the price rose since it was made, is paid by several.
fn groups<'a>(
    order: &PayoutOrder,
    waiting: &'a [ItemRow],
    limits: &Limits,
) -> Vec<Vec<&'a ItemRow>> {
    match order.family {
        PayoutFamily::Evm => waiting.iter().map(|item| vec![item]).collect(),
        PayoutFamily::Utxo => {
            let batch = waiting.first().map(|first| &first.batch_id);
            let mut rows: Vec<_> =
                waiting.iter().filter(|item| Some(&item.batch_id) == batch).collect();
            let amounts: Vec<_> = rows.iter().map(|item| item.net_amount).collect();
            let fits = |sum| limits.exceeded_by(value_usd(order, sum)).is_none();
            rows.truncate(limit::rows_that_fit(&amounts, order.family.batch_rows_max(), fits));
            vec![rows]
        }
    }
}

fn payment_of(order: &PayoutOrder, group: &[&ItemRow], fee: Fee) -> Result<Unsigned, StorageError> {
    let output =
        |item: &&ItemRow| Output { address: item.address.clone(), amount: item.net_amount };
    unsigned(order, group.iter().map(output).collect(), fee)
        .ok_or_else(|| StorageError::damaged("payout_order", "it pays without an address"))
}

/// The number of further payments that may be signed. Nodes keep few unmined payments of one
/// account, and those in a block are no burden to them; a payment that spends outputs needs its
/// parents to be final.
fn room(payer: &Payer, open: &[OpenPayment]) -> usize {
    let own: Vec<_> = open.iter().filter(|payment| !payment.purpose.moves_gas()).collect();
    let waits = |payment: &&&OpenPayment| payer.spends_coins() || payment.height.is_none();
    let waiting = own.iter().filter(waits).count();
    payer.window().saturating_sub(waiting).min(OPEN_MAX.saturating_sub(own.len()))
}

fn total(payment: &Unsigned) -> Result<BaseUnits, StorageError> {
    let sum = |total: BaseUnits, output: &Output| total.checked_add(output.amount);
    payment
        .outputs
        .iter()
        .try_fold(BaseUnits::ZERO, sum)
        .ok_or_else(|| StorageError::damaged("payout_item", "amounts overflow"))
}
