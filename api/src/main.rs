//! `gateway-api`: serves the merchant API, the checkout's origin and this process's own metrics.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context;
use clap::Parser;
use gateway::{
    app::{Gateway, operator::measure},
    config::Config,
    serve::{
        self, Limits,
        admin::{self, Readiness},
        follow::run_follow,
        key_proof::prove_key,
        relay::run_relay,
        tasks::Tasks,
        traces,
    },
    telemetry,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Returns the memory of a crowd of waiting pages to the system once they have left.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The merchant API and the checkout.
const LISTENERS: usize = 2;
/// Connections to the database and the broker, listeners, and readers of the metrics.
const OTHER_FILES: u64 = 512;

/// Serves the merchant API and the checkout.
///
/// Configured by the environment: DATABASE_URL, AMQP_URL, GATEWAY_MASTER_KEY, GATEWAY_BASE_URL,
/// GATEWAY_CHECKOUT_URL, GATEWAY_API__LISTEN, GATEWAY_CHECKOUT__LISTEN,
/// GATEWAY_API__METRICS_LISTEN, GATEWAY_PROFILE (sandbox or production) and, optionally, a file
/// named by GATEWAY_CONFIG.
#[derive(Parser)]
#[command(version)]
struct Arguments {}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    Arguments::parse();
    telemetry::init_logs();
    telemetry::metrics();
    let gateway = Arc::new(Gateway::start(Config::load()?).await?);
    let stop = serve::stop_on_signal();
    let readiness = Readiness::default();
    let config = &gateway.config;
    let limits = Limits {
        connections_max: connections_max(config.api.connections_max),
        header_timeout: Duration::from_secs(config.api.header_timeout_seconds),
        idle_timeout: Duration::from_secs(config.api.idle_timeout_seconds),
    };
    let api = bind(config.api.listen).await?;
    let checkout = bind(config.checkout.listen).await?;
    let metrics = bind(config.api.metrics_listen).await?;
    tracing::info!(api = %config.api.listen, checkout = %config.checkout.listen, profile = %config.profile, "serving");

    measure::begin_counting();
    let mut tasks = Tasks::new(stop.clone());
    tasks.spawn(telemetry::keep_metrics(stop.clone()));
    tasks.spawn(traces::export(gateway.clone(), "gateway-api", stop.clone()));
    tasks.spawn(run_relay(gateway.clone(), readiness.clone(), stop.clone()));
    tasks.spawn(run_follow(gateway.clone(), stop.clone()));
    tasks.spawn(gateway.db.clone().keep_connections(stop.clone()));
    let proven = CancellationToken::new();
    tasks.spawn_vital(prove_key(gateway.clone(), readiness.clone(), proven, stop.clone()));
    let admin = admin::router(gateway.clone(), readiness);
    for (listener, router, limits) in [
        (api, gateway_api::api_router(gateway.clone()), limits),
        (checkout, gateway_api::checkout_router(gateway.clone()), limits),
        (metrics, admin, Limits::default()),
    ] {
        tasks.spawn(serve::serve(listener, router, limits, stop.clone()));
    }
    let ended = tasks.ended().await;
    gateway.db.close().await;
    Ok(ended?)
}

/// Clients of one listener at a time, as many as are `wanted` and there are files for.
fn connections_max(wanted: usize) -> usize {
    let allowed = serve::allow_open_files();
    let max = clients_within(allowed, wanted);
    if max < wanted {
        tracing::warn!(
            allowed,
            wanted,
            max,
            "this process may open few files and serves fewer clients at a time; raise the hard limit (ulimit -Hn)"
        );
    }
    max
}

/// A crowd must not take the files that the database needs.
fn clients_within(files: u64, wanted: usize) -> usize {
    let for_clients = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    wanted.min((for_clients / LISTENERS).max(1))
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_accepts_only_as_many_clients_as_there_are_file_descriptors() {
        for (files, clients) in
            [(u64::MAX, 4_096), (8_704, 4_096), (8_702, 4_095), (1_024, 256), (512, 1), (0, 1)]
        {
            assert_eq!(clients_within(files, 4_096), clients, "{files}");
        }
    }
}
