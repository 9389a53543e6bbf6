//! Structured logs, metrics and traces of a process.

pub mod measures;
pub mod trace;

use std::{sync::OnceLock, time::Duration};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use metrics_util::MetricKindMask;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::{EnvFilter, fmt};

static METRICS: OnceLock<PrometheusHandle> = OnceLock::new();

/// JSON lines on stderr, filtered by `RUST_LOG`; readable lines with `GATEWAY_LOG=text`.
///
/// JSON escapes control characters, so text from outside cannot control an operator's terminal.
pub fn init_logs() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("info,lapin=warn,sqlx=warn"));
    // By default the subscriber reports a line that it could not write by writing another, and
    // panics when that fails too: a full disk under the log would end the process.
    let builder = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(true)
        .log_internal_errors(false);
    let readable = std::env::var("GATEWAY_LOG").is_ok_and(|format| format == "text");
    let outcome = if readable {
        builder.with_ansi(false).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
    // A second call in one process (tests) keeps the first subscriber.
    drop(outcome);
}

/// A gauge without updates expires instead of showing an old value: its process may have lost its
/// lock.
const GAUGE_KEPT: Duration = Duration::from_secs(120);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The recorder behind every `metrics::` call of this process.
pub fn metrics() -> &'static PrometheusHandle {
    METRICS.get_or_init(|| {
        // Fine buckets where latencies are promised, up to the timeout of an attempt. An empty list
        // is the only error of this call, so it cannot fail.
        let builder = PrometheusBuilder::new()
            .set_buckets(&[
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0,
            ])
            .unwrap_or_default()
            .idle_timeout(MetricKindMask::GAUGE, Some(GAUGE_KEPT));
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another metrics recorder was installed before ours");
        }
        measures::describe();
        handle
    })
}

/// Runs the recorder's upkeep until `stop`: without it, unscraped data would pile up in memory.
pub async fn keep_metrics(stop: CancellationToken) {
    while !stop.is_cancelled() {
        metrics().run_upkeep();
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => {}
            () = stop.cancelled() => {}
        }
    }
}
