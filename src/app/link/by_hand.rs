//! Creating and switching a link by hand, from forms of the dashboard: the checks of the form, then
//! the same rules as the API's.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{LinkError, change::Changes};
use crate::app::{Gateway, invoice::create::Idempotency};
use crate::{
    asset::Fiat,
    egress::guard,
    link::{
        LinkKind,
        terms::Terms,
        typed::{self, NotTyped},
    },
    money::Price,
    storage::{StorageError, audit, links::Link},
    subscription::calendar::{Period, PeriodError},
};

const URL_CHARS_MAX: usize = 2_048;
const ORDER_ID_CHARS_MAX: usize = 255;

/// The fields of the form, as they were sent.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// Names the form: sent twice, it creates one link.
    pub key: &'a str,
    pub kind: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    /// Empty: visitors choose the amount.
    pub price: &'a str,
    pub price_currency: &'a str,
    pub min: &'a str,
    pub max: &'a str,
    /// Amounts, with spaces between them.
    pub suggestions: &'a str,
    pub single_use: bool,
    /// Of a subscription: `day`, `week`, `month` or `year`; empty for any other link.
    pub interval: &'a str,
    /// Intervals between two payments; empty: one.
    pub interval_count: &'a str,
    /// Payments after which a subscription ends; empty: it has no end.
    pub cycles_max: &'a str,
    /// Of a till; empty: UTC.
    pub time_zone: &'a str,
    pub order_id: &'a str,
    pub webhook_url: &'a str,
    pub success_url: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    #[error("The form has no key. Open it again.")]
    NoKey,
    #[error("Choose what the link is for.")]
    Kind,
    #[error("The price must be in USD, EUR or GBP.")]
    PriceCurrency,
    #[error("{0} must be an amount such as 12.50.")]
    Amount(&'static str),
    #[error("{0} must be a whole number.")]
    Whole(&'static str),
    #[error("Choose how often a subscriber pays.")]
    Interval,
    #[error("Not saved: {0}.")]
    Period(PeriodError),
    #[error("The order id may have {ORDER_ID_CHARS_MAX} characters at most.")]
    OrderId,
    #[error("The webhook address {0}.")]
    WebhookUrl(guard::UrlRefused),
    #[error("The page after the payment must be an http or https address.")]
    SuccessUrl,
    #[error("This form was sent before with other values. Open it again.")]
    KeyUsed,
    #[error("Not saved: {0}.")]
    Refused(LinkError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<LinkError> for ByHandError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Storage(error) => Self::Storage(error),
            LinkError::IdempotencyMismatch => Self::KeyUsed,
            other @ (LinkError::NotFound
            | LinkError::Terms(_)
            | LinkError::UnknownToken(_)
            | LinkError::TooMany { .. }
            | LinkError::SandboxOnly
            | LinkError::UnknownTimeZone
            | LinkError::PinWithoutTill
            | LinkError::Suspended) => Self::Refused(other),
        }
    }
}

impl Gateway {
    /// Creates the link of a form, or finds the one that the same form created before. Returns its
    /// `link_id`. `by` is the account that acts.
    pub async fn create_link_by_hand(
        &self,
        merchant_id: Uuid,
        fields: &Fields<'_>,
        by: &str,
    ) -> Result<String, ByHandError> {
        let terms = terms(fields)?;
        if let Some(url) = &terms.ipn_callback_url {
            guard::check_url(url, self.egress.policy()).map_err(ByHandError::WebhookUrl)?;
        }
        let wanted = idempotency(fields)?;
        let created = self.create_link(merchant_id, &terms, None, Some(&wanted)).await?;
        let id = created.link.link_id;
        if !created.replayed {
            let mut connection = self.db.connection().await?;
            audit::note(&mut connection, ("link", "create"), &id, by, &terms.title).await?;
        }
        Ok(id)
    }

    /// Switches a link on or off. `by` is the account that acts.
    pub async fn switch_link(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        active: bool,
        by: &str,
    ) -> Result<Link, LinkError> {
        let changes = Changes { active: Some(active), ..Changes::default() };
        let link = self.change_link(merchant_id, link_id, changes).await?;
        let act = if active { "switch-on" } else { "switch-off" };
        let mut connection = self.db.connection().await?;
        audit::note(&mut connection, ("link", act), link_id, by, &link.terms.title).await?;
        Ok(link)
    }
}

