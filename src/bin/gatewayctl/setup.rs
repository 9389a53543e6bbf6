//! Setup steps before any process runs: the database's schema, the broker's topology, and in the
//! sandbox the pools.

use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Subcommand;
use gateway::{
    app::{
        Gateway,
        address::import::Origin,
        messaging::apply_topology::{self, AppliedTopology, Outcome},
    },
    asset::Network,
    broker::{definitions, topology},
    config::{Config, Part},
    storage::{Db, StorageError, Trouble},
};
use serde_json::{Value, json};

use crate::{
    failure::{self, no_connection},
    open,
    render::{self, Answer, Cell, Tone},
    words,
};

const DATABASE_PATIENCE: Duration = Duration::from_secs(60);
const DATABASE_PAUSE: Duration = Duration::from_millis(500);
/// Addresses that each pool of the sandbox begins with, and has after every setup.
const SANDBOX_POOL: i64 = 1_000;

const NEXT_IN_SANDBOX: &[&str] =
    &["gatewayctl doctor", "gatewayctl merchant create --name \"My shop\""];
const NEXT_IN_PRODUCTION: &[&str] = &[
    "gatewayctl addresses import FILE   (the pools of Solana and NEAR, once each)",
    "gatewayctl config check",
    "gatewayctl doctor",
    "gatewayctl account create --email YOU --role operator-admin",
    "gatewayctl merchant create --name \"My shop\"",
];

/// Runs every step before the programs start, for containers and units that have one command. The
/// profile decides about the pools: production takes none but the operator's own.
pub async fn all() -> anyhow::Result<Answer> {
    // Settings that refuse a start are told before anything is changed.
    let is_sandbox = Gateway::new(Config::load()?)?.config.is_sandbox();
    let (migrated, of_schema) = migrate().await?.into_parts();
    let (applied, of_broker) = Topology::Apply.run().await?.into_parts();
    let pools = if is_sandbox { fill_pools(&open().await?).await? } else { Vec::new() };
    let next = if is_sandbox { NEXT_IN_SANDBOX } else { NEXT_IN_PRODUCTION };
    let list: String = next.iter().map(|step| format!("  {step}\n")).collect();
    let text = format!("{of_schema}\n\n{of_broker}\n\nEverything is set up. Next:\n{list}");
    let json = json!({ "schema": migrated, "topology": applied, "pools": pools, "next": next });
    Ok(Answer::new(json, text))
}

/// Fills up the pools of the sandbox; the numbers of free addresses.
async fn fill_pools(gateway: &Gateway) -> anyhow::Result<Vec<Value>> {
    let mut filled = Vec::new();
    for network in [Network::Solana, Network::Near] {
        let states = gateway.address_states().await?;
        let of_network = states.iter().find(|state| state.family == network.family());
        let free = match of_network.map(|state| &state.origin) {
            Some(Origin::Pool { free }) => *free,
            Some(Origin::Key | Origin::Nothing) | None => 0,
        };
        let missing = u32::try_from(SANDBOX_POOL - free).unwrap_or_default();
        let free = gateway.fill_addresses(network, missing).await?.free;
        filled.push(json!({ "network": network.name(), "free": free }));
    }
    Ok(filled)
}

pub async fn migrate() -> anyhow::Result<Answer> {
    let config = Config::load_for(Part::Database)?;
    let direct_url = config.database_direct_url();
    let db = Db::connect_lazy_around(&config.database_url, direct_url.as_ref(), 1)?;
    wait_for(&db).await.map_err(|error| no_connection(error, &db))?;
    let applied = db.migrate().await.with_context(|| format!("migrating {}", db.address()))?;
    let missing = db.grant_roles().await.context("granting to the database roles")?;
    let later = db.later_migrations().await?;
    let steps: Vec<_> = applied
        .iter()
        .map(|step| json!({ "version": step.version, "description": step.description }))
        .collect();
    let rows: Vec<_> = applied
        .iter()
        .map(|step| vec![step.version.to_string().into(), (&step.description).into()])
        .collect();
    let text = match (applied.is_empty(), later) {
        (true, 0) => "The schema was already up to date.".to_owned(),
        (true, _) => format!(
            "The schema is of a later release (steps that this program does not know: {later}). It was left as it is."
        ),
        _ => format!("{}\nThe schema is up to date.", render::table(&["new", "what"], &rows)),
    };
    let text = match missing.as_slice() {
        [] => text,
        missing => format!("{text}\n{}", without_roles(missing)),
    };
    let json = json!({ "applied": steps, "later": later, "roles_missing": missing });
    Ok(Answer::new(json, text))
}

