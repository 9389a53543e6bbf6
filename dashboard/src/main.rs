//! `gateway-dashboard`: serves the dashboard's origin and this process's own metrics.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Parser;
use gateway::{
    app::Gateway,
    config::{Config, Profile},
    serve::{
        self, Limits,
        admin::{self, Readiness},
        key_proof::prove_key,
        tasks::Tasks,
        traces,
    },
    telemetry,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves the dashboard for merchants and operators.
///
/// Configured by the environment: DATABASE_URL, GATEWAY_MASTER_KEY, GATEWAY_DASHBOARD_URL,
/// GATEWAY_DASHBOARD__LISTEN, GATEWAY_DASHBOARD__METRICS_LISTEN, GATEWAY_CHECKOUT_URL,
/// GATEWAY_PROFILE (sandbox or production) and, optionally, a file named by GATEWAY_CONFIG.
#[derive(Parser)]
#[command(version)]
struct Arguments {}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Arguments::parse();
    telemetry::init_logs();
    telemetry::metrics();
    let mut gateway = Gateway::start(Config::load_for_dashboard()?).await?;
    // Each change names the account that makes it.
    gateway.db = gateway.db.attributed();
    if gateway.config.profile == Profile::Production {
        gateway.check_accounts().await?;
    }
    let gateway = Arc::new(gateway);
    let stop = serve::stop_on_signal();
    let readiness = Readiness::default();
    let config = &gateway.config;
    let pages = bind(config.dashboard.listen).await?;
    let metrics = bind(config.dashboard.metrics_listen).await?;
    tracing::info!(pages = %config.dashboard.listen, profile = %config.profile, "serving");

    let limits = Limits {
        header_timeout: Duration::from_secs(config.api.header_timeout_seconds),
        idle_timeout: Duration::from_secs(config.api.idle_timeout_seconds),
        ..Limits::default()
    };
    let mut tasks = Tasks::new(stop.clone());
    tasks.spawn(telemetry::keep_metrics(stop.clone()));
    tasks.spawn(traces::export(gateway.clone(), "gateway-dashboard", stop.clone()));
    let proven = CancellationToken::new();
    tasks.spawn_vital(prove_key(gateway.clone(), readiness.clone(), proven, stop.clone()));
    let admin = admin::router(gateway.clone(), readiness);
    for (listener, router, limits) in [
        (pages, gateway_dashboard::router(gateway.clone()), limits),
        (metrics, admin, Limits::default()),
    ] {
        tasks.spawn(serve::serve(listener, router, limits, stop.clone()));
    }
    let ended = tasks.ended().await;
    gateway.db.close().await;
    Ok(ended?)
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}
