//! Message bodies: a kind and ids, as JSON that an operator can read and type.
//!
//! Logic reads only the body, because only the body survives every way in which an operator can
//! requeue a message. It carries no amount, address or payload: workers load them by id, so the
//! broker's UI is safe to show and a stale body cannot bring back an old value.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use thiserror::Error;
use uuid::Uuid;

use crate::telemetry::trace::{self, TraceContext};

/// The version that this code writes and reads.
const VERSION: u32 = 1;
pub const BODY_BYTES_MAX: usize = 4 * 1024;
const EVENT_ID_BYTES_MAX: usize = 128;
/// The longest reason in a dead letter. Storage writes the same into the ones it parks again.
pub const REASON_CHARS_MAX: usize = 200;

/// Reason why a body is not work. It never will be, so its message is rejected.
#[derive(Debug, Error)]
pub enum EnvelopeError {
    #[error("the body has {0} bytes, more than {BODY_BYTES_MAX}")]
    TooLarge(usize),
    #[error("the body cannot be read: {0}")]
    Unreadable(serde_json::Error),
    #[error("the body has version {0}, this program reads {VERSION}")]
    UnknownVersion(u32),
    #[error("the body is of type {found:?}, this queue takes {expected:?}")]
    OtherType { found: String, expected: &'static str },
}

/// One kind of body.
pub trait Body: Serialize + DeserializeOwned {
    /// The value of the body's `type`.
    const TYPE: &'static str;
}

/// "Look at this invoice."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvoiceRef {
    pub invoice_id: Uuid,
}

impl Body for InvoiceRef {
    const TYPE: &'static str = "invoice";
}

/// "Look at this deposit."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepositRef {
    pub deposit_id: Uuid,
}

impl Body for DepositRef {
    const TYPE: &'static str = "deposit";
}

/// "Look at this payout order."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayoutRef {
    pub order_id: Uuid,
}

impl Body for PayoutRef {
    const TYPE: &'static str = "payout";
}

/// "Make this attempt of this delivery."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "DeliveryText", into = "DeliveryText")]
pub struct DeliveryRef {
    /// At least one of the two is set; if both are, the row's id decides.
    pub delivery_id: Option<Uuid>,
    pub event_id: Option<String>,
    /// Absent if typed by hand; it then means the first attempt of the next cycle.
    pub turn: Option<Turn>,
}

/// One attempt of a delivery. Cycles count from 1, and so do the attempts in each cycle. The types
/// are those of the columns they are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Turn {
    pub cycle: i32,
    pub attempt: i16,
}

impl DeliveryRef {
    pub fn new(delivery_id: Uuid, event_id: &str, turn: Turn) -> Self {
        Self {
            delivery_id: Some(delivery_id),
            event_id: Some(event_id.to_owned()),
            turn: Some(turn),
        }
    }
}

impl Body for DeliveryRef {
    const TYPE: &'static str = "delivery";
}

/// "Make this attempt of this mail."
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRef {
    pub mail_id: Uuid,
    /// Absent if typed by hand; it then means the first attempt of the next cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<i16>,
}

impl MailRef {
    pub const fn new(mail_id: Uuid, turn: Turn) -> Self {
        Self { mail_id, cycle: Some(turn.cycle), attempt: Some(turn.attempt) }
    }
}

impl Body for MailRef {
    const TYPE: &'static str = "mail";
}

#[derive(Serialize, Deserialize)]
struct DeliveryText {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivery_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycle: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempt: Option<i16>,
}

impl From<DeliveryRef> for DeliveryText {
    fn from(delivery: DeliveryRef) -> Self {
        Self {
            delivery_id: delivery.delivery_id,
            event_id: delivery.event_id,
            cycle: delivery.turn.map(|turn| turn.cycle),
            attempt: delivery.turn.map(|turn| turn.attempt),
        }
    }
}

impl TryFrom<DeliveryText> for DeliveryRef {
    type Error = &'static str;

    fn try_from(text: DeliveryText) -> Result<Self, Self::Error> {
        if text.delivery_id.is_none() && text.event_id.is_none() {
            return Err("names neither a delivery_id nor an event_id");
        }
        if text.event_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > EVENT_ID_BYTES_MAX) {
            return Err("has an event_id that is empty or too long");
        }
        let turn = match (text.cycle, text.attempt) {
            (None, None) => None,
            (Some(cycle), Some(attempt)) if cycle > 0 && attempt > 0 => {
                Some(Turn { cycle, attempt })
            }
            (Some(_), Some(_)) => return Err("has a cycle or an attempt below 1"),
            _ => return Err("has only one of cycle and attempt"),
        };
        Ok(Self { delivery_id: text.delivery_id, event_id: text.event_id, turn })
    }
}

