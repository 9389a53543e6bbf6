//! `recorded.json`: deliveries by the gateway's own signer, and forged or damaged copies of them.

use chrono::{DateTime, Utc};
use expect_test::expect_file;
use gateway::{
    asset::Network,
    invoice::{
        payment::{Payment, PaymentAsset, PaymentView, Subscription, iso_8601},
        vocabulary::{InvoiceType, Status},
    },
    merchant::WebhookSecret,
    money::{BaseUnits, Price},
    webhook::{
        ipn::{self, NoticeBody},
        subscription::RenewalBody,
    },
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::Recorder;

/// Secret of no merchant: it was made for this file.
const SECRET: &str = "9f2b6c1d4e8a7053b1c6d2e9f4a80713c5d6e7f8091a2b3c4d5e6f708192a3b4";
const SIGNED_AT: i64 = 1_767_225_600;
/// The oldest that a receiver accepts (spec, "Payment IPN").
const AGE_MAX: i64 = 600;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).expect("a time of this age")
}

fn finished() -> PaymentView {
    PaymentView {
        payment_id: "pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a".into(),
        status: Status::Paid,
        price_amount: Price::parse("25.10").expect("a price"),
        price_currency: "usd".into(),
        asset: Some(PaymentAsset {
            pay_address: "0x52908400098527886E0F7030069857D2E4169EE7".into(),
            pay_amount: BaseUnits::new(25_100_000),
            code: "usdtmatic".into(),
            network: Network::Polygon,
            decimals: 6,
            contract: Some("0xc2132D05D31c914a87C6611C10748AEb04B58e8F".into()),
        }),
        actually_paid: BaseUnits::new(25_100_000),
        order_id: Some("order-1".into()),
        order_description: Some("2 × café crème".into()),
        ipn_callback_url: Some("https://shop.example/ipn?a=1&b=2".into()),
        invoice_type: InvoiceType::Payment,
        window_seconds: 1800,
        deadline: at(SIGNED_AT + 900),
        created_at: at(SIGNED_AT - 900),
        updated_at: at(SIGNED_AT - 1),
        subscription: None,
    }
}

/// Extreme amounts that JSON readers get wrong, and text that re-serialising would escape in other
/// ways.
fn expired() -> PaymentView {
    PaymentView {
        payment_id: "pzi_0a1b2c3d4e5f6g7h8j9k0m1n2p".into(),
        status: Status::Expired,
        price_amount: Price::parse("123456789012345.000000000000000001").expect("a price"),
        asset: Some(PaymentAsset {
            pay_amount: BaseUnits::new(100_000_000_000_000_000_000_000_001),
            code: "near".into(),
            network: Network::Near,
            decimals: 24,
            contract: None,
            pay_address: "shop.near".into(),
        }),
        actually_paid: BaseUnits::new(100_000_000_000_000_000),
        order_id: None,
        order_description: Some("</script> \u{2028} \\ \" / 日本 😀 \u{7f}\u{1}".into()),
        ..finished()
    }
}

fn snapshot(view: &PaymentView) -> String {
    ipn::snapshot(&Payment::render(view, "https://pay.example"), None, None, None)
}

fn body(view: &PaymentView, event_id: &str, event_at: i64) -> String {
    ipn::body(&snapshot(view), event_id, event_at).expect("the snapshot is an object")
}

/// The notice about one grain of dust that was sent to the invoice's address.
fn notice(view: &PaymentView, kind: &'static str, event_id: &str) -> String {
    let tx_hash = format!("0x{}", "cd".repeat(32));
    let dust = NoticeBody {
        kind,
        deposit_key: format!("{tx_hash}:log:3"),
        log_index: Some(3),
        tx_hash,
        network: "polygon",
        currency: Some("usdtmatic".into()),
        contract_address: Some("0xc2132D05D31c914a87C6611C10748AEb04B58e8F".into()),
        amount: "0.000001".into(),
        amount_unit: ipn::IN_COINS,
        received_at: iso_8601(at(SIGNED_AT)),
    };
    let snapshot =
        ipn::snapshot(&Payment::render(view, "https://pay.example"), Some(&dust), None, None);
    ipn::body(&snapshot, event_id, SIGNED_AT).expect("the snapshot is an object")
}

