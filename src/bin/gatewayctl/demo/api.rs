//! The merchant's side of the API, as a shop would call it.

use std::time::Duration;

use anyhow::{Context, bail};
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::time::timeout;

const CALL_LIMIT: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

pub(super) struct Api {
    client: Client<HttpConnector, Full<Bytes>>,
    base_url: String,
    key: String,
}

impl Api {
    pub(super) fn new(base_url: &str, key: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { client, base_url: base_url.trim_end_matches('/').to_owned(), key: key.to_owned() }
    }

    pub(super) async fn create_payment(&self, order: &Value) -> anyhow::Result<Value> {
        self.call(Method::POST, "/v1/payment", Some(order), StatusCode::CREATED).await
    }

    pub(super) async fn payment(&self, id: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, &format!("/v1/payment/{id}"), None, StatusCode::OK).await
    }

    /// A line to paste: the next invoice, for which the buyer chooses the currency on the checkout.
    pub(super) fn curl_example(&self) -> String {
        let order = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "all" });
        format!(
            "curl -s {}/v1/payment -H 'x-api-key: {}' -H 'content-type: application/json' -d '{order}'",
            self.base_url, self.key
        )
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        expected: StatusCode,
    ) -> anyhow::Result<Value> {
        let what = format!("{method} {}{path}", self.base_url);
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base_url))
            .header("x-api-key", &self.key)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))?;
        let exchange = async {
            let answer = self.client.request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            anyhow::Ok((status, body.map_err(anyhow::Error::from_boxed)?.to_bytes()))
        };
        let (status, body) = timeout(CALL_LIMIT, exchange)
            .await
            .with_context(|| format!("{what} was not answered in {} s", CALL_LIMIT.as_secs()))?
            .with_context(|| format!("{what} failed"))?;
        if status != expected {
            bail!("{what} was answered with {status}: {}", String::from_utf8_lossy(&body));
        }
        serde_json::from_slice(&body).with_context(|| format!("{what} was not answered in JSON"))
    }
}
