//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Amount;

/// One entry of `accepted_currencies`. Its fields are frozen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcceptedCurrency {
    /// The symbol, in upper case.
    pub currency: String,
    /// The amount that would have to be paid now, in whole units; not binding; null while there is
    /// no fresh rate.
    pub estimated_amount: Option<Amount>,
    /// The smallest price in this currency, in US dollars.
    pub min_usd: Amount,
    pub network: String,
    pub standard: String,
    /// Identifies this choice on the checkout: `code@network`.
    pub token_id: String,
}

/// Response of a running service.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Alive {
    /// Always `OK`.
    pub message: String,
}

/// An invoice as its buyer sees it. All amounts are text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BuyerStatus {
    /// Present only while the buyer has to choose a currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
    /// The amount that the invoice asks for, in whole units.
    pub amount_due: Option<String>,
    /// The amount that has been counted.
    pub amount_received: Option<String>,
    /// The amount still to be sent, after everything that was counted or seen; it is the amount in
    /// `payment_uri`.
    pub amount_remaining: Option<String>,
    /// The amount that was seen but does not count yet, for lack of confirmations.
    pub amount_unconfirmed: Option<String>,
    /// Whether the buyer may still cancel: nothing has been seen, and the invoice is open.
    pub cancellable: bool,
    /// Confirmations of the newest unconfirmed deposit; null if there is none.
    pub confirmations: Option<i64>,
    /// The token's contract; null for native coins.
    pub contract_address: Option<String>,
    pub created_at: String,
    /// When the payment window ends.
    pub expires_at: String,
    pub invoice_type: String,
    /// Whether the buyer still has to choose a currency; everything about the payment is null until
    /// then.
    pub is_draft: bool,
    pub network: Option<String>,
    /// The merchant's own words. Show them as text, never as markup.
    pub order_description: Option<String>,
    /// The address to pay to.
    pub pay_address: Option<String>,
    /// The code of the currency to pay in.
    pub pay_currency: Option<String>,
    /// The invoice's id.
    pub payment_id: String,
    /// URI for wallets that pays the amount still to be sent; null if nothing is to be sent, or if
    /// the network has no convention for such URIs.
    pub payment_uri: Option<String>,
    /// The price, in `price_currency`.
    pub price_amount: String,
    /// The currency of the price, in lower case.
    pub price_currency: String,
    /// Where to redirect the buyer once the invoice has ended, if the merchant set an address.
    pub redirect_url: Option<String>,
    /// The number of confirmations that makes a deposit count on this network.
    pub required_confirmations: Option<i64>,
    /// Whole seconds until the payment window ends, by the server's clock.
    pub seconds_left: i64,
    pub standard: Option<String>,
    pub status: String,
    /// The symbol to show, in upper case.
    pub symbol: Option<String>,
    /// The transactions that paid, up to 20.
    pub tx_hashes: Vec<String>,
    pub updated_at: String,
}

/// The currencies on offer now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Currencies {
    /// Codes only. The code of a native coin appears once for each network on which it is native.
    pub currencies: Vec<String>,
    /// One entry per chain and token.
    pub currencies_detailed: Vec<CurrencyEntry>,
    /// Currencies in which a price can be given.
    pub fiat_currencies: Vec<String>,
}

/// A coin or token on one chain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CurrencyEntry {
    pub chain: String,
    /// The name of the chain in wallets and exchanges.
    pub chain_name: String,
    /// As used in `pay_currency`.
    pub code: String,
    /// The confirmations with which a deposit counts; a large one may need more.
    pub confirmations: i64,
    /// Null for native coins.
    pub contract_address: Option<String>,
    /// Decimals on its chain.
    pub decimals: i64,
    /// A block explorer's page of an address, with `{address}` in place of it; null likewise.
    pub explorer_address_url: Option<String>,
    /// A block explorer's page of a transaction, with `{tx_hash}` in place of the hash; null where
    /// no public explorer exists, as in the sandbox.
    pub explorer_tx_url: Option<String>,
    /// The smallest invoice, in US dollars; the same as in `GET /v1/min-amount`.
    pub min_amount_usd: Amount,
    /// The name for people.
    pub name: String,
    pub standard: String,
    /// In upper case.
    pub symbol: String,
}