/// What an administrator does where this user may create no role. Until then one user does
/// everything, as before.
fn without_roles(missing: &[String]) -> String {
    let create = missing.iter().map(|role| format!("  create role {role} nologin;\n"));
    format!(
        "This user may not create roles. Programs can have users of their own once an administrator has run\n{}\
         and then again: gatewayctl migrate",
        create.collect::<String>()
    )
}

/// Waits for a server that is starting. A wrong password or database name is an error, not a reason
/// to wait.
async fn wait_for(db: &Db) -> Result<(), StorageError> {
    let start = Instant::now();
    let mut said = false;
    loop {
        match db.reach().await {
            Err(error)
                if start.elapsed() < DATABASE_PATIENCE
                    && Trouble::of(&error).is_some_and(Trouble::may_pass) =>
            {
                if !said {
                    let limit = DATABASE_PATIENCE.as_secs();
                    let address = db.address();
                    render::to_stderr(&format!(
                        "waiting up to {limit} s for the database at {address}\n"
                    ));
                    said = true;
                }
                tokio::time::sleep(DATABASE_PAUSE).await;
            }
            outcome => return outcome,
        }
    }
}

#[derive(Subcommand)]
pub enum Topology {
    /// Create missing entries and set the policies; nothing that exists is changed or deleted
    #[command(after_help = words::TOPOLOGY_APPLY)]
    Apply,
    /// Compare the broker with the topology; exit code 1 if they differ
    #[command(after_help = words::TOPOLOGY_CHECK)]
    Check,
    /// Print the topology as a RabbitMQ definitions file; always JSON
    #[command(after_help = words::TOPOLOGY_DEFINITIONS)]
    Definitions,
}

impl Topology {
    pub async fn run(self) -> anyhow::Result<Answer> {
        let broker = Config::load_for(Part::Broker)?.broker;
        let at_broker = |error| failure::at_broker(error, broker.management_url.as_ref());
        match self {
            Self::Apply => {
                let applied = apply_topology::apply_topology(&broker).await.map_err(at_broker)?;
                Ok(Answer::new(applied_json(&applied), applied_text(&applied)))
            }
            Self::Check => {
                let differences =
                    apply_topology::check_topology(&broker).await.map_err(at_broker)?;
                let differences: Vec<_> = differences.iter().map(ToString::to_string).collect();
                let ok = differences.is_empty();
                let json = json!({ "ok": ok, "differences": differences });
                if ok {
                    return Ok(Answer::new(json, "The broker is as expected."));
                }
                let list: String = differences.iter().map(|d| format!("  {d}\n")).collect();
                let text = format!(
                    "The broker differs:\n{}\n{APPLY_HINT}",
                    render::clean(&list, render::Lines::Keep)
                );
                Ok(Answer::new(json, text).bad())
            }
            Self::Definitions => {
                let table = topology::Topology::new(&broker.prefix, broker.timing())?;
                let text = definitions::render(&table, &broker.vhost);
                Ok(Answer::new(serde_json::from_str(&text)?, text))
            }
        }
    }
}

const APPLY_HINT: &str = "What is missing comes back with: gatewayctl topology apply\n\
    What is wrong or unexpected needs a person: rabbitmq/README.md says how to move its messages first.";

fn applied_json(applied: &AppliedTopology) -> Value {
    let users: Vec<_> = applied
        .users
        .iter()
        .map(|(name, outcome)| json!({ "name": name, "outcome": outcome.to_string() }))
        .collect();
    json!({
        "vhost": applied.vhost,
        "vhost_outcome": applied.vhost_outcome.map(|outcome| outcome.to_string()),
        "exchanges": applied.exchanges,
        "queues": applied.queues,
        "policies": applied.policies,
        "users": users,
    })
}

fn applied_text(applied: &AppliedTopology) -> String {
    let mut rows: Vec<(&str, Cell)> = vec![
        ("virtual host", Cell::from(&applied.vhost)),
        ("exchanges", applied.exchanges.to_string().into()),
        ("queues", applied.queues.to_string().into()),
        ("policies", applied.policies.to_string().into()),
    ];
    if applied.vhost_outcome == Some(Outcome::NotAllowed) {
        rows.push(("", Cell::toned("not created: no administrator; it was there", Tone::Doubtful)));
    }
    for (name, outcome) in &applied.users {
        rows.push((
            "user",
            match outcome {
                Outcome::Ensured => Cell::toned(name, Tone::Good),
                Outcome::NoPassword => {
                    Cell::quiet(format!("{name}  left alone: no password is configured"))
                }
                Outcome::NotAllowed => Cell::toned(
                    format!("{name}  left alone: only an administrator may create it"),
                    Tone::Doubtful,
                ),
            },
        ));
    }
    format!(
        "{}\nThe topology is applied. Check it at any time: gatewayctl topology check",
        render::facts(&rows)
    )
}
