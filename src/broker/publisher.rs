//! Publishes the messages of the outbox and returns one outcome per message.

use std::time::Duration;

use futures_util::future::try_join_all;
use lapin::{
    BasicProperties, Channel, Confirmation, PublisherConfirm,
    options::{BasicPublishOptions, ConfirmSelectOptions},
    types::{AMQPValue, FieldTable, ShortString},
};
use secrecy::SecretString;

use crate::telemetry::trace;

use super::{
    BrokerError,
    envelope::{BODY_BYTES_MAX, Headers, REASON_CHARS_MAX},
    link::{CALL_LIMIT, Link, within},
    route::Route,
    topology::Topology,
};

/// Limit for a whole batch, from the first byte to the last confirm. The relay holds row locks
/// meanwhile.
pub const CONFIRM_LIMIT: Duration = Duration::from_secs(10);
const PERSISTENT: u8 = 2;

/// Message of one outbox row.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The row's id; it becomes the message id.
    pub id: i64,
    pub route: Route,
    /// Written by [`super::envelope::encode`].
    pub body: String,
    pub headers: Headers,
}

/// Outcome of publishing one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Stored by a queue, or unroutable where that is allowed ([`Route::mandatory`]).
    Confirmed,
    /// The queue is full or cannot store now. The same message may be accepted later.
    Refused,
    /// The message can never be delivered as it is; the text is the reason, for an operator.
    Unroutable(String),
}

/// Connection that only publishes. If it also consumed, its acknowledgements would stall whenever
/// the broker blocks publishers.
pub struct Publisher {
    link: Link,
    channel: Channel,
    topology: Topology,
    /// Set while a batch is in progress: a batch that failed or was dropped half-way leaves
    /// confirms that belong to no row.
    unsettled: bool,
}

impl Publisher {
    pub async fn connect(url: &SecretString, topology: Topology) -> Result<Self, BrokerError> {
        let link = Link::open(url, "publisher").await?;
        let channel = link.channel().await?;
        let confirms = channel.confirm_select(ConfirmSelectOptions::default());
        within(CALL_LIMIT, "asking for confirms", confirms).await?;
        Ok(Self { link, channel, topology, unsettled: false })
    }

    /// Sends all messages and awaits all confirms; returns one outcome per message, in order.
    ///
    /// After an error the outcome of every message is unknown: publish them again on a new
    /// connection.
    pub async fn publish(&mut self, batch: &[Outgoing]) -> Result<Vec<Outcome>, BrokerError> {
        if self.unsettled {
            return Err(BrokerError::Spent);
        }
        if let Some(reason) = self.link.blocked() {
            return Err(BrokerError::Blocked { reason });
        }
        self.unsettled = true;
        let outcomes = tokio::select! {
            outcomes = tokio::time::timeout(CONFIRM_LIMIT, self.send(batch)) => outcomes,
            blocked = self.link.until_blocked() => return Err(blocked),
        };
        let timed_out =
            |_| BrokerError::TimedOut { doing: "awaiting confirms", limit: CONFIRM_LIMIT };
        let outcomes = outcomes.map_err(timed_out)??;
        self.unsettled = false;
        Ok(outcomes)
    }

    /// The reason given by the broker while it blocks this connection.
    pub fn blocked(&self) -> Option<String> {
        self.link.blocked()
    }

    pub async fn close(self) -> Result<(), BrokerError> {
        self.link.close().await
    }

    async fn send(&self, batch: &[Outgoing]) -> Result<Vec<Outcome>, BrokerError> {
        let failed = |source| BrokerError::Failed { doing: "publishing", source };
        let mut confirms = Vec::with_capacity(batch.len());
        for message in batch {
            confirms.push(self.send_one(message).await.map_err(failed)?);
        }
        let settled = confirms.into_iter().zip(batch).map(|(confirm, message)| async {
            match confirm {
                Some(confirm) => Ok(self.outcome(message, confirm.await?)),
                None => Ok(too_large(message)),
            }
        });
        try_join_all(settled).await.map_err(failed)
    }

