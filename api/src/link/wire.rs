//! A link as its merchant sees it.

use gateway::{
    app::link::read::LinkPage,
    invoice::{
        payment::{iso_8601, json_number},
        schema,
    },
    link::{LinkKind, button},
    money::Price,
    storage::links::Link,
};
use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

use super::request::{PaymentLinkInterval, PaymentLinkType};

/// A page whose visitors create invoices of their merchant. Fields are only ever added.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentLink {
    /// `pzl_` and 26 characters; never changes.
    #[schema(pattern = "^pzl_[0-9a-hjkmnp-tv-z]{26}$", examples("pzl_7n4c2v9k1x8m3q6w5e0r2t4y6a"))]
    pub link_id: String,
    /// The page. Whoever has its address may open it.
    pub url: String,
    /// As it was created; never changes.
    #[serde(rename = "type")]
    #[schema(value_type = PaymentLinkType)]
    pub kind: &'static str,
    /// False: the page takes no payments.
    pub active: bool,
    /// The heading of the page and the description of its invoices.
    pub title: String,
    /// Shown below the title.
    #[schema(required)]
    pub description: Option<String>,
    /// The price, or of a donation the proposed amount; null where visitors choose.
    #[schema(value_type = Option<schema::Amount>, required)]
    pub price_amount: Option<Number>,
    /// In lower case.
    #[schema(examples("usd"))]
    pub price_currency: String,
    /// Null: all that the merchant accepts.
    #[schema(required, max_items = 200)]
    pub accepted: Option<Vec<String>>,
    #[schema(value_type = Option<schema::Amount>, required)]
    pub min_amount: Option<Number>,
    #[schema(value_type = Option<schema::Amount>, required)]
    pub max_amount: Option<Number>,
    #[schema(value_type = Vec<schema::Amount>, max_items = 6)]
    pub suggested_amounts: Vec<Number>,
    /// True: one payment uses the link up.
    pub single_use: bool,
    /// Of a subscription; else null, and so are the next ones.
    #[schema(value_type = Option<PaymentLinkInterval>, required)]
    pub interval: Option<&'static str>,
    /// How many intervals lie between two payments.
    #[schema(required)]
    pub interval_count: Option<u32>,
    /// Payments after which it ends; null for one without an end.
    #[schema(required)]
    pub cycles_max: Option<u32>,
    /// Seconds that a day takes in the sandbox; null where it takes a day.
    #[schema(required)]
    pub sandbox_day_seconds: Option<u32>,
    /// Of a till: the time zone in which its day begins; null is UTC.
    #[schema(required, max_length = 64)]
    pub time_zone: Option<String>,
    /// Of a till: true if its devices are enrolled with the PIN that you set, false if each
    /// chooses its own. Null for other links.
    #[schema(required)]
    pub has_pin: Option<bool>,
    /// Where buyers are redirected once they have paid.
    #[schema(required)]
    pub success_url: Option<String>,
    /// Where buyers are redirected once their invoice is cancelled or expired.
    #[schema(required)]
    pub cancel_url: Option<String>,
    /// Where the signed IPNs of its invoices are posted.
    #[schema(required)]
    pub ipn_callback_url: Option<String>,
    /// The merchant's own reference, which all its invoices carry.
    #[schema(required, max_length = 255)]
    pub order_id: Option<String>,
    /// The picture of a button (SVG) that leads to the page. `?lang=` chooses its language. Empty
    /// for a till, to which no button leads.
    pub button_url: String,
    /// The button as HTML, to be pasted into a page. It needs no script. Empty for a till.
    pub button_html: String,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
}

/// One page of links.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentLinkList {
    #[schema(max_items = 100)]
    pub data: Vec<PaymentLink>,
    /// Links per page, after clamping.
    #[schema(minimum = 1, maximum = 100)]
    pub limit: i64,
    /// 0-based, after clamping.
    #[schema(minimum = 0)]
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    #[serde(rename = "pagesCount")]
    #[schema(minimum = 1)]
    pub pages_count: i64,
    /// Links on all pages.
    #[schema(minimum = 0)]
    pub total: i64,
}

impl PaymentLink {
    /// `checkout_url` is the configured origin of the checkout, never a request's host.
    pub fn render(link: Link, checkout_url: &str) -> Self {
        let terms = link.terms;
        let is_till = terms.kind == LinkKind::Pos;
        let folder = if is_till { "pos" } else { "l" };
        let url = format!("{}/{folder}/{}", checkout_url.trim_end_matches('/'), link.link_id);
        let (button_url, button_html) = if is_till {
            (String::new(), String::new())
        } else {
            (format!("{url}/button.svg"), button::html(&url, &terms.title))
        };
        let number = |price: Price| json_number(&price.to_decimal());
        Self {
            link_id: link.link_id,
            url,
            kind: terms.kind.as_str(),
            active: link.active,
            title: terms.title,
            description: terms.description,
            price_amount: terms.price_amount.map(number),
            price_currency: terms.price_currency.code().to_owned(),
            accepted: terms.accepted,
            min_amount: terms.min_amount.map(number),
            max_amount: terms.max_amount.map(number),
            suggested_amounts: terms.suggested_amounts.into_iter().map(number).collect(),
            single_use: terms.single_use,
            has_pin: is_till.then_some(link.has_pin),
            interval: terms.period.map(|period| period.interval.as_str()),
            interval_count: terms.period.map(|period| period.count),
            cycles_max: terms.cycles_max,
            sandbox_day_seconds: terms.sandbox_day_seconds,
            time_zone: terms.time_zone,
            success_url: terms.success_url,
            cancel_url: terms.cancel_url,
            ipn_callback_url: terms.ipn_callback_url,
            order_id: terms.order_id,
            button_url,
            button_html,
            created_at: iso_8601(link.created_at),
            updated_at: iso_8601(link.updated_at),
        }
    }
}

impl PaymentLinkList {
    pub fn render(found: LinkPage, limit: i64, page: i64, checkout_url: &str) -> Self {
        let pages = found.total.checked_add(limit - 1).unwrap_or(found.total) / limit;
        let render = |link| PaymentLink::render(link, checkout_url);
        let data = found.links.into_iter().map(render).collect();
        Self { data, limit, page, pages_count: pages.max(1), total: found.total }
    }
}
