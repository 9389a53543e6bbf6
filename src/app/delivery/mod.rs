//! One attempt to deliver a webhook: admit, sign, send, record. No transaction is open while it is
//! sent.
//!
//! Admitting, sending and recording are the same for both channels, payment IPNs and mass-payout
//! webhooks; a [`Channel`] holds their differences. Signing is never shared (spec, "Events").

pub mod emit;
mod in_flight;
mod ipn;
mod lane;
mod legacy_ipn;
mod limit;
pub mod lists;
mod payout;
mod places;
mod record;
pub mod requeue_dead_letters;
pub mod requeue_run;
mod room;
pub mod test_event;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
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
        StorageError, alerts,
        deferred_deliveries::{self, Deferred},
        deliveries::{self, AttemptRecord, DueDelivery},
        legacy_payments::StoredOrder,
        merchants,
        payouts::events,
    },
    telemetry::trace::{self, Kind, Span},
    webhook::{
        self,
        retry::{self, Admission, Outcome, RetryPolicy, Ticket},
    },
};

use self::in_flight::{Share, Sharer, Slot};

pub use in_flight::InFlight;
pub use ipn::IPN;
pub use lane::Lane;
pub use payout::PAYOUT;
pub use room::Room;

/// An answer slower than this counts towards the slow lane.
const SLOW_ANSWER: Duration = Duration::from_secs(3);
const ANSWER_BYTES_MAX: usize = 4 * 1024;
/// A row that was read longer ago is read again before it is sent.
const FRESH: Duration = Duration::from_secs(2);
const UNSIGNABLE: &str = "delivery_unsignable";

/// The properties of a webhook channel that the delivery code depends on.
pub struct Channel {
    /// The channel of its rows.
    row: webhook::Channel,
    policy: RetryPolicy,
    outcome: fn(Option<u16>, i16) -> Outcome,
    /// The signed request of one attempt.
    call: fn(&Gateway, &DueDelivery) -> Result<Call, Unsignable>,
    fast: Route,
    slow: Route,
    wait: Route,
    dead: Route,
    /// Where the next event of the same order is queued, on the channel whose events keep their
    /// order.
    following: Option<Route>,
    names: Names,
}

/// The names of a channel's spans, logs and metrics.
struct Names {
    channel: &'static str,
    span: &'static str,
    attempts: &'static str,
    seconds: &'static str,
    stale: &'static str,
    moves: &'static str,
    deferred: &'static str,
}

/// The result of handling a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    Attempted(Outcome),
    /// A copy of something already done.
    Stale,
    /// Sent on to another lane, without using an attempt.
    Moved,
    /// It waits in the database until others of its merchant have ended, without using an attempt.
    Deferred,
    /// We could open no connection. It comes back after the channel's pause, without using an
    /// attempt.
    PutOff,
}

#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The message names no delivery of ours. It can never be worked on.
    #[error("no such delivery")]
    UnknownDelivery,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a row cannot be sent as it is. Trying again would not help: a person must look.
#[derive(Debug)]
struct Unsignable(String);

impl Unsignable {
    #[expect(clippy::needless_pass_by_value, reason = "`map_err` hands its error over")]
    fn because(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

/// Where attempts read their delivery and write their outcome.
///
/// The gateway does both one by one; a worker lets the attempts that are under way share statements
/// and commits.
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

    /// Lets a delivery wait for others of its merchant, with no message.
    fn defer(&self, deferred: Deferred) -> impl Future<Output = Result<(), StorageError>> + Send;

    /// Counts a slow answer against the merchant.
    fn note_slow(&self, merchant_id: Uuid)
    -> impl Future<Output = Result<(), StorageError>> + Send;
}

impl AttemptRows for Gateway {
    async fn load(&self, id: Uuid) -> Result<Option<DueDelivery>, StorageError> {
        Ok(self.load_deliveries(&[id]).await?.pop())
    }