/// Words and choices of a donor. Plain text on one line, written by a stranger: escape it wherever
/// you show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Donation {
    /// True: the donor wants to stay anonymous.
    pub anonymous: bool,
    /// Null if the donor gave none, or wants to stay anonymous. It is not proven to be the donor's.
    pub donor_email: Option<String>,
    /// Null if the donor gave none, or wants to stay anonymous.
    pub donor_name: Option<String>,
    /// The link on whose page the donation began.
    pub link_id: String,
    /// Null if the donor wrote none.
    pub message: Option<String>,
    /// The amount that the page proposed, as text; null if it proposed none. The donor's own choice
    /// is `price_amount`.
    pub suggested_amount: Option<String>,
    /// The currency of `suggested_amount`; null without it.
    pub suggested_currency: Option<String>,
}

/// What a price would cost now. Not binding.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Estimate {
    /// The price, in `currency_from`.
    pub amount_from: Amount,
    /// Whether the price is below the minimum; null unless `currency_from` is `usd`.
    pub below_minimum: Option<bool>,
    /// As in the request, in lower case.
    pub currency_from: String,
    /// As in the request, in lower case.
    pub currency_to: String,
    /// The amount that would have to be paid, in whole units of `currency_to`, up to 8 decimal
    /// places.
    pub estimated_amount: String,
    /// The smallest invoice, in US dollars.
    pub min_amount_usd: Amount,
}

/// Data of the gateway's own beside the payment object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IpnPart {
    /// Present in every IPN of an invoice of type `donation` that began on a link's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub donation: Option<Donation>,
    /// Present in reminders of a subscription's renewal alone: `payment_status` only repeats the
    /// state of its latest invoice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal: Option<Renewal>,
}

/// The smallest invoice in a currency.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MinAmount {
    /// As in the request; the minimum is always computed in US dollars.
    pub currency_from: String,
    /// Echoed.
    pub currency_to: String,
    /// In whole units of `currency_to`, up to 8 decimal places.
    pub min_amount: Amount,
    /// In US dollars.
    pub min_amount_usd: Amount,
}

/// An invoice to create. Members that are not listed are ignored; null is the same as absent. It
/// describes the input of `parse`, member by member; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewPayment {
    /// Where the buyer is redirected once the invoice is cancelled or expired: an http or https
    /// URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Where signed IPNs are posted: an absolute http or https URL on the public internet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipn_callback_url: Option<String>,
    /// When sent, `pay_currency` is read as a bare symbol on this chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Shown to the buyer on the hosted checkout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_description: Option<String>,
    /// The merchant's own reference; need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// A currency's code; or a bare symbol together with `network`; or `all`, which lets the buyer
    /// choose.
    pub pay_currency: String,
    /// The price: above 0, at most 15 integer digits and 18 decimals. A JSON number; text is
    /// refused.
    pub price_amount: Amount,
    /// `usd`, `eur` or `gbp` in any case; in pricing mode `direct` the symbol of `pay_currency`.
    pub price_currency: String,
    /// `fiat` converts the price at the current rate. `direct` takes it as an amount of the pay
    /// currency, exact in its decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing_mode: Option<String>,
    /// Accepted and ignored; responses always contain the `payment_id` here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purchase_id: Option<Box<RawValue>>,
    /// Where the buyer is redirected once the invoice is paid: an http or https URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
}

