//! Is everything that the gateway depends on there and doing its work? Read-only; every look is
//! bounded in time.

mod addresses;
mod nodes;
mod pooler;
mod roles;
mod tokens;

use std::{collections::BTreeSet, time::Duration};

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::master_key::MasterKeyError;
use crate::app::{
    Gateway,
    messaging::apply_topology::{self, TopologyError},
};
use crate::{
    asset::{Fiat, Network},
    broker::publisher::Publisher,
    config::ChainSourceKind,
    invoice::payment::iso_8601,
    merchant::secret::OpenedBy,
    storage::{self, PgConnection, StorageError, alerts, balances, cursors, deliveries, outbox},
    webhook::Channel,
};

/// For each of the three servers' listeners; they are looked at side by side.
const LOOK_LIMIT: Duration = Duration::from_secs(20);
/// A watcher looks every few seconds; this long without a complete look means that none is working.
const WATCHER_SILENT_S: i64 = 60;
/// The relay publishes within a second; a message that waits this long is not being published.
const OUTBOX_OLD_S: i64 = 60;
const OUTBOX_COUNTED_MAX: i64 = 100_000;
const ALERTS_SHOWN: i64 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Ok,
    /// Works, but a person should look.
    Doubtful,
    Broken,
}

impl Health {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Doubtful => "doubtful",
            Self::Broken => "broken",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Finding {
    pub check: String,
    pub health: Health,
    pub detail: String,
    /// The remedy, if there is one.
    pub advice: Option<String>,
    /// The numbers behind the words.
    pub facts: Map<String, Value>,
}

impl Finding {
    fn new(check: impl Into<String>, health: Health, detail: impl Into<String>) -> Self {
        let (check, detail) = (check.into(), detail.into());
        Self { check, health, detail, advice: None, facts: Map::new() }
    }

    fn advice(self, advice: impl Into<String>) -> Self {
        let advice = (self.health != Health::Ok).then(|| advice.into());
        Self { advice, ..self }
    }

    fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }
}

impl Gateway {
    /// Checks everything, or with `only` the parts that concern one network: the database, its
    /// watcher, its rates, its pool and its nodes.
    pub async fn doctor(&self, only: Option<Network>) -> Vec<Finding> {
        if let Some(network) = only {
            let (mut findings, nodes, tokens) = tokio::join!(
                self.look_at_database(only),
                self.look_at_nodes(network),
                self.look_at_tokens(network)
            );
            findings.extend(self.first_addresses(only));
            findings.extend(nodes);
            findings.extend(tokens);
            return findings;
        }
        let (mut findings, management, amqp) =
            tokio::join!(self.look_at_database(only), self.look_at_topology(), self.look_at_amqp());
        findings.extend(self.first_addresses(only));
        findings.extend(self.payout_accounts());
        findings.push(management);
        findings.push(amqp);
        findings
    }

    async fn look_at_database(&self, only: Option<Network>) -> Vec<Finding> {
        let address = self.db.address();
        if let Err(error) = self.db.reach().await {
            let detail = format!("{address}: {}", with_causes(&error));
            return vec![
                Finding::new("database", Health::Broken, detail).advice(pooler::advice(&error)),
            ];
        }
        let mut findings =
            vec![Finding::new("database", Health::Ok, format!("answers at {address}"))];
        let sessions = self.look_at_sessions().await;
        let broken = sessions.iter().any(|finding| finding.health == Health::Broken);
        findings.extend(sessions);
        // Each statement below would repeat the same refusal.
        if broken {
            return findings;
        }
        let rest = tokio::time::timeout(LOOK_LIMIT, self.look_at_rows(only, &mut findings)).await;
        let failed = match rest {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(with_causes(&error)),
            Err(_) => Some(format!("no answer within {} s", LOOK_LIMIT.as_secs())),
        };
        findings.extend(failed.map(|detail| Finding::new("database", Health::Broken, detail)));
        findings
    }

    async fn look_at_rows(
        &self,
        only: Option<Network>,
        findings: &mut Vec<Finding>,
    ) -> Result<(), StorageError> {
        let pending = self.db.pending_migrations().await?;
        if !pending.is_empty() {
            let detail = format!("{} migrations are missing", pending.len());
            let finding = Finding::new("schema", Health::Broken, detail);
            findings.push(finding.advice("bring it up to date: gatewayctl migrate"));
            return Ok(());
        }
        findings.push(Finding::new("schema", Health::Ok, "is this program's"));
        if only.is_none() {
            findings.push(self.master_key().await?);
        }
        findings.push(self.rates(only).await?);
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        for network in Network::ALL {
            let on = self.config.chain(network).source != ChainSourceKind::Off;
            if on && only.is_none_or(|only| only == network) {
                findings.push(watcher(&mut connection, network, now).await?);
                if network.family().has_pool() {
                    findings.push(self.pool(&mut connection, network).await?);
                }
            }
        }
        if only.is_none() {
            findings.push(backlog(&mut connection).await?);
            findings.push(dead_letters(&mut connection).await?);
            findings.push(raised(&mut connection).await?);
            findings.push(self.differences(&mut connection).await?);
            findings.push(self.database_roles(&mut connection).await?);
        }
        Ok(())
    }