fn sign(body: &str) -> String {
    ipn::sign(&WebhookSecret::from(SECRET.to_owned()), body.as_bytes())
}

/// The reminder that `view`'s subscription is due in so many days, or was due.
fn reminder(view: &PaymentView, day_offset: i8, event_id: &str, event_at: i64) -> String {
    let due = view.subscription.as_ref().expect("an invoice of a subscription").next_renewal_at;
    let renewal = RenewalBody {
        day_offset,
        next_renewal_at: iso_8601(due),
        cycle: 2,
        renewal_url: format!("https://pay.example/renew/pzr_{}", "0".repeat(26)),
    };
    let payment = Payment::render(view, "https://pay.example");
    let snapshot = ipn::snapshot(&payment, None, None, Some(&renewal));
    ipn::body(&snapshot, event_id, event_at).expect("the snapshot is an object")
}

/// Signature base of a receiver that parses and serialises instead of using the raw bytes.
fn in_other_order(body: &str) -> String {
    let (head, tail) = body.split_at(body.find(",\"payment_id\"").expect("the field is there"));
    format!("{{{},{}}}", tail[1..tail.len() - 1].trim(), &head[1..])
}

fn record() -> Value {
    let mut to = Recorder::default();
    let good = body(&finished(), "evt-1", SIGNED_AT);
    let signature = sign(&good);
    refuse_forgeries(&mut to, &good, &signature);

    let now = SIGNED_AT + 2;
    to.add("the good one, after all its forgeries", &good, &signature, now, "accepted finished");
    to.add("the same once more", &good, &signature, now, "duplicate");
    let again = body(&finished(), "evt-1", SIGNED_AT + 30);
    to.add("its next attempt, signed anew", &again, &sign(&again), now + 30, "duplicate");

    let odd = body(&expired(), "evt-2", SIGNED_AT);
    let odd_signature = sign(&odd);
    to.add("eleven minutes old", &odd, &odd_signature, SIGNED_AT + AGE_MAX + 60, "stale");
    to.add("one second too old", &odd, &odd_signature, SIGNED_AT + AGE_MAX + 1, "stale");
    to.add("from a time to come", &odd, &odd_signature, SIGNED_AT - AGE_MAX - 1, "stale");
    to.add(
        "just young enough, with odd digits and letters",
        &odd,
        &odd_signature,
        SIGNED_AT + AGE_MAX,
        "accepted expired",
    );
    let next = body(&finished(), "evt-3", SIGNED_AT);
    to.add("the first payment's status under another id", &next, &sign(&next), now, "duplicate");
    pay_once_and_send_dust(&mut to);
    pay_once_and_remind(&mut to);
    json!({ "secret": SECRET, "deliveries": to.deliveries })
}

/// One payment, and dust before it and four times after it: each grain is a genuine event with an
/// id of its own.
fn pay_once_and_send_dust(to: &mut Recorder) {
    let now = SIGNED_AT + 2;
    let paid = PaymentView { payment_id: "pzi_1b2c3d4e5f6g7h8j9k0m1n2p3q".into(), ..finished() };
    let mut add = |name: &str, body: &str, expected: &str| {
        to.add(name, body, &sign(body), now, expected);
    };
    // It overtook the payment, and must not use up the payment's place.
    let early = notice(&paid, "wrong_token_received", "evt-dust-0");
    let expected = "notice wrong_token_received finished";
    add("dust that is reported before the payment", &early, expected);
    let payment = body(&paid, "evt-paid", SIGNED_AT);
    add("the payment that dust follows", &payment, "accepted finished");
    for (kind, id) in [
        ("late_deposit_received", "evt-dust-1"),
        ("late_deposit_received", "evt-dust-2"),
        ("wrong_token_received", "evt-dust-3"),
        ("suspicious_token_received", "evt-dust-4"),
    ] {
        let dust = notice(&paid, kind, id);
        add(&format!("dust after the payment, {id}"), &dust, &format!("notice {kind} finished"));
        add(&format!("the same notice again, {id}"), &dust, "duplicate");
    }
    // Metadata of another kind under the same key is no notice.
    let gift = PaymentView { payment_id: "pzi_2c3d4e5f6g7h8j9k0m1n2p3q4r".into(), ..finished() };
    let mut donation: Value = serde_json::from_str(&snapshot(&gift)).expect("a snapshot is JSON");
    donation["_gateway"] = json!({ "donation": {} });
    let donation = ipn::body(&donation.to_string(), "evt-gift", SIGNED_AT).expect("an object");
    add("a donation with metadata", &donation, "accepted finished");
}

