//! `recorded.json` of the payout webhooks: deliveries by the gateway's own signer, and forged or
//! damaged copies of them.

use chrono::{DateTime, Utc};
use expect_test::expect_file;
use gateway::{
    asset::catalogue::Catalogue,
    merchant::WebhookSecret,
    money::BaseUnits,
    payout::{
        EventType, FeeMode, Funding, PayoutFamily, State,
        batch::{BatchState, Tally},
        lifecycle::CancelledBy,
        order::{BatchView, OrderView, QuoteView, snapshot},
    },
    webhook::payout,
};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha512;

use super::Recorder;

/// Secret of no merchant: it was made for this file.
const SECRET: &str = "4be07d8a1c5f92e36a70b1d8c9e2f3045566778899aabbccddeeff0011223344";
const SIGNED_AT: i64 = 1_767_225_600;
/// The oldest that a receiver accepts.
const AGE_MAX: i64 = 600;
const NOW: i64 = SIGNED_AT + 2;

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(seconds, 0).expect("a time of this age")
}

/// Two recipients paid with tokens. Keys of the merchant's own object are unordered, and its
/// numbers unusual.
fn completed() -> OrderView {
    OrderView {
        id: "empo_7n4c2v9k1x8m3q6w5e0r2t4y6a".into(),
        currency: Catalogue::get().by_token_id("usdtmatic@polygon").expect("a currency"),
        family: PayoutFamily::Evm,
        state: State::Completed,
        funding: Funding::Exact,
        label: Some("wages, café crème".into()),
        metadata: Some(r#"{"z":1.10,"a":["</script>","\u2028"]}"#.into()),
        fee_mode: FeeMode::Sender,
        item_count: 2,
        batch_count: 1,
        payout_total: BaseUnits::new(12_500_000),
        total_to_send: BaseUnits::new(12_631_000),
        received: BaseUnits::new(12_631_000),
        paid: BaseUnits::new(12_500_000),
        failed: BaseUnits::ZERO,
        deposit_address: Some("0x52908400098527886E0F7030069857D2E4169EE7".into()),
        refund_address: None,
        quote: QuoteView {
            id: "mpq_0a1b2c3d4e5f6g7h8j9k0m1n2p".into(),
            created_at: at(SIGNED_AT - 300),
            expires_at: at(SIGNED_AT + 600),
            fee_rate: 30_000_000_000,
            native_price_usd: "0.5".into(),
            asset_price_usd: "1".into(),
            network_fee: BaseUnits::new(68_500),
            service_fee: BaseUnits::new(62_500),
        },
        progress: Tally { confirmed: 2, ..Tally::default() },
        last_batch: Some(BatchView {
            id: "mpb_3q6w5e0r2t4y6a7n4c2v9k1x8m".into(),
            index: 0,
            state: BatchState::Confirmed,
            item_count: 2,
            failed_count: 0,
            amount: BaseUnits::new(12_500_000),
            fee: BaseUnits::new(3_900_000_000_000_000),
            tx_hash: Some(format!("0x{}", "ab".repeat(32))),
            replaced_tx_hashes: vec![],
            confirmations: 128,
            required_confirmations: 128,
            last_error: None,
            broadcast_at: Some(at(SIGNED_AT - 200)),
            confirmed_at: Some(at(SIGNED_AT - 1)),
        }),
        refund: None,
        cancelled_by: None,
        held: false,
        expires_at: at(SIGNED_AT + 3_000),
        created_at: at(SIGNED_AT - 300),
        confirmed_at: Some(at(SIGNED_AT - 290)),
        funded_at: Some(at(SIGNED_AT - 210)),
        finished_at: Some(at(SIGNED_AT - 1)),
        updated_at: at(SIGNED_AT - 1),
    }
}

/// Amounts with more digits than a double holds, and no recipient paid.
fn cancelled() -> OrderView {
    OrderView {
        id: "empo_0a1b2c3d4e5f6g7h8j9k0m1n2p".into(),
        currency: Catalogue::get().by_token_id("eth@ethereum").expect("a currency"),
        state: State::Cancelled,
        payout_total: BaseUnits::new(100_000_000_000_000_000_000_000_001),
        total_to_send: BaseUnits::new(100_000_000_000_000_000_000_000_001),
        received: BaseUnits::ZERO,
        paid: BaseUnits::ZERO,
        funding: Funding::None,
        metadata: None,
        label: None,
        progress: Tally { pending: 2, ..Tally::default() },
        last_batch: None,
        cancelled_by: Some(CancelledBy::Operator),
        ..completed()
    }
}

fn body(event: EventType, order: &OrderView, event_id: &str, event_at: i64) -> String {
    payout::body(event.as_str(), event_id, event_at, &snapshot(order)).expect("an order is JSON")
}

fn sign(body: &str) -> String {
    payout::sign(&WebhookSecret::from(SECRET.to_owned()), body.as_bytes())
}

fn record() -> Value {
    let mut to = Recorder::default();
    let done = completed();
    let good = body(EventType::Completed, &done, "pzwe_1", SIGNED_AT);
    let signature = sign(&good);
    refuse_forgeries(&mut to, &good, &signature);

    let accepted = "accepted mass_payout.completed completed";
    to.add("the good one, after all its forgeries", &good, &signature, NOW, accepted);
    to.add("the same once more", &good, &signature, NOW, "duplicate");
    let again = body(EventType::Completed, &done, "pzwe_1", SIGNED_AT + 60);
    to.add("its next attempt, signed anew", &again, &sign(&again), NOW + 60, "duplicate");

    let odd = body(EventType::Cancelled, &cancelled(), "pzwe_2", SIGNED_AT);
    let signature = sign(&odd);
    to.add("eleven minutes old", &odd, &signature, SIGNED_AT + AGE_MAX + 60, "stale");
    to.add("one second too old", &odd, &signature, SIGNED_AT + AGE_MAX + 1, "stale");
    to.add("from a time to come", &odd, &signature, SIGNED_AT - AGE_MAX - 1, "stale");
    let accepted = "accepted mass_payout.cancelled cancelled";
    to.add("just young enough", &odd, &signature, SIGNED_AT + AGE_MAX, accepted);
    // Sent late: its order is older than one already seen. It is genuine; the receiver's books
    // decide if it may overwrite the newer state.
    let processing = OrderView { state: State::Processing, finished_at: None, ..completed() };
    let late = body(EventType::BatchConfirmed, &processing, "pzwe_3", SIGNED_AT);
    let accepted = "accepted mass_payout.batch_confirmed processing";
    to.add("an earlier event of the first order", &late, &sign(&late), NOW, accepted);
    json!({ "secret": SECRET, "deliveries": to.deliveries })
}

fn refuse_forgeries(to: &mut Recorder, good: &str, signature: &str) {
    let mut sha_512 = Hmac::<Sha512>::new_from_slice(SECRET.as_bytes()).expect("any key");
    sha_512.update(good.as_bytes());
    let sha_512 = hex::encode(sha_512.finalize().into_bytes());
    let others = payout::sign(&WebhookSecret::from("0".repeat(64)), good.as_bytes());
    let first_flipped =
        format!("{}{}", if signature.starts_with('0') { '1' } else { '0' }, &signature[1..]);
    // Signature base of a receiver that parses and serialises instead of using the raw bytes.
    let parsed: Value = serde_json::from_str(good).expect("the body is JSON");
    let (twice, beyond) = (format!("{signature}{signature}"), "é".repeat(32));
    let (longer, no_hex) = (format!("{signature}00"), "z".repeat(64));
    let forgeries = [
        ("more paid", good.replace("\"paidRaw\":\"125", "\"paidRaw\":\"925"), signature),
        ("another event", good.replace("mass_payout.completed", "mass_payout.created"), signature),
        ("a later time", good.replace("\"eventAt\":17672", "\"eventAt\":17673"), signature),
        ("another event id", good.replace("pzwe_1", "pzwe_9"), signature),
        ("a digit written in another way", good.replace("1.10", "1.1"), signature),
        ("the keys sorted", parsed.to_string(), signature),
        ("a line break at the end", format!("{good}\n"), signature),
        ("a byte order mark in front", format!("\u{feff}{good}"), signature),
        ("letters as escapes", good.replace('é', "\\u00e9"), signature),
        ("the last byte cut off", good[..good.len() - 1].to_owned(), signature),
        ("nothing at all", String::new(), signature),
        ("another merchant's secret", good.to_owned(), others.as_str()),
        ("the other channel's algorithm", good.to_owned(), &sha_512),
        ("one letter of the signature changed", good.to_owned(), &first_flipped),
        ("a signature cut short", good.to_owned(), &signature[..63]),
        ("half a signature", good.to_owned(), &signature[..32]),
        ("a signature with more behind it", good.to_owned(), &longer),
        ("a signature twice over", good.to_owned(), &twice),
        ("a signature that is no hex", good.to_owned(), &no_hex),
        ("a signature beyond ASCII", good.to_owned(), &beyond),
        ("no signature", good.to_owned(), ""),
    ];
    to.refuse(good, signature, NOW, &forgeries);
}

/// `UPDATE_EXPECT=1` records again. A difference means that merchants' receivers would see one.
#[test]
fn the_recorded_payout_webhooks_are_what_the_signer_makes() {
    let text = serde_json::to_string_pretty(&record()).expect("plain data");
    expect_file!["../../../examples/verify-payout-webhook/recorded.json"]
        .assert_eq(&format!("{text}\n"));
}