#[derive(Serialize)]
struct Sealed<'a, B> {
    v: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    body: &'a B,
    /// Trace context of the cause, for people. It is in the body because the body survives an
    /// operator's move.
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<String>,
    #[serde(flatten)]
    given_up: Option<GivenUp>,
}

/// The end of a cycle of attempts, in the body of its dead letter: for people, who see it as
/// headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GivenUp {
    /// A sentence without data of the other side; it is cut to [`REASON_CHARS_MAX`].
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_status: Option<i16>,
}

impl GivenUp {
    /// `last_status` is that of the last response, of HTTP or of SMTP.
    pub fn new(reason: &str, last_status: Option<i16>) -> Self {
        Self { reason: reason.chars().take(REASON_CHARS_MAX).collect(), last_status }
    }
}

/// Optional header fields: a body typed by hand need not repeat the kind that its queue implies.
#[derive(Deserialize)]
struct Head {
    v: Option<u32>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

pub fn encode<B: Body>(body: &B) -> String {
    seal(body, None)
}

/// The body of a dead letter. It names the cycle that it starts when it comes back.
pub fn encode_dead<B: Body>(body: &B, given_up: GivenUp) -> String {
    seal(body, Some(given_up))
}

fn seal<B: Body>(body: &B, given_up: Option<GivenUp>) -> String {
    let traceparent = trace::traceparent();
    serde_json::to_string(&Sealed { v: VERSION, kind: B::TYPE, body, traceparent, given_up })
        .expect("a body has text keys and no value that JSON cannot say")
}

/// Unknown fields are ignored, so that a newer writer may add some.
pub fn decode<B: Body>(bytes: &[u8]) -> Result<B, EnvelopeError> {
    if bytes.len() > BODY_BYTES_MAX {
        return Err(EnvelopeError::TooLarge(bytes.len()));
    }
    let head: Head = serde_json::from_slice(bytes).map_err(EnvelopeError::Unreadable)?;
    if let Some(version) = head.v.filter(|version| *version != VERSION) {
        return Err(EnvelopeError::UnknownVersion(version));
    }
    if let Some(found) = head.kind.filter(|kind| kind != B::TYPE) {
        return Err(EnvelopeError::OtherType { found, expected: B::TYPE });
    }
    serde_json::from_slice(bytes).map_err(EnvelopeError::Unreadable)
}

/// Returns the trace context of a message, if the body holds a valid one.
pub fn trace_of(bytes: &[u8]) -> Option<TraceContext> {
    #[derive(Deserialize)]
    struct Traced {
        traceparent: Option<String>,
    }
    let bytes = bytes.get(..BODY_BYTES_MAX).unwrap_or(bytes);
    let traced: Traced = serde_json::from_slice(bytes).ok()?;
    TraceContext::parse(&traced.traceparent?)
}

/// The row that a message is about, as its body names it.
pub fn id_of(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(alias = "deposit_id", alias = "invoice_id", alias = "order_id", alias = "mail_id")]
        delivery_id: Option<Uuid>,
        event_id: Option<String>,
    }
    let named: Named = serde_json::from_slice(bytes.get(..BODY_BYTES_MAX).unwrap_or(bytes)).ok()?;
    let event = named.event_id.filter(|id| id.len() <= EVENT_ID_BYTES_MAX);
    named.delivery_id.map(|id| id.to_string()).or(event)
}