/// One payment of a subscription, and reminders of its renewal before it and after it, whose status
/// is that of the payment.
fn pay_once_and_remind(to: &mut Recorder) {
    let now = SIGNED_AT + 2;
    let paid = PaymentView {
        payment_id: "pzi_3d4e5f6g7h8j9k0m1n2p3q4r5s".into(),
        invoice_type: InvoiceType::Subscription,
        subscription: Some(Subscription {
            subscriber_email: "ada@example.com".into(),
            cycle: 1,
            next_renewal_at: at(SIGNED_AT + 3 * 86_400),
        }),
        ..finished()
    };
    let mut add = |name: &str, body: &str, now: i64, expected: &str| {
        to.add(name, body, &sign(body), now, expected);
    };
    // To a receiver that lost the payment: it must neither ship nor use up the payment's place.
    let early = reminder(&paid, -3, "evt-reminder-1", SIGNED_AT);
    add("a reminder of a payment not heard of", &early, now, "renewal -3 finished");
    let payment = body(&paid, "evt-subscribed", SIGNED_AT);
    add("the payment of that subscription", &payment, now, "accepted finished");
    let next = reminder(&paid, -2, "evt-reminder-2", SIGNED_AT);
    add("the next day's reminder", &next, now, "renewal -2 finished");
    add("the same reminder again", &next, now, "duplicate");
    let again = reminder(&paid, -2, "evt-reminder-2", SIGNED_AT + 30);
    add("the reminder's next attempt, signed anew", &again, now + 30, "duplicate");
    let due = reminder(&paid, 0, "evt-reminder-3", SIGNED_AT);
    add("a reminder on the day itself", &due, now, "renewal 0 finished");
}

fn refuse_forgeries(to: &mut Recorder, good: &str, signature: &str) {
    let now = SIGNED_AT + 2;
    let mut sha_256 = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any key");
    sha_256.update(good.as_bytes());
    let sha_256 = hex::encode(sha_256.finalize().into_bytes());
    let others = ipn::sign(&WebhookSecret::from("0".repeat(64)), good.as_bytes());
    let first_flipped =
        format!("{}{}", if signature.starts_with('0') { '1' } else { '0' }, &signature[1..]);
    let forgeries = [
        ("another price", good.replace("\"price_amount\":25.1", "\"price_amount\":2.1"), signature),
        ("a later time", good.replace("\"event_at\":17672", "\"event_at\":17673"), signature),
        ("another event id", good.replace("evt-1", "evt-9"), signature),
        ("a digit written in another way", good.replace("25.1,", "25.10,"), signature),
        ("the keys in another order", in_other_order(good), signature),
        ("a line break at the end", format!("{good}\n"), signature),
        ("a byte order mark in front", format!("\u{feff}{good}"), signature),
        ("letters as escapes", good.replace('é', "\\u00e9"), signature),
        ("the last byte cut off", good[..good.len() - 1].to_owned(), signature),
        ("nothing at all", String::new(), signature),
        ("another merchant's secret", good.to_owned(), others.as_str()),
        ("the other channel's algorithm", good.to_owned(), &sha_256),
        ("one letter of the signature changed", good.to_owned(), &first_flipped),
        ("a signature cut short", good.to_owned(), &signature[..127]),
        ("half a signature", good.to_owned(), &signature[..64]),
        ("a signature with more behind it", good.to_owned(), &format!("{signature}00")),
        ("a signature that is no hex", good.to_owned(), &"z".repeat(128)),
        ("a signature beyond ASCII", good.to_owned(), &"é".repeat(64)),
        ("no signature", good.to_owned(), ""),
    ];
    to.refuse(good, signature, now, &forgeries);
}

/// `UPDATE_EXPECT=1` records again. A difference means that merchants' receivers would see one.
#[test]
fn the_recorded_deliveries_are_what_the_signer_makes() {
    let text = serde_json::to_string_pretty(&record()).expect("plain data");
    expect_file!["../../../examples/verify-ipn/recorded.json"].assert_eq(&format!("{text}\n"));
}
