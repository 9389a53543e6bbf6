//! Events as the gateway sends them, and deliveries of them as it does not.

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use gateway::{
    merchant::WebhookSecret,
    webhook::{event::EventKind, ipn, payout, sample},
};
use serde_json::{Map, Value, json};

use super::{
    Channel,
    post::{Pace, Post},
};
use crate::proof::epoch_seconds;

/// Signs as the gateway does. Each run has events and payments of its own, so that a receiver can
/// be checked many times.
pub(super) struct Sender {
    pub(super) channel: Channel,
    secret: WebhookSecret,
    order_id: String,
    run: String,
    now: DateTime<Utc>,
}

impl Sender {
    pub(super) fn new(
        channel: Channel,
        secret: WebhookSecret,
        order_id: String,
    ) -> anyhow::Result<Self> {
        let seconds = i64::try_from(epoch_seconds()?)?;
        let now = DateTime::from_timestamp_secs(seconds).context("the clock is far off")?;
        let run = format!("{:x}_{:08x}", seconds, rand::random::<u32>());
        Ok(Self { channel, secret, order_id, run, now })
    }

    /// The one event of which an order is shipped: a payment, or a mass payout that has ended.
    pub(super) fn event(&self, number: u32) -> Value {
        let event = match self.channel {
            Channel::Ipn => self.payment(EventKind::InvoicePaid, number),
            Channel::Payout => self.payout(EventKind::PayoutCompleted, number),
        };
        self.at(event, &format!("{number}"), TimeDelta::zero())
    }

    /// Another event of the same payment or order, which reports an earlier state or other money.
    pub(super) fn side_event(&self, number: u32) -> Value {
        let event = match self.channel {
            Channel::Ipn => self.payment(EventKind::LateDeposit, number),
            Channel::Payout => self.payout(EventKind::PayoutBatchConfirmed, number),
        };
        self.at(event, &format!("{number}-side"), TimeDelta::zero())
    }

    /// The reminder that the subscription of a payment is due. Its status is the payment's own.
    /// There is none among the webhooks of mass payouts.
    pub(super) fn reminder(&self, number: u32) -> Option<Value> {
        let event = match self.channel {
            Channel::Ipn => self.payment(EventKind::RenewalReminder, number),
            Channel::Payout => return None,
        };
        Some(self.at(event, &format!("{number}-reminder"), TimeDelta::zero()))
    }

    /// The event as it was signed some time ago, or will be.
    pub(super) fn at(&self, mut event: Value, name: &str, ago: TimeDelta) -> Value {
        let [id, at] = match self.channel {
            Channel::Ipn => ["event_id", "event_at"],
            Channel::Payout => ["eventId", "eventAt"],
        };
        event[id] = format!("evt_check_{}_{name}", self.run).into();
        event[at] = (self.now - ago).timestamp().into();
        event
    }

    pub(super) fn deliver(&self, event: &Value) -> Post {
        self.deliver_bytes(event, event.to_string().into_bytes())
    }

    /// The event in other bytes, signed as they are.
    pub(super) fn deliver_bytes(&self, event: &Value, bytes: Vec<u8>) -> Post {
        let signature = self.signature(self.channel, &bytes);
        self.deliver_with(event, bytes, Some(signature))
    }

    pub(super) fn deliver_with(
        &self,
        event: &Value,
        body: Vec<u8>,
        signature: Option<String>,
    ) -> Post {
        Post {
            user_agent: match self.channel {
                Channel::Ipn => ipn::USER_AGENT,
                Channel::Payout => payout::USER_AGENT,
            },
            event_id: event_id(event),
            signature: signature.map(|signature| (self.channel.signature_header(), signature)),
            body,
            pace: Pace::AtOnce,
        }
    }

    pub(super) fn signature(&self, channel: Channel, bytes: &[u8]) -> String {
        match channel {
            Channel::Ipn => ipn::sign(&self.secret, bytes),
            Channel::Payout => payout::sign(&self.secret, bytes),
        }
    }

    /// Under the secret of somebody else.
    pub(super) fn stranger(&self, bytes: &[u8]) -> String {
        let secret = WebhookSecret::from("0".repeat(64));
        match self.channel {
            Channel::Ipn => ipn::sign(&secret, bytes),
            Channel::Payout => payout::sign(&secret, bytes),
        }
    }

    /// The same channel's event, delivered by the rules of the other channel: its header and its
    /// algorithm.
    pub(super) fn by_the_other_channel(&self, event: &Value) -> Post {
        let other = self.channel.other();
        let body = event.to_string().into_bytes();
        let signature = Some((other.signature_header(), self.signature(other, &body)));
        Post { signature, ..self.deliver_with(event, body, None) }
    }

    /// Letters beyond ASCII show a receiver that verifies other bytes than it received.
    fn payment(&self, kind: EventKind, number: u32) -> Value {
        let (ipn_url, checkout) = ("https://shop.example/ipn", "https://pay.example");
        let mut event = parsed(&sample::payment(kind, ipn_url, checkout, self.now));
        let id = format!("pzi_check_{}_{number}", self.run);
        event["payment_id"] = id.clone().into();
        event["purchase_id"] = id.into();
        event["order_id"] = self.order_id.clone().into();
        event["order_description"] = "2 × café crème".into();
        event
    }

    fn payout(&self, kind: EventKind, number: u32) -> Value {
        let mut order = parsed(&sample::order(kind, self.now));
        order["id"] = format!("empo_check_{}_{number}", self.run).into();
        order["label"] = "wages, café crème".into();
        order["metadata"] = json!({ "order": self.order_id });
        json!({ "eventType": kind.as_str(), "order": order, "_gateway": { "test": true } })
    }
}

fn parsed(snapshot: &str) -> Value {
    serde_json::from_str(snapshot).expect("a sample is JSON")
}

fn event_id(event: &Value) -> String {
    let id = event.get("event_id").or_else(|| event.get("eventId"));
    id.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The same object with its members in reverse order and spaces between them.
pub(super) fn rearranged(event: &Value) -> Vec<u8> {
    let nothing = Map::new();
    let members = event.as_object().unwrap_or(&nothing).iter().rev();
    let members: Vec<_> = members
        .map(|(name, value)| format!("  {} : {value}", Value::from(name.as_str())))
        .collect();
    format!("{{\n{}\n}}", members.join(" ,\n")).into_bytes()
}

/// The same text with every letter beyond ASCII as an escape.
pub(super) fn escaped(event: &Value) -> Vec<u8> {
    let mut text = String::new();
    for letter in event.to_string().chars() {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text.into_bytes()
}
