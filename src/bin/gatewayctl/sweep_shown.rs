//! Plans as people and scripts see them.

use std::collections::BTreeMap;

use gateway::{
    app::sweep::Status,
    asset::catalogue::Catalogue,
    invoice::payment::iso_8601,
    money::BaseUnits,
    storage::sweeps::TransactionRow,
    sweep::{State, plan::Plan},
};
use serde_json::{Value, json};

use crate::render::{self, Cell, Tone};

/// An amount as people read it; base units of an asset that the catalogue no longer has.
pub fn decimal(token_id: &str, amount: BaseUnits) -> String {
    let decimals = Catalogue::get().by_token_id(token_id).map_or(0, |one| u32::from(one.decimals));
    amount.to_decimal(decimals)
}

/// Every transaction, for scripts.
pub fn transactions(plan: &Plan) -> Value {
    let row = |one: &gateway::sweep::plan::Transaction| {
        let coin = Catalogue::get().native(one.network).token_id();
        json!({
            "network": one.network.name(), "asset": one.asset, "to": one.to,
            "amount": decimal(&one.asset, one.amount), "fee_max": decimal(&coin, one.fee_max),
        })
    };
    plan.transactions.iter().map(row).collect()
}

#[derive(Default)]
struct Sum {
    coin: String,
    count: usize,
    arrives: BaseUnits,
    fee: BaseUnits,
}

/// Sums by asset and destination, which a person compares before signing.
pub fn totals(plan: &Plan) -> String {
    let mut sums: BTreeMap<(&str, &str), Sum> = BTreeMap::new();
    for one in &plan.transactions {
        let sum = sums.entry((one.asset.as_str(), one.to.as_str())).or_default();
        sum.coin = Catalogue::get().native(one.network).token_id();
        sum.count += 1;
        sum.arrives = sum.arrives.saturating_add(one.amount);
        sum.fee = sum.fee.saturating_add(one.fee_max);
    }
    let rows = sums.into_iter().map(|((asset, to), Sum { coin, count, arrives, fee })| {
        // The fee of a token is paid in the network's coin, beside it.
        let inputs = if asset == coin { arrives.saturating_add(fee) } else { arrives };
        vec![
            Cell::from(asset),
            count.to_string().into(),
            decimal(asset, inputs).into(),
            format!("{} {}", decimal(&coin, fee), coin.split('@').next().unwrap_or_default())
                .into(),
            decimal(asset, arrives).into(),
            Cell::from(to),
        ]
    });
    let heading = ["asset", "transactions", "inputs", "fee at most", "arrives", "to"];
    render::table(&heading, &rows.collect::<Vec<_>>())
}

/// The state of a plan, by its transactions.
fn state_of(status: &Status) -> (&'static str, Tone) {
    let count = |is: fn(State) -> bool| status.transactions.iter().filter(|t| is(t.state)).count();
    if status.sweep.dropped_at.is_some() {
        ("dropped", Tone::Plain)
    } else if status.sweep.signed_at.is_none() {
        ("planned", Tone::Plain)
    } else if count(State::is_open) > 0 {
        ("sending", Tone::Doubtful)
    } else if count(|state| state == State::Failed) > 0 {
        ("failed in part", Tone::Bad)
    } else {
        ("collected", Tone::Good)
    }
}

pub fn status_json(status: &Status) -> Value {
    let sweep = &status.sweep;
    json!({
        "plan_id": sweep.plan_id,
        "state": state_of(status).0,
        "created_at": iso_8601(sweep.created_at),
        "signed_at": sweep.signed_at.map(iso_8601),
        "dropped_at": sweep.dropped_at.map(iso_8601),
        "transactions": status.transactions.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &TransactionRow) -> Value {
    let coin = Catalogue::get().native(row.network).token_id();
    json!({
        "network": row.network.name(), "asset": row.token_id, "to": row.recipient,
        "amount": decimal(&row.token_id, row.amount), "fee_max": decimal(&coin, row.fee_max),
        "state": row.state.as_str(), "tx_hash": row.tx_hash, "height": row.height,
        "fee": row.fee.map(|fee| decimal(&coin, fee)), "error": row.error,
        "ended_at": row.ended_at.map(iso_8601),
    })
}

pub fn status_text(status: &Status) -> String {
    let (state, tone) = state_of(status);
    let facts = render::facts(&[
        ("plan", Cell::from(&status.sweep.plan_id)),
        ("state", Cell::toned(state, tone)),
        ("made", iso_8601(status.sweep.created_at).into()),
        ("signed", render::or_dash(status.sweep.signed_at.map(iso_8601))),
    ]);
    let rows = status.transactions.iter().map(|row| {
        let tone = match row.state {
            State::Confirmed => Tone::Good,
            State::Failed => Tone::Bad,
            State::Sent | State::Signed => Tone::Doubtful,
            State::Planned | State::Dropped => Tone::Plain,
        };
        vec![
            Cell::from(&row.token_id),
            decimal(&row.token_id, row.amount).into(),
            Cell::toned(row.state.as_str(), tone),
            render::or_dash(row.height.map(|height| height.to_string())),
            render::or_dash(row.tx_hash.as_ref()),
            render::or_dash(row.error.as_ref()),
        ]
    });
    let heading = ["asset", "amount", "state", "block", "transaction", "error"];
    format!("{facts}\n{}", render::table(&heading, &rows.collect::<Vec<_>>()))
}

pub fn list_text(all: &[Status]) -> String {
    if all.is_empty() {
        return "There are no plans.".to_owned();
    }
    let rows = all.iter().map(|status| {
        let (state, tone) = state_of(status);
        vec![
            Cell::from(&status.sweep.plan_id),
            Cell::toned(state, tone),
            status.transactions.len().to_string().into(),
            iso_8601(status.sweep.created_at).into(),
        ]
    });
    render::table(&["plan", "state", "transactions", "made"], &rows.collect::<Vec<_>>())
}
