//! Bodies of requests about a merchant's resources.

use gateway::{
    asset::Network,
    money::Price,
    x402::resource::{MIME_TYPE_DEFAULT, TIMEOUT_SECONDS_DEFAULT, Terms},
};
use utoipa::ToSchema;

use crate::{
    body::{Members, required},
    error::ApiError,
};

const TEXT_MAX: usize = 2_000;
const PRICE_CHARS_MAX: usize = 40;

/// A resource to sell. Members that are not listed are ignored; null is the same as absent.
///
/// It describes the input of [`parse`], member by member; nothing is read into it.
#[derive(ToSchema)]
pub struct NewPaidResource {
    /// The address that programs call, up to 2000 characters.
    #[schema(examples("https://api.example/weather"))]
    pub url: String,
    /// Up to 500 characters.
    pub description: Option<String>,
    /// `application/json` if absent.
    pub mime_type: Option<String>,
    /// The price of one call in USD, at most 6 decimal places: a number, or one as text.
    #[schema(value_type = gateway::invoice::schema::AmountAsked)]
    pub price_amount: String,
    /// `usd`, which is also the default.
    pub price_currency: Option<String>,
    /// Names of networks; all that are offered if absent.
    pub networks: Option<Vec<String>>,
    /// From 10 to 600 seconds; 60 if absent.
    pub timeout_seconds: Option<u32>,
    /// True: the public catalogue shows it. False if absent.
    pub listed: Option<bool>,
}

/// Validates the members; the first fault is reported. `offered` are the networks of a resource
/// that names none.
pub fn parse(members: &Members, offered: Vec<Network>) -> Result<Terms, ApiError> {
    let price = required("price_amount", members.decimal("price_amount", PRICE_CHARS_MAX)?)?;
    let price = Price::parse(&price)
        .map_err(|error| ApiError::invalid(format!("price_amount: {error}")))?;
    let currency = members.string("price_currency", 1..=10)?;
    if currency.is_some_and(|code| !code.eq_ignore_ascii_case("usd")) {
        return Err(ApiError::invalid("price_currency must be usd"));
    }
    let timeout = match members.number("timeout_seconds")? {
        None => TIMEOUT_SECONDS_DEFAULT,
        Some(digits) => digits
            .parse()
            .map_err(|_| ApiError::invalid("timeout_seconds must be a whole number"))?,
    };
    Ok(Terms {
        url: required("url", members.string("url", 1..=TEXT_MAX)?)?,
        description: members.string("description", 0..=TEXT_MAX)?.unwrap_or_default(),
        mime_type: members
            .string("mime_type", 1..=TEXT_MAX)?
            .unwrap_or_else(|| MIME_TYPE_DEFAULT.to_owned()),
        price,
        networks: match networks(members)? {
            Some(named) => named,
            None if offered.is_empty() => return Err(ApiError::X402Unsupported),
            None => offered,
        },
        timeout_seconds: timeout,
        listed: members.flag("listed")?.unwrap_or(false),
    })
}

fn networks(members: &Members) -> Result<Option<Vec<Network>>, ApiError> {
    let Some(json) = members.json("networks") else { return Ok(None) };
    let names: Vec<String> = serde_json::from_str(json)
        .map_err(|_| ApiError::invalid("networks must be a list of names"))?;
    let parsed: Result<Vec<Network>, _> = names.iter().map(|name| name.parse()).collect();
    parsed.map(Some).map_err(|_| ApiError::X402Unsupported)
}
