//! A merchant's webhook receiver as the documentation requires it, in one screen.
//!
//! It deliberately shares no code with the gateway's signer; otherwise it would prove only that we
//! agree with ourselves.

use anyhow::{Context, ensure};
use axum::{Router, body::Bytes, extract::State, routing::post};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use sha2::Sha512;
use subtle::ConstantTimeEq;
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};

use crate::{
    forward::{Forwarded, Targets},
    payout_receiver,
    proof::{AGE_SECONDS_MAX, Channel, Proof, epoch_seconds},
};

/// More deliveries than ever wait to be printed; any beyond are answered, but not printed.
const UNREAD_MAX: usize = 64;
const IPN_PATH: &str = "/ipn";
const PAYOUT_PATH: &str = "/payouts";

/// Receiver with a separate path per channel, so that no delivery is checked by the rules of the
/// other channel.
pub(crate) struct Receiver {
    base: String,
    deliveries: mpsc::Receiver<Delivery>,
    server: JoinHandle<()>,
}

pub(crate) struct Delivery {
    pub(crate) channel: Channel,
    pub(crate) verdict: anyhow::Result<Proof>,
    /// What the receiver said to which it was handed on.
    pub(crate) forwarded: Option<Forwarded>,
}

#[derive(Clone)]
struct Receiving {
    secret: String,
    deliveries: mpsc::Sender<Delivery>,
    targets: Targets,
}

impl Receiver {
    /// Listens on this loopback port until dropped; port 0 takes a free one.
    pub(crate) async fn start(webhook_secret: &str, port: u16) -> anyhow::Result<Self> {
        Self::forwarding(webhook_secret, port, Targets::default()).await
    }

    /// The same, and hands on to `targets` what verifies.
    pub(crate) async fn forwarding(
        webhook_secret: &str,
        port: u16,
        targets: Targets,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .with_context(|| format!("cannot listen on port {port} of 127.0.0.1"))?;
        let base = format!("http://{}", listener.local_addr()?);
        let (sender, deliveries) = mpsc::channel(UNREAD_MAX);
        let receiving =
            Receiving { secret: webhook_secret.to_owned(), deliveries: sender, targets };
        let router = Router::new()
            .route(IPN_PATH, post(receive_ipn))
            .route(PAYOUT_PATH, post(receive_payout))
            .with_state(receiving);
        let server = tokio::spawn(async move {
            // The server ends with the task; an error before that shows as a webhook that never
            // arrives.
            let _ended = axum::serve(listener, router).await;
        });
        Ok(Self { base, deliveries, server })
    }

    /// URL for payment IPNs.
    pub(crate) fn ipn_url(&self) -> String {
        format!("{}{IPN_PATH}", self.base)
    }

    /// URL for mass-payout webhooks.
    pub(crate) fn payout_url(&self) -> String {
        format!("{}{PAYOUT_PATH}", self.base)
    }

    pub(crate) async fn next(&mut self) -> anyhow::Result<Delivery> {
        self.deliveries.recv().await.context("the receiver has stopped")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn receive_ipn(
    State(receiving): State<Receiving>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Bytes) {
    let verdict = verify(&receiving.secret, &headers, &body);
    receiving.tell(Channel::Ipn, verdict, headers, body).await
}

async fn receive_payout(
    State(receiving): State<Receiving>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Bytes) {
    let verdict = payout_receiver::verify(&receiving.secret, &headers, &body);
    receiving.tell(Channel::Payout, verdict, headers, body).await
}

impl Receiving {
    /// The answer to a delivery: that of the receiver to which it was handed on, if there is one.
    async fn tell(
        &self,
        channel: Channel,
        verdict: anyhow::Result<Proof>,
        headers: HeaderMap,
        body: Bytes,
    ) -> (StatusCode, Bytes) {
        let forwarded = match (&verdict, self.targets.of(channel)) {
            (Ok(_), Some(target)) => Some(target.hand_on(headers, body).await),
            (Ok(_) | Err(_), _) => None,
        };
        let answer = match (&verdict, &forwarded) {
            (Err(_), _) => (StatusCode::UNAUTHORIZED, Bytes::new()),
            (Ok(_), None) => (StatusCode::OK, Bytes::new()),
            (Ok(_), Some(forwarded)) => forwarded.answer(),
        };
        // After the demo has ended the channel has no reader; the response to the sender does not
        // depend on it.
        let _unread = self.deliveries.try_send(Delivery { channel, verdict, forwarded });
        answer
    }
}

fn verify(secret: &str, headers: &HeaderMap, body: &[u8]) -> anyhow::Result<Proof> {
    let header = |name: &str| {
        let value = headers.get(name).with_context(|| format!("no header {name}"))?;
        value.to_str().with_context(|| format!("header {name} is not text"))
    };
    let mut mac = Hmac::<Sha512>::new_from_slice(secret.as_bytes())?;
    mac.update(body);
    let expected = hex::encode(mac.finalize().into_bytes());
    let signature = header("x-gateway-sig")?;
    ensure!(
        bool::from(expected.as_bytes().ct_eq(signature.as_bytes())),
        "x-gateway-sig is not the HMAC-SHA-512 of the received bytes"
    );
    // The body may be parsed only after this check.
    let parsed: Value = serde_json::from_slice(body)?;
    let event_id = parsed["event_id"].as_str().context("no event_id in the body")?.to_owned();
    ensure!(header("x-gateway-event-id")? == event_id, "x-gateway-event-id is not the body's");
    let event_at = parsed["event_at"].as_u64().context("no event_at in the body")?;
    ensure!(epoch_seconds()?.abs_diff(event_at) <= AGE_SECONDS_MAX, "event_at is too long ago");
    Ok(Proof { event_id, bytes: body.len(), body: parsed })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_0011223344556677";

    fn signed(body: &str) -> String {
        let mut mac = Hmac::<Sha512>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }

    fn refusal(body: &str, signature: &str, event_id: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("x-gateway-sig", signature.parse().unwrap());
        headers.insert("x-gateway-event-id", event_id.parse().unwrap());
        verify(SECRET, &headers, body.as_bytes()).map_or_else(|e| e.to_string(), |p| p.event_id)
    }

    #[test]
    fn only_the_very_bytes_under_the_merchants_secret_verify() {
        let now = epoch_seconds().unwrap();
        let body = format!(r#"{{"event_at":{now},"event_id":"e1","payment_status":"finished"}}"#);
        let old = format!(r#"{{"event_at":{},"event_id":"e1"}}"#, now - AGE_SECONDS_MAX - 60);
        let sig = signed(&body);
        let not_the_mac = "x-gateway-sig is not the HMAC-SHA-512 of the received bytes";
        for (body, signature, event_id, said) in [
            (body.as_str(), sig.as_str(), "e1", "e1"),
            (&format!("{body} "), &sig, "e1", not_the_mac),
            (&body, &sig.to_uppercase(), "e1", not_the_mac),
            (&body, &sig[..127], "e1", not_the_mac),
            (&body, "", "e1", not_the_mac),
            (&body, &sig, "e2", "x-gateway-event-id is not the body's"),
            (&old, &signed(&old), "e1", "event_at is too long ago"),
            ("{}", &signed("{}"), "e1", "no event_id in the body"),
        ] {
            assert_eq!(refusal(body, signature, event_id), said, "{body} {event_id}");
        }
    }
}
