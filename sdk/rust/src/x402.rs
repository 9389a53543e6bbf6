//! Payments of programs over HTTP (x402).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    error::Error,
    transport::{Request, Transport},
};

/// Terms change rarely; a price that you change holds after this.
const TERMS_FOR: Duration = Duration::from_secs(60);
const REPLAY: &str = "x-gateway-idempotent-replay";

/// A resource to sell.
#[derive(Debug, Clone, Default, Serialize)]
pub struct NewPaidResource {
    pub url: String,
    /// In USD: `"0.01"`.
    pub price_amount: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub networks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<bool>,
}

/// A resource that you sell to programs.
#[derive(Debug, Clone, Deserialize)]
pub struct PaidResource {
    pub resource_id: String,
    pub url: String,
    pub description: String,
    pub mime_type: String,
    /// Where payments arrive.
    pub pay_to: String,
    /// The ways to pay, in version 2 of the protocol.
    pub accepts: Vec<Value>,
    /// The same in version 1.
    pub accepts_v1: Vec<Value>,
}

/// What the gateway said of a payment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settlement {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    pub transaction: String,
    pub network: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
}

/// The outcome of one request for a resource.
#[derive(Debug, Clone)]
pub enum Charge {
    /// Deliver, and add the headers to what you answer.
    Paid { settlement: Settlement, headers: Vec<(&'static str, String)> },
    /// Answer 402 with this.
    Required { headers: Vec<(&'static str, String)>, body: String },
}

/// The resources that you sell. Clones share what they know.
#[derive(Debug, Clone)]
pub struct X402 {
    transport: Transport,
    terms: Arc<Mutex<HashMap<String, (Instant, Arc<PaidResource>)>>>,
}

impl X402 {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, terms: Arc::default() }
    }

    /// Sells a resource: gives it an address, and the terms that programs are asked for.
    pub async fn create(&self, resource: &NewPaidResource) -> Result<PaidResource, Error> {
        self.transport.read(Request::post(&["x402", "resources"]).json(resource)?).await
    }

    /// A resource by its `resource_id`.
    pub async fn get(&self, id: &str) -> Result<PaidResource, Error> {
        self.transport.read(Request::get(&["x402", "resources", id])).await
    }

    /// Charges one request for a resource. `header` reads a header of the request. A payment that
    /// was used before, also at another copy of your server, is none.
    pub async fn charge<'a>(
        &self,
        id: &str,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Charge, Error> {
        let resource = self.resource(id).await?;
        let payment = header("payment-signature").or_else(|| header("x-payment")).and_then(decode);
        let Some(payment) = payment else { return Ok(required(&resource, "Payment required", vec![])) };
        let Some(requirements) = chosen(&resource, &payment) else {
            return Ok(required(&resource, "invalid_payment_requirements", vec![]));
        };
        let version = payment["x402Version"].clone();
        let body = json!({
            "x402Version": version, "paymentPayload": payment, "paymentRequirements": requirements,
        });
        let mut request = Request::post(&["x402", "settle"]).json(&body)?.once(None);
        request.max_wait = Some(Duration::ZERO);
        let (settlement, replay): (Settlement, _) = self.transport.read_with(request, REPLAY).await?;
        let name = if version == 1 { "x-payment-response" } else { "payment-response" };
        let headers = vec![(name, encode(&settlement))];
        let is_replay = replay.as_deref() == Some("true");
        if settlement.success && !is_replay {
            return Ok(Charge::Paid { settlement, headers });
        }
        let refused = settlement.error_reason.as_deref().unwrap_or("payment refused");
        let error = if is_replay { "this payment was used already" } else { refused };
        Ok(required(&resource, error, headers))
    }

    async fn resource(&self, id: &str) -> Result<Arc<PaidResource>, Error> {
        let known = || self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, resource)) = known().get(id).cloned()
            && read.elapsed() < TERMS_FOR
        {
            return Ok(resource);
        }
        let resource = Arc::new(self.get(id).await?);
        known().insert(id.to_owned(), (Instant::now(), resource.clone()));
        Ok(resource)
    }
}

/// The terms that a payment answers: ours, never those that it carries.
fn chosen<'a>(resource: &'a PaidResource, payment: &Value) -> Option<&'a Value> {
    let (ways, network) = if payment["x402Version"] == 1 {
        (&resource.accepts_v1, &payment["network"])
    } else {
        (&resource.accepts, &payment["accepted"]["network"])
    };
    ways.iter().find(|way| network.is_string() && way["network"] == *network)
}

