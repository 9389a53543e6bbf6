//! `gatewayctl payouts list --nc`, and `show` and `explain` of a payout that its merchant signs.

use gateway::{
    app::{Gateway, nc_payout::NcStory},
    invoice::payment::iso_8601,
    money::BaseUnits,
    nc_payout::{Problem, State, is_id, unsigned},
    storage::nc_payouts::{
        NcPayout,
        parts::{Parts, TransactionRow},
    },
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::render::{self, Answer, Cell, Tone};

/// Returns true if `id` can be the id of such a payout, and not of an order.
pub fn names(id: &str) -> bool {
    is_id(id)
}

pub async fn list(
    gateway: &Gateway,
    merchant: Option<Uuid>,
    state: Option<State>,
    limit: i64,
) -> anyhow::Result<Answer> {
    let payouts = gateway.list_all_nc_payouts(merchant, state, limit).await?;
    let json: Value = payouts.iter().map(|(payout, parts)| listed(payout, parts)).collect();
    if payouts.is_empty() {
        return Ok(Answer::new(json, "There are no payouts that merchants sign."));
    }
    let line = |(payout, parts): &(NcPayout, Parts)| {
        vec![
            Cell::from(&payout.payout_id),
            state_cell(payout.state),
            payout.currency.token_id().into(),
            parts.outputs.len().to_string().into(),
            total(parts).to_decimal(u32::from(payout.currency.decimals)).into(),
            Cell::from(&payout.sender),
            iso_8601(payout.created_at).into(),
        ]
    };
    let lines: Vec<_> = payouts.iter().map(line).collect();
    let heading = ["payout", "state", "currency", "outputs", "total", "from", "created"];
    Ok(Answer::new(json, render::table(&heading, &lines)))
}

pub async fn show(gateway: &Gateway, id: &str) -> anyhow::Result<Answer> {
    let story = gateway.explain_nc_payout(id).await?;
    Ok(Answer::new(to_json(&story)?, summary(&story)))
}

pub async fn explain(gateway: &Gateway, id: &str) -> anyhow::Result<Answer> {
    let story = gateway.explain_nc_payout(id).await?;
    let mut json = to_json(&story)?;
    json["lookAt"] = story.payout.look_at.map(iso_8601).into();
    json["transactions"] = story.parts.transactions.iter().map(transaction).collect();
    let text = format!("{}\n{}", summary(&story), history(&story));
    Ok(Answer::new(json, text))
}

fn state_cell(state: State) -> Cell {
    let tone = match state {
        State::Completed => Tone::Good,
        State::PartialFailed | State::Failed | State::Expired | State::Cancelled => Tone::Bad,
        State::Submitted | State::Confirming => Tone::Doubtful,
        State::AwaitingSignature => Tone::Plain,
    };
    Cell::toned(state.as_str(), tone)
}

fn total(parts: &Parts) -> BaseUnits {
    let amounts = parts.outputs.iter().map(|output| output.amount);
    amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add)
}

fn listed(payout: &NcPayout, parts: &Parts) -> Value {
    json!({
        "payout_id": payout.payout_id,
        "merchant_id": payout.merchant_id,
        "state": payout.state.as_str(),
        "token_id": payout.currency.token_id(),
        "output_count": parts.outputs.len(),
        "total_raw": total(parts).get().to_string(),
        "from_address": payout.sender,
        "created_at": iso_8601(payout.created_at),
    })
}

/// The merchant's object, plus the facts that only we know.
fn to_json(story: &NcStory) -> serde_json::Result<Value> {
    let mut json: Value = serde_json::from_str(&story.object)?;
    json["merchantId"] = story.payout.merchant_id.to_string().into();
    Ok(json)
}

fn transaction(row: &TransactionRow) -> Value {
    json!({
        "position": row.position,
        "state": row.state.as_str(),
        "nonce": row.unsigned.nonce(),
        "txHash": row.tx_hash,
        "sentSecondsAgo": row.sent_for_seconds,
        "confirmations": row.confirmations,
        "error": row.problem.as_ref().map(Problem::as_str),
    })
}

fn summary(story: &NcStory) -> String {
    let NcStory { payout, parts, .. } = story;
    let total = total(parts).to_decimal(u32::from(payout.currency.decimals));
    let fee = unsigned::network_fee(parts.transactions.iter().map(|one| &one.unsigned));
    let time = |at: Option<_>| render::or_dash(at.map(iso_8601).as_ref());
    render::facts(&[
        ("payout", Cell::from(&payout.payout_id)),
        ("state", state_cell(payout.state)),
        ("merchant", payout.merchant_id.to_string().into()),
        ("from", Cell::from(&payout.sender)),
        ("outputs", parts.outputs.len().to_string().into()),
        ("total", format!("{total} {}", payout.currency.symbol).into()),
        ("network fee at most", format!("{} base units", fee.unwrap_or_default().get()).into()),
        ("to be signed before", iso_8601(payout.expires_at).into()),
        ("submitted", time(payout.submitted_at)),
        ("looked at next", time(payout.look_at)),
        ("ended", time(payout.ended_at)),
    ])
}

fn history(story: &NcStory) -> String {
    let decimals = u32::from(story.payout.currency.decimals);
    let outputs = story.parts.outputs.iter().map(|output| {
        vec![
            Cell::from(&output.address),
            output.amount.to_decimal(decimals).into(),
            render::or_dash(output.reference.as_ref()),
        ]
    });
    let transactions = story.parts.transactions.iter().map(|row| {
        let nonce = row.unsigned.nonce().map(|nonce| nonce.to_string());
        let sent = row.sent_for_seconds.map(|seconds| format!("{seconds} s ago"));
        vec![
            render::or_dash(row.tx_hash.as_ref()),
            Cell::from(row.state.as_str()),
            render::or_dash(nonce.as_ref()),
            render::or_dash(sent.as_ref()),
            row.confirmations.to_string().into(),
            render::or_dash(row.problem.as_ref().map(Problem::as_str)),
        ]
    });
    let inputs = story.inputs.iter().map(|input| vec![Cell::from(input)]);
    let mut tables = vec![
        (
            "Outputs",
            render::table(&["address", "amount", "reference"], &outputs.collect::<Vec<_>>()),
        ),
        (
            "Transactions",
            render::table(
                &["transaction", "state", "nonce", "sent", "confirmations", "error"],
                &transactions.collect::<Vec<_>>(),
            ),
        ),
    ];
    if !story.inputs.is_empty() {
        tables.push((
            "Inputs",
            render::table(&["output that is spent"], &inputs.collect::<Vec<_>>()),
        ));
    }
    let titled: Vec<_> = tables.iter().map(|(title, table)| format!("{title}\n{table}")).collect();
    titled.join("\n")
}
