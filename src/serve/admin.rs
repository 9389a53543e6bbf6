//! Liveness, readiness and metrics of a process, on a separate listener that is not for the
//! internet.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Json, Router, extract::State, http::StatusCode, response::IntoResponse, routing::get};
use serde_json::json;

use crate::{app::Gateway, telemetry};

const PING_LIMIT: Duration = Duration::from_secs(2);

/// Last reported state of each part of a process.
#[derive(Clone, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<String, Part>>>);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    works: bool,
    /// Set if the process cannot serve without the part.
    needed: bool,
}

impl Readiness {
    /// Records if `part`, which the process needs to be ready, works. A part counts from its first
    /// report on.
    pub fn set(&self, part: &str, works: bool) {
        self.insert(part, Part { works, needed: true });
    }

    /// Records if `part` works; readiness does not depend on it.
    pub fn show(&self, part: &str, works: bool) {
        self.insert(part, Part { works, needed: false });
    }

    fn insert(&self, part: &str, now: Part) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = parts.insert(part.to_owned(), now);
        if before.is_some_and(|before| before != now) {
            tracing::info!(part, ready = now.works, "readiness changed");
        }
    }

    fn parts(&self) -> BTreeMap<String, Part> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Clone)]
struct Admin {
    gateway: Arc<Gateway>,
    readiness: Readiness,
}

/// Routes: `/healthz` shows that the process runs, `/readyz` that its database responds and its
/// needed parts work, `/metrics` the rest.
pub fn router(gateway: Arc<Gateway>, readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "OK\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_page))
        .with_state(Admin { gateway, readiness })
}

/// Renders the metrics counted in this process, and those shared by all processes, read for this
/// response.
async fn metrics_page(State(admin): State<Admin>) -> String {
    let metrics = telemetry::metrics();
    let measured = tokio::time::timeout(PING_LIMIT, admin.gateway.measure()).await;
    metrics::gauge!("database_up").set(u32::from(matches!(measured, Ok(Ok(())))));
    for (name, part) in admin.readiness.parts() {
        metrics::gauge!("part_ready", "part" => name).set(u32::from(part.works));
    }
    metrics.render()
}

async fn ready(State(admin): State<Admin>) -> impl IntoResponse {
    let ping = tokio::time::timeout(PING_LIMIT, admin.gateway.db.ping()).await;
    let database = matches!(ping, Ok(Ok(())));
    let parts = admin.readiness.parts();
    let ready = database && parts.values().all(|part| part.works || !part.needed);
    let mut parts: BTreeMap<_, _> =
        parts.into_iter().map(|(name, part)| (name, part.works)).collect();
    parts.insert("database".into(), database);
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(json!({ "ready": ready, "parts": parts })))
}
