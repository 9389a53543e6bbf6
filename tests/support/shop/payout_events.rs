//! Checks the events of an ended order, after any faults of ours: legal events, each as often as
//! allowed, in a legal order (spec, "Mass-payout webhooks").

use std::collections::{HashMap, HashSet};

use gateway::payout::EventType;
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

/// An event as written, in the order of delivery to merchants.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Told {
    pub event_id: String,
    pub kind: String,
    pub subject: Uuid,
    pub payload: String,
}

/// A batch of an order: its row, its id, and its state.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Batch {
    pub id: Uuid,
    pub batch_id: String,
    pub state: String,
    /// True if any of its rows was paid.
    pub has_paid: bool,
}

/// An order that has ended, and all its events.
#[derive(Debug, Clone)]
pub struct Ended {
    pub order_id: String,
    pub state: String,
    pub events: Vec<Told>,
    pub batches: Vec<Batch>,
}

/// Reads the events of an ended order, and panics on an illegal one. `whose` names the scenario.
pub async fn are_legal(connection: &mut PgConnection, order_id: &str, whose: &str) {
    let ended = read(connection, order_id).await;
    if let Some(fault) = fault(&ended) {
        let kinds: Vec<_> = ended.events.iter().map(|event| event.kind.as_str()).collect();
        panic!("{whose}: {order_id}: {fault}: {kinds:?}");
    }
}

async fn read(connection: &mut PgConnection, order_id: &str) -> Ended {
    let state = "select state from payout_order where order_id = $1";
    let events = "select d.event_id, d.kind, d.subject, d.payload \
                  from delivery d join payout_order o on o.id = d.payout_order_id \
                  where o.order_id = $1 and d.channel = 'payout' order by d.created_at, d.id";
    let batches = "select b.id, b.batch_id, b.state, \
                          exists (select from payout_item i where i.batch_id = b.id and i.state = 'confirmed') as has_paid \
                   from payout_batch b join payout_order o on o.id = b.order_id \
                   where o.order_id = $1 order by b.index";
    Ended {
        order_id: order_id.to_owned(),
        state: sqlx::query_scalar(state).bind(order_id).fetch_one(&mut *connection).await.unwrap(),
        events: sqlx::query_as(events).bind(order_id).fetch_all(&mut *connection).await.unwrap(),
        batches: sqlx::query_as(batches).bind(order_id).fetch_all(connection).await.unwrap(),
    }
}

/// Phase of an order: no event of an earlier phase follows one of a later phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Quoting,
    Funding,
    Paying,
    Ended,
}

/// State of a merchant's knowledge.
#[derive(Default)]
struct Heard {
    ids: HashSet<String>,
    /// Kinds with their deposit, batch or quote.
    told: HashSet<(EventType, Uuid)>,
    is_created: bool,
    part: Option<Part>,
}

/// Returns the first fault in the events, if there is one.
pub fn fault(ended: &Ended) -> Option<String> {
    let mut heard = Heard::default();
    for event in &ended.events {
        if let Err(fault) = hear(&mut heard, ended, event) {
            return Some(format!("{} {}", event.kind, fault));
        }
    }
    if heard.part != Some(Part::Ended) {
        return Some("its end was not told".to_owned());
    }
    batches(&heard, ended).err()
}

