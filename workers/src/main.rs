//! `gateway-worker`: runs one role, several, or all.

use std::{collections::HashSet, sync::Arc};

use anyhow::Context;
use clap::Parser;
use gateway::{
    app::{Gateway, measure},
    config::Config,
    serve::{
        self, Limits,
        admin::{self, Readiness},
        relay::run_relay,
        traces,
    },
    telemetry,
};
use gateway_workers::{Agent, Role};
use tokio::{net::TcpListener, task::JoinSet};

/// Connections to the database, the broker, chain nodes and slow endpoints, and listeners.
const OTHER_FILES: u64 = 512;

/// Runs the gateway's workers.
///
/// Every role may run in any number of copies, in one process or many.
/// Configured by the environment: DATABASE_URL, AMQP_URL, GATEWAY_MASTER_KEY, GATEWAY_PROFILE,
/// GATEWAY_WORKER__METRICS_LISTEN, GATEWAY_BROKER__MANAGEMENT_URL (sweeper) and, optionally, a file named by
/// GATEWAY_CONFIG.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  gateway-worker all\n  gateway-worker ipn-delivery deposit-matching"
)]
struct Arguments {
    /// deposit-matching, expiry-timer, ipn-delivery, payout-batch, payout-webhook-delivery, chain-watcher, rate-refresher, sweeper, or all
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
    let gateway = Arc::new(Gateway::start(Config::load()?).await?);
    let in_flight = u64::from(gateway.config.worker.deliveries_in_flight.get());
    serve::allow_open_files(2 * in_flight + OTHER_FILES);
    let stop = serve::stop_on_signal();
    let readiness = Readiness::default();
    let address = gateway.config.worker.metrics_listen;
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
    let mut tasks = JoinSet::new();
    for role in roles {
        tracing::info!(%role, "starting");
        let (gateway, readiness) = (gateway.clone(), readiness.clone());
        let agent = Agent { gateway, readiness, stop: stop.clone() };
        tasks.spawn(gateway_workers::run(role, agent));
    }
    measure::begin_counting();
    tasks.spawn(telemetry::keep_metrics(stop.clone()));
    tasks.spawn(traces::export(gateway.clone(), "gateway-worker", stop.clone()));
    tasks.spawn(run_relay(gateway.clone(), readiness.clone(), stop.clone()));
    let router = admin::router(gateway.clone(), readiness);
    tasks.spawn(serve::serve(listener, router, Limits::default(), stop.clone()));
    while let Some(ended) = tasks.join_next().await {
        // A task that ends before the stop has panicked; better a fresh process than half a one.
        if let Err(error) = ended
            && !stop.is_cancelled()
        {
            tracing::error!(%error, "a role ended badly");
            stop.cancel();
        }
    }
    gateway.db.close().await;
    Ok(())
}