/// A link to create. Members that are not listed are ignored; null is the same as absent. It
/// describes the input of `parse`, member by member; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewPaymentLink {
    /// The tokens (`code@network`) that its invoices may be paid in, of those that you accept.
    /// Absent: all that you accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<String>>,
    /// Where buyers are redirected once their invoice is cancelled or expired: an http or https
    /// URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Of a subscription: payments after which it ends. Absent: it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_max: Option<i64>,
    /// Shown below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of a subscription: the unit of the time between two payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Of a subscription: how many of them; 1 if absent. Of days at least 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_count: Option<i64>,
    /// Where the signed IPNs of its invoices are posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipn_callback_url: Option<String>,
    /// The largest amount that visitors may choose; 1,000,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_amount: Option<Amount>,
    /// The smallest amount that visitors may choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_amount: Option<Amount>,
    /// Your own reference, which all its invoices carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// Of a till: the PIN of 4 to 8 digits with which its devices are enrolled and unlocked, not
    /// such as 0000 or 1234. Absent: each device chooses its own. It is never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// The price. Absent: visitors choose the amount. Of a donation the amount that the page
    /// proposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_amount: Option<Amount>,
    /// `usd`, `eur` or `gbp` in any case.
    pub price_currency: String,
    /// Of a subscription, in the sandbox only: seconds that a day takes, so that a month can be
    /// watched in a minute. Dates stay real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_day_seconds: Option<i64>,
    /// True: one payment uses the link up. Until then all its visitors share one open invoice. Only
    /// for type `payment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    /// Where buyers are redirected once they have paid: an http or https URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
    /// Amounts that the page offers, each with at most two decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_amounts: Option<Vec<Amount>>,
    /// Of a till: the IANA name of the time zone in which its day begins; `UTC` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The heading of the page and the description of its invoices; one line.
    pub title: String,
    /// `payment`: a fixed price, or one that the visitor chooses. `donation`: an amount that the
    /// donor chooses, with his name and a message if he likes. `subscription`: a fixed price that
    /// is paid again every interval. `pos`: a till, whose enrolled devices type each amount. It
    /// cannot be changed.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A device to enrol. It describes the input of the endpoint; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewTillDevice {
    /// A name by which you know it, on one line.
    pub name: String,
}

/// The deposit behind an informational IPN.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Notice {
    /// Whole coins if the token's decimals are known, else base units.
    pub amount: String,
    /// The unit of `amount`: `coins` or `base_units`.
    pub amount_unit: String,
    /// The token's contract; null for native coins.
    pub contract_address: Option<String>,
    /// The code of the currency that arrived; null for a token that is not in `GET /v1/currencies`.
    pub currency: Option<String>,
    /// Identifies the deposit: one transaction may contain several.
    pub deposit_key: String,
    /// The output, or the position among the transaction's logs; null where the network has
    /// neither.
    pub log_index: Option<i64>,
    /// The chain on which it arrived.
    pub network: String,
    /// When it was first seen.
    pub received_at: String,
    /// The transaction that brought it.
    pub tx_hash: String,
    /// `wrong_token_received`, `suspicious_token_received` or `late_deposit_received`; later
    /// releases may add more.
    #[serde(rename = "type")]
    pub kind: String,
}

