//! The bodies of `POST` and `PATCH /v1/links`: from members to a validated request.

use gateway::{
    app::{invoice::create::Idempotency, link::change::Changes, merchant::change::Setting},
    asset::fiat::Fiat,
    egress::guard::Policy,
    invoice::schema,
    link::{
        LinkKind,
        terms::{DESCRIPTION_CHARS_MAX, TIME_ZONE_CHARS_MAX, TITLE_CHARS_MAX, Terms},
    },
    money::Price,
    subscription::{Interval, calendar::Period},
    till::pin::Pin,
};
use serde_json::{Number, value::RawValue};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    body::{Members, required},
    error::ApiError,
    payment::new_payment::{ORDER_ID_CHARS_MAX, callback_url, redirect_url},
};

const TOKEN_CHARS_MAX: usize = 64;
/// Longer texts are refused before they are read as a PIN.
const PIN_CHARS_MAX: usize = 16;

/// A link to create. Members that are not listed are ignored; null is the same as absent.
///
/// It describes the input of [`parse`], member by member; nothing is read into it.
#[derive(ToSchema)]
pub struct NewPaymentLink {
    /// `payment`: a fixed price, or one that the visitor chooses. `donation`: an amount that the
    /// donor chooses, with his name and a message if he likes. `subscription`: a fixed price that
    /// is paid again every interval. `pos`: a till, whose enrolled devices type each amount. It
    /// cannot be changed.
    #[schema(rename = "type", value_type = PaymentLinkType)]
    pub kind: String,
    /// The heading of the page and the description of its invoices; one line.
    #[schema(min_length = 1, max_length = 120, examples("Two cups of coffee"))]
    pub title: String,
    /// Shown below the title.
    #[schema(max_length = 2000)]
    pub description: Option<String>,
    /// The price. Absent: visitors choose the amount. Of a donation the amount that the page
    /// proposes.
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub price_amount: Option<Number>,
    /// `usd`, `eur` or `gbp` in any case.
    #[schema(min_length = 2, max_length = 8, examples("usd"))]
    pub price_currency: String,
    /// The tokens (`code@network`) that its invoices may be paid in, of those that you accept.
    /// Absent: all that you accept.
    #[schema(min_items = 1, max_items = 200)]
    pub accepted: Option<Vec<String>>,
    /// The smallest amount that visitors may choose.
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub min_amount: Option<Number>,
    /// The largest amount that visitors may choose; 1,000,000 if absent.
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub max_amount: Option<Number>,
    /// Amounts that the page offers, each with at most two decimals.
    #[schema(value_type = Option<Vec<schema::AmountAsked>>, max_items = 6)]
    pub suggested_amounts: Option<Vec<Number>>,
    /// True: one payment uses the link up. Until then all its visitors share one open invoice. Only
    /// for type `payment`.
    pub single_use: Option<bool>,
    /// Of a subscription: the unit of the time between two payments.
    #[schema(value_type = Option<PaymentLinkInterval>)]
    pub interval: Option<String>,
    /// Of a subscription: how many of them; 1 if absent. Of days at least 7.
    #[schema(minimum = 1, maximum = 3650)]
    pub interval_count: Option<u32>,
    /// Of a subscription: payments after which it ends. Absent: it has no end.
    #[schema(minimum = 1, maximum = 1000)]
    pub cycles_max: Option<u32>,
    /// Of a subscription, in the sandbox only: seconds that a day takes, so that a month can be
    /// watched in a minute. Dates stay real.
    #[schema(minimum = 1, maximum = 86400)]
    pub sandbox_day_seconds: Option<u32>,
    /// Of a till: the IANA name of the time zone in which its day begins; `UTC` if absent.
    #[schema(max_length = 64, examples("Europe/Berlin"))]
    pub time_zone: Option<String>,
    /// Of a till: the PIN of 4 to 8 digits with which its devices are enrolled and unlocked, not
    /// such as 0000 or 1234. Absent: each device chooses its own. It is never shown.
    #[schema(pattern = "^[0-9]{4,8}$", examples("2580"))]
    pub pin: Option<String>,
    /// Where buyers are redirected once they have paid: an http or https URL.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub success_url: Option<String>,
    /// Where buyers are redirected once their invoice is cancelled or expired: an http or https
    /// URL.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub cancel_url: Option<String>,
    /// Where the signed IPNs of its invoices are posted. Left out, the merchant's default holds, if
    /// there is one.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub ipn_callback_url: Option<String>,
    /// Your own reference, which all its invoices carry.
    #[schema(max_length = 255)]
    pub order_id: Option<String>,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum PaymentLinkType {
    Payment,
    Donation,
    Subscription,
    Pos,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum PaymentLinkInterval {
    Day,
    Week,
    Month,
    Year,
}

/// Changes of a link. What is absent stays; null removes a value that need not be there.
///
/// It describes the input of [`changes`]; nothing is read into it.
#[derive(ToSchema)]
pub struct PaymentLinkChanges {
    /// The heading of the page and the description of new invoices; one line.
    #[schema(min_length = 1, max_length = 120)]
    pub title: Option<String>,
    /// Shown below the title.
    #[schema(max_length = 2000)]
    pub description: Option<String>,
    /// New invoices cost this; those that exist keep their price.
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub price_amount: Option<Number>,
    /// `usd`, `eur` or `gbp` in any case.
    #[schema(min_length = 2, max_length = 8, examples("usd"))]
    pub price_currency: Option<String>,
    /// The tokens (`code@network`) that new invoices may be paid in.
    #[schema(min_items = 1, max_items = 200)]
    pub accepted: Option<Vec<String>>,
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub min_amount: Option<Number>,
    #[schema(value_type = Option<schema::AmountAsked>)]
    pub max_amount: Option<Number>,
    #[schema(value_type = Option<Vec<schema::AmountAsked>>, max_items = 6)]
    pub suggested_amounts: Option<Vec<Number>>,
    /// True: one payment uses the link up.
    pub single_use: Option<bool>,
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub success_url: Option<String>,
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub cancel_url: Option<String>,
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub ipn_callback_url: Option<String>,
    /// Your own reference, which new invoices carry.
    #[schema(max_length = 255)]
    pub order_id: Option<String>,
    /// Of a till: the IANA name of the time zone in which its day begins; null is `UTC`.
    #[schema(max_length = 64)]
    pub time_zone: Option<String>,
    /// Of a till: the PIN of devices that are enrolled from now on; null leaves it to each of them.
    #[schema(pattern = "^[0-9]{4,8}$")]
    pub pin: Option<String>,
    /// False switches the link off. Its open invoices can still be paid.
    pub active: Option<bool>,
}

/// Validates the members of a new link; the first fault is reported.
pub fn parse(members: &Members, policy: &Policy) -> Result<Terms, ApiError> {
    let kind = kind(&required("type", members.string("type", 1..=32)?)?)?;
    let fiat = required("price_currency", currency(members)?)?;
    Ok(Terms {
        kind,
        title: required("title", members.string("title", 1..=TITLE_CHARS_MAX)?)?,
        description: members.string("description", 0..=DESCRIPTION_CHARS_MAX)?,
        price_amount: amount(members, "price_amount")?,
        price_currency: fiat,
        min_amount: amount(members, "min_amount")?,
        max_amount: amount(members, "max_amount")?,
        suggested_amounts: suggestions(members)?.unwrap_or_default(),
        accepted: tokens(members)?,
        single_use: members.flag("single_use")?.unwrap_or(false),
        period: period(members)?,
        cycles_max: whole(members, "cycles_max")?,
        sandbox_day_seconds: whole(members, "sandbox_day_seconds")?,
        time_zone: members.string("time_zone", 1..=TIME_ZONE_CHARS_MAX)?,
        success_url: redirect_url(members, "success_url")?,
        cancel_url: redirect_url(members, "cancel_url")?,
        ipn_callback_url: callback_url(members, policy)?,
        order_id: members.string("order_id", 0..=ORDER_ID_CHARS_MAX)?,
    })
}

/// Validates the members of a change; the first fault is reported.
pub fn changes(members: &Members, policy: &Policy) -> Result<Changes, ApiError> {
    for name in ["type", "interval", "interval_count", "cycles_max", "sandbox_day_seconds"] {
        if members.is_sent(name) {
            return Err(ApiError::invalid(format!(
                "{name} cannot be changed; create another link"
            )));
        }
    }
    for name in ["title", "price_currency", "single_use", "active"] {
        if members.is_null(name) {
            return Err(ApiError::invalid(format!("{name} cannot be removed")));
        }
    }
    Ok(Changes {
        title: members.string("title", 1..=TITLE_CHARS_MAX)?,
        description: setting(
            members,
            "description",
            members.string("description", 0..=DESCRIPTION_CHARS_MAX)?,
        ),
        price_amount: setting(members, "price_amount", amount(members, "price_amount")?),
        price_currency: currency(members)?,
        min_amount: setting(members, "min_amount", amount(members, "min_amount")?),
        max_amount: setting(members, "max_amount", amount(members, "max_amount")?),
        suggested_amounts: setting(members, "suggested_amounts", suggestions(members)?),
        accepted: setting(members, "accepted", tokens(members)?),
        single_use: members.flag("single_use")?,
        success_url: setting(members, "success_url", redirect_url(members, "success_url")?),
        cancel_url: setting(members, "cancel_url", redirect_url(members, "cancel_url")?),
        ipn_callback_url: setting(members, "ipn_callback_url", callback_url(members, policy)?),
        order_id: setting(members, "order_id", members.string("order_id", 0..=ORDER_ID_CHARS_MAX)?),
        time_zone: setting(
            members,
            "time_zone",
            members.string("time_zone", 1..=TIME_ZONE_CHARS_MAX)?,
        ),
        pin: setting(members, "pin", pin(members)?),
        active: members.flag("active")?,
    })
}

/// The PIN of a till. It is no part of the terms, which are shown.
pub fn pin(members: &Members) -> Result<Option<Pin>, ApiError> {
    let text = members.string("pin", 1..=PIN_CHARS_MAX)?;
    let pin = text.map(|text| Pin::choose(&text)).transpose();
    pin.map_err(|error| ApiError::invalid(format!("pin: {error}")))
}

/// A member that may be absent, null, or a value; an empty URL is the same as null.
fn setting<T>(members: &Members, name: &str, value: Option<T>) -> Setting<T> {
    match value {
        Some(value) => Setting::Set(value),
        None if members.is_sent(name) => Setting::Removed,
        None => Setting::Unchanged,
    }
}

fn kind(text: &str) -> Result<LinkKind, ApiError> {
    let kind = text.parse();
    kind.map_err(|_| ApiError::invalid("type must be payment, donation, subscription or pos"))
}

fn period(members: &Members) -> Result<Option<Period>, ApiError> {
    let count = whole(members, "interval_count")?;
    let Some(text) = members.string("interval", 1..=16)? else {
        return match count {
            None => Ok(None),
            Some(_) => Err(ApiError::invalid("interval_count needs interval")),
        };
    };
    let interval = text.parse::<Interval>();
    let interval =
        interval.map_err(|_| ApiError::invalid("interval must be day, week, month or year"))?;
    let period = Period::new(interval, count.unwrap_or(1));
    period.map(Some).map_err(|error| ApiError::invalid(error.to_string()))
}

fn whole(members: &Members, name: &str) -> Result<Option<u32>, ApiError> {
    let Some(text) = members.number(name)? else { return Ok(None) };
    let number =
        text.parse().map_err(|_| ApiError::invalid(format!("{name} must be a whole number")));
    number.map(Some)
}

fn currency(members: &Members) -> Result<Option<Fiat>, ApiError> {
    let Some(text) = members.string("price_currency", 2..=8)? else { return Ok(None) };
    let fiat = text.parse();
    fiat.map(Some).map_err(|_| ApiError::invalid("price_currency must be usd, eur or gbp"))
}

fn amount(members: &Members, name: &str) -> Result<Option<Price>, ApiError> {
    members.number(name)?.map(|text| price(name, text)).transpose()
}

fn price(name: &str, text: &str) -> Result<Price, ApiError> {
    Price::parse(text).map_err(|error| ApiError::invalid(format!("{name} {error}")))
}

fn suggestions(members: &Members) -> Result<Option<Vec<Price>>, ApiError> {
    let name = "suggested_amounts";
    let Some(text) = members.json(name) else { return Ok(None) };
    let wrong = || ApiError::invalid(format!("{name} must be a list of numbers"));
    let items: Vec<Box<RawValue>> = serde_json::from_str(text).map_err(|_| wrong())?;
    let number = |item: Box<RawValue>| {
        let is_number = item.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if is_number { price(name, item.get()) } else { Err(wrong()) }
    };
    items.into_iter().map(number).collect::<Result<_, _>>().map(Some)
}

fn tokens(members: &Members) -> Result<Option<Vec<String>>, ApiError> {
    let Some(text) = members.json("accepted") else { return Ok(None) };
    let wrong = || ApiError::invalid("accepted must be a list of texts such as usdtmatic@polygon");
    let tokens: Vec<String> = serde_json::from_str(text).map_err(|_| wrong())?;
    let fits = |token: &String| token.chars().count() <= TOKEN_CHARS_MAX && !token.contains('\0');
    if !tokens.iter().all(fits) {
        return Err(wrong());
    }
    Ok(Some(tokens.into_iter().map(|token| token.to_ascii_lowercase()).collect()))
}

/// The key of a repeated request with a hash of the parsed values, so that spelling does not
/// matter. The hash begins with a word of its own: an invoice's request is never the same.
pub fn idempotency(key: Option<String>, terms: &Terms) -> Option<Idempotency> {
    let key = key?;
    let mut hash = Sha256::new();
    hash.update("link:");
    let number = |price: &Price| price.to_decimal();
    let parts = [
        Some(terms.kind.as_str().to_owned()),
        Some(terms.title.clone()),
        terms.description.clone(),
        terms.price_amount.as_ref().map(number),
        Some(terms.price_currency.code().to_owned()),
        terms.min_amount.as_ref().map(number),
        terms.max_amount.as_ref().map(number),
        Some(terms.suggested_amounts.iter().map(number).collect::<Vec<_>>().join(",")),
        terms.accepted.as_ref().map(|tokens| tokens.join(",")),
        Some(terms.single_use.to_string()),
        terms.period.map(|period| format!("{} {}", period.interval, period.count)),
        terms.cycles_max.map(|count| count.to_string()),
        terms.sandbox_day_seconds.map(|seconds| seconds.to_string()),
        terms.success_url.clone(),
        terms.cancel_url.clone(),
        terms.ipn_callback_url.clone(),
        terms.order_id.clone(),
    ];
    // A PIN is left out: the hash of one could be searched. The zone comes after the others, so
    // that a request without one has the hash it always had: it may be repeated while releases
    // change.
    let time_zone = terms.time_zone.clone().map(Some);
    for part in parts.into_iter().chain(time_zone) {
        match part {
            None => hash.update([0]),
            Some(text) => {
                hash.update([1]);
                hash.update(text.len().to_string());
                hash.update([b':']);
                hash.update(text);
            }
        }
    }
    Some(Idempotency { key, request_sha256: hash.finalize().into() })
}