/// Message headers shown in the broker's UI (`gw-event-id`, …), for people only: no decision
/// depends on them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Headers {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchant_id: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<i32>,
    /// Reason for giving up, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Status of the last response, of HTTP or of SMTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<i16>,
    /// W3C trace context, under its own name and without our prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    const ID: Uuid = Uuid::from_u128(0x0195_7b5e_0000_7000_8000_0000_0000_0001);

    #[test]
    fn a_delivery_is_printed_in_readable_form() {
        let turn = Turn { cycle: 2, attempt: 1 };
        let text = encode(&DeliveryRef::new(ID, "evt_1", turn));
        expect![[r#"{"v":1,"type":"delivery","delivery_id":"01957b5e-0000-7000-8000-000000000001","event_id":"evt_1","cycle":2,"attempt":1}"#]]
            .assert_eq(&text);
        assert_eq!(
            decode::<DeliveryRef>(text.as_bytes()).unwrap(),
            DeliveryRef::new(ID, "evt_1", turn)
        );
    }

    #[test]
    fn a_dead_letter_says_why_in_its_headers_and_reads_as_the_work_it_starts() {
        let message = DeliveryRef::new(ID, "evt_1", Turn { cycle: 2, attempt: 1 });
        let given_up = GivenUp::new("the receiver answered 503", Some(503));
        let text = encode_dead(&message, given_up);
        assert_eq!(decode::<DeliveryRef>(text.as_bytes()).unwrap(), message);
        let headers: Headers = serde_json::from_str(&text).unwrap();
        assert_eq!(headers.reason.as_deref(), Some("the receiver answered 503"));
        assert_eq!((headers.last_status, headers.cycle), (Some(503), Some(2)));
        let text = encode_dead(&message, GivenUp::new(&"\u{1}".repeat(BODY_BYTES_MAX), None));
        assert!(text.len() < BODY_BYTES_MAX, "{}", text.len());
        let headers: Headers = serde_json::from_str(&text).unwrap();
        assert_eq!(headers.reason.map(|reason| reason.len()), Some(REASON_CHARS_MAX));
        assert_eq!(headers.last_status, None);
        assert_eq!(serde_json::from_str::<Headers>(&encode(&message)).unwrap().reason, None);
    }

    #[tokio::test]
    async fn a_message_written_within_a_trace_carries_it_and_a_wrong_one_is_none() {
        let turn = Turn { cycle: 1, attempt: 1 };
        let message = DeliveryRef::new(ID, "evt_1", turn);
        let span = trace::Span::begin("test", trace::Kind::Internal, None);
        let text = span.scope(async { encode(&message) }).await;
        assert_eq!(decode::<DeliveryRef>(text.as_bytes()).unwrap(), message);
        assert_eq!(trace_of(text.as_bytes()), Some(span.context()));
        for body in ["", "{", r#"{"traceparent":5}"#, r#"{"traceparent":"00-x"}"#, "[]"] {
            assert_eq!(trace_of(body.as_bytes()), None, "{body}");
        }
    }

    #[test]
    fn one_id_is_enough_when_typed_by_hand_and_unknown_fields_are_ignored() {
        let by_event: DeliveryRef =
            decode(br#"{"event_id":"evt_1","note":"again, please"}"#).unwrap();
        let expected =
            DeliveryRef { delivery_id: None, event_id: Some("evt_1".into()), turn: None };
        assert_eq!(by_event, expected);
        let by_id: DeliveryRef = decode(format!(r#"{{"delivery_id":"{ID}"}}"#).as_bytes()).unwrap();
        assert_eq!(by_id.delivery_id, Some(ID));
        let deposit: DepositRef =
            decode(format!(r#" {{"deposit_id":"{ID}"}} "#).as_bytes()).unwrap();
        assert_eq!(deposit, DepositRef { deposit_id: ID });
    }

    #[test]
    fn an_unreadable_delivery_message_is_refused_with_a_reason() {
        let cases = [
            ("", "cannot be read: EOF while parsing a value at line 1 column 0"),
            ("{", "cannot be read: EOF while parsing an object at line 1 column 1"),
            ("7", "cannot be read: invalid type: integer"),
            ("{}", "names neither a delivery_id nor an event_id"),
            (r#"{"v":2,"event_id":"e"}"#, "has version 2, this program reads 1"),
            (
                r#"{"type":"deposit","event_id":"e"}"#,
                r#"of type "deposit", this queue takes "delivery""#,
            ),
            (r#"{"event_id":""}"#, "has an event_id that is empty or too long"),
            (r#"{"event_id":5}"#, "invalid type"),
            (r#"{"delivery_id":"17"}"#, "UUID"),
            (r#"{"event_id":"e","cycle":1}"#, "has only one of cycle and attempt"),
            (r#"{"event_id":"e","cycle":0,"attempt":1}"#, "has a cycle or an attempt below 1"),
            (r#"{"event_id":"e","cycle":1,"attempt":32768}"#, "invalid value"),
            (r#"{"event_id":"e","cycle":-1,"attempt":1}"#, "has a cycle or an attempt below 1"),
            (r#"{"event_id":"e","event_id":"f"}"#, "duplicate field"),
            (r#"{"event_id":"e"}{}"#, "trailing characters"),
        ];
        for (text, reason) in cases {
            let error = decode::<DeliveryRef>(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        let huge = format!(r#"{{"event_id":"e","pad":"{}"}}"#, "x".repeat(BODY_BYTES_MAX));
        let error = decode::<DeliveryRef>(huge.as_bytes()).unwrap_err();
        assert!(matches!(error, EnvelopeError::TooLarge(_)), "{error}");
    }
}
