//! The shop's pages.

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use url::Url;

use crate::Order;

pub struct Good {
    pub code: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    /// In US dollars, as it is sent.
    pub price: &'static str,
}

/// Three prices, because minimums differ: small amounts are possible only on some networks.
pub const GOODS: [Good; 3] = [
    Good {
        code: "coffee",
        name: "Two cups of coffee",
        about: "Fresh, and gone in ten minutes.",
        price: "9.50",
    },
    Good {
        code: "beans",
        name: "A kilogram of beans",
        about: "Washed, from the Sidama highlands.",
        price: "38",
    },
    Good {
        code: "grinder",
        name: "A hand grinder",
        about: "Steel burrs. Outlives its owner.",
        price: "640",
    },
];

#[derive(Template)]
#[template(path = "front.html")]
struct Front {
    goods: &'static [Good],
}

#[derive(Template)]
#[template(path = "order.html")]
struct OrderPage<'a> {
    number: usize,
    good: &'static Good,
    payment_id: &'a str,
    invoice_url: &'a str,
    checkout_url: &'a str,
}

pub fn front() -> Response {
    answer(&Front { goods: &GOODS }, "")
}

pub fn order(number: usize, order: &Order, checkout_url: &str) -> Response {
    let page = OrderPage {
        number,
        good: order.good,
        payment_id: &order.payment_id,
        invoice_url: &order.invoice_url,
        checkout_url: checkout_url.trim_end_matches('/'),
    };
    let origin = Url::parse(checkout_url).map(|url| url.origin().ascii_serialization());
    answer(&page, &origin.unwrap_or_default())
}

pub async fn script() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (kind, include_str!("../assets/order.js")).into_response()
}

/// The widget needs two permissions of a strict policy: its script, and its frame.
fn answer(page: &impl Template, checkout: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'self' {checkout}; frame-src 'self' {checkout}; connect-src 'self'; \
         img-src data:; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
    );
    match page.render() {
        Ok(html) => ([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
