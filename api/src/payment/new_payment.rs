//! The body of `POST /v1/payment`: from members to a validated request (spec, "POST /v1/payment").

use axum::http::HeaderMap;
use gateway::{
    app::invoice::create::{CreateError, Idempotency, NewInvoice, PayWith},
    egress::guard::{self, Policy},
    invoice::{Pricing, schema},
    money::Price,
};
use serde_json::Number;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    body::{Members, required},
    error::ApiError,
};

const KEY_HEADER: &str = "idempotency-key";
const KEY_CHARS_MAX: usize = 255;
pub(crate) const ORDER_ID_CHARS_MAX: usize = 255;
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 2_000;
pub(crate) const URL_CHARS_MAX: usize = 2_048;
const NETWORK_CHARS_MAX: usize = 255;
const BUYERS_CHOICE: &str = "all";

/// An invoice to create. Members that are not listed are ignored; null is the same as absent.
///
/// It describes the input of [`parse`], member by member; nothing is read into it.
#[derive(ToSchema)]
pub struct NewPayment {
    /// The price: above 0, at most 15 integer digits and 18 decimals. A JSON number; text is
    /// refused.
    #[schema(value_type = schema::AmountAsked)]
    pub price_amount: Number,
    /// `usd`, `eur` or `gbp` in any case; in pricing mode `direct` the symbol of `pay_currency`.
    #[schema(min_length = 2, max_length = 8, examples("usd"))]
    pub price_currency: String,
    /// A currency's code; or a bare symbol together with `network`; or `all`, which lets the buyer
    /// choose.
    #[schema(min_length = 2, max_length = 32, examples("usdtmatic", "all"))]
    pub pay_currency: String,
    /// When sent, `pay_currency` is read as a bare symbol on this chain.
    #[schema(min_length = 1, max_length = 255, examples("polygon"))]
    pub network: Option<String>,
    /// `fiat` converts the price at the current rate. `direct` takes it as an amount of the pay
    /// currency, exact in its decimals.
    #[schema(value_type = Option<PricingMode>)]
    pub pricing_mode: Option<String>,
    /// The merchant's own reference; need not be unique.
    #[schema(max_length = 255)]
    pub order_id: Option<String>,
    /// Shown to the buyer on the hosted checkout.
    #[schema(max_length = 2000)]
    pub order_description: Option<String>,
    /// Where signed IPNs are posted: an absolute http or https URL on the public internet. Left
    /// out, the merchant's default holds, if there is one.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub ipn_callback_url: Option<String>,
    /// Accepted and ignored; responses always contain the `payment_id` here.
    #[schema(value_type = Option<schema::Anything>)]
    pub purchase_id: Option<serde_json::Value>,
    /// Where the buyer is redirected once the invoice is paid: an http or https URL. Left out, the
    /// merchant's default holds, if there is one.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub success_url: Option<String>,
    /// Where the buyer is redirected once the invoice is cancelled or expired: an http or https
    /// URL. Left out, the merchant's default holds, if there is one.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub cancel_url: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum PricingMode {
    Fiat,
    Direct,
}

/// The key under which a request may be repeated; two keys have no single meaning.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(KEY_HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=KEY_CHARS_MAX).contains(&text.len()));
    match text {
        Some(text) if values.next().is_none() => Ok(Some(text.to_owned())),
        _ => Err(ApiError::invalid("Idempotency-Key must be sent once, with 1 to 255 characters")),
    }
}

/// As [`parse`], with the buyer's choice where `pay_currency` is absent.
pub fn parse_hosted(
    members: &Members,
    key: Option<String>,
    callback_policy: &Policy,
) -> Result<NewInvoice, ApiError> {
    parse_with(members, Some(BUYERS_CHOICE), key, callback_policy)
}

/// Validates the members in the order of the specification's table; the first fault is reported.
pub fn parse(
    members: &Members,
    key: Option<String>,
    callback_policy: &Policy,
) -> Result<NewInvoice, ApiError> {
    parse_with(members, None, key, callback_policy)
}

fn parse_with(
    members: &Members,
    pay_default: Option<&str>,
    key: Option<String>,
    callback_policy: &Policy,
) -> Result<NewInvoice, ApiError> {
    let price_amount = price(members)?;
    let price_currency = required("price_currency", members.string("price_currency", 2..=8)?)?;
    let pay_currency = members.string("pay_currency", 2..=32)?;
    let pay_currency =
        required("pay_currency", pay_currency.or(pay_default.map(ToOwned::to_owned)))?;
    let network = members.string("network", 1..=NETWORK_CHARS_MAX)?;
    let pricing = pricing(members)?;
    // With a network as well: no symbol is called so.
    if pricing == Pricing::Direct && pay_currency.eq_ignore_ascii_case(BUYERS_CHOICE) {
        return Err(ApiError::from(CreateError::DirectWithoutCurrency));
    }
    let mut request = NewInvoice {
        price_amount,
        price_currency: price_currency.to_ascii_lowercase(),
        pay: pay_with(&pay_currency, network.as_deref()),
        pricing,
        order_id: members.string("order_id", 0..=ORDER_ID_CHARS_MAX)?,
        order_description: members.string("order_description", 0..=DESCRIPTION_CHARS_MAX)?,
        ipn_callback_url: callback_url(members, callback_policy)?,
        success_url: redirect_url(members, "success_url")?,
        cancel_url: redirect_url(members, "cancel_url")?,
        idempotency: None,
    };
    // `purchase_id` is accepted and ignored, of whatever type (spec, "POST /v1/payment").
    request.idempotency = key.map(|key| {
        let request_sha256 = fingerprint(&request);
        Idempotency { key, request_sha256 }
    });
    Ok(request)
}

