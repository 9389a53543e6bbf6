//! `gateway-api`: serves the merchant API, the checkout's origin and this process's own metrics.

use std::{net::SocketAddr, sync::Arc, time::Duration};

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
use tokio::net::TcpListener;

/// Connections to the database and the broker, listeners, and clients of the checkout and the metrics.
const OTHER_FILES: u64 = 512;

/// Serves the merchant API and the checkout.
///
/// Configured by the environment: DATABASE_URL, AMQP_URL, GATEWAY_MASTER_KEY, GATEWAY_BASE_URL,
/// GATEWAY_CHECKOUT_URL, GATEWAY_API__LISTEN, GATEWAY_CHECKOUT__LISTEN, GATEWAY_API__METRICS_LISTEN,
/// GATEWAY_PROFILE (sandbox or production) and, optionally, a file named by GATEWAY_CONFIG.
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
    serve::allow_open_files(config.api.connections_max as u64 + OTHER_FILES);
    let limits = Limits {
        connections_max: config.api.connections_max,
        header_timeout: Duration::from_secs(config.api.header_timeout_seconds),
    };
    let api = bind(config.api.listen).await?;
    let checkout = bind(config.checkout.listen).await?;
    let metrics = bind(config.api.metrics_listen).await?;
    tracing::info!(api = %config.api.listen, checkout = %config.checkout.listen, profile = %config.profile, "serving");

    measure::begin_counting();
    tokio::spawn(telemetry::keep_metrics(stop.clone()));
    let exporter = tokio::spawn(traces::export(gateway.clone(), "gateway-api", stop.clone()));
    let relay = tokio::spawn(run_relay(gateway.clone(), readiness.clone(), stop.clone()));
    tokio::join!(
        serve::serve(api, gateway_api::api_router(gateway.clone()), limits, stop.clone()),
        serve::serve(checkout, gateway_api::checkout_router(gateway.clone()), limits, stop.clone()),
        serve::serve(
            metrics,
            admin::router(gateway.clone(), readiness),
            Limits::default(),
            stop.clone()
        ),
    );
    relay.await.context("the relay ended badly")?;
    exporter.await.context("the exporter of traces ended badly")?;
    gateway.db.close().await;
    Ok(())
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))
}