    async fn master_key(&self) -> Result<Finding, StorageError> {
        let name = "master key";
        let found = match self.look_at_master_key().await {
            Ok(found) => found,
            Err(MasterKeyError::Storage(error)) => return Err(error),
            Err(error @ (MasterKeyError::Wrong { .. } | MasterKeyError::OneKey)) => {
                return Ok(Finding::new(name, Health::Broken, error.to_string()).advice(
                    "no program starts with it; take the right one from your secret store",
                ));
            }
        };
        let finding = match (found, self.master_keys.has_old()) {
            (Some(OpenedBy::Old), _) => {
                Finding::new(name, Health::Doubtful, "a rotation is not finished")
                    .advice("finish it: gatewayctl secrets rotate")
            }
            (_, true) => {
                Finding::new(name, Health::Doubtful, "the old key opens no secret any more")
                    .advice("remove GATEWAY_MASTER_KEY_OLD from every program's settings")
            }
            (Some(OpenedBy::Current), false) => {
                Finding::new(name, Health::Ok, "opens the sealed secrets")
            }
            (None, false) => Finding::new(name, Health::Ok, "nothing is sealed yet"),
        };
        Ok(finding)
    }

    async fn differences(&self, connection: &mut PgConnection) -> Result<Finding, StorageError> {
        let counts = balances::counts(connection).await?;
        let (surplus, deficit) = counts
            .values()
            .fold((0, 0), |(surplus, deficit), (more, less)| (surplus + more, deficit + less));
        let deficit = if self.config.reconciliation.deficits { deficit } else { 0 };
        let (health, detail) = match (surplus, deficit) {
            (0, 0) => (Health::Ok, "agree with the rows where they were compared".to_owned()),
            _ => {
                let detail = format!("{surplus} hold more than the rows say, {deficit} less");
                (Health::Broken, detail)
            }
        };
        let not_asked = self.not_asked();
        let detail = match not_asked.as_slice() {
            [] => detail,
            networks => format!("{detail}; not asked for: {}", with_reasons(networks)),
        };
        let not_asked: Map<_, _> = not_asked
            .iter()
            .map(|(network, why)| (network.name().to_owned(), json!(why)))
            .collect();
        Ok(Finding::new("balances", health, detail)
            .fact("surplus", surplus)
            .fact("deficit", deficit)
            .fact("not_asked", not_asked)
            .advice("look: gatewayctl balances list"))
    }

    async fn rates(&self, only: Option<Network>) -> Result<Finding, StorageError> {
        let market = self.market().await?;
        let offers = market.offers().iter().map(|offer| offer.currency);
        let symbols: BTreeSet<_> = offers
            .filter(|currency| only.is_none_or(|only| only == currency.network))
            .map(|currency| currency.symbol)
            .collect();
        let pairs = symbols.iter().flat_map(|symbol| Fiat::ALL.map(|fiat| (*symbol, fiat)));
        let stale: Vec<_> = pairs
            .filter(|(symbol, fiat)| market.fresh_rate(symbol, *fiat).is_err())
            .map(|(symbol, fiat)| format!("{symbol}/{}", fiat.code_upper()))
            .collect();
        let finding = if let Some(first) = stale.first() {
            let detail = format!("no fresh rate for {} pairs, {first} among them", stale.len());
            Finding::new("rates", Health::Broken, detail)
        } else {
            Finding::new("rates", Health::Ok, format!("fresh for {} coins", symbols.len()))
        };
        let finding = finding.fact("stale", stale);
        Ok(finding.advice(
            "is a worker with the role rate-refresher running? Its log says what each provider answers",
        ))
    }

    async fn look_at_topology(&self) -> Finding {
        let check = apply_topology::check_topology(&self.config.broker);
        let advice = "restore what is missing: gatewayctl topology apply";
        match tokio::time::timeout(LOOK_LIMIT, check).await {
            Ok(Ok(differences)) if differences.is_empty() => {
                Finding::new("topology", Health::Ok, "the topology is complete")
            }
            Ok(Ok(differences)) => {
                let list: Vec<_> = differences.iter().map(ToString::to_string).collect();
                let detail = format!("{} differences: {}", list.len(), list.join("; "));
                let finding = Finding::new("topology", Health::Broken, detail).advice(advice);
                finding.fact("differences", list)
            }
            Ok(Err(error @ TopologyError::NoManagement)) => {
                Finding::new("topology", Health::Doubtful, format!("not checked: {error}"))
            }
            Ok(Err(error)) => Finding::new("topology", Health::Broken, with_causes(&error))
                .advice(
                    "is RabbitMQ running with its management plugin? It has no virtual host of ours before: gatewayctl topology apply",
                ),
            Err(_) => Finding::new("topology", Health::Broken, "no answer in time"),
        }
    }