/// An invoice as its merchant sees it. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payment {
    /// Received so far, in `pay_currency`; 0 until a deposit has its network's confirmations.
    pub actually_paid: Amount,
    /// The same as `actually_paid`.
    pub amount_received: Amount,
    /// Reserved.
    pub burning_percent: Option<()>,
    pub created_at: String,
    /// When the payment window ends.
    pub expiration_estimate_date: String,
    pub invoice_type: String,
    /// The hosted checkout's page for this invoice.
    pub invoice_url: Option<String>,
    /// The URL to which signed IPNs are posted.
    pub ipn_callback_url: Option<String>,
    /// The chain to pay on; null on an unresolved draft.
    pub network: Option<String>,
    /// Decimals of `pay_currency` on its chain; null on an unresolved draft.
    pub network_precision: Option<i64>,
    /// Set on subscriptions only.
    pub next_renewal_at: Option<String>,
    /// As it was sent; shown to the buyer.
    pub order_description: Option<String>,
    /// The merchant's own reference, as it was sent.
    pub order_id: Option<String>,
    /// Deposit address; null on an unresolved draft.
    pub pay_address: Option<String>,
    /// Amount to pay, in whole units of `pay_currency`; null on an unresolved draft.
    pub pay_amount: Option<Amount>,
    /// Code of the currency to pay in, as listed by `GET /v1/currencies`; null on an unresolved
    /// draft.
    pub pay_currency: Option<String>,
    /// Reserved.
    pub payin_extra_id: Option<()>,
    /// The invoice's id: `pzi_` and 26 characters. Never changes, also when a draft resolves.
    pub payment_id: String,
    pub payment_status: String,
    /// The requested price, in `price_currency`.
    pub price_amount: Amount,
    /// The currency of the price, in lower case.
    pub price_currency: String,
    /// Always equal to `payment_id`.
    pub purchase_id: String,
    /// The token's contract; null for native coins and on an unresolved draft.
    pub smart_contract: Option<String>,
    /// Set on subscriptions only.
    pub subscriber_email: Option<String>,
    /// Set on subscriptions only: number of cycles so far.
    pub subscription_cycle: Option<i64>,
    /// The payment window as `HH:MM:SS`; on an unresolved draft the time to choose a currency.
    pub time_limit: String,
    /// Time of the last change.
    pub updated_at: String,
    /// Present only on an unresolved draft, also after it was abandoned: the currencies that its
    /// buyer may choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
}

/// A page whose visitors create invoices of their merchant. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentLink {
    /// Null: all that the merchant accepts.
    pub accepted: Option<Vec<String>>,
    /// False: the page takes no payments.
    pub active: bool,
    /// The button as HTML, to be pasted into a page. It needs no script. Empty for a till.
    pub button_html: String,
    /// The picture of a button (SVG) that leads to the page. `?lang=` chooses its language. Empty
    /// for a till, to which no button leads.
    pub button_url: String,
    /// Where buyers are redirected once their invoice is cancelled or expired.
    pub cancel_url: Option<String>,
    pub created_at: String,
    /// Payments after which it ends; null for one without an end.
    pub cycles_max: Option<i64>,
    /// Shown below the title.
    pub description: Option<String>,
    /// Of a till: true if its devices are enrolled with the PIN that you set, false if each chooses
    /// its own. Null for other links.
    pub has_pin: Option<bool>,
    /// Of a subscription; else null, and so are the next ones.
    pub interval: Option<String>,
    /// How many intervals lie between two payments.
    pub interval_count: Option<i64>,
    /// Where the signed IPNs of its invoices are posted.
    pub ipn_callback_url: Option<String>,
    /// `pzl_` and 26 characters; never changes.
    pub link_id: String,
    pub max_amount: Option<Amount>,
    pub min_amount: Option<Amount>,
    /// The merchant's own reference, which all its invoices carry.
    pub order_id: Option<String>,
    /// The price, or of a donation the proposed amount; null where visitors choose.
    pub price_amount: Option<Amount>,
    /// In lower case.
    pub price_currency: String,
    /// Seconds that a day takes in the sandbox; null where it takes a day.
    pub sandbox_day_seconds: Option<i64>,
    /// True: one payment uses the link up.
    pub single_use: bool,
    /// Where buyers are redirected once they have paid.
    pub success_url: Option<String>,
    pub suggested_amounts: Vec<Amount>,
    /// Of a till: the time zone in which its day begins; null is UTC.
    pub time_zone: Option<String>,
    /// The heading of the page and the description of its invoices.
    pub title: String,
    /// As it was created; never changes.
    #[serde(rename = "type")]
    pub kind: String,
    pub updated_at: String,
    /// The page. Whoever has its address may open it.
    pub url: String,
}

