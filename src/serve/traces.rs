//! Exports finished spans to a collector, in OTLP over HTTP with JSON, if `[telemetry] otlp_url` is
//! set.
//!
//! The format is one object per batch, so it is written here: the SDK would add thirty packages and
//! a context of its own that would have to be kept in step with ours.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    app::Gateway,
    egress::{Call, Egress, guard::Policy},
    telemetry::trace::{self, FinishedSpan},
};

/// Spans queued for the exporter; beyond this they are dropped and counted.
const WAITING_MAX: usize = 4_096;
const BATCH_MAX: usize = 512;
const FLUSH_EVERY: Duration = Duration::from_secs(1);
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// Exports until `stop`, and then the remaining spans. Returns at once if no collector is
/// configured.
pub async fn export(gateway: Arc<Gateway>, service: &'static str, stop: CancellationToken) {
    let Some(collector) = gateway.config.telemetry.collector() else { return };
    let (sender, mut spans) = mpsc::channel(WAITING_MAX);
    if !trace::export_to(sender) {
        return;
    }
    let egress = Egress::new(Policy::Operator);
    let mut batch = Vec::new();
    while !stop.is_cancelled() {
        // Waits a moment to collect a larger batch.
        tokio::select! {
            () = tokio::time::sleep(FLUSH_EVERY) => {}
            () = stop.cancelled() => {}
        }
        while let Ok(span) = spans.try_recv() {
            batch.push(span);
            if batch.len() == BATCH_MAX {
                tell(&egress, collector.clone(), service, &mut batch).await;
            }
        }
        if !batch.is_empty() {
            tell(&egress, collector.clone(), service, &mut batch).await;
        }
    }
}

/// Sends one batch, without retries: an unavailable collector costs its spans and nothing else.
async fn tell(egress: &Egress, url: url::Url, service: &str, batch: &mut Vec<FinishedSpan>) {
    let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
    let body = otlp(service, batch).to_string();
    batch.clear();
    let mut call = Call::post(url, body, CALL_LIMIT);
    let json = http::HeaderValue::from_static("application/json");
    call.headers.insert(http::header::CONTENT_TYPE, json);
    let fault = match egress.send(call).await {
        Ok(answer) if answer.is_success() => return,
        Ok(answer) => format!("it answered {}", answer.status),
        Err(error) => error.to_string(),
    };
    metrics::counter!("trace_spans_lost_total").increment(count);
    tracing::warn!(count, fault, "the trace collector refused spans");
}

/// `ExportTraceServiceRequest` in JSON: ids in hex, times in nanoseconds as text.
fn otlp(service: &str, batch: &[FinishedSpan]) -> Value {
    let attribute =
        |name: &str, value: &str| json!({ "key": name, "value": { "stringValue": value } });
    let spans: Vec<_> = batch
        .iter()
        .map(|span| {
            let attributes = span.attributes.iter().map(|(name, value)| attribute(name, value));
            json!({
                "traceId": span.trace_id,
                "spanId": span.span_id,
                "parentSpanId": span.parent_id.as_deref().unwrap_or_default(),
                "name": span.name,
                "kind": span.kind as i32,
                "startTimeUnixNano": span.began.as_nanos().to_string(),
                "endTimeUnixNano": (span.began + span.took).as_nanos().to_string(),
                "attributes": attributes.collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [attribute("service.name", service)] },
        "scopeSpans": [{ "scope": { "name": "gateway" }, "spans": spans }],
    }]})
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::telemetry::trace::Kind;

    #[test]
    fn a_span_is_written_as_the_protocol_s_json() {
        let span = FinishedSpan {
            name: "POST payment IPN".into(),
            kind: Kind::Client,
            trace_id: "0af7651916cd43dd8448eb211c80319c".into(),
            span_id: "b7ad6b7169203331".into(),
            parent_id: Some("00f067aa0ba902b7".into()),
            began: Duration::new(1_700_000_000, 5),
            took: Duration::from_millis(2),
            attributes: vec![("http.response.status_code", "200".into())],
        };
        expect![[r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"gateway-worker"}}]},"scopeSpans":[{"scope":{"name":"gateway"},"spans":[{"attributes":[{"key":"http.response.status_code","value":{"stringValue":"200"}}],"endTimeUnixNano":"1700000000002000005","kind":3,"name":"POST payment IPN","parentSpanId":"00f067aa0ba902b7","spanId":"b7ad6b7169203331","startTimeUnixNano":"1700000000000000005","traceId":"0af7651916cd43dd8448eb211c80319c"}]}]}]}"#]]
            .assert_eq(&otlp("gateway-worker", &[span]).to_string());
    }
}
