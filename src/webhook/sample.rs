//! Samples of webhooks for a receiver on trial. They look like real ones, name nothing that exists,
//! and say in `_gateway.test` that they are none.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{
    canonical::to_canonical_json,
    event::EventKind,
    ipn::{self, NoticeBody},
    subscription::RenewalBody,
};
use crate::{
    asset::catalogue::{Catalogue, Currency},
    invoice::{
        InvoiceType, Status,
        payment::{Payment, PaymentAsset, PaymentView, iso_8601},
    },
    money::{BaseUnits, Price},
    payout::{
        FeeMode, Funding, PayoutFamily, State,
        batch::Tally,
        order::{self, OrderView, QuoteView},
    },
};

/// The currency of all samples.
const TOKEN: &str = "usdtmatic@polygon";
const NOBODY: &str = "0x0000000000000000000000000000000000000000";
const PAYMENT_ID: &str = "pzi_00000000000000000000000000";
const ORDER_ID: &str = "empo_00000000000000000000000000";
const QUOTE_ID: &str = "mpq_00000000000000000000000000";
const TX_HASH: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";
/// 25 USDT.
const AMOUNT: BaseUnits = BaseUnits::new(25_000_000);
const WINDOW: u32 = 1_800;

/// The snapshot of an IPN of this kind, as [`ipn::body`] takes it.
pub fn payment(kind: EventKind, url: &str, checkout_url: &str, now: DateTime<Utc>) -> String {
    let is_expired = kind == EventKind::InvoiceExpired;
    let view = PaymentView {
        payment_id: PAYMENT_ID.to_owned(),
        status: if is_expired { Status::Expired } else { Status::Paid },
        price_amount: Price::parse("25").expect("a plain number is a price"),
        price_currency: "usd".to_owned(),
        asset: Some(asset()),
        actually_paid: if is_expired { BaseUnits::ZERO } else { AMOUNT },
        order_id: Some("test".to_owned()),
        order_description: None,
        ipn_callback_url: Some(url.to_owned()),
        invoice_type: InvoiceType::Payment,
        window_seconds: WINDOW,
        deadline: now + TimeDelta::seconds(i64::from(WINDOW)),
        created_at: now,
        updated_at: now,
        subscription: None,
    };
    let is_reminder = kind == EventKind::RenewalReminder;
    let is_notice = kind != EventKind::InvoicePaid && !is_expired && !is_reminder;
    let notice = is_notice.then(|| notice(kind.as_str(), now));
    let renewal = is_reminder.then(|| renewal(checkout_url, now));
    let snapshot = ipn::snapshot(
        &Payment::render(&view, checkout_url),
        notice.as_ref(),
        None,
        renewal.as_ref(),
    );
    let mut body: Value = serde_json::from_str(&snapshot).expect("a snapshot is JSON");
    body["_gateway"]["test"] = Value::Bool(true);
    to_canonical_json(&body)
}

fn currency() -> &'static Currency {
    Catalogue::get().by_token_id(TOKEN).expect("the catalogue has the currency of the samples")
}

fn asset() -> PaymentAsset {
    let currency = currency();
    PaymentAsset {
        pay_address: NOBODY.to_owned(),
        pay_amount: AMOUNT,
        code: currency.code.to_owned(),
        network: currency.network,
        decimals: currency.decimals,
        contract: currency.contract.map(ToOwned::to_owned),
    }
}

fn notice(kind: &'static str, now: DateTime<Utc>) -> NoticeBody {
    NoticeBody {
        kind,
        tx_hash: TX_HASH.to_owned(),
        log_index: Some(0),
        deposit_key: format!("{TX_HASH}:log:0"),
        network: currency().network.name(),
        currency: Some(currency().code.to_owned()),
        contract_address: currency().contract.map(ToOwned::to_owned),
        amount: "1".to_owned(),
        amount_unit: ipn::IN_COINS,
        received_at: iso_8601(now),
    }
}

fn renewal(checkout_url: &str, now: DateTime<Utc>) -> RenewalBody {
    RenewalBody {
        day_offset: -3,
        next_renewal_at: iso_8601(now + TimeDelta::days(3)),
        cycle: 2,
        renewal_url: format!("{checkout_url}/renew/pzr_00000000000000000000000000"),
    }
}

