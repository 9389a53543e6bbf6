//! Writes an event for a merchant, in the transaction of its cause.

use uuid::Uuid;

use crate::{
    app::Gateway,
    broker::{
        envelope::{self, DeliveryRef, Turn},
        route::Route,
    },
    legacy::withdrawal::is_told,
    payout::{EventType, id},
    storage::{
        PgConnection, StorageError, legacy_withdrawals, merchants, outbox,
        payouts::{
            PayoutOrder,
            events::{self, NewPayoutEvent},
        },
    },
};

impl Gateway {
    /// Writes `event` with the present state of the order. `subject` is its deposit or quote, nil
    /// for events that happen once. Without a callback URL the feed alone tells it. Does nothing if
    /// the event was written before.
    pub(super) async fn emit_payout(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        event: EventType,
        subject: Uuid,
    ) -> Result<(), StorageError> {
        self.emit(tx, order, event, (None, subject)).await
    }

    /// The same for a batch. `told_as` differs from its id once a reorg has taken its end back, so
    /// that the events after it are told too.
    pub(super) async fn emit_of_batch(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        event: EventType,
        (batch, told_as): (Uuid, Uuid),
    ) -> Result<(), StorageError> {
        self.emit(tx, order, event, (Some(batch), told_as)).await
    }

    async fn emit(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        event: EventType,
        (batch, subject): (Option<Uuid>, Uuid),
    ) -> Result<(), StorageError> {
        let new = NewPayoutEvent {
            id: Uuid::now_v7(),
            event_id: id::event(),
            kind: event,
            merchant_id: order.merchant_id,
            payout_order_id: order.id,
            order_id: order.order_id.clone(),
            subject,
            url: target(tx, order, event).await?,
            payload: self.payout_snapshot(tx, order, batch).await?,
        };
        if events::insert_payout_event(tx, &new).await? {
            let turn = Turn { cycle: 1, attempt: 1 };
            let message = DeliveryRef::new(new.id, &new.event_id, turn);
            outbox::insert(tx, Route::PayoutWebhook.as_str(), &envelope::encode(&message)).await?;
        }
        Ok(())
    }
}

/// Callback URL of an order's events: its own, else the merchant's. A withdrawal of the `/legacy`
/// adapter is told at its own alone, since the merchant's expects the other dialect, and only of
/// changes for which that dialect has a code.
async fn target(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    event: EventType,
) -> Result<Option<String>, StorageError> {
    if legacy_withdrawals::is_one(tx, order.id).await? {
        return Ok(order.callback_url.clone().filter(|_| is_told(event)));
    }
    if let Some(url) = &order.callback_url {
        return Ok(Some(url.clone()));
    }
    let merchant = merchants::by_id(tx, order.merchant_id).await?;
    Ok(merchant.and_then(|merchant| merchant.payout_webhook_url))
}
