//! Authentication of requests to verify and to settle: the merchant's key, and a budget of its own.

use axum::{extract::FromRequestParts, http::request::Parts};
use uuid::Uuid;

use crate::{State, auth::api_key, error::ApiError};

/// The merchant who asks, within the budget of the facilitator.
pub struct Seller(pub Uuid);

impl FromRequestParts<State> for Seller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let key = api_key(&parts.headers)?;
        Ok(Self(state.admit_facilitator(&key).await?))
    }
}
