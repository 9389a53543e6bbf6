//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Amount, Donation, Renewal};

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
    /// Payments that did not simply count, up to 10: what arrived, where it is, and what to do.
    /// Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened: Option<Vec<PaymentHappening>>,
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
    /// URL. Left out, the merchant's default holds, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Where signed IPNs are posted: an absolute http or https URL on the public internet. Left
    /// out, the merchant's default holds, if there is one.
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
    /// Where the buyer is redirected once the invoice is paid: an http or https URL. Left out, the
    /// merchant's default holds, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
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

/// A payment that did not simply count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentHappening {
    pub advice: String,
    /// The amount that arrived, in whole units; null for a token outside the catalogue.
    pub amount: Option<String>,
    /// A page of a public block explorer; null on networks that none shows.
    pub explorer_url: Option<String>,
    pub fate: String,
    pub kind: String,
    pub network: String,
    /// The text by which the merchant finds the payment.
    pub reference: String,
    /// The transaction that took its place; null unless `kind` is `replaced`.
    pub replaced_by: Option<String>,
    /// When it was first seen.
    pub seen_at: String,
    /// The symbol of what arrived; null for a token outside the catalogue.
    pub symbol: Option<String>,
    /// The transaction that brought it, or was to bring it.
    pub tx_hash: String,
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

/// Says that nothing happened: the body was made for a test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestMark {
    /// Always true.
    pub test: bool,
}
