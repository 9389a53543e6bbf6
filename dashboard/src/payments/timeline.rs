//! The story of a payment: everything that has a time, in its order.

use chrono::{DateTime, Utc};
use gateway::{
    app::invoice::{deposits::PaymentDeposit, explain::Explanation},
    asset::catalogue::Catalogue,
    deposit::BookedAs,
    money::digits_in_coins,
    storage::{
        deliveries::{AttemptRow, DeliveryRow},
        deposits::DepositRow,
    },
};

use crate::names;

pub struct Moment {
    pub at: DateTime<Utc>,
    pub text: String,
    /// Where a public explorer shows the transaction.
    pub explorer: Option<String>,
}

fn moment(at: DateTime<Utc>, text: String) -> Moment {
    Moment { at, text, explorer: None }
}

pub fn timeline(found: &Explanation, deposits: &[PaymentDeposit]) -> Vec<Moment> {
    let view = &found.invoice.view;
    let mut moments = vec![moment(view.created_at, "created".to_owned())];
    for deposit in deposits {
        let of = format!("{} {}", deposit.amount, names::arrived(deposit.currency));
        moments.push(Moment {
            at: deposit.first_seen_at,
            text: format!("{of} seen"),
            explorer: deposit.explorer_url.clone(),
        });
        moments.extend(deposit.final_at.map(|at| moment(at, format!("{of} confirmed"))));
    }
    moments.extend(found.deposits.iter().filter_map(booked));
    for (row, attempts) in &found.deliveries {
        moments.extend(attempts.iter().map(|attempt| told(row, attempt)));
    }
    if view.status.is_terminal() {
        moments.push(moment(view.updated_at, view.status.to_string()));
    }
    moments.sort_by_key(|moment| moment.at);
    moments
}

fn booked(row: &DepositRow) -> Option<Moment> {
    let token = row.token_id.as_deref();
    let currency = token.and_then(|token| Catalogue::get().by_token_id(token));
    let coins = currency.and_then(|of| {
        let coins = digits_in_coins(&row.amount_text, u32::from(of.decimals))?;
        Some(format!("{coins} {}", names::currency(of)))
    });
    let of = coins.unwrap_or_else(|| format!("{} base units", row.amount_text));
    let text = match row.booked_as? {
        BookedAs::Credit => format!("{of} credited"),
        BookedAs::Late => format!("{of} kept apart: it came after the end"),
        BookedAs::Foreign => format!("{of} kept apart: another currency than asked"),
        BookedAs::Suspicious => format!("{of} not booked: an unknown token"),
        BookedAs::Nothing | BookedAs::Gas => format!("{of} not booked"),
    };
    Some(moment(row.settled_at?, text))
}

fn told(row: &DeliveryRow, attempt: &AttemptRow) -> Moment {
    let answer = match (attempt.status, &attempt.error) {
        (Some(status), _) => format!("answered {status}"),
        (None, Some(error)) => error.clone(),
        (None, None) => "sent".to_owned(),
    };
    moment(attempt.started_at, format!("webhook {}: {answer}", row.kind))
}
