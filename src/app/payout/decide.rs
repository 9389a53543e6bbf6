//! Decisions of a merchant or an operator about an order, under its row lock.

use chrono::TimeDelta;
use uuid::Uuid;

use super::{
    booking::give_back,
    errors::PayoutError,
    limits::refuse_above_limits,
    order::locked,
    price::{priced, stored},
};
use crate::{
    app::Gateway,
    broker::{
        envelope::{self, PayoutRef},
        route::Route,
    },
    money::BaseUnits,
    payout::{
        EventType, PayoutFamily, State,
        lifecycle::{self, CancelledBy, Effect, Event, Refusal, Step, Verdict},
        payment::Purpose,
        quote::UnitPrice,
        recipients::least_amount,
    },
    storage::{
        self, PgConnection, StorageError, addresses, alerts,
        deposits::of_order,
        outbox,
        payouts::{self, DepositPlace, PayoutOrder, items, payments, safety},
        timers,
    },
};

/// The merchant's confirmation, which may name the very quote or the very total.
#[derive(Debug, Clone, Default)]
pub struct Confirmation {
    pub quote_id: Option<String>,
    pub accept_total: Option<BaseUnits>,
}

impl Gateway {
    /// Confirms a draft: it gets its address and waits for its deposit. Repeating it changes
    /// nothing.
    pub async fn confirm_payout(
        &self,
        merchant_id: Uuid,
        order_id: &str,
        said: &Confirmation,
    ) -> Result<String, PayoutError> {
        let id = self.payout_of_merchant(merchant_id, order_id).await?;
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, id).await?;
        self.confirm_in(&mut tx, &mut order, said).await?;
        let body = self.payout_snapshot(&mut tx, &order, None).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(body)
    }

    /// The same in a transaction of the caller, who holds the order's row lock.
    pub(super) async fn confirm_in(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        said: &Confirmation,
    ) -> Result<(), PayoutError> {
        let now = storage::now(tx).await?;
        let step = lifecycle::step(&order.for_lifecycle(), Event::ConfirmRequested, now);
        check(order, &step)?;
        if step.verdict != Verdict::Moved {
            return Ok(());
        }
        agreed(order, said)?;
        order.expires_at = now + self.funding_window();
        let rows = self.rows_to_bind(tx, order).await?;
        self.open_funding(tx, order).await?;
        if let Some(rows) = rows {
            self.bind(tx, order.id, &rows).await?;
        }
        self.apply_decision(tx, order, &step, Uuid::nil()).await?;
        Ok(())
    }

    async fn open_funding(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
    ) -> Result<(), PayoutError> {
        let family = order.currency.family();
        let mut address = self.give_payout_address(tx, family).await?;
        // Anyone who knows our public key could have named the next address as his own.
        while items::names_address(tx, order.id, &address.address).await? {
            address = self.give_payout_address(tx, family).await?;
        }
        let place = DepositPlace {
            address: address.address.clone(),
            derivation_index: address.derivation_index,
        };
        payouts::open_funding(tx, order.id, &place, order.expires_at).await?;
        addresses::insert_for_payout(tx, &address, order.currency.network.name(), order.id).await?;
        timers::set(tx, timers::PAYOUT, order.id, order.expires_at).await?;
        order.deposit = Some(place);
        order.confirmed_at = Some(storage::now(tx).await?);
        Ok(())
    }

    /// Prices an order anew. One that was funded, and of which nothing is signed because the
    /// network asks more than was quoted, then waits for the difference.
    pub async fn refresh_payout(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<String, PayoutError> {
        let id = self.payout_of_merchant(merchant_id, order_id).await?;
        let market = self.market().await?;
        let price = self.price_of(id).await?;
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, id).await?;
        // A deposit that was seen but not reported yet counts too.
        self.fund_payout(&mut tx, id).await?;
        order = locked(&mut tx, order.id).await?;
        let has_deposit = of_order::any(&mut tx, order.id, order.currency).await?;
        order.funding = order.funding.now_that(has_deposit);
        let now = storage::now(&mut tx).await?;
        // Failed rows have their net amount in the books; a new quote would change that.
        let nothing_signed =
            order.books.failed.is_zero() && nothing_signed(&mut tx, order.id).await?;
        let facts =
            |order: &PayoutOrder| lifecycle::Order { nothing_signed, ..order.for_lifecycle() };
        let mut step = lifecycle::step(&facts(&order), Event::RefreshRequested, now);
        check(&order, &step)?;
        let tariff = self.tariff(&market, order.currency, order.fee_mode, price)?;
        let mut rows = self.rows_to_bind(&mut tx, &order).await?;
        let amounts = match &rows {
            Some(rows) => rows.iter().map(|row| row.amount).collect(),
            None => items::amounts(&mut tx, order.id).await?,
        };
        let row_of = |position| u32::try_from(position + 1).unwrap_or(u32::MAX);
        let limits = self.payout_limits(&mut tx, order.merchant_id).await?;
        let numbered = (1..).zip(amounts.iter().copied());
        refuse_above_limits(numbered, order.currency, tariff.prices.asset_usd, &limits)?;
        let batches = usize::try_from(order.batch_count).unwrap_or(usize::MAX);
        let quoted = priced(order.currency, (&amounts, batches), &tariff, row_of)?;
        let window = if order.state == State::Draft {
            TimeDelta::seconds(i64::from(self.config.payouts.quote_seconds))
        } else {
            self.funding_window()
        };
        order.quote = stored(&quoted, &tariff, now, now + window);
        order.total_to_send = quoted.total_to_send;
        order.expires_at = now + window;
        payouts::requote(&mut tx, &order).await?;
        items::set_net_amounts(&mut tx, order.id, &quoted.net).await?;
        if let Some(rows) = &mut rows {
            rows.iter_mut().zip(&quoted.net).for_each(|(row, net)| row.net_amount = *net);
            self.bind(&mut tx, order.id, rows).await?;
        }
        if order.state == State::Processing {
            let fees = order.books.kept;
            give_back(&mut tx, &mut order, fees).await?;
            safety::note_wait(&mut tx, order.id, None).await?;
            step = lifecycle::step(&facts(&order), Event::Requoted, now);
        }
        if step.state == State::Funded {
            look_soon(&mut tx, order.id).await?;
        } else if order.state != State::Draft {
            timers::set(&mut tx, timers::PAYOUT, order.id, order.expires_at).await?;
        }
        self.apply_decision(&mut tx, &mut order, &step, Uuid::now_v7()).await?;
        let body = self.payout_snapshot(&mut tx, &order, None).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(body)
    }

    async fn price_of(&self, id: Uuid) -> Result<UnitPrice, PayoutError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::by_id(&mut connection, id).await?.ok_or(PayoutError::NotFound)?;
        drop(connection);
        self.quoted_price(order.currency).await
    }

    /// Cancels a merchant's own order; the money that came in goes back.
    pub async fn cancel_payout(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<String, PayoutError> {
        let id = self.payout_of_merchant(merchant_id, order_id).await?;
        self.cancel_order(id, CancelledBy::Merchant).await
    }

    /// Cancels an order of any merchant.
    pub(super) async fn cancel_order(
        &self,
        id: Uuid,
        by: CancelledBy,
    ) -> Result<String, PayoutError> {
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, id).await?;
        let now = storage::now(&mut tx).await?;
        let nothing_signed = nothing_signed(&mut tx, order.id).await?;
        let facts = lifecycle::Order { nothing_signed, ..order.for_lifecycle() };
        let step = lifecycle::step(&facts, Event::CancelRequested, now);
        check(&order, &step)?;
        if step.verdict == Verdict::Moved {
            let fees = order.books.kept;
            give_back(&mut tx, &mut order, fees).await?;
            safety::note_wait(&mut tx, order.id, None).await?;
            order.cancelled_by = Some(by);
            timers::clear(&mut tx, timers::PAYOUT, order.id).await?;
            self.apply_decision(&mut tx, &mut order, &step, Uuid::nil()).await?;
        }
        let body = self.payout_snapshot(&mut tx, &order, None).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(body)
    }

    /// Stores a step that needs no chain, and emits its events.
    pub(super) async fn apply_decision(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        step: &Step,
        subject: Uuid,
    ) -> Result<(), StorageError> {
        order.state = step.state;
        order.funding = step.funding;
        order.updated_at = payouts::update_standing(tx, order).await?;
        if order.state.is_terminal() && order.finished_at.is_none() {
            order.finished_at = Some(order.updated_at);
        }
        for effect in &step.effects {
            match effect {
                Effect::Emit(event) => {
                    let subject = if once(*event) { Uuid::nil() } else { subject };
                    self.emit_payout(tx, order, *event, subject).await?;
                }
                Effect::Refund => {
                    look_soon(tx, order.id).await?;
                    tell_of_nowhere(tx, order).await?;
                }
                // Done by the caller that asked for the step, before it is stored.
                Effect::Credit(_) | Effect::BookLate(_) | Effect::OpenFunding | Effect::Requote => {
                }
            }
        }
        Ok(())
    }

    async fn payout_of_merchant(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<Uuid, PayoutError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::of_merchant(&mut connection, merchant_id, order_id).await?;
        Ok(order.ok_or(PayoutError::NotFound)?.id)
    }

    fn funding_window(&self) -> TimeDelta {
        TimeDelta::seconds(i64::from(self.config.payouts.funding_seconds))
    }

    /// Returns whether `order_id` can be an order of this family at all.
    pub fn names_payout(family: PayoutFamily, order_id: &str) -> bool {
        crate::payout::id::is_order(family, order_id)
    }
}

