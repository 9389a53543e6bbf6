//! Field lists and number forms of the specification, checked exactly: nothing missing, nothing
//! extra, no other type.

use chrono::DateTime;
use serde_json::Value;

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Number,
    Boolean,
    List,
    Object,
    /// Always null.
    Null,
    OrNull(&'static Kind),
}

use Kind::{Boolean, List, Null, Number, Object, OrNull, Text};

const TEXT_OR_NULL: Kind = OrNull(&Text);
const NUMBER_OR_NULL: Kind = OrNull(&Number);

/// "Payment (invoice) object".
pub const PAYMENT: &[(&str, Kind)] = &[
    ("payment_id", Text),
    ("payment_status", Text),
    ("pay_address", TEXT_OR_NULL),
    ("pay_amount", NUMBER_OR_NULL),
    ("pay_currency", TEXT_OR_NULL),
    ("network", TEXT_OR_NULL),
    ("network_precision", NUMBER_OR_NULL),
    ("smart_contract", TEXT_OR_NULL),
    ("price_amount", Number),
    ("price_currency", Text),
    ("actually_paid", Number),
    ("amount_received", Number),
    ("order_id", TEXT_OR_NULL),
    ("order_description", TEXT_OR_NULL),
    ("ipn_callback_url", TEXT_OR_NULL),
    ("purchase_id", Text),
    ("invoice_url", TEXT_OR_NULL),
    ("invoice_type", Text),
    ("time_limit", Text),
    ("expiration_estimate_date", Text),
    ("created_at", Text),
    ("updated_at", Text),
    ("burning_percent", Null),
    ("payin_extra_id", Null),
    ("subscriber_email", TEXT_OR_NULL),
    ("subscription_cycle", NUMBER_OR_NULL),
    ("next_renewal_at", TEXT_OR_NULL),
];

/// Fields that are null on a draft until its buyer picks a currency.
pub const NULL_ON_DRAFTS: [&str; 6] =
    ["pay_address", "pay_amount", "pay_currency", "network", "network_precision", "smart_contract"];

/// "Currency entry".
pub const CURRENCY: &[(&str, Kind)] = &[
    ("code", Text),
    ("symbol", Text),
    ("chain", Text),
    ("standard", Text),
    ("contract_address", TEXT_OR_NULL),
    ("decimals", Number),
    ("min_amount_usd", Number),
    ("name", Text),
    ("chain_name", Text),
    ("confirmations", Number),
    ("explorer_tx_url", TEXT_OR_NULL),
    ("explorer_address_url", TEXT_OR_NULL),
];

/// An entry of `accepted_currencies`.
pub const ACCEPTED_CURRENCY: &[(&str, Kind)] = &[
    ("currency", Text),
    ("network", Text),
    ("standard", Text),
    ("estimated_amount", NUMBER_OR_NULL),
    ("min_usd", Number),
    ("token_id", Text),
];

/// "Estimate response", and the two names that it echoes.
pub const ESTIMATE: &[(&str, Kind)] = &[
    ("currency_from", Text),
    ("amount_from", Number),
    ("currency_to", Text),
    ("estimated_amount", Text),
    ("min_amount_usd", Number),
    ("below_minimum", OrNull(&Boolean)),
];

/// "Min-amount response".
pub const MIN_AMOUNT: &[(&str, Kind)] = &[
    ("currency_from", Text),
    ("currency_to", Text),
    ("min_amount", Number),
    ("min_amount_usd", Number),
];

/// "List response".
pub const LIST: &[(&str, Kind)] = &[
    ("data", List),
    ("limit", Number),
    ("page", Number),
    ("pagesCount", Number),
    ("total", Number),
];

/// An entry of `GET /v1/payment/:id/deposits`.
pub const DEPOSIT: &[(&str, Kind)] = &[
    ("tx_hash", Text),
    ("amount", Text),
    ("amount_unit", Text),
    ("currency", TEXT_OR_NULL),
    ("network", Text),
    ("contract_address", TEXT_OR_NULL),
    ("confirmations", Number),
    ("required_confirmations", Number),
    ("state", Text),
    ("booked_as", TEXT_OR_NULL),
    ("first_seen_at", Text),
    ("final_at", TEXT_OR_NULL),
    ("fiat_value", TEXT_OR_NULL),
    ("fiat_currency", TEXT_OR_NULL),
    ("explorer_url", TEXT_OR_NULL),
];

/// An entry of `GET /v1/balance`.
pub const BALANCE: &[(&str, Kind)] = &[
    ("currency", Text),
    ("symbol", Text),
    ("network", Text),
    ("available", Text),
    ("pending", Text),
    ("late", Text),
    ("foreign", Text),
    ("in_payouts", Text),
    ("fiat_estimate", TEXT_OR_NULL),
];

