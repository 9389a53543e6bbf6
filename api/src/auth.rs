//! Authentication of merchants (spec, "Authentication").

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use gateway::{merchant::ApiKey, storage::access::Caller};

use crate::{State, error::ApiError};

const HEADER: &str = "x-api-key";

/// An authenticated request: its key is known, its merchant is active, and it is within the
/// merchant's rate limit.
pub struct Merchant(pub Caller);

/// The key of a request.
pub(crate) fn api_key(headers: &HeaderMap) -> Result<ApiKey, ApiError> {
    let mut values = headers.get_all(HEADER).iter();
    let value = values.next().ok_or(ApiError::ApiKeyMissing)?;
    // A request with two keys is ambiguous.
    if values.next().is_some() {
        return Err(ApiError::ApiKeyMalformed);
    }
    let text = value.to_str().map_err(|_| ApiError::ApiKeyMalformed)?;
    ApiKey::parse(text).map_err(|_| ApiError::ApiKeyMalformed)
}

impl FromRequestParts<State> for Merchant {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let key = api_key(&parts.headers)?;
        Ok(Self(state.admit_merchant(&key).await?))
    }
}
