//! Events to be delivered to merchants, inserted without the history that leads to them.

use gateway::{
    broker::envelope::{DeliveryRef, Turn, encode},
    invoice::PaymentId,
    storage::events::{NewDelivery, NewEvent},
    webhook::event::EventKind,
};
use sqlx::PgConnection;
use uuid::Uuid;

/// An invoice for deliveries to refer to.
pub async fn any_invoice(connection: &mut PgConnection, merchant_id: Uuid) -> Uuid {
    let id = Uuid::now_v7();
    sqlx::query(
        "insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode,
             overpay_bps, payment_window_seconds, window_seconds, deadline_at)
         values ($1, $2, $3, 'draft', 20, 'usd', 'fiat', 500, 1800, 3600, now() + interval '1 day')",
    )
    .bind(id)
    .bind(PaymentId::generate().to_string())
    .bind(merchant_id)
    .execute(connection)
    .await
    .unwrap();
    id
}

/// An event with a delivery to `url`, one third of a kilobyte, like that of a paid invoice.
pub fn new_event(merchant_id: Uuid, invoice_id: Uuid, url: &str) -> NewEvent {
    let id = Uuid::now_v7();
    let payload = format!(
        r#"{{"actually_paid":20,"invoice_type":"payment","order_id":"order-1","pay_address":"0x9858effd232b4033e47d90003d41ec34ecaeda94","pay_amount":20,"pay_currency":"usdtmatic","payment_id":"{id}","payment_status":"finished","price_amount":20,"price_currency":"usd"}}"#
    );
    let event_id = format!("evt_{}", id.simple());
    let message = DeliveryRef::new(id, &event_id, Turn { cycle: 1, attempt: 1 });
    let delivery = NewDelivery {
        id,
        invoice_id: Some(invoice_id),
        url: url.to_owned(),
        message: encode(&message),
    };
    NewEvent {
        event_id,
        kind: EventKind::InvoicePaid,
        merchant_id,
        payment_id: invoice_id.to_string(),
        subject: Some(id),
        payload,
        delivery: Some(delivery),
    }
}
