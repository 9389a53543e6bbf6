//! `gateway-worker`: runs one role, several, or all.

use std::{collections::HashSet, sync::Arc};

use anyhow::{Context, bail};
use clap::Parser;
use gateway::{
    app::{Gateway, delivery::Room, operator::measure},
    config::{self, Config},
    egress::smtp::Relay,
    serve::{
        self, Limits,
        admin::{self, Readiness},
        key_proof::prove_key,
        relay::run_relay,
        tasks::Tasks,
        traces,
    },
    telemetry,
};
use gateway_workers::{Agent, Role};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Runs the gateway's workers.
///
/// Every role may run in any number of copies, in one process or many. Configured by the
/// environment: DATABASE_URL, AMQP_URL, GATEWAY_MASTER_KEY, GATEWAY_PROFILE,
/// GATEWAY_WORKER__METRICS_LISTEN, GATEWAY_BROKER__MANAGEMENT_URL (sweeper) and, optionally, a file
/// named by GATEWAY_CONFIG.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  gateway-worker all\n  gateway-worker ipn-delivery deposit-matching"
)]
struct Arguments {
    /// deposit-matching, expiry-timer, ipn-delivery, payout-batch, payout-webhook-delivery,
    /// chain-watcher, rate-refresher, sweeper, reporter, mail-delivery, x402-settlement, or all
    #[arg(required = true, value_name = "ROLE")]
    roles: Vec<String>,
}

impl Arguments {
    fn roles(&self) -> anyhow::Result<HashSet<Role>> {
        if self.roles.iter().any(|name| name == "all") {
            return Ok(Role::ALL.into_iter().collect());
        }
        self.roles.iter().map(|name| Ok(name.parse()?)).collect()
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let roles = Arguments::parse().roles()?;
    telemetry::init_logs();
    telemetry::metrics();
    let mut config = Config::load()?;
    let delivers =
        roles.contains(&Role::IpnDelivery) || roles.contains(&Role::PayoutWebhookDelivery);
    fit_files(&mut config.worker, delivers);
    let gateway = Arc::new(Gateway::start(config).await?);
    if delivers {
        check_roots(&gateway)?;
    }
    if roles.contains(&Role::MailDelivery) {
        check_mail_relay(&gateway)?;
    }
    let stop = serve::stop_on_signal();
    let readiness = Readiness::default();
    let address = gateway.config.worker.metrics_listen;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let (mut tasks, proven) = (Tasks::new(stop.clone()), CancellationToken::new());
    for role in roles {
        let (gateway, readiness) = (gateway.clone(), readiness.clone());
        let agent = Agent { gateway, readiness, stop: stop.clone() };
        tasks.spawn(begin(role, agent, proven.clone()));
    }
    tasks.spawn_vital(prove_key(gateway.clone(), readiness.clone(), proven, stop.clone()));
    measure::begin_counting();
    tasks.spawn(telemetry::keep_metrics(stop.clone()));
    tasks.spawn(traces::export(gateway.clone(), "gateway-worker", stop.clone()));
    tasks.spawn(run_relay(gateway.clone(), readiness.clone(), stop.clone()));
    let router = admin::router(gateway.clone(), readiness);
    tasks.spawn(serve::serve(listener, router, Limits::default(), stop));
    let ended = tasks.ended().await;
    gateway.db.close().await;
    Ok(ended?)
}

/// Runs a role once the master key is known to be the database's: with another one, no delivery
/// could be signed.
async fn begin(role: Role, agent: Agent, proven: CancellationToken) {
    tokio::select! {
        () = proven.cancelled() => {}
        () = agent.stop.cancelled() => return,
    }
    tracing::info!(%role, "starting");
    gateway_workers::run(role, agent).await;
}

/// A worker without outgoing connections would take messages from those that have them, and delay
/// each.
fn check_roots(gateway: &Gateway) -> anyhow::Result<()> {
    // A developer's machine may have none, with receivers over plain http.
    if gateway.config.egress.allow_private || gateway.egress.has_roots() {
        return Ok(());
    }
    bail!(
        "no root certificates could be read, so that no merchant can be reached by https: install them (the package is usually \
         called ca-certificates) or name a file of them in SSL_CERT_FILE; if files were short just then, start again"
    )
}

/// Settings that make no client would leave every mail unsent. Off, the role waits.
fn check_mail_relay(gateway: &Gateway) -> anyhow::Result<()> {
    let settings = gateway.config.mail.relay();
    settings.as_ref().map(Relay::new).transpose()?;
    Ok(())
}

/// Beyond its file limit a process opens no connection, not even to its own database: it takes on
/// no more work than it has files for.
fn fit_files(worker: &mut config::Worker, delivers: bool) {
    let (wanted, allowed) = (Room::of(worker), serve::allow_open_files());
    let room = wanted.within(allowed);
    if delivers && room != wanted {
        tracing::warn!(
            allowed,
            needed = wanted.files(),
            in_flight = room.fast,
            in_flight_slow = room.slow,
            "this process may open few files and delivers less at a time; raise the hard limit (ulimit -Hn)"
        );
    }
    room.give_to(worker);
}
