//! `gatewayctl ready`: asks a program of this installation if it can work.

use std::time::Duration;

use clap::Args;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    outbound::{self, Http, reason},
    render::Answer,
};

/// Below the limit of a container's health check. The program itself answers within two seconds.
const LIMIT: Duration = Duration::from_secs(4);
/// Far above an answer with all parts.
const BYTES_MAX: usize = 64 * 1024;

#[derive(Args)]
pub struct Ready {
    /// Address of its health
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:9080/readyz")]
    url: String,
}

impl Ready {
    pub async fn run(self) -> anyhow::Result<Answer> {
        let (http, url): (Http<Empty<Bytes>>, _) = outbound::client_for(&self.url)
            .map_err(|reason| wrong_usage(format!("{}: {reason}", self.url)))?;
        let asked = async {
            let answer = http.get(url).await.map_err(|error| reason(&error))?;
            let works = answer.status().is_success();
            let body = Limited::new(answer.into_body(), BYTES_MAX).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok::<_, String>((works, serde_json::from_slice(&body).unwrap_or(Value::Null)))
        };
        let late = || Err(format!("no answer within {} s", LIMIT.as_secs()));
        let outcome = tokio::time::timeout(LIMIT, asked).await.unwrap_or_else(|_| late());
        let (works, said) =
            outcome.map_err(|reason| anyhow::anyhow!("{} does not answer: {reason}", self.url))?;
        let json = json!({ "ready": works, "parts": said["parts"] });
        if works {
            return Ok(Answer::new(json, "ready"));
        }
        let parts = said["parts"].as_object().into_iter().flatten();
        let broken: Vec<_> =
            parts.filter(|(_, works)| **works == false).map(|(name, _)| name.as_str()).collect();
        Ok(Answer::new(json, format!("not ready: {}", broken.join(", "))).bad())
    }
}