    /// Returns `None` for a body that must not be sent: one above the broker's limit would close
    /// the channel, and fail the whole batch with it, on every attempt.
    async fn send_one(&self, message: &Outgoing) -> lapin::Result<Option<PublisherConfirm>> {
        if message.body.len() > BODY_BYTES_MAX {
            return Ok(None);
        }
        let address = self.topology.address(message.route);
        let options = BasicPublishOptions { mandatory: address.mandatory, ..Default::default() };
        self.channel
            .basic_publish(
                address.exchange.into(),
                address.key.into(),
                options,
                message.body.as_bytes(),
                properties(message),
            )
            .await
            .map(Some)
    }

    /// An unroutable message is confirmed like any other; only the returned copy shows that it
    /// reached no queue.
    fn outcome(&self, message: &Outgoing, confirmation: Confirmation) -> Outcome {
        let refused = confirmation.is_nack();
        match confirmation.take_message() {
            Some(returned) => {
                let address = self.topology.address(message.route);
                Outcome::Unroutable(format!(
                    "the broker returned it from exchange {} with key {}: {} {}",
                    address.exchange, address.key, returned.reply_code, returned.reply_text
                ))
            }
            None if refused => Outcome::Refused,
            None => Outcome::Confirmed,
        }
    }
}

fn too_large(message: &Outgoing) -> Outcome {
    Outcome::Unroutable(format!(
        "its body has {} bytes, more than {BODY_BYTES_MAX}",
        message.body.len()
    ))
}

/// No `expiration` and no priority: both would still apply after an operator moved the message. No
/// `x-` header: brokers interpret some of them, take the message for one in a cycle and drop it.
fn properties(message: &Outgoing) -> BasicProperties {
    BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_content_type("application/json".into())
        .with_message_id(short(message.id.to_string()))
        .with_type(message.route.as_str().into())
        .with_app_id("gateway".into())
        .with_headers(headers(&message.headers))
}

fn headers(headers: &Headers) -> FieldTable {
    let mut table = FieldTable::default();
    let mut put = |name: &'static str, value: Option<String>| {
        if let Some(value) = value {
            let shown: String = value.chars().take(REASON_CHARS_MAX).collect();
            table.insert(name.into(), AMQPValue::LongString(shown.into()));
        }
    };
    put("gw-event-id", headers.event_id.clone());
    put("gw-merchant", headers.merchant_id.map(|id| id.to_string()));
    put("gw-cycle", headers.cycle.map(|cycle| cycle.to_string()));
    put("gw-reason", headers.reason.clone());
    put("gw-last-status", headers.last_status.map(|status| status.to_string()));
    put(trace::HEADER, headers.traceparent.clone());
    table
}

fn short(text: String) -> ShortString {
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_carries_no_header_or_property_that_a_broker_acts_on() {
        let headers = Headers {
            event_id: Some("evt_1".into()),
            merchant_id: Some(uuid::Uuid::nil()),
            cycle: Some(2),
            reason: Some("é".repeat(500)),
            last_status: Some(503),
            traceparent: Some("00-1-2-01".into()),
        };
        for route in Route::ALL {
            let message = Outgoing { id: 7, route, body: "{}".into(), headers: headers.clone() };
            let properties = properties(&message);
            assert_eq!(properties.delivery_mode(), &Some(PERSISTENT));
            assert_eq!(properties.message_id().as_ref().map(ShortString::as_str), Some("7"));
            assert!(properties.expiration().is_none() && properties.priority().is_none());
            let table = properties.headers().as_ref().unwrap();
            assert_eq!(table.inner().len(), 6);
            for name in table.inner().keys() {
                let name = name.as_str();
                assert!(name.starts_with("gw-") || name == trace::HEADER, "{name}");
            }
        }
    }
}
