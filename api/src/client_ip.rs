//! The client's address, which identifies requests without a key.

use axum::{extract::FromRequestParts, http::request::Parts};
use gateway::serve::client::client_key;

use crate::{State, error::ApiError};

/// Rate-limit key of the client: an IPv4 address, or the /64 network of an IPv6 address.
pub struct Client(pub String);

impl FromRequestParts<State> for Client {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let proxies = &state.config.api.trusted_proxies;
        Ok(Self(client_key(&parts.extensions, &parts.headers, proxies)))
    }
}
