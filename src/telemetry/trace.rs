//! W3C trace context: links the work of a request, poll or message across processes.
//!
//! The context of the running task is ambient. Messages written to the outbox carry it in the body,
//! the relay copies it to the header `traceparent`, the consumer continues it, and the request to
//! the merchant has it. No decision depends on it.
//!
//! Finished spans go to an exporter if one is set ([`crate::serve::traces`]), and are dropped
//! otherwise.

use std::{
    fmt,
    sync::OnceLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rand::Rng;
use tokio::sync::mpsc;
use tracing::Instrument;

/// The header's name, in HTTP and in AMQP (W3C Trace Context).
pub const HEADER: &str = "traceparent";
const VERSION: &str = "00";
const SAMPLED: &str = "01";

tokio::task_local! {
    static CURRENT: TraceContext;
}

static EXPORTER: OnceLock<mpsc::Sender<FinishedSpan>> = OnceLock::new();

/// Position in a trace: the trace's id and a span's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
}

/// Kind of a span, as OTLP numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
    Consumer = 5,
}

/// A running span. It is exported only by [`end`](Self::end).
pub struct Span {
    name: String,
    kind: Kind,
    context: TraceContext,
    parent: Option<u64>,
    began: Duration,
    clock: Instant,
}

/// Attributes of a span, such as the status of a response. Never a secret, a body or a URL.
pub type Attributes = Vec<(&'static str, String)>;

/// Finished span for an exporter.
#[derive(Debug)]
pub struct FinishedSpan {
    pub name: String,
    pub kind: Kind,
    pub trace_id: String,
    pub span_id: String,
    pub parent_id: Option<String>,
    /// Time since the Unix epoch.
    pub began: Duration,
    pub took: Duration,
    pub attributes: Attributes,
}

impl TraceContext {
    /// Starts a new trace.
    pub fn root() -> Self {
        let (mut trace_id, mut span_id) = ([0; 16], [0; 8]);
        rand::rng().fill_bytes(&mut trace_id);
        rand::rng().fill_bytes(&mut span_id);
        // Zero means "none" in the standard.
        let trace_id = u128::from_be_bytes(trace_id).max(1);
        Self { trace_id, span_id: u64::from_be_bytes(span_id).max(1) }
    }

    fn child(self) -> Self {
        Self { trace_id: self.trace_id, ..Self::root() }
    }

    /// Parses a `traceparent` of any version with the layout of version 00. Any other text gives
    /// `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut part = |length: usize| {
            let digits = |part: &&str| part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
            parts.next().filter(|part| part.len() == length).filter(digits)
        };
        let (version, trace_id, span_id, _flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        if version == "ff" || (version == VERSION && parts.next().is_some()) {
            return None;
        }
        let trace_id = u128::from_str_radix(trace_id, 16).ok().filter(|id| *id != 0)?;
        let span_id = u64::from_str_radix(span_id, 16).ok().filter(|id| *id != 0)?;
        Some(Self { trace_id, span_id })
    }

    /// 32 hex characters, the same in all processes that a trace passes.
    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace_id)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{VERSION}-{:032x}-{:016x}-{SAMPLED}", self.trace_id, self.span_id)
    }
}

/// The context of the running task as a `traceparent`; `None` outside of any span.
pub fn traceparent() -> Option<String> {
    CURRENT.try_with(ToString::to_string).ok()
}

impl Span {
    /// Starts a span under `parent`, else under the running one, else as a new trace.
    #[expect(clippy::disallowed_methods, reason = "for people's eyes; nothing is decided by it")]
    pub fn begin(name: impl Into<String>, kind: Kind, parent: Option<TraceContext>) -> Self {
        let parent = parent.or_else(|| CURRENT.try_with(|context| *context).ok());
        Self {
            name: name.into(),
            kind,
            context: parent.map_or_else(TraceContext::root, TraceContext::child),
            parent: parent.map(|parent| parent.span_id),
            began: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            clock: Instant::now(),
        }
    }

    pub const fn context(&self) -> TraceContext {
        self.context
    }

    /// Runs `work` within the span: its log lines have the trace's id, and its outgoing messages
    /// continue the trace. No `async fn`, which would keep the memory of `work` twice.
    pub fn scope<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        let lines = tracing::info_span!("trace", trace.id = self.context.trace_id());
        CURRENT.scope(self.context, work.instrument(lines))
    }

    /// Passes the span to the exporter, if there is one. If the exporter cannot keep up, spans are
    /// dropped and counted: work never waits for it.
    pub fn end(self, attributes: Attributes) {
        let Some(exporter) = EXPORTER.get() else { return };
        let span = FinishedSpan {
            name: self.name,
            kind: self.kind,
            trace_id: self.context.trace_id(),
            span_id: format!("{:016x}", self.context.span_id),
            parent_id: self.parent.map(|parent| format!("{parent:016x}")),
            began: self.began,
            took: self.clock.elapsed(),
            attributes,
        };
        if exporter.try_send(span).is_err() {
            metrics::counter!("trace_spans_lost_total").increment(1);
        }
    }
}

/// Sends all spans that end from now on to `exporter`. The first exporter of a process stays.
pub fn export_to(exporter: mpsc::Sender<FinishedSpan>) -> bool {
    EXPORTER.set(exporter).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_back_and_a_malformed_one_is_ignored() {
        assert_eq!(TraceContext::parse(GOOD).unwrap().to_string(), GOOD);
        let later = format!("01{}-more", &GOOD[2..]);
        assert_eq!(TraceContext::parse(&later).unwrap().to_string(), GOOD);
        for text in [
            "",
            "00",
            &GOOD[..54],
            &format!("{GOOD}-more"),
            &GOOD.to_uppercase(),
            &format!("ff{}", &GOOD[2..]),
            &GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            &GOOD.replace('b', "+"),
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b71692033311-01",
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }

    #[tokio::test]
    async fn work_within_a_span_continues_its_trace_and_work_outside_begins_one() {
        assert_eq!(traceparent(), None);
        let outer = Span::begin("outer", Kind::Server, TraceContext::parse(GOOD));
        let (inside, inner) = outer
            .scope(async { (traceparent(), Span::begin("inner", Kind::Client, None).context()) })
            .await;
        assert_eq!(inside, Some(outer.context().to_string()));
        assert_eq!(inner.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_ne!(inner, outer.context());
        let other = Span::begin("other", Kind::Internal, None).context();
        assert_ne!(other.trace_id(), inner.trace_id());
    }
}
