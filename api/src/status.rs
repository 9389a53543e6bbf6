//! Public liveness. It deliberately does not depend on the database; readiness, on the metrics
//! listener, does.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// The answer of a service that runs.
#[derive(Serialize, ToSchema)]
pub struct Alive {
    /// Always `OK`.
    #[schema(value_type = String, examples("OK"))]
    pub message: &'static str,
}

/// Check that the service runs
#[utoipa::path(
    get, path = "/v1/status", operation_id = "readStatus", tag = "Service",
    responses((status = 200, description = "It runs.", body = Alive)),
)]
pub async fn status() -> Json<Alive> {
    Json(Alive { message: "OK" })
}
