//! `gatewayctl dead-letters …`

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use gateway::{
    app::{Gateway, delivery::requeue_dead_letters::DEAD_LETTERS_MAX},
    invoice::payment::iso_8601,
    storage::deliveries::{DeadFilter, DeliveryRow},
    webhook::Channel,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    dead_mails, delivery,
    instant::instant,
    render::{self, Answer, Cell},
    words,
};

/// Roles whose dead letters are rows. The dead letters of other roles are created again by the
/// sweeper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    #[value(name = "ipn-delivery")]
    Ipn,
    #[value(name = "payout-webhook-delivery")]
    PayoutWebhook,
    #[value(name = dead_mails::QUEUE)]
    Mail,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Ipn => "ipn-delivery",
            Self::PayoutWebhook => "payout-webhook-delivery",
            Self::Mail => dead_mails::QUEUE,
        }
    }

    /// `None` for mails, which are no webhooks.
    const fn channel(self) -> Option<Channel> {
        match self {
            Self::Ipn => Some(Channel::Ipn),
            Self::PayoutWebhook => Some(Channel::Payout),
            Self::Mail => None,
        }
    }

    fn of(row: &DeliveryRow) -> Self {
        match row.channel {
            Channel::Ipn => Self::Ipn,
            Channel::Payout => Self::PayoutWebhook,
        }
    }
}

#[derive(Subcommand)]
pub enum DeadLetters {
    /// List webhooks that were given up (mails by --queue mail-delivery), the longest dead first
    #[command(after_help = words::DEAD_LETTERS_LIST)]
    List(List),
    /// Requeue dead letters: a fresh cycle of attempts, with the same event ids
    #[command(after_help = words::DEAD_LETTERS_REQUEUE)]
    Requeue(Requeue),
}

#[derive(Args)]
pub struct List {
    /// Only those of this role
    #[arg(long, value_name = "ROLE")]
    queue: Option<Role>,
    /// Only those of this merchant
    #[arg(long, value_name = "ID")]
    merchant: Option<Uuid>,
}

#[derive(Args)]
pub struct Requeue {
    /// This one
    #[arg(long, value_name = "E", required_unless_present = "queue", conflicts_with = "queue")]
    event_id: Option<String>,
    /// All of this role
    #[arg(long, value_name = "ROLE")]
    queue: Option<Role>,
    /// Of them, only those of this merchant
    #[arg(long, value_name = "ID", requires = "queue")]
    merchant: Option<Uuid>,
    /// Of them, only those that died then or later, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "T", requires = "queue", value_parser = instant)]
    since: Option<DateTime<Utc>>,
}

impl DeadLetters {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::List(list) => list.run(gateway).await,
            Self::Requeue(requeue) => requeue.run(gateway).await,
        }
    }
}

impl List {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        if self.queue == Some(Role::Mail) {
            return dead_mails::list(gateway, self.merchant).await;
        }
        let channel = self.queue.and_then(Role::channel);
        let rows = gateway.list_dead_letters(self.merchant, channel).await?;
        let json: Value = rows.iter().map(to_json).collect();
        if rows.is_empty() {
            return Ok(Answer::new(json, "There are no dead letters."));
        }
        let lines: Vec<_> = rows
            .iter()
            .map(|row| {
                vec![
                    Cell::from(&row.event_id),
                    Role::of(row).name().into(),
                    row.attempts.to_string().into(),
                    render::or_dash(row.dead_since.map(iso_8601)),
                    render::or_dash(row.payment_id.as_ref().or(row.order_id.as_ref())),
                    delivery::host(&row.url).into(),
                    render::or_dash(row.last_error.as_ref()),
                ]
            })
            .collect();
        let heading =
            ["event", "queue", "attempts", "dead since", "about", "receiver", "last error"];
        let more = if i64::try_from(rows.len()).is_ok_and(|n| n >= DEAD_LETTERS_MAX) {
            "\nThere may be more: these are the oldest."
        } else {
            ""
        };
        let text = format!(
            "{}{more}\nSend one again: gatewayctl dead-letters requeue --event-id EVENT\n\
             All of them:    gatewayctl dead-letters requeue --queue {}",
            render::table(&heading, &lines),
            rows.first().map_or(Role::Ipn, Role::of).name()
        );
        Ok(Answer::new(json, text))
    }
}

fn to_json(row: &DeliveryRow) -> Value {
    json!({
        "event_id": row.event_id,
        "queue": Role::of(row).name(),
        "kind": row.kind,
        "merchant_id": row.merchant_id,
        "payment_id": row.payment_id,
        "order_id": row.order_id,
        "url_host": delivery::host(&row.url),
        "cycle": row.cycle,
        "attempts": row.attempts,
        "last_status": row.last_status,
        "last_error": row.last_error,
        "dead_since": row.dead_since.map(iso_8601),
        "created_at": iso_8601(row.created_at),
    })
}

impl Requeue {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        if self.queue == Some(Role::Mail) {
            return dead_mails::requeue(gateway, self.merchant, self.since).await;
        }
        let filter = DeadFilter {
            event_id: self.event_id.clone(),
            merchant_id: self.merchant,
            since: self.since,
            channel: self.queue.and_then(Role::channel),
        };
        let ids = gateway.requeue_dead_letters(&filter).await?;
        let json = json!({ "requeued": ids, "count": ids.len() });
        if !ids.is_empty() {
            let text = format!(
                "{}\n{} dead letters start a fresh cycle of attempts. Follow one: gatewayctl deliveries show EVENT",
                ids.join("\n"),
                ids.len()
            );
            return Ok(Answer::new(json, text));
        }
        let Some(event_id) = self.event_id else {
            return Ok(Answer::new(json, "No dead letter matches."));
        };
        let known = gateway.delivery(&event_id).await?;
        let (row, _) = known.ok_or_else(|| delivery::unknown(&event_id))?;
        Ok(Answer::new(json, format!("{event_id} is not dead but {}.", row.state)))
    }
}
