//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Amount;

/// What a merchant has, by the ledger, all of one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Balance {
    /// One entry for each currency and network of which any amount is not zero.
    pub balances: Vec<BalanceEntry>,
    /// The currency of the estimates.
    pub fiat_currency: String,
}

/// The amounts of one currency on one network, in whole coins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BalanceEntry {
    /// Booked deposits of invoices in their own currency, less excess and reversals: the balance of
    /// the merchant's account.
    pub available: String,
    /// As in `GET /v1/currencies`.
    pub currency: String,
    /// `available` in `fiat_currency` at the current rate, rounded to 2 decimals; null without a
    /// fresh rate. Not binding.
    pub fiat_estimate: Option<String>,
    /// Deposits in another currency than the one asked for; not in `available`.
    pub foreign: String,
    /// Held by the merchant's payout orders: funded, and neither paid, kept as fees nor returned.
    pub in_payouts: String,
    /// Deposits that were booked after their invoice had ended; not in `available`.
    pub late: String,
    pub network: String,
    /// Deposits of the merchant's invoices that are seen or final and not booked yet. They may
    /// vanish, or be booked as late or foreign.
    pub pending: String,
    /// In upper case.
    pub symbol: String,
}

/// Something that happened to an invoice or a payout.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// When it happened. The feed is in the order in which events became visible, which may differ.
    pub created_at: String,
    /// Its webhook; null if it has none: nobody asked for one, or its type has none.
    pub delivery: Option<EventDelivery>,
    /// The same as in its webhook: act on each id once.
    pub event_id: String,
    /// The payment object as it was then, with `_gateway.notice` for a deposit that changed
    /// nothing; or the payout order as it was.
    pub payload: Box<RawValue>,
    /// The `payment_id`, or the id of the payout order.
    pub resource_id: String,
    /// `invoice.created`, `.partial`, `.paid`, `.expired`, `.cancelled`; `late_deposit_received`,
    /// `wrong_token_received`, `suspicious_token_received`, which change no status; `x402.paid`;
    /// `subscription.started`, `.renewed`, `.past_due`, `.cancelled`, `.ended`,
    /// `.renewal_reminder`; `mass_payout.…` as in the payout webhooks. More may come.
    #[serde(rename = "type")]
    pub kind: String,
}

/// One attempt to deliver a webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventAttempt {
    /// From 1 in each cycle.
    pub attempt: i64,
    /// The cycle that it belongs to.
    pub cycle: i64,
    /// Milliseconds until the answer, or until it was given up.
    pub duration_ms: i64,
    /// For people: why it failed; null for one that was taken.
    pub error: Option<String>,
    /// The first characters of the answer's body. Show it as text only: the receiver wrote it.
    pub excerpt: Option<String>,
    /// When it began.
    pub started_at: String,
    /// HTTP status of the answer; null if there was none.
    pub status: Option<i64>,
}

/// How the webhook of an event fares.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventDelivery {
    /// The newest 100 attempts, oldest first. Only where one event is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<EventAttempt>>,
    /// Attempts made in this cycle, of 5.
    pub attempts_made: i64,
    /// `ipn` or `payout`, which sign differently.
    pub channel: String,
    /// 1, and 1 more each time it is sent again.
    pub cycle: i64,
    /// For people: why the last attempt failed.
    pub last_error: Option<String>,
    /// HTTP status of the last attempt; null before the first, and if there was no answer.
    pub last_status: Option<i64>,
    /// When the next attempt is due; null if none is.
    pub next_attempt_at: Option<String>,
    /// `pending`, `retry_wait`, `delivered`, `dropped` (refused with 4xx; payouts only) or `dead`
    /// (given up until it is sent again).
    pub state: String,
    /// Where it is sent.
    pub url: String,
}

/// One page of the feed of events, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventPage {
    pub data: Vec<Event>,
    /// True if there is more now: ask again with `after` = `next`, also if `data` is empty.
    pub has_more: bool,
    /// Keep it, and send it as `after` for what follows, now or later. Null while there was no
    /// event yet.
    pub next: Option<String>,
}

/// What was started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventsResent {
    /// Their events, oldest first.
    pub event_ids: Vec<String>,
    /// True if there is more: ask again with `after` = `next`, also if `resent` is 0.
    pub has_more: bool,
    /// The last event that this call looked at. Null if there was none.
    pub next: Option<String>,
    /// How many webhooks have a fresh cycle of attempts under way.
    pub resent: i64,
}