/// A message alone would be lost with its broker, and nothing else looks at an order that has
/// ended: the timer stays until a worker has seen that nothing is left to send back.
pub(super) async fn look_soon(tx: &mut PgConnection, order_id: Uuid) -> Result<(), StorageError> {
    let now = storage::now(tx).await?;
    timers::set(tx, timers::PAYOUT, order_id, now).await?;
    look_at(tx, order_id).await
}

/// Raises an alert for money that must go back and has no address: it waits for an operator. An
/// amount that would not be sent anyway raises none.
async fn tell_of_nowhere(tx: &mut PgConnection, order: &PayoutOrder) -> Result<(), StorageError> {
    let left = order.books.left();
    if order.refund_address.is_some() || left < least_amount(order.currency) {
        return Ok(());
    }
    let detail = format!(
        "{} {} stay with an order of merchant {} that names no refundAddress: ask the merchant, then run gatewayctl payouts refund-to",
        left.to_decimal(u32::from(order.currency.decimals)),
        order.currency.token_id(),
        order.merchant_id
    );
    alerts::raise(tx, "payout_refund_no_address", &order.order_id, &detail).await?;
    Ok(())
}

/// Returns true if no payment of an order's rows was ever signed. The caller holds the order's row
/// lock, under which they are.
async fn nothing_signed(tx: &mut PgConnection, order_id: Uuid) -> Result<bool, StorageError> {
    Ok(payments::of_order(tx, order_id, Some(Purpose::Pay)).await?.is_empty())
}