/// The snapshot of the order that a payout's webhook of this kind shows.
pub fn order(kind: EventKind, now: DateTime<Utc>) -> String {
    let state = match kind {
        EventKind::PayoutCreated | EventKind::PayoutQuoteRefreshed => State::Draft,
        EventKind::PayoutOverfunded => State::Funded,
        EventKind::PayoutBatchBroadcasted
        | EventKind::PayoutBatchConfirmed
        | EventKind::PayoutBatchFailed => State::Processing,
        EventKind::PayoutCompleted => State::Completed,
        EventKind::PayoutPartialFailed => State::PartialFailed,
        EventKind::PayoutExpired => State::Expired,
        EventKind::PayoutCancelled => State::Cancelled,
        EventKind::PayoutDepositDetected
        | EventKind::PayoutUnderfunded
        | EventKind::InvoiceCreated
        | EventKind::InvoicePartial
        | EventKind::InvoicePaid
        | EventKind::InvoiceExpired
        | EventKind::InvoiceCancelled
        | EventKind::LateDeposit
        | EventKind::WrongToken
        | EventKind::SuspiciousToken
        | EventKind::DepositCredited
        | EventKind::RenewalReminder
        | EventKind::SubscriptionStarted
        | EventKind::SubscriptionRenewed
        | EventKind::SubscriptionPastDue
        | EventKind::SubscriptionCancelled
        | EventKind::SubscriptionEnded
        | EventKind::X402Paid => State::PendingDeposit,
    };
    let quote = QuoteView {
        id: QUOTE_ID.to_owned(),
        created_at: now,
        expires_at: now + TimeDelta::seconds(i64::from(WINDOW)),
        fee_rate: 30_000_000_000,
        native_price_usd: "0.5".to_owned(),
        asset_price_usd: "1".to_owned(),
        network_fee: BaseUnits::ZERO,
        service_fee: BaseUnits::ZERO,
    };
    order::snapshot(&OrderView {
        id: ORDER_ID.to_owned(),
        currency: currency(),
        family: PayoutFamily::Evm,
        state,
        funding: Funding::None,
        label: Some("test".to_owned()),
        metadata: None,
        fee_mode: FeeMode::Sender,
        item_count: 1,
        batch_count: 1,
        payout_total: AMOUNT,
        total_to_send: AMOUNT,
        received: BaseUnits::ZERO,
        paid: BaseUnits::ZERO,
        failed: BaseUnits::ZERO,
        deposit_address: None,
        refund_address: None,
        expires_at: quote.expires_at,
        quote,
        progress: Tally { pending: 1, signed: 0, sent: 0, confirmed: 0, failed: 0 },
        last_batch: None,
        refund: None,
        cancelled_by: None,
        held: false,
        created_at: now,
        confirmed_at: None,
        funded_at: None,
        finished_at: state.is_terminal().then_some(now),
        updated_at: now,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::Channel;

    #[test]
    fn every_event_with_a_webhook_has_a_sample_that_says_so() {
        for kind in EventKind::ALL {
            let now = DateTime::UNIX_EPOCH;
            match kind.channel() {
                None => {}
                Some(Channel::Ipn) => {
                    let text =
                        payment(kind, "https://shop.example/ipn", "https://pay.example", now);
                    let body: Value = serde_json::from_str(&text).unwrap();
                    assert_eq!(body["_gateway"]["test"], true, "{kind}");
                    let (notice, renewal) =
                        (&body["_gateway"]["notice"]["type"], &body["_gateway"]["renewal"]);
                    let is_status =
                        matches!(kind, EventKind::InvoicePaid | EventKind::InvoiceExpired);
                    let is_reminder = kind == EventKind::RenewalReminder;
                    assert_eq!(renewal["day_offset"].is_i64(), is_reminder, "{kind}");
                    assert_eq!(notice.is_null(), is_status || is_reminder, "{kind}");
                    if !notice.is_null() {
                        assert_eq!(notice, kind.as_str());
                    }
                }
                Some(Channel::Payout) => {
                    let body: Value = serde_json::from_str(&order(kind, now)).unwrap();
                    assert_eq!(body["id"], ORDER_ID, "{kind}");
                }
            }
        }
    }
}
