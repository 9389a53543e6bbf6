//! A RabbitMQ with its management and shovel plugins, shared by all tests, each under a prefix of
//! its own.

#![allow(clippy::unwrap_used, reason = "only tests use it, and a test that cannot go on panics")]

use std::{env, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use gateway::broker::{
    envelope::Headers,
    management::Management,
    publisher::{Outcome, Outgoing, Publisher},
    route::Route,
    topology::{Role, Timing, Topology},
};
use http::Method;
use lapin::{
    BasicProperties, Channel, Connection, ConnectionProperties,
    message::BasicGetMessage,
    options::{BasicGetOptions, ConfirmSelectOptions},
    uri::AMQPUri,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// Generous: it ends a test that hangs, it never decides one that works.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);
/// Waiting times of a test's own topology.
pub const SHORT: Timing = Timing { ipn_wait_ms: 400, payout_webhook_wait_ms: 450 };

/// The shared broker, seen through one test's topology.
pub struct TestBroker {
    pub url: SecretString,
    pub management_url: SecretString,
    pub management: Management,
    pub topology: Topology,
    channel: Channel,
    _connection: Connection,
}

/// Runs `test` over a new topology with short waits and removes it afterwards, even after a panic.
pub async fn with_broker<F: Future<Output = ()>>(test: impl FnOnce(Arc<TestBroker>) -> F) {
    let broker = Arc::new(TestBroker::connect().await);
    broker.management.apply(&broker.topology).await.unwrap();
    let outcome = AssertUnwindSafe(test(broker.clone())).catch_unwind().await;
    broker.remove().await;
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Polls `ask` until it returns a value.
pub async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never: {what}"))
}

pub fn outgoing(id: i64, route: Route, body: &str) -> Outgoing {
    let headers = Headers { event_id: Some(format!("evt_{id}")), ..Headers::default() };
    Outgoing { id, route, body: body.to_owned(), headers }
}

fn required(name: &str) -> String {
    env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; `make test` finds a broker for it"))
}

impl TestBroker {
    async fn connect() -> Self {
        let url = required("AMQP_URL");
        let uri: AMQPUri = url.parse().unwrap();
        let management_url = SecretString::from(required("GATEWAY_BROKER_MANAGEMENT_URL"));
        let connection = Connection::connect(&url, ConnectionProperties::default()).await.unwrap();
        let prefix = format!("t-{:016x}", rand::random::<u64>());
        Self {
            management: Management::new(&management_url, &uri.vhost).unwrap(),
            management_url,
            topology: Topology::new(&prefix, SHORT).unwrap(),
            channel: confirming(&connection).await,
            _connection: connection,
            url: url.into(),
        }
    }

    pub async fn publisher(&self) -> Publisher {
        Publisher::connect(&self.url, self.topology.clone()).await.unwrap()
    }

    /// Publishes one message and expects it to be stored.
    pub async fn publish(&self, message: Outgoing) {
        let outcomes = self.publisher().await.publish(&[message]).await.unwrap();
        assert_eq!(outcomes, [Outcome::Confirmed]);
    }

    /// Takes the first message of a queue, if there is one.
    pub async fn take(&self, queue: &str) -> Option<BasicGetMessage> {
        let options = BasicGetOptions { no_ack: true };
        self.channel.basic_get(queue.into(), options).await.unwrap()
    }

    /// Takes the first message of a queue, as soon as there is one.
    pub async fn arrival(&self, queue: &str) -> BasicGetMessage {
        eventually(&format!("a message in {queue}"), || self.take(queue)).await
    }

    /// The headers `gw-reason` and `gw-last-status` of a queue's first message, as the management
    /// UI shows them, as soon as there is one. It stays in the queue.
    pub async fn why_dead(&self, queue: &str) -> (Option<String>, Option<String>) {
        let look = json!({ "count": 1, "ackmode": "ack_requeue_true", "encoding": "auto" });
        let path = ["queues", self.management.vhost(), queue, "get"];
        let letter = eventually(&format!("a dead letter in {queue}"), async || {
            let letters = self.management.call(Method::POST, &path, Some(&look)).await.unwrap();
            letters.and_then(|letters| letters.get(0).cloned())
        })
        .await;
        let header = |name: &str| {
            let value = letter["properties"]["headers"].get(name)?;
            Some(value.as_str().unwrap().to_owned())
        };
        (header("gw-reason"), header("gw-last-status"))
    }

    /// Purges a queue; returns the number of lost messages.
    pub async fn purge(&self, queue: &str) -> u32 {
        let options = lapin::options::QueuePurgeOptions::default();
        self.channel.queue_purge(queue.into(), options).await.unwrap()
    }

    /// Publishes directly into a queue, as a person does in the management UI, and returns once the
    /// message is there: a shovel moves as many messages as it counted when it started.
    pub async fn publish_by_hand(&self, queue: &str, body: &str) {
        let options = lapin::options::BasicPublishOptions::default();
        let properties = BasicProperties::default();
        let confirmation = self
            .channel
            .basic_publish("".into(), queue.into(), options, body.as_bytes(), properties)
            .await
            .unwrap()
            .await
            .unwrap();
        assert!(confirmation.is_ack(), "{confirmation:?}");
    }

    /// Deletes an entity of the virtual host.
    pub async fn delete(&self, path: &[&str]) {
        self.management.call(Method::DELETE, path, None).await.unwrap();
    }

    /// The URLs for one of the table's users, created with a password of its own.
    pub async fn urls_of(&self, role: Role) -> (SecretString, SecretString) {
        let password = SecretString::from(format!("{:032x}", rand::random::<u128>()));
        let user = self.topology.user(role);
        self.management.ensure_user(&user, &password).await.unwrap();
        let with_user = |url: &SecretString| {
            let mut url = url::Url::parse(url.expose_secret()).unwrap();
            url.set_username(&user.name).unwrap();
            url.set_password(Some(password.expose_secret())).unwrap();
            SecretString::from(url.to_string())
        };
        (with_user(&self.url), with_user(&self.management_url))
    }

    /// The management interface with the credentials of one of the table's users.
    pub async fn management_as(&self, role: Role) -> Management {
        let (_, url) = self.urls_of(role).await;
        Management::new(&url, self.management.vhost()).unwrap()
    }

    async fn remove(&self) {
        let vhost = self.management.vhost();
        let prefix = self.topology.prefix();
        for kind in ["queues", "exchanges", "policies", "parameters/shovel", "users"] {
            let global = kind == "users";
            let mut path: Vec<_> = kind.split('/').collect();
            path.extend((!global).then_some(vhost));
            let found = self.management.call(Method::GET, &path, None).await.unwrap();
            for name in names(found.as_ref()).filter(|name| name.contains(prefix)) {
                let mut path = path.clone();
                path.push(name);
                // A shovel deletes itself when it is done, so it may be gone by now.
                let _ = self.management.call(Method::DELETE, &path, None).await;
            }
        }
    }
}

async fn confirming(connection: &Connection) -> Channel {
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    channel
}

fn names(found: Option<&Value>) -> impl Iterator<Item = &str> {
    let entries = found.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get("name").and_then(Value::as_str))
}

/// "Move messages" of the management UI: the request that its form sends, field by field (the same
/// in 3.10 and 4.x).
pub async fn move_messages(operator: &Management, from: &str, to: &str) {
    let name = format!("Move from {from}");
    let uri = format!("amqp:///{}", operator.vhost().replace('/', "%2F"));
    let shovel = json!({
        "component": "shovel",
        "vhost": operator.vhost(),
        "name": name,
        "value": {
            "src-uri": uri,
            "src-queue": from,
            "src-protocol": "amqp091",
            "src-prefetch-count": 1000,
            "src-delete-after": "queue-length",
            "dest-protocol": "amqp091",
            "dest-uri": uri,
            "dest-add-forward-headers": false,
            "ack-mode": "on-confirm",
            "dest-queue": to,
        },
    });
    let path = ["parameters", "shovel", operator.vhost(), &name];
    operator.call(Method::PUT, &path, Some(&shovel)).await.unwrap();
}