/// Asks the payout-batch role to look at an order now.
pub(super) async fn look_at(tx: &mut PgConnection, order_id: Uuid) -> Result<(), StorageError> {
    let body = envelope::encode(&PayoutRef { order_id });
    outbox::insert(tx, Route::Payout.as_str(), &body).await
}

/// Returns whether an event can happen only once to an order. The others are distinguished by their
/// quote, deposit or batch.
const fn once(event: EventType) -> bool {
    match event {
        EventType::Created
        | EventType::Overfunded
        | EventType::Completed
        | EventType::PartialFailed
        | EventType::Expired
        | EventType::Cancelled => true,
        EventType::QuoteRefreshed
        | EventType::DepositDetected
        | EventType::Underfunded
        | EventType::BatchBroadcasted
        | EventType::BatchConfirmed
        | EventType::BatchFailed => false,
    }
}

fn check(order: &PayoutOrder, step: &Step) -> Result<(), PayoutError> {
    match step.verdict {
        Verdict::Moved | Verdict::Kept | Verdict::Held(_) => Ok(()),
        Verdict::Refused(Refusal::InvalidState) => Err(PayoutError::InvalidState(order.state)),
        Verdict::Refused(Refusal::QuoteExpired) => Err(PayoutError::QuoteExpired),
        Verdict::Refused(Refusal::DepositDetected) => Err(PayoutError::DepositDetected),
    }
}

/// Checks that the merchant's confirmation agrees with the order.
fn agreed(order: &PayoutOrder, said: &Confirmation) -> Result<(), PayoutError> {
    let other_quote = said.quote_id.as_ref().is_some_and(|id| *id != order.quote.id);
    let other_total = said.accept_total.is_some_and(|total| total != order.total_to_send);
    if other_quote || other_total {
        let total = order.total_to_send.get().to_string();
        return Err(PayoutError::QuoteChanged { quote_id: order.quote.id.clone(), total });
    }
    Ok(())
}
