//! Handing deliveries on to a receiver that only this machine can reach.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::body::Bytes;
use gateway::webhook::retry;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use tokio::time::timeout;

use crate::{
    outbound::{self, Http, reason},
    proof::Channel,
};

/// Taken from the gateway's own patience, so that it hears of a receiver that does not answer.
const MARGIN: Duration = Duration::from_secs(1);
/// More of an answer is not handed back.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Headers that belong to one connection, or that follow from the body.
const OWN_TO_A_HOP: [&str; 9] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "proxy-authorization",
];

/// The receivers behind this one: of payment IPNs, and of webhooks of mass payouts.
#[derive(Clone, Default)]
pub(crate) struct Targets {
    ipn: Option<Arc<Target>>,
    payout: Option<Arc<Target>>,
}

pub(crate) struct Target {
    http: Http<Full<Bytes>>,
    url: Uri,
    patience: Duration,
}

/// A delivery that was handed on.
#[derive(Debug)]
pub(crate) struct Forwarded {
    pub(crate) url: Uri,
    /// Or the reason why there is none.
    pub(crate) status: Result<StatusCode, String>,
    pub(crate) took: Duration,
    body: Bytes,
}

impl Targets {
    /// The error names the address that is wrong.
    pub(crate) fn new(ipn: Option<&str>, payout: Option<&str>) -> Result<Self, String> {
        let target = |url: Option<&str>, policy: retry::RetryPolicy| {
            url.map(|url| Target::to(url, policy.timeout).map(Arc::new)).transpose()
        };
        Ok(Self { ipn: target(ipn, retry::IPN)?, payout: target(payout, retry::PAYOUT)? })
    }

    pub(crate) fn of(&self, channel: Channel) -> Option<&Target> {
        match channel {
            Channel::Ipn => self.ipn.as_deref(),
            Channel::Payout => self.payout.as_deref(),
        }
    }
}

impl Target {
    fn to(url: &str, channels: Duration) -> Result<Self, String> {
        let (http, parsed) =
            outbound::client_for(url).map_err(|reason| format!("{url}: {reason}"))?;
        Ok(Self { http, url: parsed, patience: channels.saturating_sub(MARGIN) })
    }

    /// Posts the very bytes, with the headers as they came.
    pub(crate) async fn hand_on(&self, mut headers: HeaderMap, body: Bytes) -> Forwarded {
        for name in OWN_TO_A_HOP {
            headers.remove(name);
        }
        let began = Instant::now();
        let answer = match timeout(self.patience, self.exchange(headers, body)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", self.patience.as_secs())),
        };
        let took = began.elapsed();
        let url = self.url.clone();
        match answer {
            Ok((status, body)) => Forwarded { url, status: Ok(status), took, body },
            Err(reason) => Forwarded { url, status: Err(reason), took, body: Bytes::new() },
        }
    }

    async fn exchange(
        &self,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), String> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        *request.headers_mut() = headers;
        let answer = self.http.request(request).await.map_err(|error| reason(&error))?;
        let status = answer.status();
        if status.is_informational() {
            return Err(format!("it answered {status}, which is no end"));
        }
        // The status is the answer; a body is for people.
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
        Ok((status, body.map(|body| body.to_bytes()).unwrap_or_default()))
    }
}

impl Forwarded {
    pub(crate) fn is_taken(&self) -> bool {
        self.status.as_ref().is_ok_and(StatusCode::is_success)
    }

    /// The receiver's own answer; without one, that of a gateway whose upstream is away.
    pub(crate) fn answer(&self) -> (StatusCode, Bytes) {
        match &self.status {
            Ok(status) => (*status, self.body.clone()),
            Err(reason) => {
                let said = format!("gatewayctl listen: {} did not answer: {reason}", self.url);
                (StatusCode::BAD_GATEWAY, said.into())
            }
        }
    }

    /// One line for people.
    pub(crate) fn told(&self) -> String {
        let took = self.took.as_millis();
        match &self.status {
            Ok(status) => {
                format!("forwarded {} answered {} in {took} ms", self.url, status.as_u16())
            }
            Err(reason) => {
                format!("AWAY      {} did not answer after {took} ms: {reason}", self.url)
            }
        }
    }

    /// True if a delivery is never tried again after this answer.
    pub(crate) fn drops(&self, channel: Channel) -> bool {
        channel == Channel::Payout && self.status.as_ref().is_ok_and(StatusCode::is_client_error)
    }
}