/// The events to send again; `{}` means all that failed. Members that are not listed are ignored.
/// It describes the input of `wanted`; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewEventsResend {
    /// An `event_id`: only what was made after it. To go on, the `next` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Only what was made at this time or later. Begin some minutes before your receiver went down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Only webhooks that ended in this state: `dead`, `dropped`, or `delivered`, which means that
    /// the receiver took them. Absent: those that failed, `dead` and `dropped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Only what was made before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Only events of this type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A payment on the simulated chain: to an invoice, or to an address of an invoice or a payout
/// order.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewSandboxDeposit {
    /// An address of one of your invoices or payout orders, together with `network`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Whole coins.
    pub amount: Amount,
    /// `CODE` or `CODE@NETWORK`; the invoice's own currency if absent, or the network's coin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The chain to pay on, together with `address`: also another one than the invoice's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The invoice to pay, in its own currency if `currency` is absent. Instead of `network` and
    /// `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
    /// 1 to 128 hex digits, with or without `0x`; made up if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txid: Option<String>,
    /// True leaves it in the mempool. Send the same `txid` once more without it to confirm it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfirmed: Option<bool>,
}

/// Value that reached the address of an invoice, on any network that the address exists on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentDeposit {
    /// Whole coins if the token's decimals are known, else base units.
    pub amount: String,
    /// The unit of `amount`: `coins` or `base_units`.
    pub amount_unit: String,
    /// Null until it is booked: `credit`, `late` (after the end), `foreign` (another currency of
    /// the catalogue), `suspicious` (an unknown token or an impossible amount, worth nothing) or
    /// `nothing`. More may come.
    pub booked_as: Option<String>,
    /// One in the newest block that was read, none in the mempool; grows beyond
    /// `required_confirmations`.
    pub confirmations: i64,
    /// The token's contract; null for native coins.
    pub contract_address: Option<String>,
    /// The code of the currency that came; null for a token that is not in the catalogue.
    pub currency: Option<String>,
    /// The transaction in a public block explorer; null where none can know it, as in the sandbox.
    pub explorer_url: Option<String>,
    /// The invoice's fiat currency, `usd` if it is priced in coins; null with `fiat_value`.
    pub fiat_currency: Option<String>,
    /// Its value at the rate of its booking, in `fiat_currency`; null before, and where there was
    /// no rate.
    pub fiat_value: Option<String>,
    /// When it had its confirmations; null before, and for deposits older than this field.
    pub final_at: Option<String>,
    /// When it was first seen, in the mempool or in a block.
    pub first_seen_at: String,
    /// The chain on which it came.
    pub network: String,
    /// The confirmations with which it becomes final; more for large amounts.
    pub required_confirmations: i64,
    /// `seen`, `final` (confirmed, not booked yet), `settled` (booked), `withdrawn` (replaced or
    /// dropped before it was final) or `reversed` (left the chain after it was booked; the books
    /// were corrected). More may come.
    pub state: String,
    /// The transaction that brought it; one transaction may bring several deposits.
    pub tx_hash: String,
}

/// The first deposits of an invoice: those in its own currency, oldest first, then all others.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentDeposits {
    pub data: Vec<PaymentDeposit>,
    /// True if there are more than `limit`: strangers may send dust to any address.
    pub has_more: bool,
    /// Deposits per answer, after clamping.
    pub limit: i64,
}

/// Days to let pass.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SandboxAdvance {
    /// Whole days, 1 to 3660.
    pub days: i64,
    /// The subscription whose clock is moved on.
    pub subscription_id: String,
}

/// A transaction on the simulated chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SandboxDeposit {
    /// The newest block now.
    pub head: i64,
    /// Its block; null while it waits in the mempool.
    pub height: Option<i64>,
    /// The chain on which it is.
    pub network: String,
    /// False if this transaction was known before.
    pub new: bool,
    /// Its hash, as the deposit's `tx_hash` will be.
    pub txid: String,
}

/// The invoice whose window ends now.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct SandboxExpiry {
    /// Its `payment_id`.
    pub payment_id: String,
}

/// A test of a receiver. Members that are not listed are ignored. It describes the input of `send`;
/// nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct WebhookTest {
    /// A type of event that has a webhook.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the sample is sent. Absent: where the last webhook of this channel went, else the
    /// merchant's payout webhook URL for a payout's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What the receiver said.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebhookTestResult {
    /// Milliseconds until the answer, or until it was given up.
    pub duration_ms: i64,
    /// For people: why it was not taken; null if it was.
    pub error: Option<String>,
    /// Of the sample. `GET /v1/events` does not list it.
    pub event_id: String,
    /// The first characters of the answer's body.
    pub excerpt: Option<String>,
    /// True if it answered 2xx, which takes an event.
    pub ok: bool,
    /// HTTP status of the answer; null if there was none.
    pub status: Option<i64>,
    /// Where it was sent.
    pub url: String,
}