fn hear(heard: &mut Heard, ended: &Ended, event: &Told) -> Result<(), String> {
    use EventType as E;
    let kind = E::ALL.into_iter().find(|kind| kind.as_str() == event.kind);
    let kind = kind.ok_or("is no event")?;
    must(heard.ids.insert(event.event_id.clone()), "has the id of another event")?;
    let once = matches!(
        kind,
        E::Created | E::Overfunded | E::Completed | E::PartialFailed | E::Expired | E::Cancelled
    );
    must(once == event.subject.is_nil(), "is about the wrong thing")?;
    must(heard.told.insert((kind, event.subject)), "was told twice")?;
    let was_told = |kind: E| heard.told.contains(&(kind, event.subject));
    let is_overfunded = heard.told.contains(&(E::Overfunded, Uuid::nil()));
    let (part, states) = match kind {
        E::QuoteRefreshed => (Part::Quoting, &["draft", "pending_deposit"][..]),
        E::Created => (Part::Quoting, &["pending_deposit"][..]),
        E::DepositDetected => {
            must(!is_overfunded, "comes when nobody waits for more")?;
            (Part::Funding, &["pending_deposit"][..])
        }
        E::Underfunded => {
            must(!is_overfunded, "comes when there is too much")?;
            must(was_told(E::DepositDetected), "comes before its deposit")?;
            (Part::Funding, &["pending_deposit"][..])
        }
        // More may still come while it is being paid out.
        E::Overfunded => {
            (heard.part.unwrap_or(Part::Funding).max(Part::Funding), &["funded", "processing"][..])
        }
        E::BatchBroadcasted => {
            let ended = was_told(E::BatchConfirmed) || was_told(E::BatchFailed);
            must(!ended, "comes after the batch's end")?;
            (Part::Paying, &["processing"][..])
        }
        E::BatchConfirmed => {
            must(was_told(E::BatchBroadcasted), "was never sent")?;
            must(!was_told(E::BatchFailed), "has failed before")?;
            (Part::Paying, &["processing"][..])
        }
        E::BatchFailed => {
            must(!was_told(E::BatchConfirmed), "was confirmed before")?;
            (Part::Paying, &["processing"][..])
        }
        E::Completed => (Part::Ended, &["completed"][..]),
        E::PartialFailed => (Part::Ended, &["partial_failed"][..]),
        E::Expired => (Part::Ended, &["expired"][..]),
        E::Cancelled => (Part::Ended, &["cancelled"][..]),
    };
    must(heard.part != Some(Part::Ended), "comes after the end")?;
    must(heard.part.is_none_or(|before| before <= part), "comes too late")?;
    // A draft may be quoted anew, or cancelled, before any event announced it.
    let untold = matches!(kind, E::Created | E::QuoteRefreshed | E::Cancelled);
    must(heard.is_created || untold, "comes before the order")?;
    must(part != Part::Ended || states == [ended.state.as_str()], "is not how it ended")?;
    heard.is_created |= kind == E::Created;
    heard.part = Some(part);
    says(ended, event, kind, states)
}

/// Checks that the event's text has its own subject, and nothing untrue at that time.
fn says(ended: &Ended, event: &Told, kind: EventType, states: &[&str]) -> Result<(), String> {
    use EventType as E;
    let order: Value = serde_json::from_str(&event.payload).map_err(|error| error.to_string())?;
    must(order["id"] == ended.order_id, "names another order")?;
    let state = order["state"].as_str().unwrap_or_default();
    must(states.contains(&state), &format!("says that the order is {state}"))?;
    let in_batch: &[&str] = match kind {
        E::BatchBroadcasted => &["broadcasted", "confirmed", "failed"],
        E::BatchConfirmed => &["confirmed"],
        E::BatchFailed => &["failed"],
        E::Created
        | E::QuoteRefreshed
        | E::DepositDetected
        | E::Underfunded
        | E::Overfunded
        | E::Completed
        | E::PartialFailed
        | E::Expired
        | E::Cancelled => return Ok(()),
    };
    let batch = ended.batches.iter().find(|batch| batch.id == event.subject);
    let batch = batch.ok_or("is about no batch of the order")?;
    let told = &order["lastBatch"];
    must(told["id"] == batch.batch_id, "shows another batch")?;
    let state = told["state"].as_str().unwrap_or_default();
    must(in_batch.contains(&state), &format!("shows a batch that is {state}"))
}

/// Every batch has an event for its end, and only for its real end; the order's end follows from
/// theirs.
fn batches(heard: &Heard, ended: &Ended) -> Result<(), String> {
    use EventType as E;
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for batch in &ended.batches {
        let was_told = |kind| heard.told.contains(&(kind, batch.id));
        let told = [E::BatchBroadcasted, E::BatchConfirmed, E::BatchFailed].map(was_told);
        let expected = match batch.state.as_str() {
            "confirmed" => [true, true, false],
            // A batch that paid a recipient was sent; one that paid none may have been.
            "failed" => [batch.has_paid || told[0], false, true],
            "pending" => [false; 3],
            other => return Err(format!("batch {} is {other} in the end", batch.batch_id)),
        };
        must(told == expected, &format!("batch {} is {}", batch.batch_id, batch.state))?;
        *ends.entry(batch.state.as_str()).or_default() += 1;
    }
    let count = |state: &str| ends.get(state).copied().unwrap_or(0);
    let is_so = match ended.state.as_str() {
        "completed" => count("confirmed") == ended.batches.len(),
        "partial_failed" => count("failed") > 0 && count("pending") == 0,
        "expired" | "cancelled" => count("pending") == ended.batches.len(),
        _ => false,
    };
    must(is_so, &format!("it is {} with batches {ends:?}", ended.state))
}

fn must(holds: bool, else_: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(else_.to_owned()) }
}