fn required(resource: &PaidResource, error: &str, more: Vec<(&'static str, String)>) -> Charge {
    let asked = json!({
        "x402Version": 2, "error": error, "accepts": resource.accepts,
        "resource": {
            "url": resource.url, "description": resource.description, "mimeType": resource.mime_type,
        },
    });
    let mut headers = vec![
        ("content-type", "application/json".to_owned()),
        ("cache-control", "no-store".to_owned()),
        ("payment-required", encode(&asked)),
    ];
    headers.extend(more);
    let body = json!({ "x402Version": 1, "error": error, "accepts": resource.accepts_v1 });
    Charge::Required { headers, body: body.to_string() }
}

fn decode(value: &str) -> Option<Value> {
    let payment: Value = serde_json::from_slice(&BASE64_STANDARD.decode(value).ok()?).ok()?;
    payment.is_object().then_some(payment)
}

fn encode(answer: &impl Serialize) -> String {
    BASE64_STANDARD.encode(serde_json::to_vec(answer).unwrap_or_default())
}

/// A middleware of axum that lets a request pass once it is paid for:
/// `.route_layer(axum::middleware::from_fn_with_state(sale, require_payment))`, with
/// `sale = Sale::new(&gateway, "pzx_…")`.
#[cfg(feature = "axum")]
pub mod axum {
    use axum::{
        extract::{Request, State},
        http::{HeaderName, HeaderValue, StatusCode},
        middleware::Next,
        response::{IntoResponse, Response},
    };

    use super::{Charge, X402};
    use crate::Gateway;

    /// A resource and the gateway that charges for it.
    #[derive(Debug, Clone)]
    pub struct Sale {
        x402: X402,
        resource_id: String,
    }

    impl Sale {
        pub fn new(gateway: &Gateway, resource_id: &str) -> Self {
            Self { x402: gateway.x402(), resource_id: resource_id.to_owned() }
        }
    }

    /// Charges for the request. The handler finds the [`Settlement`](super::Settlement) among its
    /// extensions.
    pub async fn require_payment(State(sale): State<Sale>, mut request: Request, next: Next) -> Response {
        let given = request.headers().clone();
        let header = |name: &str| given.get(name).and_then(|value| value.to_str().ok());
        match sale.x402.charge(&sale.resource_id, header).await {
            Ok(Charge::Paid { settlement, headers }) => {
                request.extensions_mut().insert(settlement);
                with(next.run(request).await, headers)
            }
            Ok(Charge::Required { headers, body }) => {
                with((StatusCode::PAYMENT_REQUIRED, body).into_response(), headers)
            }
            Err(error) => {
                eprintln!("a request could not be charged for: {error}");
                StatusCode::BAD_GATEWAY.into_response()
            }
        }
    }

    fn with(mut response: Response, headers: Vec<(&'static str, String)>) -> Response {
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

#[cfg(feature = "axum")]
#[cfg(test)]
mod tests {
    use ::axum::{
        Extension, Router, middleware,
        routing::{get, post},
    };
    use reqwest::{Client, StatusCode};

    use super::{
        axum::{Sale, require_payment},
        *,
    };
    use crate::{Gateway, Options};

    async fn serve(app: Router) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { ::axum::serve(listener, app).await });
        format!("http://{address}")
    }

    /// Names one resource, and settles every payment: it is no gateway.
    async fn stub() -> Gateway {
        let resource = json!({
            "resource_id": "pzx_1", "url": "https://api.example/weather", "description": "",
            "mime_type": "application/json", "pay_to": "0x3", "accepts": [{ "network": "eip155:137" }],
            "accepts_v1": [],
        });
        let settled = json!({ "success": true, "payer": "0x1", "transaction": "0x2", "network": "eip155:137" });
        let [resource, settled] = [resource, settled].map(|body| body.to_string());
        let app = Router::new()
            .route("/v1/x402/resources/{id}", get(|| async { resource }))
            .route("/v1/x402/settle", post(|| async { settled }));
        Gateway::new(&serve(app).await, Some("a key"), Options::default()).unwrap()
    }

    async fn weather(Extension(settlement): Extension<Settlement>) -> String {
        settlement.payer.unwrap_or_default()
    }

    /// It charges for what it wraps and compares no path, so that a nested router is charged for
    /// wherever it is.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_route_is_charged_for_wherever_its_router_is_nested() {
        let sale = Sale::new(&stub().await, "pzx_1");
        let paid = Router::new()
            .route("/weather", get(weather))
            .route_layer(middleware::from_fn_with_state(sale, require_payment));
        let shop = Router::new().route("/news", get(|| async { "free" })).merge(paid);
        let api = Router::new().nest("/shop", shop.clone());
        let base = serve(Router::new().nest("/api", api).merge(shop)).await;
        let payment = encode(&json!({ "x402Version": 2, "accepted": { "network": "eip155:137" } }));
        let client = Client::new();
        for path in ["/weather", "/api/shop/weather"] {
            let ask = || client.get(format!("{base}{path}"));
            assert_eq!(ask().send().await.unwrap().status(), StatusCode::PAYMENT_REQUIRED, "{path}");
            let paid = ask().header("payment-signature", &payment).send().await.unwrap();
            assert_eq!(paid.status(), StatusCode::OK, "{path}");
            assert!(paid.headers().contains_key("payment-response"), "{path}");
            assert_eq!(paid.text().await.unwrap(), "0x1");
        }
        for path in ["/news", "/api/shop/news"] {
            let free = client.get(format!("{base}{path}")).send().await.unwrap();
            assert_eq!(free.status(), StatusCode::OK, "{path}");
        }
    }
}
