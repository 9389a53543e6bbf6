//! A demonstration shop: a page with the checkout's widget, and a webhook that marks orders as
//! paid.
//!
//! It is built only from the merchants' documentation, and keeps its orders in memory.

mod gateway;
mod links;
mod page;
#[path = "../../verify-ipn/rust/src/verify_ipn.rs"]
mod verify_ipn;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    env,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    gateway::Gateway,
    links::Links,
    page::{GOODS, Good},
    verify_ipn::{Verdict, verify_ipn},
};

/// The newest ones; seven belong to a renewal.
const REMINDERS_KEPT: usize = 28;

struct Shop {
    gateway: Gateway,
    webhook_secret: String,
    checkout_url: String,
    /// URL at which buyers and the gateway reach the shop.
    own_url: String,
    links: Links,
    orders: Mutex<Orders>,
}

#[derive(Default)]
struct Orders {
    by_number: HashMap<usize, Order>,
    /// The keys of events that were acted on; a real shop has them in a unique column.
    handled: HashSet<String>,
    /// Payments through links, told by webhooks.
    through_links: usize,
    /// Reminders of the coffee club. A real shop mails each to its subscriber: whoever has the
    /// address can renew and cancel.
    reminders: VecDeque<Reminder>,
}

/// A reminder that a renewal is due.
struct Reminder {
    subscriber: String,
    /// Days until the renewal if negative, after it if positive.
    day_offset: i64,
    cycle: i64,
    renewal_url: String,
}

struct Order {
    good: &'static Good,
    payment_id: String,
    invoice_url: String,
    /// Status in the last verified webhook.
    told: Option<String>,
    /// Parcels sent: one, however many webhooks come.
    shipped: u32,
    /// Reports of money beside or after the payment, for the shop's people.
    notices: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listen = env::var("SHOP_LISTEN").unwrap_or_else(|_| "127.0.0.1:8090".into());
    let listener =
        TcpListener::bind(&listen).await.with_context(|| format!("cannot listen on {listen}"))?;
    let mut shop = Shop::from_environment(listener.local_addr()?)?;
    let ipn_url = format!("{}/ipn", shop.own_url);
    match Links::of_shop(&shop.gateway, &ipn_url).await {
        Ok(links) => shop.links = links,
        Err(error) => eprintln!("the shop goes on without payment links: {error:#}"),
    }
    let shop = Arc::new(shop);
    let router = Router::new()
        .route("/", get(front))
        .route("/links.txt", get(links))
        .route("/club", get(club))
        .route("/buy/{good}", post(buy))
        .route("/order/{number}", get(order))
        .route("/order/{number}/state", get(state))
        .route("/order.js", get(page::script))
        .route("/ipn", post(ipn))
        .with_state(shop);
    axum::serve(listener, router).await.context("the server has ended")
}

