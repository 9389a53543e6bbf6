//! The payment object: the merchant's view of an invoice, in the API and in every IPN (spec,
//! "Resources").
//!
//! Field names and number formats are frozen. Amounts are JSON numbers in their shortest plain
//! form.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

use super::{
    schema,
    vocabulary::{InvoiceType, Status},
};
use crate::{
    asset::Network,
    merchant::settings::WINDOW_SECONDS_MAX,
    money::{BaseUnits, Price},
};

/// An invoice as stored in the database, reduced to the facts that the merchant may see.
#[derive(Debug, Clone)]
pub struct PaymentView {
    pub payment_id: String,
    pub status: Status,
    pub price_amount: Price,
    pub price_currency: String,
    pub asset: Option<PaymentAsset>,
    /// Own-token deposits that have been credited or booked as late.
    pub actually_paid: BaseUnits,
    pub order_id: Option<String>,
    pub order_description: Option<String>,
    pub ipn_callback_url: Option<String>,
    pub invoice_type: InvoiceType,
    pub window_seconds: u32,
    pub deadline: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub subscription: Option<Subscription>,
}

/// Payment currency and address of a resolved invoice. All of it is null on a draft.
#[derive(Debug, Clone)]
pub struct PaymentAsset {
    pub pay_address: String,
    pub pay_amount: BaseUnits,
    pub code: String,
    pub network: Network,
    pub decimals: u8,
    pub contract: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Subscription {
    pub subscriber_email: String,
    pub cycle: i32,
    pub next_renewal_at: DateTime<Utc>,
}

/// An invoice as its merchant sees it. Fields are only ever added.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Payment {
    /// The invoice's id: `pzi_` and 26 characters. Never changes, also when a draft resolves.
    #[schema(pattern = "^pzi_[0-9a-hjkmnp-tv-z]{26}$", examples("pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a"))]
    pub payment_id: String,
    #[schema(value_type = schema::PaymentStatus)]
    pub payment_status: &'static str,
    /// Deposit address; null on an unresolved draft.
    #[schema(required)]
    pub pay_address: Option<String>,
    /// Amount to pay, in whole units of `pay_currency`; null on an unresolved draft.
    #[schema(value_type = Option<schema::Amount>, required)]
    pub pay_amount: Option<Number>,
    /// Code of the currency to pay in, as listed by `GET /v1/currencies`; null on an unresolved
    /// draft.
    #[schema(required, examples("usdtmatic"))]
    pub pay_currency: Option<String>,
    /// The chain to pay on; null on an unresolved draft.
    #[schema(value_type = Option<schema::NetworkName>, required)]
    pub network: Option<&'static str>,
    /// Decimals of `pay_currency` on its chain; null on an unresolved draft.
    #[schema(required, maximum = 24)]
    pub network_precision: Option<u8>,
    /// The token's contract; null for native coins and on an unresolved draft.
    #[schema(required)]
    pub smart_contract: Option<String>,
    /// The requested price, in `price_currency`.
    #[schema(value_type = schema::Amount)]
    pub price_amount: Number,
    /// The currency of the price, in lower case.
    #[schema(examples("usd"))]
    pub price_currency: String,
    /// Received so far, in `pay_currency`; 0 until a deposit has its network's confirmations.
    #[schema(value_type = schema::Amount)]
    pub actually_paid: Number,
    /// The same as `actually_paid`.
    #[schema(value_type = schema::Amount)]
    pub amount_received: Number,
    /// The merchant's own reference, as it was sent.
    #[schema(required, max_length = 255)]
    pub order_id: Option<String>,
    /// As it was sent; shown to the buyer.
    #[schema(required, max_length = 2000)]
    pub order_description: Option<String>,
    /// The URL to which signed IPNs are posted.
    #[schema(required)]
    pub ipn_callback_url: Option<String>,
    /// Always equal to `payment_id`.
    pub purchase_id: String,
    /// The hosted checkout's page for this invoice.
    #[schema(required)]
    pub invoice_url: Option<String>,
    #[schema(value_type = schema::InvoiceType)]
    pub invoice_type: String,
    /// The payment window as `HH:MM:SS`; on an unresolved draft the time to choose a currency.
    #[schema(pattern = "^[0-9]{2}:[0-5][0-9]:[0-5][0-9]$", examples("00:30:00"))]
    pub time_limit: String,
    /// When the payment window ends.
    #[schema(value_type = schema::Instant)]
    pub expiration_estimate_date: String,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
    /// Reserved.
    #[schema(value_type = schema::Null)]
    pub burning_percent: Option<()>,
    /// Reserved.
    #[schema(value_type = schema::Null)]
    pub payin_extra_id: Option<()>,
    /// Set on subscriptions only.
    #[schema(required)]
    pub subscriber_email: Option<String>,
    /// Set on subscriptions only: number of cycles so far.
    #[schema(required)]
    pub subscription_cycle: Option<i32>,
    /// Set on subscriptions only.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub next_renewal_at: Option<String>,
}

