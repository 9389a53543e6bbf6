//! The feed of events as webhooks: for a receiver that the gateway cannot reach.
//!
//! It asks only what a merchant can ask, with his key, and signs with his secret as the gateway
//! does.

use std::time::Duration;

use anyhow::{Context, bail};
use axum::body::Bytes;
use gateway::{
    merchant::WebhookSecret,
    webhook::{self, event::EventKind, ipn, payout, retry},
};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::say;
use crate::{
    forward::{Forwarded, Target, Targets},
    outbound::{self, Http, reason},
    proof::{Channel, epoch_seconds},
};

const CALL_LIMIT: Duration = Duration::from_secs(15);
/// A third of a merchant's requests; the rest is for his program.
const POLL: Duration = Duration::from_secs(3);
/// Shorter than the gateway's pause, because a person is waiting.
const RETRY: Duration = Duration::from_secs(5);
/// A page of 100 orders of mass payouts, with much room.
const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The merchant's view of his events.
pub(super) struct Feed {
    http: Http<Empty<Bytes>>,
    base_url: String,
    key: HeaderValue,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Entry>,
    has_more: bool,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    event_id: String,
    #[serde(rename = "type")]
    kind: String,
    resource_id: String,
    payload: Box<RawValue>,
}

/// Result of one request for a page.
enum Asked {
    Page(Page),
    /// Asking again later may help.
    Later(Duration, String),
}

impl Feed {
    /// The error is for the person who typed the address or the key.
    pub(super) fn new(base_url: &str, key: &str) -> Result<Self, String> {
        let (http, _) = outbound::client_for(base_url)?;
        let mut key = HeaderValue::from_str(key).map_err(|_| "the API key is not text")?;
        key.set_sensitive(true);
        Ok(Self { http, base_url: base_url.trim_end_matches('/').to_owned(), key })
    }

    /// Posts every event behind `after`, or from now on, until it is interrupted.
    pub(super) async fn follow(
        &self,
        after: Option<String>,
        targets: &Targets,
        secret: &WebhookSecret,
    ) -> anyhow::Result<()> {
        let mut cursor = match after {
            Some(id) => Some(id),
            None => self.end().await?,
        };
        let at = cursor.as_deref().unwrap_or("the beginning");
        say(&format!("listening to the events of {} behind {at}, Ctrl-C ends", self.base_url))?;
        loop {
            let page = self.page(cursor.as_deref()).await?;
            for entry in &page.data {
                deliver(entry, targets, secret).await?;
            }
            cursor = page.next.or(cursor);
            if !page.has_more {
                sleep(POLL).await;
            }
        }
    }

    /// The newest event; `None` while there is none.
    async fn end(&self) -> anyhow::Result<Option<String>> {
        let mut cursor = None;
        loop {
            let page = self.page(cursor.as_deref()).await?;
            cursor = page.next;
            if !page.has_more {
                return Ok(cursor);
            }
        }
    }

    /// The page behind `after`, however long the gateway is away.
    async fn page(&self, after: Option<&str>) -> anyhow::Result<Page> {
        loop {
            match self.ask(after).await? {
                Asked::Page(page) => return Ok(page),
                Asked::Later(pause, why) => {
                    say(&format!("waiting   {why}; asked again in {} s", pause.as_secs()))?;
                    sleep(pause).await;
                }
            }
        }
    }

