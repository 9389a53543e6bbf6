//! One request to the index.

use serde::de::DeserializeOwned;

use crate::chain::{ChainError, http::Http};

const NOT_FOUND: i64 = 404;

/// `None` if the node reports that there is nothing.
pub(super) async fn get<T: DeserializeOwned>(
    http: &Http,
    method: &'static str,
    query: &[(&str, &str)],
) -> Result<Option<T>, ChainError> {
    match http.get(method, &format!("api/v3/{method}"), query).await {
        Ok(answer) => http.read(method, &answer).map(Some),
        Err(ChainError::Refused { code: NOT_FOUND, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