impl Shop {
    fn from_environment(listen: SocketAddr) -> anyhow::Result<Self> {
        let setting = |name: &str| env::var(name).with_context(|| format!("{name} is not set"));
        // Output of `gatewayctl --json merchant create`.
        let merchant: Value = serde_json::from_str(&setting("SHOP_MERCHANT")?)
            .context("SHOP_MERCHANT is not JSON")?;
        let text = |name: &str| {
            let value = merchant[name].as_str().map(ToOwned::to_owned);
            value.with_context(|| format!("SHOP_MERCHANT has no {name}"))
        };
        Ok(Self {
            gateway: Gateway::new(&setting("GATEWAY_BASE_URL")?, &text("api_key")?),
            webhook_secret: text("webhook_secret")?,
            checkout_url: setting("GATEWAY_CHECKOUT_URL")?,
            own_url: format!("http://{listen}"),
            links: Links::default(),
            orders: Mutex::default(),
        })
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn front(State(shop): State<Arc<Shop>>) -> Response {
    page::front(&shop.links, shop.orders().through_links, &shop.checkout_url)
}

async fn links(State(shop): State<Arc<Shop>>) -> String {
    shop.links.listing()
}

async fn club(State(shop): State<Arc<Shop>>) -> Response {
    page::club(&shop.links.club, &shop.orders().reminders)
}

/// An order is an invoice: the price is ours, the currency is the buyer's choice.
async fn buy(State(shop): State<Arc<Shop>>, Path(good): Path<String>) -> Response {
    let Some(good) = GOODS.iter().find(|one| one.code == good) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let number = shop.orders().by_number.len() + 1;
    let back = format!("{}/order/{number}", shop.own_url);
    let price: Value = serde_json::from_str(good.price).unwrap_or_default();
    let created = shop
        .gateway
        .create_payment(&json!({
            "price_amount": price, "price_currency": "usd", "pay_currency": "all",
            "order_id": format!("demo-{number}"), "order_description": good.name,
            "ipn_callback_url": format!("{}/ipn", shop.own_url), "success_url": back, "cancel_url": back,
        }))
        .await;
    match created {
        Ok(created) => {
            let order = Order {
                good,
                payment_id: created.payment_id,
                invoice_url: created.invoice_url,
                told: None,
                shipped: 0,
                notices: 0,
            };
            shop.orders().by_number.insert(number, order);
            Redirect::to(&format!("/order/{number}")).into_response()
        }
        Err(error) => {
            eprintln!("no invoice for order {number}: {error:#}");
            (StatusCode::BAD_GATEWAY, "The gateway did not take the order. Is it running?")
                .into_response()
        }
    }
}

async fn order(State(shop): State<Arc<Shop>>, Path(number): Path<usize>) -> Response {
    match shop.orders().by_number.get(&number) {
        Some(order) => page::order(number, order, &shop.checkout_url),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Order state, requested by the shop's own page after a callback.
async fn state(State(shop): State<Arc<Shop>>, Path(number): Path<usize>) -> Response {
    match shop.orders().by_number.get(&number) {
        Some(Order { told, shipped, notices, .. }) => {
            Json(json!({ "told": told, "shipped": shipped, "notices": notices })).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The one place where an order becomes paid.
async fn ipn(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let signature = headers.get("x-gateway-sig").and_then(|value| value.to_str().ok());
    let mut orders = shop.orders();
    let Orders { by_number, handled, through_links, reminders } = &mut *orders;
    let remember = |key: &str| handled.insert(key.to_owned());
    let verdict =
        verify_ipn(&body, signature.unwrap_or_default(), &shop.webhook_secret, now(), remember);
    match verdict {
        Verdict::Payment(event) => {
            let status = event["payment_status"].as_str().unwrap_or_default();
            match order_of(by_number, &event) {
                Some(order) => {
                    order.told = Some(status.to_owned());
                    order.shipped += u32::from(status == "finished");
                }
                // An invoice that a visitor of one of the shop's links created.
                None => *through_links += usize::from(status == "finished"),
            }
            StatusCode::OK
        }
        // Dust after the payment repeats `finished`, and anybody can send dust: it ships nothing.
        Verdict::Notice(event) => {
            if let Some(order) = order_of(by_number, &event) {
                order.notices += 1;
            }
            StatusCode::OK
        }
        // A reminder repeats `finished` of the payment before, and ships nothing.
        Verdict::Renewal(event) => {
            reminders.push_front(Reminder::of(&event));
            reminders.truncate(REMINDERS_KEPT);
            StatusCode::OK
        }
        Verdict::Duplicate => StatusCode::OK,
        Verdict::Forged | Verdict::Stale => StatusCode::UNAUTHORIZED,
    }
}

impl Reminder {
    fn of(event: &Value) -> Self {
        let renewal = &event["_gateway"]["renewal"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Self {
            subscriber: text(&event["subscriber_email"]),
            day_offset: renewal["day_offset"].as_i64().unwrap_or_default(),
            cycle: renewal["cycle"].as_i64().unwrap_or_default(),
            renewal_url: text(&renewal["renewal_url"]),
        }
    }

    /// The day, as a subscriber would say it.
    fn when(&self) -> String {
        match self.day_offset {
            0 => "due today".to_owned(),
            -1 => "due tomorrow".to_owned(),
            1 => "a day late".to_owned(),
            days @ ..0 => format!("due in {} days", -days),
            days => format!("{days} days late"),
        }
    }
}

fn order_of<'a>(orders: &'a mut HashMap<usize, Order>, event: &Value) -> Option<&'a mut Order> {
    orders.values_mut().find(|order| event["payment_id"] == order.payment_id.as_str())
}

#[expect(clippy::disallowed_methods, reason = "a merchant's shop has no clock but its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
