//! History of an invoice for people: events in order, bookings, and the webhooks to the merchant.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use gateway::{
    app::invoice::explain::Explanation,
    asset::catalogue::Catalogue,
    deposit::{BookedAs, State},
    invoice::{
        Status,
        payment::{PaymentView, iso_8601},
    },
    money::BaseUnits,
    storage::{
        deposits::{DepositRow, left_out::LeftOut},
        ledger::EntryRow,
    },
};
use serde_json::{Value, json};

use crate::{
    delivery,
    render::{self, Cell},
};

struct Moment {
    at: DateTime<Utc>,
    what: String,
}

/// The summary with everything else that is known.
pub fn to_json(mut summary: Value, told: &Explanation) -> Value {
    let timeline: Vec<_> = timeline(told)
        .into_iter()
        .map(|moment| json!({ "at": iso_8601(moment.at), "what": moment.what }))
        .collect();
    let deliveries: Vec<_> =
        told.deliveries.iter().map(|(row, attempts)| delivery::to_json(row, attempts)).collect();
    if let Value::Object(summary) = &mut summary {
        summary.insert("timeline".into(), timeline.into());
        summary.insert("deposits".into(), told.deposits.iter().map(deposit).collect());
        summary
            .insert("transfers_left_out".into(), told.left_out.iter().map(left_out_json).collect());
        summary.insert("ledger".into(), told.entries.iter().map(entry).collect());
        summary.insert("deliveries".into(), deliveries.into());
    }
    summary
}

fn deposit(row: &DepositRow) -> Value {
    json!({
        "network": row.network.name(),
        "txid": row.tx_hash,
        "deposit_key": row.deposit_key,
        "token_id": row.token_id,
        "contract": row.contract,
        "amount": amount(row),
        "state": row.state,
        "booked_as": row.booked_as,
        "height": row.height,
        "first_seen_at": iso_8601(row.first_seen_at),
        "mined_at": row.mined_at.map(iso_8601),
        "settled_at": row.settled_at.map(iso_8601),
    })
}

fn left_out_json(row: &LeftOut) -> Value {
    json!({
        "network": row.network.name(),
        "transfers": row.transfers,
        "last_txid": row.last_tx_hash,
        "first_at": iso_8601(row.first_at),
        "last_at": iso_8601(row.last_at),
    })
}

fn entry(row: &EntryRow) -> Value {
    json!({
        "kind": row.kind,
        "asset": row.asset,
        "amount": in_coins(row.amount, &row.asset),
        "debit": row.debit,
        "credit": row.credit,
    })
}

/// In whole coins if the token is known, in base units otherwise.
fn amount(row: &DepositRow) -> String {
    match (row.amount, &row.token_id) {
        (Some(units), Some(token)) => in_coins(units, token),
        _ => row.amount_text.clone(),
    }
}

fn in_coins(units: BaseUnits, token_id: &str) -> String {
    let currency = Catalogue::get().by_token_id(token_id);
    units.to_decimal(currency.map_or(0, |currency| u32::from(currency.decimals)))
}

pub fn text(told: &Explanation) -> String {
    let rows: Vec<_> = timeline(told)
        .into_iter()
        .map(|moment| vec![Cell::quiet(iso_8601(moment.at)), Cell::from(moment.what)])
        .collect();
    let mut text = render::table(&["when", "what happened"], &rows);
    if !told.entries.is_empty() {
        let rows: Vec<_> = told
            .entries
            .iter()
            .map(|row| {
                let amount = format!("{} {}", in_coins(row.amount, &row.asset), row.asset);
                vec![
                    row.kind.as_str().into(),
                    amount.into(),
                    Cell::from(&row.debit),
                    Cell::from(&row.credit),
                ]
            })
            .collect();
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", render::table(&["booked", "amount", "from", "to"], &rows));
    }
    if !told.deliveries.is_empty() {
        let rows: Vec<_> = told
            .deliveries
            .iter()
            .map(|(row, _)| {
                let tries = format!("{} in cycle {}", row.attempts, row.cycle);
                vec![
                    Cell::from(&row.event_id),
                    Cell::from(&row.kind),
                    delivery::state(row.state),
                    tries.into(),
                    render::or_dash(row.last_error.as_ref()),
                ]
            })
            .collect();
        let heading = ["webhook", "kind", "state", "attempts", "last error"];
        let _ = write!(text, "\n{}", render::table(&heading, &rows));
    }
    text
}

