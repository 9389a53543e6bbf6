//! Receivers of webhooks.

use std::{
    fmt::Display,
    future::{Future, ready},
    time::SystemTime,
};

use crate::{
    contract::{Notice, Payment, PayoutWebhook, Renewal},
    webhooks::{is_test, verify_payment_ipn, verify_payout_webhook},
};

/// The transactions of your database. A transaction that is dropped is rolled back.
pub trait Transactions: Send + Sync + 'static {
    type Transaction: Send;
    /// Written to standard error; the delivery is answered 500 and comes again.
    type Error: Display + Send;

    fn begin(&self) -> impl Future<Output = Result<Self::Transaction, Self::Error>> + Send;

    /// Stores `key` in a unique column, and says whether it was new:
    /// `INSERT INTO webhook_seen (key) VALUES ($1) ON CONFLICT DO NOTHING`.
    fn remember(
        &self,
        transaction: &mut Self::Transaction,
        key: &str,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    fn commit(&self, transaction: Self::Transaction) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Your actions on payments, in the transaction that remembers the event.
pub trait Payable: Transactions {
    /// The payment reached a status, told once. Compare `order_id`, `price_amount` and
    /// `price_currency` with your own record, then ship on `finished`.
    fn on_payment(
        &self,
        transaction: &mut Self::Transaction,
        payment: Payment,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Money came beside or after the payment: show it to a person, never ship on it.
    fn on_notice(
        &self,
        transaction: &mut Self::Transaction,
        notice: Notice,
        payment: Payment,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// A subscription is due: mail `renewal_url` to the subscriber unless the gateway does; ship
    /// nothing. `payment` is the latest invoice, mostly `finished`. Does nothing unless you write
    /// it.
    fn on_renewal(
        &self,
        transaction: &mut Self::Transaction,
        renewal: Renewal,
        payment: Payment,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send {
        let _ = (transaction, renewal, payment);
        ready(Ok(()))
    }
}

/// Your actions on mass payouts.
pub trait Paying: Transactions {
    /// Events may overtake each other: never let an older `order.updated_at` replace a newer one.
    fn on_event(
        &self,
        transaction: &mut Self::Transaction,
        event: PayoutWebhook,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

const DONE: u16 = 200;
const FAILED: u16 = 500;

/// Receives a payment IPN: verifies, keeps notices, renewals and tests apart, acts once per payment
/// and status. Returns the status to answer.
pub async fn receive_payment_ipn<S: Payable>(
    shop: &S,
    secrets: &[&str],
    raw_body: &[u8],
    signature: Option<&str>,
) -> u16 {
    let now = SystemTime::now();
    let Ok(event) = verify_payment_ipn(raw_body, signature.unwrap_or_default(), secrets, now) else { return 401 };
    if event.is_test {
        return DONE;
    }
    let acted = async {
        let mut transaction = shop.begin().await?;
        if shop.remember(&mut transaction, &event.key).await? {
            match (event.notice, event.renewal) {
                (Some(notice), _) => shop.on_notice(&mut transaction, notice, event.payment).await?,
                (None, Some(renewal)) => shop.on_renewal(&mut transaction, renewal, event.payment).await?,
                (None, None) => shop.on_payment(&mut transaction, event.payment).await?,
            }
        }
        shop.commit(transaction).await
    };
    answer(acted.await)
}

/// Receives a webhook of mass payouts: verifies, keeps tests apart, and acts once per event.
/// Returns the status to answer.
pub async fn receive_payout_webhook<S: Paying>(
    shop: &S,
    secrets: &[&str],
    raw_body: &[u8],
    signature: Option<&str>,
) -> u16 {
    // On this channel a 4xx drops the event for good, also when it is the own secret or clock that
    // is wrong; a 5xx is tried again and kept.
    let now = SystemTime::now();
    let Ok(event) = verify_payout_webhook(raw_body, signature.unwrap_or_default(), secrets, now) else { return FAILED };
    if is_test(&event) {
        return DONE;
    }
    let acted = async {
        let mut transaction = shop.begin().await?;
        if shop.remember(&mut transaction, &event.event_id).await? {
            shop.on_event(&mut transaction, event).await?;
        }
        shop.commit(transaction).await
    };
    answer(acted.await)
}

fn answer(acted: Result<(), impl Display>) -> u16 {
    match acted {
        Ok(()) => DONE,
        Err(error) => {
            eprintln!("a webhook is answered {FAILED} and comes again: {error}");
            FAILED
        }
    }
}

/// Routes of axum: `Router::new().route("/ipn", gateway_sdk::axum::payment_ipn(shop, secrets))`.
#[cfg(feature = "axum")]
pub mod axum {
    use std::sync::Arc;

    use axum::{
        body::Bytes,
        http::{HeaderMap, StatusCode},
        routing::{MethodRouter, post},
    };

    use super::{Payable, Paying, receive_payment_ipn, receive_payout_webhook};
    use crate::webhooks::{PAYMENT_SIGNATURE_HEADER, PAYOUT_SIGNATURE_HEADER};

    /// axum takes bodies of up to 2 MB, far above any delivery.
    pub fn payment_ipn<S, A>(shop: Arc<S>, secrets: Vec<String>) -> MethodRouter<A>
    where
        S: Payable,
        A: Clone + Send + Sync + 'static,
    {
        let secrets: Arc<[String]> = secrets.into();
        post(move |headers: HeaderMap, body: Bytes| async move {
            let secrets: Vec<_> = secrets.iter().map(String::as_str).collect();
            status(receive_payment_ipn(&*shop, &secrets, &body, of(&headers, PAYMENT_SIGNATURE_HEADER)).await)
        })
    }

    pub fn payout_webhook<S, A>(shop: Arc<S>, secrets: Vec<String>) -> MethodRouter<A>
    where
        S: Paying,
        A: Clone + Send + Sync + 'static,
    {
        let secrets: Arc<[String]> = secrets.into();
        post(move |headers: HeaderMap, body: Bytes| async move {
            let secrets: Vec<_> = secrets.iter().map(String::as_str).collect();
            status(receive_payout_webhook(&*shop, &secrets, &body, of(&headers, PAYOUT_SIGNATURE_HEADER)).await)
        })
    }

    fn of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
        headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn status(code: u16) -> StatusCode {
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}
