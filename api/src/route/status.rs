//! Public liveness. It deliberately does not depend on the database; readiness, on the metrics
//! listener, does.

use axum::Json;

use crate::wire::Alive;

/// Check that the service runs
#[utoipa::path(
    get, path = "/v1/status", operation_id = "readStatus", tag = "Service",
    responses((status = 200, description = "It runs.", body = Alive)),
)]
pub async fn status() -> Json<Alive> {
    Json(Alive { message: "OK" })
}
