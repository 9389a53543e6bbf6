//! Counting of the calls to nodes: for the metric `chain_node_calls_total`, and for a person who
//! wants to know the calls to a node and its answers.
//!
//! A call is one question, as providers bill them: each question of a batch is one, and so is each
//! redirect that is followed. A question that is sent again because its connection had grown stale
//! counts once.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChainError, refusal::is_rate_limit};
use crate::asset::Network;

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    /// The node said no: an unknown method or block, or a limit of its own.
    Refused,
    RateLimited,
    Unreachable,
    /// The answer could not be read.
    Malformed,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::RateLimited => "rate_limited",
            Self::Unreachable => "unreachable",
            Self::Malformed => "malformed",
        }
    }

    const fn of(error: &ChainError) -> Self {
        match error {
            ChainError::Unreachable { .. } => Self::Unreachable,
            ChainError::RateLimited { .. } => Self::RateLimited,
            ChainError::Refused { .. } => Self::Refused,
            ChainError::Malformed { .. }
            | ChainError::WrongChain { .. }
            | ChainError::Inconsistent { .. } => Self::Malformed,
        }
    }
}

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: &'static str,
    pub outcome: Outcome,
    /// Until the answer was read; of a call in a batch, the time of the whole batch.
    pub took: Duration,
    /// The node's own words, where it gave no answer.
    pub reason: Option<String>,
    /// Set if the node does not have the method at all.
    pub is_unknown: bool,
}

type Log = Arc<Mutex<Vec<Seen>>>;

tokio::task_local! {
    static LOG: Log;
}

/// Runs `asking` and returns, beside its result, the calls that it made. Calls that it leaves to
/// other tasks are not among them.
pub async fn logged<F: Future>(asking: F) -> (F::Output, Vec<Seen>) {
    let log = Log::default();
    let output = LOG.scope(log.clone(), asking).await;
    let seen = std::mem::take(&mut *log.lock().unwrap_or_else(PoisonError::into_inner));
    (output, seen)
}

/// The calls of the [`logged`] future that runs, from the `first` on.
pub fn since(first: usize) -> Vec<Seen> {
    let of = |log: &Log| {
        log.lock().unwrap_or_else(PoisonError::into_inner).get(first..).map(<[Seen]>::to_vec)
    };
    LOG.try_with(of).ok().flatten().unwrap_or_default()
}

/// Their number so far.
pub fn so_far() -> usize {
    LOG.try_with(|log| log.lock().unwrap_or_else(PoisonError::into_inner).len()).unwrap_or(0)
}

/// Counts one call by its result. `body` is the answer's, if there was one.
pub(super) fn count<T>(
    network: Network,
    method: &'static str,
    took: Duration,
    (body, result): (&[u8], &Result<T, ChainError>),
) {
    let said_no = result.is_ok().then(|| no_in(body)).flatten();
    let (outcome, reason) = match (result, said_no) {
        (Err(error), _) => (Outcome::of(error), Some(error.to_string())),
        (Ok(_), Some(no)) if is_rate_limit(0, &no) => (Outcome::RateLimited, Some(no)),
        (Ok(_), Some(no)) => (Outcome::Refused, Some(no)),
        (Ok(_), None) => (Outcome::Answered, None),
    };
    let labels = [("network", network.name()), ("method", method), ("outcome", outcome.as_str())];
    metrics::counter!("chain_node_calls_total", &labels).increment(1);
    let is_unknown = result.as_ref().err().is_some_and(ChainError::lacks_method);
    let seen = Seen { method, outcome, took, reason, is_unknown };
    // Outside of `logged` there is no log.
    let _ = LOG.try_with(|log| log.lock().unwrap_or_else(PoisonError::into_inner).push(seen));
}

/// Larger answers are blocks, which are not parsed twice.
const NO_BYTES_MAX: usize = 4096;

/// The error in an answer with a successful status, as nodes of TRON and of Cosmos put it there.
fn no_in(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct No<'a> {
        #[serde(default, borrow, alias = "Error")]
        error: Option<&'a RawValue>,
    }
    if body.len() > NO_BYTES_MAX || !body.starts_with(b"{") {
        return None;
    }
    let no: No<'_> = serde_json::from_slice(body).ok()?;
    no.error.map(|error| error.get().to_owned())
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    fn counted<T>(body: &str, result: &Result<T, ChainError>) -> (Outcome, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let asking = async {
            count(
                Network::Tron,
                "walletsolidity/getnowblock",
                Duration::ZERO,
                (body.as_bytes(), result),
            );
        };
        let ((), seen) = runtime.block_on(logged(asking));
        assert_eq!(seen.len(), 1);
        (seen[0].outcome, seen[0].is_unknown)
    }

    #[test]
    fn a_call_is_counted_by_its_result_and_by_a_no_inside_a_successful_answer() {
        let network = Network::Tron;
        let refused = |code, reason: &str| {
            Err(ChainError::Refused { network, method: "m", code, reason: reason.to_owned() })
        };
        let late = || Err(ChainError::Unreachable { network, reason: String::new() });
        for (body, result, expected) in [
            ("{}", Ok(()), (Outcome::Answered, false)),
            (r#"{"result":7,"error":null}"#, Ok(()), (Outcome::Answered, false)),
            ("[]", Ok(()), (Outcome::Answered, false)),
            (r#"{"Error":"no such thing"}"#, Ok(()), (Outcome::Refused, false)),
            (r#"{"Error":"lack of computing resources"}"#, Ok(()), (Outcome::RateLimited, false)),
            ("{}", refused(-32601, "method not found"), (Outcome::Refused, true)),
            ("{}", refused(-5, "no such block"), (Outcome::Refused, false)),
            ("", Err(ChainError::RateLimited { network }), (Outcome::RateLimited, false)),
            ("", late(), (Outcome::Unreachable, false)),
        ] {
            assert_eq!(counted(body, &result), expected, "{body} {result:?}");
        }
    }

    #[test]
    fn the_metric_has_the_network_the_method_and_the_outcome_and_nothing_else() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            let refused = ChainError::RateLimited { network: Network::Near };
            let (took, failed) = (Duration::ZERO, Err::<(), _>(refused));
            count(Network::Near, "block", took, (b"{}", &Ok(())));
            count(Network::Near, "block", took, (b"{}", &Ok(())));
            count(Network::Near, "block", took, (b"", &failed));
        });
        let page = recorder.handle().render();
        for line in [
            r#"chain_node_calls_total{network="near",method="block",outcome="answered"} 2"#,
            r#"chain_node_calls_total{network="near",method="block",outcome="rate_limited"} 1"#,
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
    }
}