impl Payment {
    /// Renders `view`; `checkout_url` is the configured origin of the hosted checkout, never a
    /// request's host.
    pub fn render(view: &PaymentView, checkout_url: &str) -> Self {
        let asset = view.asset.as_ref();
        let decimals = asset.map_or(0, |asset| u32::from(asset.decimals));
        let received = json_number(&view.actually_paid.to_decimal(decimals));
        let subscription = view.subscription.as_ref();
        Self {
            payment_id: view.payment_id.clone(),
            payment_status: view.status.for_merchant(),
            pay_address: asset.map(|asset| asset.pay_address.clone()),
            pay_amount: asset.map(|asset| json_number(&asset.pay_amount.to_decimal(decimals))),
            pay_currency: asset.map(|asset| asset.code.clone()),
            network: asset.map(|asset| asset.network.name()),
            network_precision: asset.map(|asset| asset.decimals),
            smart_contract: asset.and_then(|asset| asset.contract.clone()),
            price_amount: json_number(&view.price_amount.to_decimal()),
            price_currency: view.price_currency.clone(),
            actually_paid: received.clone(),
            amount_received: received,
            order_id: view.order_id.clone(),
            order_description: view.order_description.clone(),
            ipn_callback_url: view.ipn_callback_url.clone(),
            purchase_id: view.payment_id.clone(),
            invoice_url: Some(invoice_url(checkout_url, &view.payment_id)),
            invoice_type: view.invoice_type.to_string(),
            time_limit: hours_minutes_seconds(view.window_seconds),
            expiration_estimate_date: iso_8601(view.deadline),
            created_at: iso_8601(view.created_at),
            updated_at: iso_8601(view.updated_at),
            burning_percent: None,
            payin_extra_id: None,
            subscriber_email: subscription.map(|s| s.subscriber_email.clone()),
            subscription_cycle: subscription.map(|s| s.cycle),
            next_renewal_at: subscription.map(|s| iso_8601(s.next_renewal_at)),
        }
    }
}

/// `{checkout_url}/pay/<payment_id>`.
pub fn invoice_url(checkout_url: &str, payment_id: &str) -> String {
    format!("{}/pay/{payment_id}", checkout_url.trim_end_matches('/'))
}

/// A JSON number with exactly these digits.
pub fn json_number(plain: &str) -> Number {
    plain.parse().expect("plain decimals are JSON numbers")
}

/// The one form in which instants leave the gateway: UTC, milliseconds, `Z`.
pub fn iso_8601(instant: DateTime<Utc>) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// `HH:MM:SS`; hours are not cut at 24, but have two digits, also of an invoice from before windows
/// were bounded.
fn hours_minutes_seconds(seconds: u32) -> String {
    let seconds = seconds.min(WINDOW_SECONDS_MAX.unsigned_abs());
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn view() -> PaymentView {
        let at = |second: i64| DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        PaymentView {
            payment_id: "pzi_0".into(),
            status: Status::Overpaid,
            price_amount: Price::parse("25.10").unwrap(),
            price_currency: "usd".into(),
            asset: Some(PaymentAsset {
                pay_address: "0xAb".into(),
                pay_amount: BaseUnits::new(25_100_000),
                code: "usdtmatic".into(),
                network: Network::Polygon,
                decimals: 6,
                contract: Some("0xc2".into()),
            }),
            actually_paid: BaseUnits::new(30_000_001),
            order_id: Some("A-1".into()),
            order_description: None,
            ipn_callback_url: None,
            invoice_type: InvoiceType::Payment,
            window_seconds: 1800,
            deadline: at(1800),
            created_at: at(0),
            updated_at: at(7),
            subscription: None,
        }
    }

    #[test]
    fn a_payment_object_has_every_field_of_the_spec_and_exact_numbers() {
        let json =
            serde_json::to_string(&Payment::render(&view(), "https://pay.example/")).unwrap();
        expect![[r#"{"payment_id":"pzi_0","payment_status":"finished","pay_address":"0xAb","pay_amount":25.1,"pay_currency":"usdtmatic","network":"polygon","network_precision":6,"smart_contract":"0xc2","price_amount":25.1,"price_currency":"usd","actually_paid":30.000001,"amount_received":30.000001,"order_id":"A-1","order_description":null,"ipn_callback_url":null,"purchase_id":"pzi_0","invoice_url":"https://pay.example/pay/pzi_0","invoice_type":"payment","time_limit":"00:30:00","expiration_estimate_date":"2023-11-14T22:43:20.000Z","created_at":"2023-11-14T22:13:20.000Z","updated_at":"2023-11-14T22:13:27.000Z","burning_percent":null,"payin_extra_id":null,"subscriber_email":null,"subscription_cycle":null,"next_renewal_at":null}"#]]
        .assert_eq(&json);
    }

    #[test]
    fn a_time_limit_never_has_three_digits_of_hours() {
        for (seconds, text) in
            [(0, "00:00:00"), (359_999, "99:59:59"), (2_592_000, "99:59:59"), (86_400, "24:00:00")]
        {
            assert_eq!(hours_minutes_seconds(seconds), text);
        }
    }

    #[test]
    fn a_draft_has_nulls_where_the_buyer_has_not_chosen() {
        let draft = PaymentView { status: Status::Draft, asset: None, ..view() };
        let json = serde_json::to_value(Payment::render(&draft, "https://pay.example")).unwrap();
        for field in [
            "pay_address",
            "pay_amount",
            "pay_currency",
            "network",
            "network_precision",
            "smart_contract",
        ] {
            assert!(json[field].is_null(), "{field}");
        }
        assert_eq!(json["payment_status"], "waiting");
    }
}
