//! A demonstration shop: a page with the checkout's widget, and a webhook that marks orders as
//! paid.
//!
//! It is built only from the merchants' documentation, and keeps its orders in memory.

mod gateway;
mod page;
#[path = "../../verify-ipn/rust/src/verify_ipn.rs"]
mod verify_ipn;

use std::{
    collections::{HashMap, HashSet},
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
    page::{GOODS, Good},
    verify_ipn::{Verdict, verify_ipn},
};

struct Shop {
    gateway: Gateway,
    webhook_secret: String,
    checkout_url: String,
    /// URL at which buyers and the gateway reach the shop.
    own_url: String,
    orders: Mutex<Orders>,
}

#[derive(Default)]
struct Orders {
    by_number: HashMap<usize, Order>,
    /// The keys of events that were acted on; a real shop has them in a unique column.
    handled: HashSet<String>,
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
    let shop = Arc::new(Shop::from_environment(listener.local_addr()?)?);
    let router = Router::new()
        .route("/", get(front))
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
            orders: Mutex::default(),
        })
    }

    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn front() -> Response {
    page::front()
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
    let Orders { by_number, handled } = &mut *orders;
    let remember = |key: &str| handled.insert(key.to_owned());
    let verdict =
        verify_ipn(&body, signature.unwrap_or_default(), &shop.webhook_secret, now(), remember);
    match verdict {
        Verdict::Payment(event) => {
            let order = order_of(by_number, &event);
            if let (Some(order), Some(status)) = (order, event["payment_status"].as_str()) {
                order.told = Some(status.to_owned());
                order.shipped += u32::from(status == "finished");
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
        Verdict::Renewal(_) => StatusCode::OK,
        Verdict::Duplicate => StatusCode::OK,
        Verdict::Forged | Verdict::Stale => StatusCode::UNAUTHORIZED,
    }
}

fn order_of<'a>(orders: &'a mut HashMap<usize, Order>, event: &Value) -> Option<&'a mut Order> {
    orders.values_mut().find(|order| event["payment_id"] == order.payment_id.as_str())
}

#[expect(clippy::disallowed_methods, reason = "a merchant's shop has no clock but its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
