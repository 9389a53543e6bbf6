//! x402 for operators: the wallet that pays the gas, its limits, settlements without an end, and
//! the switch that stops them alone.

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use chrono::{DateTime, Utc};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        x402::{
            health::{STOP, X402Picture},
            lists::in_coins,
        },
    },
    asset::{Network, catalogue::Catalogue, explorer},
    storage::x402::health::{GasRow, OpenCounts, Waiting},
};
use uuid::Uuid;

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page_with},
    visit::Visit,
};

const HERE: &str = "/operator/x402";
const REASON_CHARS_MAX: usize = 500;
/// Settlements that the wallet should pay for, at least: as the alert `GatewayX402GasLow` says.
pub const SETTLEMENTS_LOW: i64 = 500;

#[derive(Template)]
#[template(path = "x402_health/page.html")]
struct Page {
    shell: Shell,
    picture: X402Picture,
    lines: Vec<Line>,
    rows: Vec<Row>,
    next: Option<String>,
    may_stop: bool,
    may_resume: bool,
    reason_max: usize,
}

/// A network with its wallet and its work.
struct Line {
    network: Network,
    gas: Option<GasRow>,
    open: Option<OpenCounts>,
}

impl Line {
    /// The wallet's balance, in the network's coin.
    fn balance(&self) -> String {
        let Some(gas) = &self.gas else { return "not seen yet".to_owned() };
        let coin = Catalogue::get().native(self.network);
        format!("{} {}", gas.balance.to_decimal(u32::from(coin.decimals)), coin.symbol)
    }

    fn is_low(&self) -> bool {
        self.gas.as_ref().is_some_and(|gas| gas.settlements < SETTLEMENTS_LOW)
    }

    fn verified(&self) -> i64 {
        self.open.as_ref().map_or(0, |open| open.verified)
    }

    fn submitted(&self) -> i64 {
        self.open.as_ref().map_or(0, |open| open.submitted)
    }
}

/// A settlement without an end.
struct Row {
    waiting: Waiting,
    amount: String,
    explorer: Option<String>,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let shell = Shell::of(&visit, HERE);
    let shell = match visit.asked("done") {
        Some("stopped") => shell.with_notice(
            "No settlement is signed any more. Those that are signed already go on; the others wait as long \
             as their signatures are valid.",
        ),
        Some("resumed") => shell.with_notice("Settlements are signed again."),
        Some(_) | None => shell,
    };
    shown(&gateway, &visit, StatusCode::OK, shell).await
}

async fn shown(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let first = (DateTime::<Utc>::UNIX_EPOCH, Uuid::nil());
    let after = visit.asked("after").and_then(list::place).unwrap_or(first);
    let mut waiting = gateway.x402_waiting(after, ROWS_AND_NEXT).await?;
    let is_more = waiting.len() > ROWS;
    waiting.truncate(ROWS);
    let last = waiting.last().filter(|_| is_more);
    let next = last.map(|row| format!("{HERE}?after={}", list::cursor(row.created_at, row.id)));
    let picture = gateway.x402_picture().await?;
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let page = Page {
        shell,
        lines: lines(&picture),
        rows: waiting.into_iter().map(|row| listed(gateway, row)).collect(),
        next,
        may_stop: may(Action::X402Stop) && picture.stop.is_none(),
        may_resume: may(Action::X402Resume),
        reason_max: REASON_CHARS_MAX,
        picture,
    };
    page_with(status, &page)
}

/// Networks that are offered, and those that still have work or coins of ours.
fn lines(picture: &X402Picture) -> Vec<Line> {
    let of = |network: Network| Line {
        network,
        gas: picture.gas.iter().find(|row| row.network == network).cloned(),
        open: picture.open.iter().find(|row| row.network == network).cloned(),
    };
    let all = Network::ALL.into_iter().map(of);
    let shown = |line: &Line| {
        picture.networks.contains(&line.network) || line.gas.is_some() || line.open.is_some()
    };
    all.filter(shown).collect()
}

fn listed(gateway: &crate::State, waiting: Waiting) -> Row {
    let network = waiting.network;
    let hash = waiting.tx_hash.as_deref().filter(|_| gateway.has_explorer(network));
    Row {
        amount: in_coins(network, waiting.amount),
        explorer: hash.map(|hash| explorer::transaction_url(network, hash)),
        waiting,
    }
}

/// The state in words.
fn state(waiting: &Waiting) -> &'static str {
    match (waiting.tx_hash.is_some(), waiting.is_in_block) {
        (false, _) => "not signed yet",
        (true, false) => "sent",
        (true, true) => "in a block",
    }
}

pub async fn stop(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let reason: Option<String> =
        visit.form.filled("reason").map(|text| text.chars().take(REASON_CHARS_MAX).collect());
    let Some(reason) = reason else {
        let shell = Shell::of(&visit, HERE).with_error("Give a reason: whoever resumes reads it.");
        return shown(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await;
    };
    gateway.stop_payouts(STOP, &reason).await?;
    Ok(Redirect::to(&format!("{HERE}?done=stopped")).into_response())
}

pub async fn resume(State(gateway): State<crate::State>) -> Result<Response, Problem> {
    if !gateway.resume_payouts(STOP).await? {
        return Err(Problem::Conflict("Settlements were not stopped.".to_owned()));
    }
    Ok(Redirect::to(&format!("{HERE}?done=resumed")).into_response())
}
