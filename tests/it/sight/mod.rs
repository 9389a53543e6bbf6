//! Observability for operators: metrics, alerts, dashboards and traces, of real processes.

mod alerts;
mod dashboards;
mod metrics;
mod prometheus;
mod traces;

use std::path::{Path, PathBuf};

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(deploy().join(path)).unwrap()
}
