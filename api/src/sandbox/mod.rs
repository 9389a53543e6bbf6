//! The sandbox, for a merchant's own program: `/v1/sandbox/…`. Elsewhere these paths do not exist.

pub mod request;
pub mod route;

use axum::{extract::FromRequestParts, http::request::Parts};
use gateway::storage::access::Caller;

use crate::{State, auth::Merchant, error::ApiError};

/// An authenticated merchant of a sandbox. In production the answer is that of an unknown path,
/// with a key or without.
pub struct SandboxMerchant(pub Caller);

impl FromRequestParts<State> for SandboxMerchant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        if !state.config.is_sandbox() {
            return Err(ApiError::UnknownPath);
        }
        let Merchant(caller) = Merchant::from_request_parts(parts, state).await?;
        Ok(Self(caller))
    }
}
