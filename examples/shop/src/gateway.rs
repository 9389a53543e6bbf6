//! The part of the gateway's API that a shop needs. The key stays on the server.

use std::time::Duration;

use anyhow::{Context, bail};
use axum::http::{Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: usize = 256 * 1024;

pub struct Gateway {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    key: String,
}

pub struct Created {
    pub payment_id: String,
    pub invoice_url: String,
}

impl Gateway {
    pub fn new(base_url: &str, key: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let url = base_url.trim_end_matches('/').to_owned();
        Self { client, url, key: key.to_owned() }
    }

    /// `POST /v1/payment`.
    pub async fn create_payment(&self, order: &Value) -> anyhow::Result<Created> {
        let payment = self.call("POST", "/v1/payment", Some(order)).await?;
        let text = |name: &str| {
            let value = payment[name].as_str().map(ToOwned::to_owned);
            value.with_context(|| format!("no {name} in the answer"))
        };
        Ok(Created { payment_id: text("payment_id")?, invoice_url: text("invoice_url")? })
    }

    /// Sends a request with the shop's key and returns the answer.
    ///
    /// # Errors
    /// If no answer comes in time, or one that is no success.
    pub async fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("x-api-key", &self.key)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body.map(Value::to_string).unwrap_or_default()))?;
        let call = async {
            let answer = self.client.request(request).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
            anyhow::Ok((status, body.map_err(anyhow::Error::from_boxed)?.to_bytes()))
        };
        let (status, body) =
            tokio::time::timeout(LIMIT, call).await.context("no answer in time")??;
        if !status.is_success() {
            bail!("{status}: {}", String::from_utf8_lossy(&body));
        }
        Ok(serde_json::from_slice(&body)?)
    }
}