    async fn record(&self, record: Arc<AttemptRecord>) -> Result<bool, StorageError> {
        Ok(!self.record_attempts(&[&record]).await?.is_empty())
    }

    async fn defer(&self, deferred: Deferred) -> Result<(), StorageError> {
        self.defer_deliveries(&[deferred]).await
    }

    async fn note_slow(&self, merchant_id: Uuid) -> Result<(), StorageError> {
        self.note_slow_answers(&[merchant_id]).await
    }
}

impl Gateway {
    /// Loads the data that the attempts of these deliveries need, in one statement.
    pub async fn load_deliveries(&self, ids: &[Uuid]) -> Result<Vec<DueDelivery>, StorageError> {
        let mut connection = self.db.connection().await?;
        deliveries::load(&mut connection, ids).await
    }

    /// Records attempts of different deliveries in one commit; returns those whose row was still as
    /// it was.
    pub async fn record_attempts(
        &self,
        records: &[&AttemptRecord],
    ) -> Result<HashSet<Uuid>, StorageError> {
        let mut connection = self.db.connection().await?;
        deliveries::record_attempts(&mut connection, records).await
    }

    /// Lets deliveries wait for others of their merchants, in one statement.
    pub async fn defer_deliveries(&self, deferred: &[Deferred]) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        deferred_deliveries::defer(&mut connection, deferred).await
    }

