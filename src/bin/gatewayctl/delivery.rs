//! `gatewayctl deliveries …`, and how deliveries look elsewhere.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use gateway::{
    app::{Gateway, delivery::lists::Asked},
    invoice::payment::iso_8601,
    storage::deliveries::{AttemptRow, DeliveryRow},
    webhook::retry::DeliveryState,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    find_words,
    instant::instant,
    invoice_list::left_out,
    render::{self, Answer, Cell, Tone},
    words,
};

#[derive(Subcommand)]
pub enum Deliveries {
    /// List webhooks, the newest first
    #[command(after_help = find_words::DELIVERIES_LIST)]
    List(List),
    /// Show one webhook and every attempt to deliver it
    #[command(after_help = words::DELIVERIES_SHOW)]
    Show(Event),
}

#[derive(Args)]
pub struct Event {
    /// The event's id, as in the webhook's body
    #[arg(value_name = "EVENT_ID")]
    event_id: String,
}

#[derive(Args)]
pub struct List {
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
    /// Only those in this state, such as retry_wait
    #[arg(long, value_name = "STATE", value_parser = known_state)]
    state: Option<DeliveryState>,
    /// Only those created then or later, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", value_parser = instant)]
    since: Option<DateTime<Utc>>,
    /// How many at most, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
}

fn known_state(text: &str) -> Result<DeliveryState, String> {
    text.parse().map_err(|_| {
        let all: Vec<_> = DeliveryState::ALL.iter().map(|state| state.as_str()).collect();
        format!("write one of {}", all.join(", "))
    })
}

pub fn unknown(event_id: &str) -> anyhow::Error {
    anyhow::anyhow!(
        "no event has the id {event_id}; `gatewayctl invoice explain` lists those of a payment"
    )
}

/// The receiver without its path, which may hold a token.
pub fn host(url: &str) -> String {
    let url = url::Url::parse(url).ok();
    let host = url.as_ref().and_then(|url| {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}{port}", url.host_str()?))
    });
    host.unwrap_or_else(|| "-".to_owned())
}

impl Deliveries {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::List(list) => list.run(gateway).await,
            Self::Show(event) => event.run(gateway).await,
        }
    }
}

impl List {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let asked = Asked {
            merchant_id: self.merchant,
            state: self.state,
            since: self.since,
            limit: self.limit.into(),
        };
        let list = gateway.list_deliveries(&asked).await?;
        let json = json!({
            "deliveries": list.rows.iter().map(listed).collect::<Vec<_>>(),
            "more": list.more,
            "looked_back_to": list.looked_back_to.map(iso_8601),
        });
        let left_out = left_out(list.more, list.looked_back_to);
        if list.rows.is_empty() {
            return Ok(Answer::new(json, format!("No webhook matches.{left_out}")));
        }
        let lines: Vec<_> = list.rows.iter().map(short_line).collect();
        let heading =
            ["event", "kind", "state", "about", "merchant", "receiver", "last error", "created"];
        let text = format!(
            "{}{left_out}\nOne of them: gatewayctl deliveries show EVENT",
            render::table(&heading, &lines)
        );
        Ok(Answer::new(json, text))
    }
}

fn short_line(row: &DeliveryRow) -> Vec<Cell> {
    vec![
        Cell::from(&row.event_id),
        Cell::from(&row.kind),
        state(row.state),
        render::or_dash(row.payment_id.as_ref().or(row.order_id.as_ref())),
        row.merchant_id.to_string().into(),
        host(&row.url).into(),
        render::or_dash(row.last_error.as_ref()),
        iso_8601(row.created_at).into(),
    ]
}

/// The receiver's host alone, as in the list of dead letters.
fn listed(row: &DeliveryRow) -> Value {
    json!({
        "event_id": row.event_id,
        "kind": row.kind,
        "state": row.state,
        "merchant_id": row.merchant_id,
        "payment_id": row.payment_id,
        "order_id": row.order_id,
        "url_host": host(&row.url),
        "cycle": row.cycle,
        "attempts": row.attempts,
        "next_attempt_at": row.next_attempt_at.map(iso_8601),
        "last_status": row.last_status,
        "last_error": row.last_error,
        "dead_since": row.dead_since.map(iso_8601),
        "created_at": iso_8601(row.created_at),
    })
}

impl Event {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let Self { event_id } = self;
        let found = gateway.delivery(&event_id).await?;
        let (row, attempts) = found.ok_or_else(|| unknown(&event_id))?;
        let facts = render::facts(&[
            ("event", Cell::from(&row.event_id)),
            ("kind", Cell::from(&row.kind)),
            ("state", state(row.state)),
            ("payment", render::or_dash(row.payment_id.as_ref())),
            ("merchant", row.merchant_id.to_string().into()),
            ("receiver", Cell::from(&row.url)),
            ("attempts", format!("{} in cycle {}", row.attempts, row.cycle).into()),
            ("next attempt", render::or_dash(row.next_attempt_at.map(iso_8601))),
            ("dead since", render::or_dash(row.dead_since.map(iso_8601))),
            ("created", iso_8601(row.created_at).into()),
        ]);
        let mut text = facts;
        if !attempts.is_empty() {
            let lines: Vec<_> = attempts.iter().map(line).collect();
            let heading = ["started", "cycle", "attempt", "took", "status", "error", "answer"];
            text = format!("{text}\n{}", render::table(&heading, &lines));
        }
        if row.state == DeliveryState::Dead {
            text = format!(
                "{text}\nSend it again: gatewayctl dead-letters requeue --event-id {event_id}"
            );
        }
        Ok(Answer::new(to_json(&row, &attempts), text))
    }
}

pub fn state(state: DeliveryState) -> Cell {
    let tone = match state {
        DeliveryState::Delivered => Tone::Good,
        DeliveryState::Dead | DeliveryState::Dropped => Tone::Bad,
        DeliveryState::RetryWait => Tone::Doubtful,
        DeliveryState::Pending => Tone::Plain,
    };
    Cell::toned(state.as_str(), tone)
}

fn line(attempt: &AttemptRow) -> Vec<Cell> {
    vec![
        iso_8601(attempt.started_at).into(),
        attempt.cycle.to_string().into(),
        attempt.attempt.to_string().into(),
        format!("{} ms", attempt.duration_ms).into(),
        render::or_dash(attempt.status.map(|status| status.to_string())),
        render::or_dash(attempt.error.as_ref()),
        Cell::quiet(attempt.excerpt.as_deref().unwrap_or("-")),
    ]
}

pub fn to_json(row: &DeliveryRow, attempts: &[AttemptRow]) -> Value {
    let attempts_made: Vec<_> = attempts
        .iter()
        .map(|attempt| {
            json!({
                "cycle": attempt.cycle,
                "attempt": attempt.attempt,
                "started_at": iso_8601(attempt.started_at),
                "duration_ms": attempt.duration_ms,
                "status": attempt.status,
                "error": attempt.error,
                "excerpt": attempt.excerpt,
            })
        })
        .collect();
    json!({
        "event_id": row.event_id,
        "kind": row.kind,
        "state": row.state,
        "merchant_id": row.merchant_id,
        "payment_id": row.payment_id,
        "url": row.url,
        "cycle": row.cycle,
        "attempts": row.attempts,
        "next_attempt_at": row.next_attempt_at.map(iso_8601),
        "last_status": row.last_status,
        "last_error": row.last_error,
        "dead_since": row.dead_since.map(iso_8601),
        "created_at": iso_8601(row.created_at),
        "attempts_made": attempts_made,
    })
}