fn timeline(told: &Explanation) -> Vec<Moment> {
    let view = &told.invoice.view;
    let mut moments = vec![Moment { at: view.created_at, what: beginning(told) }];
    for row in &told.deposits {
        moments.extend(deposit_moments(row, view));
    }
    for row in &told.left_out {
        let LeftOut { network, transfers, last_tx_hash, .. } = row;
        let what = format!(
            "transfers of foreign contracts on {network} that were left out, because the address has enough of them: \
             {transfers}, the last in {last_tx_hash}"
        );
        moments.push(Moment { at: row.last_at, what });
    }
    for (row, attempts) in &told.deliveries {
        let to = delivery::host(&row.url);
        let what = format!("webhook {} for {to} was queued as {}", row.kind, row.event_id);
        moments.push(Moment { at: row.created_at, what });
        for attempt in attempts {
            let outcome = match (attempt.status, &attempt.error) {
                (Some(status), None) => format!("was answered with {status}"),
                (Some(status), Some(error)) => format!("failed with {status}: {error}"),
                (None, error) => format!("failed: {}", error.as_deref().unwrap_or("no answer")),
            };
            let number = format!("attempt {} of cycle {}", attempt.attempt, attempt.cycle);
            let what = format!("webhook {}, {number}, {outcome}", row.kind);
            moments.push(Moment { at: attempt.started_at, what });
        }
        moments.extend(
            row.dead_since
                .map(|at| Moment { at, what: format!("webhook {} was given up", row.kind) }),
        );
    }
    let end = match view.status {
        Status::Draft => "the buyer must have chosen a currency".to_owned(),
        Status::Pending | Status::Partial => "the buyer must have paid".to_owned(),
        Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            "its deadline".to_owned()
        }
    };
    moments.push(Moment { at: view.deadline, what: end });
    if view.updated_at != view.created_at {
        let what = format!("last changed; now {}", view.status.as_str());
        moments.push(Moment { at: view.updated_at, what });
    }
    moments.sort_by_key(|moment| moment.at);
    moments
}

fn beginning(told: &Explanation) -> String {
    let view = &told.invoice.view;
    let price = format!("{} {}", view.price_amount.to_decimal(), view.price_currency);
    match &view.asset {
        Some(asset) => {
            let due = asset.pay_amount.to_decimal(u32::from(asset.decimals));
            format!("created for {price}; due are {due} {} on {}", asset.code, asset.network)
        }
        None => format!("created for {price}; the buyer chooses the currency"),
    }
}

/// Names both networks if they differ: the buyer has confused them.
fn kept_apart(row: &DepositRow, view: &PaymentView) -> String {
    let why = match &view.asset {
        Some(asset) if asset.network != row.network => {
            let (code, network) = (&asset.code, asset.network);
            format!(
                "it arrived on {}, and the invoice is to be paid in {code}@{network}",
                row.network
            )
        }
        Some(_) | None => "it is not the invoice's own currency".to_owned(),
    };
    format!("was confirmed and kept apart: {why}")
}

fn deposit_moments(row: &DepositRow, view: &PaymentView) -> Vec<Moment> {
    let what =
        format!("{} {}", amount(row), row.token_id.as_deref().unwrap_or("of a foreign contract"));
    let mut moments = vec![Moment {
        at: row.first_seen_at,
        what: format!("{what} was first seen in {}", row.tx_hash),
    }];
    if let (Some(at), Some(height)) = (row.mined_at, row.height) {
        moments.push(Moment { at, what: format!("{what} was mined in block {height}") });
    }
    if let (Some(at), Some(booked)) = (row.settled_at, row.booked_as) {
        let apart = kept_apart(row, view);
        let meaning = match booked {
            BookedAs::Credit => "was confirmed and credited",
            BookedAs::Late => "was confirmed too late and booked as late",
            BookedAs::Foreign => &apart,
            BookedAs::Suspicious => "was confirmed and not booked: unknown token",
            BookedAs::Nothing | BookedAs::Gas => "was confirmed and not booked",
        };
        moments.push(Moment { at, what: format!("{what} {meaning}") });
    }
    match row.state {
        State::Withdrawn => {
            let what = format!("{what} had vanished before it was confirmed");
            moments.push(Moment { at: row.first_seen_at, what });
        }
        State::Reversed => {
            let at = row.settled_at.unwrap_or(row.first_seen_at);
            let what = format!("{what} was removed by a reorganisation after it was booked");
            moments.push(Moment { at, what });
        }
        State::Seen | State::Final | State::Settled => {}
    }
    moments
}
