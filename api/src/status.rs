//! Public liveness. It deliberately does not depend on the database; readiness, on the metrics
//! listener, does.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// Response of a running service.
#[derive(Serialize, ToSchema)]
pub struct Alive {
    /// Always `OK`.
    #[schema(value_type = String, examples("OK"))]
    pub message: &'static str,
}

/// Check that the service is running
#[utoipa::path(
    get, path = "/v1/status", operation_id = "readStatus", tag = "Service",
    responses((status = 200, description = "The service is running.", body = Alive)),
)]
pub async fn status() -> Json<Alive> {
    Json(Alive { message: "OK" })
}