/// Changes of a link. What is absent stays; null removes a value that need not be there. It
/// describes the input of `changes`; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentLinkChanges {
    /// The tokens (`code@network`) that new invoices may be paid in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<String>>,
    /// False switches the link off. Its open invoices can still be paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Shown below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipn_callback_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_amount: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_amount: Option<Amount>,
    /// Your own reference, which new invoices carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// Of a till: the PIN of devices that are enrolled from now on; null leaves it to each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// New invoices cost this; those that exist keep their price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_amount: Option<Amount>,
    /// `usd`, `eur` or `gbp` in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_currency: Option<String>,
    /// True: one payment uses the link up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_amounts: Option<Vec<Amount>>,
    /// Of a till: the IANA name of the time zone in which its day begins; null is `UTC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The heading of the page and the description of new invoices; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One page of links.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentLinkList {
    pub data: Vec<PaymentLink>,
    /// Links per page, after clamping.
    pub limit: i64,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Links on all pages.
    pub total: i64,
}

/// One page of invoices, without unresolved drafts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentList {
    pub data: Vec<Payment>,
    /// Invoices per page, after clamping.
    pub limit: i64,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Invoices on all pages.
    pub total: i64,
}

/// The renewal that a reminder is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renewal {
    /// The cycle to be paid.
    pub cycle: i64,
    /// The day of the reminder relative to `next_renewal_at`, also if it is sent later.
    pub day_offset: i64,
    pub next_renewal_at: String,
    /// The subscriber's own page, where he renews or cancels. Send it to him and to nobody else.
    pub renewal_url: String,
}

/// A subscription. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subscription {
    pub created_at: String,
    /// Payments after which it ends; null for one without an end.
    pub cycles_max: Option<i64>,
    /// `day`, `week`, `month` or `year`.
    pub interval: String,
    /// How many intervals lie between two payments.
    pub interval_count: i64,
    /// The link on whose page it began.
    pub link_id: String,
    /// The end of that cycle; null once it is over.
    pub next_renewal_at: Option<String>,
    /// Its own: a changed link changes new subscribers only.
    pub price_amount: Amount,
    /// In lower case.
    pub price_currency: String,
    /// `active`, `past_due` (not paid three days after the renewal), `cancelled` or `ended` (its
    /// last cycle is over). More may come.
    pub state: String,
    /// Not proven to be the subscriber's.
    pub subscriber_email: String,
    /// The newest cycle that is paid, from 1. A late payment covers the period it falls in, so
    /// numbers may be skipped.
    pub subscription_cycle: i64,
    /// `pzs_` and 26 characters; never changes.
    pub subscription_id: String,
    pub updated_at: String,
}

/// One page of subscriptions, the newest first. Each was paid at least once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubscriptionList {
    pub data: Vec<Subscription>,
    /// True if there are older ones: ask again with `after` = `next`.
    pub has_more: bool,
    /// The last one of this page; null if it is empty.
    pub next: Option<String>,
}

/// Says that nothing happened: the body was made for a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestMark {
    /// Always true.
    pub test: bool,
}

/// A device of a till. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillDevice {
    pub created_at: String,
    /// `pzd_` and 26 characters; never changes.
    pub device_id: String,
    /// The code was used then; null before.
    pub enrolled_at: Option<String>,
    /// Its name.
    pub name: String,
    /// It was revoked then; null if it was not.
    pub revoked_at: Option<String>,
    /// Its last use, to the minute; null before the first.
    pub seen_at: Option<String>,
    /// `waiting` for its code, `expired` without it, `enrolled`, `locked` by too many wrong PINs,
    /// `revoked`.
    pub state: String,
}

/// The devices of a till: those in use first, each group the newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillDeviceList {
    pub data: Vec<TillDevice>,
}

/// A code that enrols one browser as a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillEnrolment {
    /// The code, shown this once. It enrols one browser.
    pub code: String,
    /// The code is good until then.
    pub code_expires_at: String,
    /// `pzd_` and 26 characters; never changes.
    pub device_id: String,
    /// The enrolment page with the code filled in, to be opened on the device or shown to its
    /// camera as a QR code. It is as secret as the code.
    pub enrol_url: String,
    /// Its name.
    pub name: String,
}
