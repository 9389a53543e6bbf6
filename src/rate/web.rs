//! GET of one JSON document, shared by all providers.

use std::time::Duration;

use http::HeaderMap;
use serde_json::Value;
use url::Url;

use super::RateError;
use crate::egress::{Answer, Call, Egress};

/// All markets of a big exchange are well under a megabyte.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;

/// HTTP access to one provider.
#[derive(Clone)]
pub struct Web {
    egress: Egress,
    base: Url,
    deadline: Duration,
}

impl Web {
    /// `base` is the provider's URL without the paths of its API; `deadline` holds for each call.
    pub fn new(egress: Egress, base: Url, deadline: Duration) -> Self {
        Self { egress, base, deadline }
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    /// Asks for `path`, which begins with a slash, and reads the answer.
    pub(super) async fn get(
        &self,
        path: &str,
        query: &[(&str, &str)],
        headers: HeaderMap,
    ) -> Result<Value, RateError> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut call = Call::get(url, self.deadline);
        call.headers = headers;
        call.body_bytes_max = ANSWER_BYTES_MAX;
        read(&self.egress.send(call).await?)
    }
}

fn read(answer: &Answer) -> Result<Value, RateError> {
    match answer.status {
        200 => {}
        // 418 is Binance's status for a ban of a client that did not stop after 429.
        418 | 429 | 503 => {
            return Err(RateError::SlowDown { retry_after: retry_after(&answer.headers) });
        }
        status => return Err(RateError::Status(status)),
    }
    if answer.truncated {
        return Err(RateError::Malformed("it is too long"));
    }
    serde_json::from_slice(&answer.body).map_err(|_| RateError::Malformed("it is not json"))
}

/// Reads only the form in seconds; a date would need a clock, and our own backoff serves as well.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}