fn terms(fields: &Fields<'_>) -> Result<Terms, ByHandError> {
    let kind: LinkKind = fields.kind.parse().map_err(|_| ByHandError::Kind)?;
    let price_currency: Fiat =
        fields.price_currency.parse().map_err(|_| ByHandError::PriceCurrency)?;
    let suggestions = fields.suggestions.split_whitespace();
    let suggestions = suggestions.map(|text| required("A suggested amount", text));
    let order_id = text(fields.order_id);
    if order_id.as_ref().is_some_and(|text| text.chars().count() > ORDER_ID_CHARS_MAX) {
        return Err(ByHandError::OrderId);
    }
    Ok(Terms {
        kind,
        title: text(fields.title).unwrap_or_default(),
        description: text(fields.description),
        price_amount: amount("The price", fields.price)?,
        price_currency,
        min_amount: amount("The smallest amount", fields.min)?,
        max_amount: amount("The largest amount", fields.max)?,
        suggested_amounts: suggestions.collect::<Result<_, _>>()?,
        accepted: None,
        single_use: fields.single_use,
        period: period(fields, kind)?,
        cycles_max: whole("The number of payments", fields.cycles_max)?,
        sandbox_day_seconds: None,
        time_zone: text(fields.time_zone).filter(|_| kind == LinkKind::Pos),
        success_url: success_url(fields.success_url)?,
        cancel_url: None,
        ipn_callback_url: text(fields.webhook_url),
        order_id,
    })
}