    async fn look_at_amqp(&self) -> Finding {
        let advice = "is RabbitMQ running there? the address is in AMQP_URL. Its user and virtual host are made by: gatewayctl topology apply";
        let connecting = Publisher::connect(&self.config.amqp_url, self.topology.clone());
        let publisher = match tokio::time::timeout(LOOK_LIMIT, connecting).await {
            Ok(Ok(publisher)) => publisher,
            Ok(Err(error)) => {
                return Finding::new("amqp", Health::Broken, with_causes(&error)).advice(advice);
            }
            Err(_) => return Finding::new("amqp", Health::Broken, "no answer").advice(advice),
        };
        let blocked = publisher.blocked();
        // A failure to close in time changes nothing of the finding.
        drop(publisher.close().await);
        match blocked {
            Some(reason) => {
                let detail = format!("takes no messages for now: {reason}");
                Finding::new("amqp", Health::Broken, detail)
                    .advice("the broker is short of memory or disk")
            }
            None => Finding::new("amqp", Health::Ok, "connects"),
        }
    }
}

async fn watcher(
    connection: &mut PgConnection,
    network: Network,
    now: DateTime<Utc>,
) -> Result<Finding, StorageError> {
    let name = format!("network {network}");
    let cursor = cursors::load(connection, network).await?;
    let looked = cursor.as_ref().and_then(|cursor| cursor.looked_at);
    let known = cursor.as_ref().and_then(|cursor| cursor.watched_through);
    let age = looked.map(|at| (now - at).num_seconds().max(0));
    let finding = match (&cursor, age) {
        (Some(cursor), Some(age)) => {
            let health = if age <= WATCHER_SILENT_S { Health::Ok } else { Health::Broken };
            let detail = format!("at block {}, looked {age} s ago", cursor.height);
            Finding::new(name, health, detail)
        }
        (Some(cursor), None) => {
            let detail = format!("at block {}, has not caught up yet", cursor.height);
            Finding::new(name, Health::Doubtful, detail)
        }
        (None, _) => Finding::new(name, Health::Broken, "no chain-watcher has read it yet"),
    };
    Ok(finding
        .fact("network", network.name())
        .fact("height", json!(cursor.map(|cursor| cursor.height)))
        .fact("watched_through", json!(known.map(iso_8601)))
        .fact("age_seconds", json!(age))
        .advice(
            "is a worker with the role chain-watcher running? Its log says what the node answers",
        ))
}

async fn backlog(connection: &mut PgConnection) -> Result<Finding, StorageError> {
    let (count, age) = outbox::backlog(connection, OUTBOX_COUNTED_MAX).await?;
    let health = if age <= OUTBOX_OLD_S { Health::Ok } else { Health::Broken };
    let detail = match count {
        0 => "nothing waits".to_owned(),
        count => format!("{count} messages wait, the oldest for {age} s"),
    };
    Ok(Finding::new("outbox", health, detail)
        .fact("waiting", count)
        .fact("oldest_seconds", age)
        .advice("no program publishes: are the API and the workers running and connected?"))
}

async fn dead_letters(connection: &mut PgConnection) -> Result<Finding, StorageError> {
    let count = deliveries::count_dead(connection, Channel::Ipn, 0).await?
        + deliveries::count_dead(connection, Channel::Payout, 0).await?;
    let health = if count == 0 { Health::Ok } else { Health::Doubtful };
    let detail = if count == 0 { "none".to_owned() } else { format!("{count} deliveries") };
    Ok(Finding::new("dead letters", health, detail)
        .fact("count", count)
        .advice("look: gatewayctl dead-letters list; then: gatewayctl dead-letters requeue"))
}

async fn raised(connection: &mut PgConnection) -> Result<Finding, StorageError> {
    let count = alerts::count(connection).await?;
    let latest = alerts::latest(connection, ALERTS_SHOWN).await?;
    let health = if count == 0 { Health::Ok } else { Health::Doubtful };
    let lines: Vec<_> =
        latest.iter().map(|alert| format!("{} {}", alert.kind, alert.subject)).collect();
    let detail = match count {
        0 => "none".to_owned(),
        count => format!("{count}, the latest: {}", lines.join("; ")),
    };
    let latest: Vec<_> = latest
        .iter()
        .map(|alert| {
            json!({
                "kind": alert.kind,
                "subject": alert.subject,
                "detail": alert.detail,
                "created_at": iso_8601(alert.created_at),
            })
        })
        .collect();
    Ok(Finding::new("alerts", health, detail).fact("count", count).fact("latest", latest))
}

/// Networks, each with a word about it.
pub fn with_reasons(networks: &[(Network, &str)]) -> String {
    let one = |(network, why): &(Network, &str)| format!("{network} ({why})");
    networks.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}
