//! One attempt to deliver a payment IPN: admit, sign, send, record. No transaction is open while it is sent.
//!
//! Admitting, sending and recording are the same for both webhook channels and are told what differs by a [`Channel`];
//! signing is never shared (spec, "Events").

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use super::Gateway;
use crate::{
    broker::{
        envelope::{self, DeliveryRef, Turn},
        route::Route,
    },
    egress::{Answer, Call, EgressError},
    fail_point::fail_point,
    storage::{
        StorageError,
        deliveries::{self, AttemptRecord, DueDelivery},
        merchants,
        payouts::events,
    },
    telemetry::trace::{self, Kind, Span},
    webhook::{
        ipn,
        retry::{self, Admission, DeliveryState, Outcome, RetryPolicy, Ticket},
    },
};

/// An answer slower than this counts towards the slow lane.
const SLOW_ANSWER: Duration = Duration::from_secs(3);
const EXCERPT_CHARS_MAX: usize = 300;
const ANSWER_BYTES_MAX: usize = 4 * 1024;

/// What the machinery must know of a webhook channel.
pub(super) struct Channel {
    pub policy: RetryPolicy,
    pub outcome: fn(Option<u16>, i16) -> Outcome,
    /// The signed request of one attempt.
    pub call: fn(&Gateway, &DueDelivery) -> Result<Call, DeliverError>,
    pub slow: Route,
    pub wait: Route,
    pub dead: Route,
    /// Where the next event of the same order is queued, on the channel whose events keep their order.
    pub following: Option<Route>,
    pub names: Names,
}

/// What a channel's metrics are called.
pub(super) struct Names {
    pub channel: &'static str,
    pub attempts: &'static str,
    pub seconds: &'static str,
    pub stale: &'static str,
    pub moves: &'static str,
}

const IPN: Channel = Channel {
    policy: retry::IPN,
    outcome: retry::ipn_outcome,
    call: Gateway::signed_ipn,
    slow: Route::IpnSlow,
    wait: Route::IpnWait,
    dead: Route::IpnDead,
    following: None,
    names: Names {
        channel: "ipn",
        attempts: "ipn_attempts_total",
        seconds: "ipn_attempt_seconds",
        stale: "ipn_stale_copies_total",
        moves: "ipn_lane_moves_total",
    },
};

/// The queue a message came from. Merchants whose endpoints are slow have one of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    Fast,
    Slow,
}

impl Lane {
    /// Attempts of one merchant under way at a time in one process.
    const fn in_flight_max(self) -> usize {
        match self {
            Self::Fast => 10,
            Self::Slow => 3,
        }
    }

    /// Where a message goes that would exceed it. From the slow lane it comes back after a pause.
    const fn overflow(self, channel: &Channel) -> Route {
        match self {
            Self::Fast => channel.slow,
            Self::Slow => channel.wait,
        }
    }
}

/// What is under way in one lane of this process.
///
/// A cap per merchant, so that a hanging endpoint cannot take every slot; and never two copies of one attempt, which
/// would both be sent because the row only changes afterwards.
#[derive(Clone, Default)]
pub struct InFlight(Arc<Mutex<UnderWay>>);

#[derive(Default)]
struct UnderWay {
    per_merchant: HashMap<Uuid, usize>,
    attempts: HashSet<(Uuid, Turn)>,
}

/// One attempt of which no other copy is worked on, and its merchant's share of the lane once that is known.
struct Slot {
    in_flight: InFlight,
    attempt: (Uuid, Turn),
    merchant_id: Option<Uuid>,
}

impl InFlight {
    /// `None` if another copy is under way.
    fn begin(&self, delivery_id: Uuid, turn: Turn) -> Option<Slot> {
        let attempt = (delivery_id, turn);
        let is_first = self.locked().attempts.insert(attempt);
        is_first.then(|| Slot { in_flight: self.clone(), attempt, merchant_id: None })
    }