/// What a field holds without the space around it. PostgreSQL stores no zero characters.
fn text(field: &str) -> Option<String> {
    let text = field.replace('\0', "").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn amount(name: &'static str, field: &str) -> Result<Option<Price>, ByHandError> {
    match typed::amount(field) {
        Ok(price) => Ok(Some(price)),
        Err(NotTyped::Missing) => Ok(None),
        Err(NotTyped::NotAnAmount) => Err(ByHandError::Amount(name)),
    }
}

fn required(name: &'static str, field: &str) -> Result<Price, ByHandError> {
    amount(name, field)?.ok_or(ByHandError::Amount(name))
}

fn whole(name: &'static str, field: &str) -> Result<Option<u32>, ByHandError> {
    let field = field.trim();
    if field.is_empty() {
        return Ok(None);
    }
    field.parse().map(Some).map_err(|_| ByHandError::Whole(name))
}

/// Of a subscription alone: its form is the same as that of other links.
fn period(fields: &Fields<'_>, kind: LinkKind) -> Result<Option<Period>, ByHandError> {
    if kind != LinkKind::Subscription {
        return Ok(None);
    }
    let interval = fields.interval.parse().map_err(|_| ByHandError::Interval)?;
    let count = whole("The number of intervals", fields.interval_count)?;
    Period::new(interval, count.unwrap_or(1)).map(Some).map_err(ByHandError::Period)
}

/// Http or https with a host and without a password in it.
fn success_url(field: &str) -> Result<Option<String>, ByHandError> {
    let Some(text) = text(field) else { return Ok(None) };
    let url = guard::page_url(&text).filter(|url| url.len() <= URL_CHARS_MAX);
    Ok(Some(url.ok_or(ByHandError::SuccessUrl)?))
}

/// The form's key, of its own kind, with a hash of its values. Each says its length, so that no two
/// forms run together into one.
fn idempotency(fields: &Fields<'_>) -> Result<Idempotency, ByHandError> {
    let key = Uuid::try_parse(fields.key).map_err(|_| ByHandError::NoKey)?;
    let mut hash = Sha256::new();
    for text in [
        fields.kind,
        fields.title,
        fields.description,
        fields.price,
        fields.price_currency,
        fields.min,
        fields.max,
        fields.suggestions,
        if fields.single_use { "once" } else { "" },
        fields.interval,
        fields.interval_count,
        fields.cycles_max,
        fields.order_id,
        fields.webhook_url,
        fields.success_url,
    ]
    .into_iter()
    .chain(Some(fields.time_zone).filter(|zone| !zone.trim().is_empty()))
    {
        hash.update(text.trim().len().to_string());
        hash.update([b':']);
        hash.update(text.trim());
    }
    let request_sha256 = hash.finalize().into();
    Ok(Idempotency { key: format!("dashboard-link:{key}"), request_sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields<'static> = Fields {
        key: "0198c0de-0000-7000-8000-000000000001",
        kind: "donation",
        title: " Keep the lights on ",
        description: "",
        price: "",
        price_currency: "usd",
        min: "2",
        max: "1000",
        suggestions: "5 10  25",
        single_use: false,
        interval: "",
        interval_count: "",
        cycles_max: "",
        time_zone: "",
        order_id: "",
        webhook_url: "",
        success_url: "https://shop.example/thanks",
    };

    #[test]
    fn a_form_becomes_the_terms_that_the_api_would_read() {
        let terms = terms(&FIELDS).unwrap();
        assert_eq!((terms.kind, terms.title.as_str()), (LinkKind::Donation, "Keep the lights on"));
        assert_eq!(terms.suggested_amounts.len(), 3);
        assert_eq!(terms.min_amount.map(|price| price.to_decimal()).as_deref(), Some("2"));
        assert!(terms.price_amount.is_none() && terms.order_id.is_none());
        terms.check().unwrap();
    }

    #[test]
    fn a_subscription_has_a_period_and_nothing_else_has() {
        let plan = Fields {
            kind: "subscription",
            price: "9",
            min: "",
            max: "",
            suggestions: "",
            ..FIELDS
        };
        let monthly = terms(&Fields { interval: "month", cycles_max: "12", ..plan }).unwrap();
        let period = monthly.period.unwrap();
        assert_eq!((period.interval.as_str(), period.count), ("month", 1));
        assert_eq!(monthly.cycles_max, Some(12));
        monthly.check().unwrap();
        assert!(matches!(terms(&plan), Err(ByHandError::Interval)));
        assert!(terms(&Fields { interval: "month", ..FIELDS }).unwrap().period.is_none());
    }

    #[test]
    fn a_till_has_the_time_zone_of_its_form_and_nothing_else_has() {
        let till = Fields { kind: "pos", suggestions: "", time_zone: " Europe/Berlin ", ..FIELDS };
        let terms_of_till = terms(&till).unwrap();
        assert_eq!(terms_of_till.time_zone.as_deref(), Some("Europe/Berlin"));
        terms_of_till.check().unwrap();
        assert_eq!(terms(&Fields { time_zone: "UTC", ..FIELDS }).unwrap().time_zone, None);
    }

    #[test]
    fn a_wrong_field_is_refused_in_words() {
        let long = "x".repeat(256);
        for (fields, words) in [
            (Fields { cycles_max: "1.5", ..FIELDS }, "whole number"),
            (Fields { kind: "lottery", ..FIELDS }, "what the link is for"),
            (Fields { price_currency: "btc", ..FIELDS }, "USD, EUR or GBP"),
            (Fields { min: "two", ..FIELDS }, "smallest amount"),
            (Fields { suggestions: "5, 10", ..FIELDS }, "suggested amount"),
            (Fields { order_id: &long, ..FIELDS }, "255 characters"),
            (Fields { success_url: "javascript:alert(1)", ..FIELDS }, "http or https"),
            (Fields { success_url: "https://me:secret@shop.example", ..FIELDS }, "http or https"),
        ] {
            let error = terms(&fields).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(matches!(idempotency(&Fields { key: "x", ..FIELDS }), Err(ByHandError::NoKey)));
    }

    #[test]
    fn another_value_is_another_request() {
        let hash = |fields: &Fields<'_>| idempotency(fields).unwrap().request_sha256;
        assert_eq!(hash(&FIELDS), hash(&Fields { title: "Keep the lights on", ..FIELDS }));
        assert_ne!(hash(&FIELDS), hash(&Fields { single_use: true, ..FIELDS }));
        let shifted = Fields { min: "21", max: "000", ..FIELDS };
        assert_ne!(hash(&FIELDS), hash(&shifted));
    }
}