/// An entry of `GET /v1/events`.
pub const EVENT: &[(&str, Kind)] = &[
    ("event_id", Text),
    ("type", Text),
    ("created_at", Text),
    ("resource_id", Text),
    ("payload", Object),
    ("delivery", OrNull(&Object)),
];

/// The buyer's view of an invoice that can be paid; every amount is text.
pub const BUYER_STATUS: &[(&str, Kind)] = &[
    ("payment_id", Text),
    ("status", Text),
    ("is_draft", Boolean),
    ("pay_currency", TEXT_OR_NULL),
    ("symbol", TEXT_OR_NULL),
    ("network", TEXT_OR_NULL),
    ("standard", TEXT_OR_NULL),
    ("contract_address", TEXT_OR_NULL),
    ("pay_address", TEXT_OR_NULL),
    ("payment_uri", TEXT_OR_NULL),
    ("amount_due", TEXT_OR_NULL),
    ("amount_received", TEXT_OR_NULL),
    ("amount_remaining", TEXT_OR_NULL),
    ("amount_unconfirmed", TEXT_OR_NULL),
    ("price_amount", Text),
    ("price_currency", Text),
    ("order_description", TEXT_OR_NULL),
    ("invoice_type", Text),
    ("created_at", Text),
    ("expires_at", Text),
    ("updated_at", Text),
    ("seconds_left", Number),
    ("confirmations", NUMBER_OR_NULL),
    ("required_confirmations", NUMBER_OR_NULL),
    ("tx_hashes", List),
    ("cancellable", Boolean),
    ("redirect_url", TEXT_OR_NULL),
];

fn fits(kind: Kind, value: &Value) -> bool {
    match kind {
        Text => value.is_string(),
        Number => value.is_number(),
        Object => value.is_object(),
        Boolean => value.is_boolean(),
        List => value.is_array(),
        Null => value.is_null(),
        OrNull(kind) => value.is_null() || fits(*kind, value),
    }
}

/// Expects an object with these fields, of these types, and no other.
#[track_caller]
pub fn expect_fields(object: &Value, fields: &[(&str, Kind)]) {
    for (name, kind) in fields {
        let value = object.get(*name).unwrap_or_else(|| panic!("no {name} in {object}"));
        assert!(fits(*kind, value), "{name} is not {kind:?}: {value}");
    }
    let names = object.as_object().unwrap().keys();
    let extra: Vec<_> =
        names.filter(|name| fields.iter().all(|(known, _)| known != name)).collect();
    assert!(extra.is_empty(), "unknown fields {extra:?} in {object}");
}

/// Expects a payment object, with its formats.
#[track_caller]
pub fn expect_payment(payment: &Value) {
    expect_fields(payment, PAYMENT);
    let text = |name: &str| payment[name].as_str().unwrap();
    let id = text("payment_id");
    assert!(id.starts_with("pzi_"), "{id}");
    assert_eq!(payment["purchase_id"], id);
    assert_eq!(payment["amount_received"], payment["actually_paid"]);
    assert!(text("invoice_url").ends_with(&format!("/pay/{id}")));
    let statuses = ["waiting", "partially_paid", "finished", "expired", "failed"];
    assert!(statuses.contains(&text("payment_status")), "{payment}");
    assert!(["payment", "donation", "subscription", "pos"].contains(&text("invoice_type")));
    for name in ["expiration_estimate_date", "created_at", "updated_at"] {
        expect_instant(text(name));
    }
    for name in ["price_amount", "pay_amount", "actually_paid"] {
        expect_plain(&payment[name].to_string());
    }
    let parts: Vec<_> = text("time_limit").split(':').collect();
    assert!(parts.len() == 3 && parts.iter().all(|part| part.len() == 2), "{payment}");
}

#[track_caller]
pub fn expect_instant(text: &str) {
    assert!(DateTime::parse_from_rfc3339(text).is_ok() && text.ends_with('Z'), "{text}");
}

/// Shortest plain form: any client's double prints the same text again.
#[track_caller]
pub fn expect_plain(text: &str) {
    assert!(!text.contains(['e', 'E', '+']), "{text}");
    assert!(!text.contains('.') || !text.ends_with(['0', '.']), "{text}");
}

#[track_caller]
pub fn expect_places_at_most(text: &str, places: usize) {
    expect_plain(text);
    assert!(text.split_once('.').is_none_or(|(_, fraction)| fraction.len() <= places), "{text}");
}
