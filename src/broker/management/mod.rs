//! Client of the broker's management interface, for the topology only: apply, check, count.
//!
//! Workers never use it. The broker refuses to redeclare a queue with other arguments, and that
//! refusal is reported, so this client cannot delete or change a queue that holds messages.

mod check;
mod http;

use std::collections::BTreeMap;

use ::http::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

pub use self::check::Difference;
use self::http::HttpClient;
use super::topology::{Topology, User};

/// Error of a call to the management interface.
#[derive(Debug, Error)]
pub enum ManagementError {
    #[error("the address of the broker's management interface cannot be used: {reason}")]
    Address { reason: String },
    #[error("the broker's management interface did not answer {call}: {reason}")]
    Unreachable { call: String, reason: String },
    /// The broker understood the call and refused it; `reason` is its own sentence.
    #[error("the broker refused {call} with {status}: {reason}")]
    Refused { call: String, status: u16, reason: String },
    #[error("the broker sent an answer to {call} that cannot be parsed: {reason}")]
    Malformed { call: String, reason: String },
}

/// Message counts of a queue, from the broker's last statistics (a few seconds old).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct QueueCounts {
    #[serde(rename = "messages_ready")]
    pub ready: u64,
    #[serde(rename = "messages_unacknowledged")]
    pub unacknowledged: u64,
    /// A total above the sum of the other two means messages stuck on their way to the next queue.
    #[serde(rename = "messages")]
    pub total: u64,
}

/// One virtual host, seen through the management interface.
pub struct Management {
    http: HttpClient,
    vhost: String,
}

impl Management {
    /// `url` is `http://user:password@host:port`, or https with the broker's authority in a
    /// parameter `cacertfile`.
    pub fn new(url: &SecretString, vhost: &str) -> Result<Self, ManagementError> {
        Ok(Self { http: HttpClient::new(url)?, vhost: vhost.to_owned() })
    }

    pub fn vhost(&self) -> &str {
        &self.vhost
    }

    /// Creates missing entries and sets the policies; existing entries stay unchanged.
    ///
    /// Needs the permissions of [`super::topology::Role::Topology`].
    pub async fn apply(&self, topology: &Topology) -> Result<(), ManagementError> {
        for exchange in topology.exchanges() {
            let body = json!({ "type": exchange.broker_type, "durable": true });
            self.put("exchanges", &exchange.name, &body).await?;
        }
        for queue in topology.queues() {
            let body = json!({ "durable": true, "arguments": queue.arguments });
            self.put("queues", &queue.name, &body).await?;
        }
        for binding in topology.bindings() {
            let path = ["bindings", &self.vhost, "e", &binding.source, "q", &binding.destination];
            let body = json!({ "routing_key": binding.key, "arguments": {} });
            self.call(Method::POST, &path, Some(&body)).await?;
        }
        for policy in topology.policies() {
            let body = json!({
                "pattern": policy.pattern,
                "apply-to": "queues",
                "priority": 0,
                "definition": policy.definition,
            });
            self.put("policies", &policy.name, &body).await?;
        }
        Ok(())
    }

    /// Lists the differences between the broker and the table. Empty means that every message is
    /// routed.
    pub async fn check(&self, topology: &Topology) -> Result<Vec<Difference>, ManagementError> {
        let found = check::Found {
            exchanges: self.list("exchanges", "name,type,durable").await?,
            queues: self.list("queues", "name,durable,arguments").await?,
            bindings: self.list("bindings", "source,destination,routing_key").await?,
            policies: self.list("policies", "").await?,
        };
        Ok(check::differences(topology, &found))
    }

    /// Message counts by queue name, for all queues with this topology's prefix. A queue without
    /// statistics yet is left out rather than counted as empty.
    pub async fn queue_counts(
        &self,
        topology: &Topology,
    ) -> Result<BTreeMap<String, QueueCounts>, ManagementError> {
        let columns = "name,messages,messages_ready,messages_unacknowledged";
        let queues: Vec<Counted> = self.list("queues", columns).await?;
        let prefix = format!("{}.", topology.prefix());
        Ok(queues
            .into_iter()
            .filter(|queue| queue.name.starts_with(&prefix))
            .filter_map(|queue| Some((queue.name, queue.counts?)))
            .collect())
    }

    /// Creates the virtual host. Needs an administrator.
    pub async fn ensure_vhost(&self) -> Result<(), ManagementError> {
        self.call(Method::PUT, &["vhosts", &self.vhost], Some(&json!({}))).await?;
        Ok(())
    }

    /// Creates the user, or sets its password, tags and permissions. Needs an administrator.
    pub async fn ensure_user(
        &self,
        user: &User,
        password: &SecretString,
    ) -> Result<(), ManagementError> {
        let body = json!({ "password": password.expose_secret(), "tags": user.tags.join(",") });
        self.call(Method::PUT, &["users", &user.name], Some(&body)).await?;
        let rights = json!(user.rights);
        self.call(Method::PUT, &["permissions", &self.vhost, &user.name], Some(&rights)).await?;
        Ok(())
    }

    /// Makes one call, with `path` below `/api` in unescaped parts; `None` for a response without a
    /// body.
    pub async fn call(
        &self,
        method: Method,
        path: &[&str],
        body: Option<&Value>,
    ) -> Result<Option<Value>, ManagementError> {
        self.http.call(method, path, None, body).await
    }

    async fn put(&self, kind: &str, name: &str, body: &Value) -> Result<(), ManagementError> {
        self.call(Method::PUT, &[kind, &self.vhost, name], Some(body)).await?;
        Ok(())
    }

    async fn list<T: for<'a> Deserialize<'a>>(
        &self,
        kind: &str,
        columns: &str,
    ) -> Result<Vec<T>, ManagementError> {
        let columns = Some(columns).filter(|columns| !columns.is_empty());
        let answer = self.http.call(Method::GET, &[kind, &self.vhost], columns, None).await?;
        serde_json::from_value(answer.unwrap_or_default()).map_err(|error| {
            ManagementError::Malformed {
                call: format!("GET /api/{kind}"),
                reason: error.to_string(),
            }
        })
    }
}

struct Counted {
    name: String,
    counts: Option<QueueCounts>,
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { name, counts: serde_json::from_value(value).ok() })
    }
}