    async fn ask(&self, after: Option<&str>) -> anyhow::Result<Asked> {
        let after = after.map(|id| format!("&after={id}")).unwrap_or_default();
        let url = format!("{}/v1/events?limit=100{after}", self.base_url);
        let request = Request::get(url).header("x-api-key", &self.key).body(Empty::new())?;
        let exchange = async {
            let answer = self.http.request(request).await.map_err(|error| reason(&error))?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, PAGE_BYTES_MAX).collect().await;
            Ok::<_, String>((head, body.map_err(|error| error.to_string())?.to_bytes()))
        };
        let exchange = timeout(CALL_LIMIT, exchange).await;
        let exchange =
            exchange.unwrap_or_else(|_| Err(format!("no answer in {} s", CALL_LIMIT.as_secs())));
        let (head, body) = match exchange {
            Ok(answer) => answer,
            Err(why) => {
                return Ok(Asked::Later(RETRY, format!("{}: {why}", self.base_url)));
            }
        };
        match head.status {
            StatusCode::OK => {
                let page = serde_json::from_slice(&body);
                Ok(Asked::Page(page.context("GET /v1/events was not answered with a page")?))
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let asked = head.headers.get(header::RETRY_AFTER).and_then(|v| v.to_str().ok());
                let seconds = asked.and_then(|text| text.parse().ok()).unwrap_or(60);
                let why = "the requests of this minute are used up".to_owned();
                Ok(Asked::Later(Duration::from_secs(seconds), why))
            }
            status if status.is_server_error() => {
                Ok(Asked::Later(RETRY, format!("GET /v1/events was answered {status}")))
            }
            status => {
                bail!("GET /v1/events was answered {status}: {}", String::from_utf8_lossy(&body))
            }
        }
    }
}

/// Posts one event until it is taken, as often as the gateway would.
async fn deliver(entry: &Entry, targets: &Targets, secret: &WebhookSecret) -> anyhow::Result<()> {
    let Entry { event_id, kind, resource_id, .. } = entry;
    let known = kind.parse::<EventKind>().ok();
    let Some(channel) = known.and_then(EventKind::channel) else {
        return Ok(say(&format!("event     {kind}  {resource_id}  has no webhook"))?);
    };
    let (channel, attempts) = match channel {
        webhook::Channel::Ipn => (Channel::Ipn, retry::IPN.attempts_max),
        webhook::Channel::Payout => (Channel::Payout, retry::PAYOUT.attempts_max),
    };
    let Some(target) = targets.of(channel) else {
        return Ok(say(&format!("event     {kind}  {resource_id}  no receiver is named for it"))?);
    };
    say(&format!("event     {kind}  {resource_id}  event {event_id}"))?;
    for attempt in 1..=attempts {
        let forwarded = post(entry, channel, target, secret).await?;
        let end = if forwarded.is_taken() {
            ""
        } else if forwarded.drops(channel) {
            "; a 4xx drops it for good"
        } else if attempt == attempts {
            "; given up: at the gateway it would be a dead letter now"
        } else {
            "; tried again in 5 s"
        };
        say(&format!("{}{end}", forwarded.told()))?;
        if forwarded.is_taken() || forwarded.drops(channel) {
            break;
        }
        if attempt < attempts {
            sleep(RETRY).await;
        }
    }
    Ok(())
}

/// One attempt, signed now.
async fn post(
    entry: &Entry,
    channel: Channel,
    target: &Target,
    secret: &WebhookSecret,
) -> anyhow::Result<Forwarded> {
    let (event_id, payload) = (entry.event_id.as_str(), entry.payload.get());
    let now = i64::try_from(epoch_seconds()?)?;
    let (body, headers) = match channel {
        Channel::Ipn => {
            let body = ipn::body(payload, event_id, now)?;
            let signature = ipn::sign(secret, body.as_bytes());
            let headers = [
                ("content-type", ipn::CONTENT_TYPE.to_owned()),
                ("user-agent", ipn::USER_AGENT.to_owned()),
                (ipn::SIGNATURE_HEADER, signature),
                (ipn::EVENT_ID_HEADER, event_id.to_owned()),
            ];
            (body, headers)
        }
        Channel::Payout => {
            let body = payout::body(&entry.kind, event_id, now, payload)?;
            let signature = payout::sign(secret, body.as_bytes());
            let headers = [
                ("content-type", payout::CONTENT_TYPE.to_owned()),
                ("user-agent", payout::USER_AGENT.to_owned()),
                (payout::SIGNATURE_HEADER, signature),
                (payout::EVENT_ID_HEADER, event_id.to_owned()),
            ];
            (body, headers)
        }
    };
    let mut given = HeaderMap::new();
    for (name, value) in headers {
        given.insert(http::HeaderName::try_from(name)?, value.parse()?);
    }
    Ok(target.hand_on(given, body.into()).await)
}
