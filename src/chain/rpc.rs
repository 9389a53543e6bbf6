//! JSON-RPC over one [`Endpoint`]: calls, batches, and a common reading of nodes' many kinds of
//! refusals.
//!
//! The meaning of a method stays with its adapter.

use std::time::Duration;

use http::Method;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

pub use super::http::EndpointError;
use super::{ChainError, http::Endpoint};
use crate::{asset::Network, egress::Answer};

/// Hosted nodes refuse much larger batches.
pub(crate) const BATCH_CALLS_MAX: usize = 100;

/// One node that speaks JSON-RPC 2.0.
pub struct Rpc {
    endpoint: Endpoint,
}

#[derive(Serialize)]
struct Ask<'a, P> {
    jsonrpc: &'static str,
    id: usize,
    method: &'a str,
    params: P,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(default)]
    id: Option<usize>,
    // `null` is a valid result, a missing field is not.
    #[serde(default, borrow, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default, borrow)]
    error: Option<&'a RawValue>,
}

/// Content of nodes' `error` field, of which every part is optional in practice.
#[derive(Deserialize, Default)]
struct Fault {
    #[serde(default)]
    code: serde_json::Value,
    #[serde(default)]
    message: String,
    #[serde(default)]
    cause: Cause,
}

/// NEAR's nodes have one message for all errors, and name the actual one here.
#[derive(Deserialize, Default)]
struct Cause {
    #[serde(default)]
    name: String,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(source: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(source).map(Some)
}

impl Rpc {
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        Ok(Self { endpoint: Endpoint::new(network, url)? })
    }

    /// Time limit for a response, instead of the usual 20 seconds.
    #[must_use]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.endpoint.set_deadline(deadline);
        self
    }

    pub const fn network(&self) -> Network {
        self.endpoint.network()
    }

    /// Calls one method and returns the text of its result, `null` included.
    pub async fn call<P: Serialize>(
        &self,
        method: &'static str,
        params: P,
    ) -> Result<Box<RawValue>, ChainError> {
        let body = self.endpoint.encode(method, &Ask { jsonrpc: "2.0", id: 0, method, params })?;
        let asked = (Method::POST, self.endpoint.url().clone(), body);
        let read = |answer: &Answer| {
            let reply = serde_json::from_slice::<Reply>(&answer.body)
                .map_err(|_| self.endpoint.not_json(method, answer))?;
            self.result_of(method, &reply)
        };
        self.endpoint.ask(method, asked, read).await
    }

    /// Calls one method once per element, in order; one refusal fails them all.
    pub async fn batch<P: Serialize>(
        &self,
        method: &'static str,
        params: &[P],
    ) -> Result<Vec<Box<RawValue>>, ChainError> {
        let mut results = Vec::with_capacity(params.len());
        for chunk in params.chunks(BATCH_CALLS_MAX) {
            for result in self.batch_once(method, chunk).await? {
                results.push(result?);
            }
        }
        Ok(results)
    }

    /// As [`batch`](Self::batch), but each call may be refused separately.
    pub async fn batch_each<P: Serialize>(
        &self,
        method: &'static str,
        params: &[P],
    ) -> Result<Vec<Result<Box<RawValue>, ChainError>>, ChainError> {
        let mut results = Vec::with_capacity(params.len());
        for chunk in params.chunks(BATCH_CALLS_MAX) {
            results.extend(self.batch_once(method, chunk).await?);
        }
        Ok(results)
    }

    async fn batch_once<P: Serialize>(
        &self,
        method: &'static str,
        params: &[P],
    ) -> Result<Vec<Result<Box<RawValue>, ChainError>>, ChainError> {
        let asks: Vec<_> = params
            .iter()
            .enumerate()
            .map(|(id, params)| Ask { jsonrpc: "2.0", id, method, params })
            .collect();
        let body = self.endpoint.encode(method, &asks)?;
        let read = |answer: &Answer| self.results_of(method, params.len(), answer);
        self.endpoint.ask_many((method, params.len()), body, read).await
    }

    /// The results in a batch's answer, in the order of its `count` calls.
    fn results_of(
        &self,
        method: &'static str,
        count: usize,
        answer: &Answer,
    ) -> Result<Vec<Result<Box<RawValue>, ChainError>>, ChainError> {
        let Ok(replies) = serde_json::from_slice::<Vec<Reply>>(&answer.body) else {
            // A batch refused as a whole is answered with one object.
            let reply = serde_json::from_slice::<Reply>(&answer.body)
                .map_err(|_| self.endpoint.not_json(method, answer))?;
            self.result_of(method, &reply)?;
            return Err(self.malformed(method, "a batch was answered with a single result"));
        };
        // Replies may come in any order, and a node may omit some.
        let mut results: Vec<Option<Result<Box<RawValue>, ChainError>>> = Vec::new();
        results.resize_with(count, || None);
        for reply in &replies {
            let result = self.result_of(method, reply);
            match reply.id.and_then(|id| results.get_mut(id)) {
                Some(slot) => *slot = Some(result),
                // An error that names no call applies to all of them.
                None => drop(result?),
            }
        }
        let complete: Option<Vec<_>> = results.into_iter().collect();
        complete.ok_or_else(|| self.malformed(method, "a batch was answered in part"))
    }

    /// A response that is JSON but does not have the format of `method`.
    pub fn malformed(&self, method: &'static str, reason: impl AsRef<str>) -> ChainError {
        self.endpoint.malformed(method, reason)
    }

    /// A response that contradicts another response of the same node.
    pub fn inconsistent(&self, reason: impl Into<String>) -> ChainError {
        self.endpoint.inconsistent(reason)
    }

    /// Reads a result into `T`, which may borrow from it.
    pub fn read<'a, T: Deserialize<'a>>(
        &self,
        method: &'static str,
        result: &'a RawValue,
    ) -> Result<T, ChainError> {
        self.endpoint.read(method, result)
    }

    fn result_of(
        &self,
        method: &'static str,
        reply: &Reply<'_>,
    ) -> Result<Box<RawValue>, ChainError> {
        match (reply.error, reply.result) {
            (Some(fault), _) => Err(self.refused(method, fault)),
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => Err(self.malformed(method, "neither a result nor an error")),
        }
    }

    fn refused(&self, method: &'static str, raw: &RawValue) -> ChainError {
        // Some providers answer with a bare string instead of an object.
        let fault = serde_json::from_str(raw.get())
            .unwrap_or_else(|_| Fault { message: raw.get().to_owned(), ..Fault::default() });
        let code = fault.code.as_i64().or_else(|| fault.code.as_str()?.parse().ok()).unwrap_or(0);
        let reason = match fault.cause.name.as_str() {
            "" => fault.message,
            name => format!("{}: {name}", fault.message),
        };
        self.endpoint.refused(method, code, &reason)
    }
}
