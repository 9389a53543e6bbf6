//! Types of requests and responses, and nothing else. They are frozen: a type may gain a field,
//! never lose one.

pub mod buyer_status;
pub mod catalogue;
pub mod docs;
pub mod list;
pub mod new_payment;

use serde::Serialize;
use utoipa::ToSchema;

/// The answer of a service that runs.
#[derive(Serialize, ToSchema)]
pub struct Alive {
    /// Always `OK`.
    #[schema(value_type = String, examples("OK"))]
    pub message: &'static str,
}