fn price(members: &Members) -> Result<Price, ApiError> {
    let text = required("price_amount", members.number("price_amount")?)?;
    let price = Price::parse(text).map_err(|e| ApiError::invalid(format!("price_amount {e}")))?;
    if price.is_zero() {
        return Err(ApiError::invalid("price_amount must be greater than 0"));
    }
    Ok(price)
}

/// With a network, `pay_currency` is a symbol there and nothing else: `all` on one network names no
/// currency.
fn pay_with(pay_currency: &str, network: Option<&str>) -> PayWith {
    if network.is_none() && pay_currency.eq_ignore_ascii_case(BUYERS_CHOICE) {
        PayWith::BuyersChoice
    } else {
        PayWith::Named {
            pay_currency: pay_currency.to_ascii_lowercase(),
            network: network.map(str::to_ascii_lowercase),
        }
    }
}

fn pricing(members: &Members) -> Result<Pricing, ApiError> {
    let Some(text) = members.string("pricing_mode", 0..=32)? else { return Ok(Pricing::Fiat) };
    text.parse().map_err(|_| ApiError::invalid("pricing_mode must be fiat or direct"))
}

/// The text of a URL that may be left out; forms and settings leave it out by an empty text.
fn optional_url(members: &Members, name: &str) -> Result<Option<String>, ApiError> {
    Ok(members.string(name, 0..=URL_CHARS_MAX)?.filter(|text| !text.is_empty()))
}

/// Where IPNs go: refused here if it literally points inward, and checked again at every attempt.
pub(crate) fn callback_url(members: &Members, policy: &Policy) -> Result<Option<String>, ApiError> {
    let Some(text) = optional_url(members, "ipn_callback_url")? else { return Ok(None) };
    guard::check_url(&text, policy)
        .map_err(|refused| ApiError::invalid(format!("ipn_callback_url {refused}")))?;
    Ok(Some(text))
}

/// The address to which a buyer is sent: http or https with a host, kept as the parser spells it.
/// The limit is on the text that was sent; percent-encoding may lengthen it.
pub(crate) fn redirect_url(members: &Members, name: &str) -> Result<Option<String>, ApiError> {
    let Some(text) = optional_url(members, name)? else { return Ok(None) };
    let refused = || ApiError::invalid(format!("{name} must be an http or https URL"));
    guard::page_url(&text).ok_or_else(refused).map(Some)
}

/// Of the parsed values: the same request in another spelling is the same request. Each value says
/// its length, so that no two requests run together into one.
fn fingerprint(request: &NewInvoice) -> [u8; 32] {
    let NewInvoice {
        price_amount,
        price_currency,
        pay,
        pricing,
        order_id,
        order_description,
        ipn_callback_url,
        success_url,
        cancel_url,
        idempotency: _,
    } = request;
    let mut hash = Sha256::new();
    let mut add = |value: Option<&str>| match value {
        None => hash.update([0]),
        Some(text) => {
            hash.update([1]);
            hash.update(text.len().to_string());
            hash.update([b':']);
            hash.update(text);
        }
    };
    add(Some(&price_amount.atoms().to_string()));
    add(Some(price_currency));
    let (pay_currency, network) = match pay {
        PayWith::BuyersChoice => (None, None),
        PayWith::Named { pay_currency, network } => (Some(pay_currency), network.as_deref()),
    };
    add(pay_currency.map(String::as_str));
    add(network);
    add(Some(pricing.as_str()));
    for text in [order_id, order_description, ipn_callback_url, success_url, cancel_url] {
        add(text.as_deref());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_of_a_request_is_the_same_in_every_version() {
        let request = NewInvoice {
            price_amount: Price::parse("25.50").unwrap(),
            price_currency: "usd".into(),
            pay: PayWith::Named { pay_currency: "usdt".into(), network: Some("polygon".into()) },
            pricing: Pricing::Fiat,
            order_id: Some("order-7".into()),
            order_description: Some(String::new()),
            ipn_callback_url: None,
            success_url: Some("https://shop.example/thanks".into()),
            cancel_url: None,
            idempotency: None,
        };
        // Stored fingerprints outlive a release by 24 hours, and two releases serve side by side
        // while one replaces the other.
        let start = fingerprint(&request).first_chunk().copied().map(u64::from_be_bytes);
        assert_eq!(start, Some(0x1bc1fed50ba1104b));
    }
}