    fn locked(&self) -> MutexGuard<'_, UnderWay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// `false` if the merchant has `max` attempts under way already.
    fn share(&mut self, merchant_id: Uuid, max: usize) -> bool {
        let mut under_way = self.in_flight.locked();
        let count = under_way.per_merchant.entry(merchant_id).or_insert(0);
        if *count >= max {
            return false;
        }
        *count += 1;
        self.merchant_id = Some(merchant_id);
        true
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut under_way = self.in_flight.locked();
        under_way.attempts.remove(&self.attempt);
        let Some(merchant_id) = self.merchant_id else { return };
        if let Some(count) = under_way.per_merchant.get_mut(&merchant_id) {
            *count -= 1;
            if *count == 0 {
                under_way.per_merchant.remove(&merchant_id);
            }
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    Attempted(Outcome),
    /// A copy of something already done.
    Stale,
    /// Sent on to another lane, without using an attempt.
    Moved,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The message names no delivery of ours. It can never be worked on.
    #[error("no such delivery")]
    UnknownDelivery,
    /// The row cannot be sent as it is; a person must look.
    #[error("the delivery cannot be signed: {0}")]
    Unsignable(String),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Where attempts read their delivery and write their outcome.
///
/// The gateway does both one by one; a worker lets the attempts that are under way share statements and commits.
pub trait AttemptRows: Sync {
    /// `None` if there is no such delivery.
    fn load(
        &self,
        id: Uuid,
    ) -> impl Future<Output = Result<Option<DueDelivery>, StorageError>> + Send;

    /// `false` if the row is no longer as it was: another copy of the message won.
    fn record(
        &self,
        record: Arc<AttemptRecord>,
    ) -> impl Future<Output = Result<bool, StorageError>> + Send;
}

impl AttemptRows for Gateway {
    async fn load(&self, id: Uuid) -> Result<Option<DueDelivery>, StorageError> {
        Ok(self.load_deliveries(&[id]).await?.pop())
    }

    async fn record(&self, record: Arc<AttemptRecord>) -> Result<bool, StorageError> {
        Ok(!self.record_attempts(&[&record]).await?.is_empty())
    }
}

impl Gateway {
    /// What the attempts of these deliveries need, in one statement.
    pub async fn load_deliveries(&self, ids: &[Uuid]) -> Result<Vec<DueDelivery>, StorageError> {
        let mut connection = self.db.connection().await?;
        deliveries::load(&mut connection, ids).await
    }

    /// Records attempts of different deliveries in one commit; returns those whose row was still as it was.
    pub async fn record_attempts(
        &self,
        records: &[&AttemptRecord],
    ) -> Result<HashSet<Uuid>, StorageError> {
        let mut connection = self.db.connection().await?;
        deliveries::record_attempts(&mut connection, records).await
    }

    /// Handles one message from `lane`.
    pub async fn deliver_ipn(
        &self,
        rows: &impl AttemptRows,
        message: &DeliveryRef,
        lane: Lane,
        in_flight: &InFlight,
    ) -> Result<Handled, DeliverError> {
        self.deliver(&IPN, rows, message, lane, in_flight).await
    }

    pub(super) async fn deliver(
        &self,
        channel: &Channel,
        rows: &impl AttemptRows,
        message: &DeliveryRef,
        lane: Lane,
        in_flight: &InFlight,
    ) -> Result<Handled, DeliverError> {
        let id = self.delivery_id(message).await?.ok_or(DeliverError::UnknownDelivery)?;
        let turn = match message.turn {
            Some(turn) => turn,
            // Typed by hand: the row says which turn that is.
            None => match admitted(&load_due(rows, id).await?, None) {
                Some(turn) => turn,
                None => return Ok(stale(channel)),
            },
        };
        // Before the row is read: read earlier, it could be from before the other copy's attempt was recorded.
        let Some(mut slot) = in_flight.begin(id, turn) else {
            // The other copy is not acknowledged before it is recorded, so nothing is lost with this one.
            return Ok(stale(channel));
        };
        let due = load_due(rows, id).await?;
        // An event that waits for an older one is queued when that one has ended.
        if due.waits_for_another || admitted(&due, Some(turn)).is_none() {
            return Ok(stale(channel));
        }
        let misplaced = lane == Lane::Fast && due.merchant_is_slow;
        if misplaced || !slot.share(due.merchant_id, lane.in_flight_max()) {
            metrics::counter!(channel.names.moves).increment(1);
            self.move_on(&due, turn, lane.overflow(channel)).await?;
            return Ok(Handled::Moved);
        }
        let call = (channel.call)(self, &due)?;
        let started = std::time::Instant::now();
        fail_point("ipn.sending");
        let answer = self.send_traced(call, &due, turn).await;
        fail_point("ipn.answered");
        let record = record_of(channel, &due, turn, &answer, started.elapsed());
        self.note(channel, rows, &due, record, started.elapsed()).await
    }

    /// The call as a span of its own, which the receiver is shown: merchants may continue the trace.
    async fn send_traced(
        &self,
        mut call: Call,
        due: &DueDelivery,
        turn: Turn,
    ) -> Result<Answer, EgressError> {
        let span = Span::begin("POST payment IPN", Kind::Client, None);
        if let Ok(context) = span.context().to_string().parse() {
            call.headers.insert(trace::HEADER, context);
        }
        let answer = span.scope(self.egress.send(call)).await;
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        span.end(vec![
            ("http.response.status_code", status.to_string()),
            ("gateway.event_id", due.event_id.clone()),
            ("gateway.attempt", turn.attempt.to_string()),
        ]);
        answer
    }

    async fn delivery_id(&self, message: &DeliveryRef) -> Result<Option<Uuid>, StorageError> {
        match (message.delivery_id, &message.event_id) {
            (Some(id), _) => Ok(Some(id)),
            (None, Some(event_id)) => {
                let mut connection = self.db.connection().await?;
                let row = deliveries::by_event_id(&mut connection, event_id).await?;
                Ok(row.map(|row| row.id))
            }
            (None, None) => Ok(None),
        }
    }

    async fn move_on(
        &self,
        due: &DueDelivery,
        turn: Turn,
        route: Route,
    ) -> Result<(), StorageError> {
        let body = envelope::encode(&DeliveryRef::new(due.id, &due.event_id, turn));
        let mut connection = self.db.connection().await?;
        deliveries::send_on(&mut connection, due.id, route.as_str(), &body).await?;
        self.relay_wake.notify_one();
        Ok(())
    }

    /// The request of one attempt: `event_at` and the signature are made anew, `event_id` is the row's.
    fn signed_ipn(&self, due: &DueDelivery) -> Result<Call, DeliverError> {
        let unsignable = |reason: &dyn ToString| DeliverError::Unsignable(reason.to_string());
        let secret = self
            .master_key
            .open(due.merchant_id, &due.webhook_secret_sealed)
            .map_err(|error| unsignable(&error))?;
        let event_at = due.now.timestamp();
        let body =
            ipn::body(&due.payload, &due.event_id, event_at).map_err(|error| unsignable(&error))?;
        let signature = ipn::sign(&secret, body.as_bytes());
        let url = due.url.parse().map_err(|_| unsignable(&"its url cannot be read"))?;
        let mut call = Call::post(url, body, retry::IPN.timeout);
        call.body_bytes_max = ANSWER_BYTES_MAX;
        let headers = [
            ("content-type", ipn::CONTENT_TYPE),
            ("user-agent", ipn::USER_AGENT),
            (ipn::SIGNATURE_HEADER, signature.as_str()),
            (ipn::EVENT_ID_HEADER, due.event_id.as_str()),
        ];
        for (name, value) in headers {
            let value = value.parse().map_err(|_| unsignable(&"a header is not printable"))?;
            call.headers.insert(http::HeaderName::from_static(name), value);
        }
        Ok(call)
    }

    async fn note(
        &self,
        channel: &Channel,
        rows: &impl AttemptRows,
        due: &DueDelivery,
        (outcome, record): (Outcome, AttemptRecord),
        took: Duration,
    ) -> Result<Handled, DeliverError> {
        let record = Arc::new(record);
        let recorded = rows.record(record.clone()).await?;
        fail_point("ipn.recorded");
        if took >= SLOW_ANSWER {
            let mut connection = self.db.connection().await?;
            merchants::note_slow_answer(&mut connection, due.merchant_id).await?;
        }
        if !recorded {
            return Ok(stale(channel));
        }
        let status = record.status.unwrap_or(0);
        let result = outcome_name(outcome);
        let names = &channel.names;
        metrics::counter!(names.attempts, "outcome" => result).increment(1);
        metrics::histogram!(names.seconds).record(took);
        tracing::info!(
            event.id = %due.event_id, attempt = record.attempt, cycle = record.cycle, http.status = status,
            error = record.error, duration_ms = record.duration_ms, "{} attempt: {result}", names.channel
        );
        let ended = outcome != Outcome::RetryLater;
        if let Some(route) = channel.following.filter(|_| ended) {
            let mut connection = self.db.connection().await?;
            events::queue_following(&mut connection, due.id, route.as_str()).await?;
        }
        if record.next.is_some() || channel.following.is_some() {
            self.relay_wake.notify_one();
        }
        Ok(Handled::Attempted(outcome))
    }
}

async fn load_due(rows: &impl AttemptRows, id: Uuid) -> Result<DueDelivery, DeliverError> {
    rows.load(id).await?.ok_or(DeliverError::UnknownDelivery)
}

/// The attempt to make now, if the row still waits for it.
fn admitted(due: &DueDelivery, turn: Option<Turn>) -> Option<Turn> {
    let (cycle, attempt) = turn.map(|turn| (turn.cycle, turn.attempt)).unzip();
    match retry::admit(due.progress, Ticket { cycle, attempt }) {
        Admission::Attempt { cycle, attempt } => Some(Turn { cycle, attempt }),
        Admission::Stale => None,
    }
}

fn stale(channel: &Channel) -> Handled {
    metrics::counter!(channel.names.stale).increment(1);
    Handled::Stale
}

pub(super) const OUTCOMES: [&str; 3] = ["delivered", "retry_later", "dead"];

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered => "delivered",
        Outcome::RetryLater => "retry_later",
        Outcome::Dropped => "dropped",
        Outcome::Dead => "dead",
    }
}

fn record_of(
    channel: &Channel,
    due: &DueDelivery,
    turn: Turn,
    answer: &Result<Answer, EgressError>,
    took: Duration,
) -> (Outcome, AttemptRecord) {
    let status = answer.as_ref().ok().map(|answer| answer.status);
    let outcome = (channel.outcome)(status, turn.attempt);
    let error = match answer {
        Ok(answer) if !answer.is_success() => {
            Some(format!("the receiver answered {}", answer.status))
        }
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let (new_state, next) = match outcome {
        Outcome::Delivered => (DeliveryState::Delivered, None),
        Outcome::Dropped => (DeliveryState::Dropped, None),
        Outcome::RetryLater => {
            let next = Turn { attempt: turn.attempt + 1, ..turn };
            (DeliveryState::RetryWait, Some((channel.wait, next)))
        }
        // The parked message starts the next cycle, by whatever way it comes back.
        Outcome::Dead => {
            let next = Turn { cycle: turn.cycle + 1, attempt: 1 };
            (DeliveryState::Dead, Some((channel.dead, next)))
        }
    };
    let next = next.map(|(route, turn)| {
        let body = envelope::encode(&DeliveryRef::new(due.id, &due.event_id, turn));
        (route.as_str().to_owned(), body)
    });
    let record = AttemptRecord {
        delivery_id: due.id,
        expected: due.progress,
        cycle: turn.cycle,
        attempt: turn.attempt,
        new_state,
        retry_in_seconds: i32::try_from(channel.policy.delay.as_secs()).unwrap_or(i32::MAX),
        started_at: due.now,
        duration_ms: i32::try_from(took.as_millis()).unwrap_or(i32::MAX),
        status: status.and_then(|status| i16::try_from(status).ok()),
        error,
        excerpt: answer.as_ref().ok().and_then(|answer| excerpt(&answer.body)),
        next,
    };
    (outcome, record)
}

/// The first printable characters of an answer: for people, never to be trusted or rendered as anything but text.
fn excerpt(body: &[u8]) -> Option<String> {
    let text: String = String::from_utf8_lossy(body)
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .take(EXCERPT_CHARS_MAX)
        .collect();
    if text.is_empty() { None } else { Some(text) }
}