    /// Counts slow answers against their merchants, in one statement.
    pub async fn note_slow_answers(&self, merchants: &[Uuid]) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        merchants::note_slow_answers(&mut connection, merchants).await
    }

    /// Handles one message from `lane`.
    pub async fn deliver(
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
            None => match admitted(&load_due(channel, rows, id).await?, None) {
                Some(turn) => turn,
                None => return Ok(stale(channel)),
            },
        };
        // Before the row is read: read earlier, it could be from before the other copy's attempt
        // was recorded.
        let Some(mut slot) = in_flight.begin(id, turn) else {
            // The other copy is not acknowledged before it is recorded, so nothing is lost with
            // this one.
            return Ok(stale(channel));
        };
        let handled = self.attempt(channel, rows, (id, turn), lane, &mut slot).await;
        if let Some((sharer, wanted)) = slot.end() {
            self.resume(channel, lane, (sharer, wanted), in_flight).await;
        }
        handled
    }

    async fn attempt(
        &self,
        channel: &Channel,
        rows: &impl AttemptRows,
        (id, turn): (Uuid, Turn),
        lane: Lane,
        slot: &mut Slot,
    ) -> Result<Handled, DeliverError> {
        let Some(mut due) = load_waiting(channel, rows, id, turn).await? else {
            return Ok(stale(channel));
        };
        let read = Instant::now();
        slot.join(sharer(&due), lane, due.has_deferred);
        if lane == Lane::Fast && due.merchant_is_slow && !is_strangers(&due) {
            return Ok(self.move_on(channel, &due, turn, lane).await?);
        }
        match slot.share(lane).await {
            Share::Place => {}
            Share::Full => return Ok(self.defer(channel, rows, (&due, turn), lane, slot).await?),
            Share::Hangs => return Ok(self.move_on(channel, &due, turn, lane).await?),
        }
        if !slot.reach(&host_of(&due), lane).await {
            return Ok(self.move_on(channel, &due, turn, lane).await?);
        }
        let waited = read.elapsed();
        due.now += waited;
        if waited > FRESH {
            due = match load_waiting(channel, rows, id, turn).await? {
                Some(again) => again,
                None => return Ok(stale(channel)),
            };
        }
        let call = match (channel.call)(self, &due) {
            Ok(call) => call,
            Err(reason) => return self.give_up(channel, rows, &due, turn, &reason).await,
        };
        let started = Instant::now();
        fail_point("ipn.sending");
        let answer = self.send_traced(channel, call, &due, turn).await;
        fail_point("ipn.answered");
        if let Err(EgressError::Ours(reason)) = answer {
            return Ok(self.put_off(channel, &due, turn, reason).await?);
        }
        let took = started.elapsed();
        slot.answered(lane, answer.as_ref().ok().map(|answer| answer.status), took);
        let record = record::of(channel, &due, turn, &answer, took);
        self.note(channel, rows, &due, record, took).await
    }

    /// Makes the delivery a dead letter at once, with one alert for its merchant: five attempts
    /// would end the same.
    async fn give_up(
        &self,
        channel: &Channel,
        rows: &impl AttemptRows,
        due: &DueDelivery,
        turn: Turn,
        Unsignable(reason): &Unsignable,
    ) -> Result<Handled, DeliverError> {
        let mut connection = self.db.connection().await?;
        let detail = format!("{}: {reason}", due.event_id);
        let merchant = due.merchant_id.to_string();
        if alerts::raise(&mut connection, UNSIGNABLE, &merchant, &detail).await? {
            tracing::error!(event.id = %due.event_id, merchant, reason, "a delivery cannot be signed");
        }
        drop(connection);
        let record = record::unsignable(channel, due, turn, reason);
        self.note(channel, rows, due, record, Duration::ZERO).await
    }

    /// The call as a span of its own, which the receiver is shown: merchants may continue the
    /// trace.
    async fn send_traced(
        &self,
        channel: &Channel,
        mut call: Call,
        due: &DueDelivery,
        turn: Turn,
    ) -> Result<Answer, EgressError> {
        let span = Span::begin(channel.names.span, Kind::Client, None);
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

    /// Lets the delivery wait in the database, from where [`Self::resume`] takes it back in its
    /// turn.
    async fn defer(
        &self,
        channel: &Channel,
        rows: &impl AttemptRows,
        (due, turn): (&DueDelivery, Turn),
        lane: Lane,
        slot: &mut Slot,
    ) -> Result<Handled, StorageError> {
        // Its message may come back before this one is acknowledged.
        slot.release();
        let deferred = Deferred {
            delivery_id: due.id,
            merchant_id: due.merchant_id,
            is_strangers: is_strangers(due),
            route: lane.route(channel).as_str(),
            cycle: turn.cycle,
            attempt: turn.attempt,
        };
        rows.defer(deferred).await?;
        slot.note_deferred();
        metrics::counter!(channel.names.deferred).increment(1);
        Ok(Handled::Deferred)
    }

    /// Queues the next deferred deliveries of a merchant whose attempt has ended. A failure does
    /// not concern that attempt, and the next one of the merchant that ends tries again; those of
    /// a process that dies are found by the next message of their merchant, or by the sweep.
    async fn resume(
        &self,
        channel: &Channel,
        lane: Lane,
        (sharer, wanted): (Sharer, usize),
        in_flight: &InFlight,
    ) {
        let of = (sharer.merchant_id, sharer.is_strangers);
        let route = lane.route(channel).as_str();
        let limit = i64::try_from(wanted).unwrap_or(i64::MAX);
        let resuming = async {
            let mut connection = self.db.connection().await?;
            deferred_deliveries::resume(&mut connection, of, route, limit).await
        };
        let resumed = match resuming.await {
            Ok(resumed) => usize::try_from(resumed).ok(),
            Err(error) => {
                tracing::warn!(%error, "deferred deliveries are not resumed yet");
                None
            }
        };
        in_flight.resumed(sharer, wanted, resumed);
        self.relay_wake.notify_one();
    }

    /// Sends the message on to the route that `lane` gives for a message that may not be sent.
    async fn move_on(
        &self,
        channel: &Channel,
        due: &DueDelivery,
        turn: Turn,
        lane: Lane,
    ) -> Result<Handled, StorageError> {
        self.send_on(lane.overflow(channel), due, turn).await?;
        metrics::counter!(channel.names.moves).increment(1);
        Ok(Handled::Moved)
    }

    /// Lets the message wait as after a failed attempt, and counts none: a shortage of this machine
    /// is not the receiver's fault. Tried again in place it would keep a place that others need,
    /// whose hosts may still be reached.
    async fn put_off(
        &self,
        channel: &Channel,
        due: &DueDelivery,
        turn: Turn,
        reason: &'static str,
    ) -> Result<Handled, StorageError> {
        self.send_on((channel.wait, channel.policy.delay), due, turn).await?;
        metrics::counter!(channel.names.attempts, "outcome" => PUT_OFF).increment(1);
        tracing::warn!(
            event.id = %due.event_id, attempt = turn.attempt, cycle = turn.cycle, reason,
            "{} attempt: {PUT_OFF}, this machine could open no connection", channel.names.channel
        );
        Ok(Handled::PutOff)
    }

    async fn send_on(
        &self,
        (route, after): (Route, Duration),
        due: &DueDelivery,
        turn: Turn,
    ) -> Result<(), StorageError> {
        let body = envelope::encode(&DeliveryRef::new(due.id, &due.event_id, turn));
        let mut connection = self.db.connection().await?;
        let seconds = i32::try_from(after.as_secs()).unwrap_or(i32::MAX);
        deliveries::send_on(&mut connection, due.id, (route.as_str(), seconds), &body).await?;
        self.relay_wake.notify_one();
        Ok(())
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
        if took >= SLOW_ANSWER && !is_strangers(due) {
            rows.note_slow(due.merchant_id).await?;
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

/// A row of the other channel is unknown here: a message put on the wrong queue would otherwise get
/// its row signed with the other channel's scheme.
async fn load_due(
    channel: &Channel,
    rows: &impl AttemptRows,
    id: Uuid,
) -> Result<DueDelivery, DeliverError> {
    let due = rows.load(id).await?.filter(|due| due.channel == channel.row);
    due.ok_or(DeliverError::UnknownDelivery)
}

/// Returns true if a stranger chose the receiver: he writes the hosted forms of `/legacy`, with the
/// address of their webhooks.
fn is_strangers(due: &DueDelivery) -> bool {
    due.legacy.as_ref().is_some_and(StoredOrder::is_of_form)
}

fn sharer(due: &DueDelivery) -> Sharer {
    Sharer { merchant_id: due.merchant_id, is_strangers: is_strangers(due) }
}

/// The row, if it waits for the attempt `turn`. An event that waits for an older one is queued when
/// that one has ended.
async fn load_waiting(
    channel: &Channel,
    rows: &impl AttemptRows,
    id: Uuid,
    turn: Turn,
) -> Result<Option<DueDelivery>, DeliverError> {
    let due = load_due(channel, rows, id).await?;
    let waits = !due.waits_for_another && admitted(&due, Some(turn)).is_some();
    Ok(waits.then_some(due))
}

/// Empty for an address that cannot be read: that is told when the call is made.
fn host_of(due: &DueDelivery) -> String {
    let url: Option<url::Url> = due.url.parse().ok();
    url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
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

pub(super) const OUTCOMES: [&str; 5] = ["delivered", "retry_later", "dropped", "dead", PUT_OFF];
/// Of an attempt that was not made: it is counted here and nowhere else.
const PUT_OFF: &str = "put_off";

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered => "delivered",
        Outcome::RetryLater => "retry_later",
        Outcome::Dropped => "dropped",
        Outcome::Dead => "dead",
    }
}

/// The request that carries a signed body.
fn request(
    due: &DueDelivery,
    body: String,
    timeout: Duration,
    headers: [(&'static str, &str); 4],
) -> Result<Call, Unsignable> {
    let url = due.url.parse().map_err(|_| Unsignable::because("its url cannot be read"))?;
    let mut call = Call::post(url, body, timeout);
    call.body_bytes_max = ANSWER_BYTES_MAX;
    // A receiver that has answered has the event; a body that breaks off does not take that back.
    call.head_decides = true;
    for (name, value) in headers {
        let value = value.parse().map_err(|_| Unsignable::because("a header is not printable"))?;
        call.headers.insert(http::HeaderName::from_static(name), value);
    }
    Ok(call)
}
