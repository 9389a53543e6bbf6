//! The shop's pages.

use std::collections::VecDeque;

use askama::Template;
use axum::{
    http::{StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use url::Url;

use crate::{Order, Reminder, links::Links};

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
struct Front<'a> {
    goods: &'static [Good],
    links: &'a Links,
    through_links: usize,
}

#[derive(Template)]
#[template(path = "club.html")]
struct Club<'a> {
    join: &'a str,
    reminders: &'a VecDeque<Reminder>,
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

pub fn front(links: &Links, through_links: usize, checkout_url: &str) -> Response {
    answer(&Front { goods: &GOODS, links, through_links }, &origin(checkout_url))
}

pub fn club(join: &str, reminders: &VecDeque<Reminder>) -> Response {
    answer(&Club { join, reminders }, "")
}

pub fn order(number: usize, order: &Order, checkout_url: &str) -> Response {
    let page = OrderPage {
        number,
        good: order.good,
        payment_id: &order.payment_id,
        invoice_url: &order.invoice_url,
        checkout_url: checkout_url.trim_end_matches('/'),
    };
    answer(&page, &origin(checkout_url))
}

fn origin(url: &str) -> String {
    Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default()
}

pub async fn script() -> Response {
    let kind = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (kind, include_str!("../assets/order.js")).into_response()
}

/// The widget needs two permissions of a strict policy: its script, and its frame. The picture of a
/// button needs one more.
fn answer(page: &impl Template, checkout: &str) -> Response {
    let policy = format!(
        "default-src 'none'; script-src 'self' {checkout}; frame-src 'self' {checkout}; connect-src 'self'; \
         img-src data: {checkout}; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
    );
    match page.render() {
        Ok(html) => ([(header::CONTENT_SECURITY_POLICY, policy)], Html(html)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
