//! Payouts: mass payouts of both families, and those that merchants sign themselves.
//!
//! A file of recipients is shown row by row before anything is stored (`compose`); an order's page
//! leads it from its quote to its report (`order`, `act`, `report`).

pub mod act;
pub mod compose;
pub mod nc_payouts;
mod order;
mod recipient_file;
pub mod report;
mod words;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::Response,
};
use gateway::{
    account::Action,
    app::{Gateway, account::session::Permission},
    asset::catalogue::Catalogue,
    money::BaseUnits,
    nc_payout,
    payout::{
        PayoutFamily,
        listed::{ListedKind, ListedState},
    },
    storage::payouts::listed::ListedPayout,
};

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

pub const HERE: &str = "/payouts";

#[derive(Template)]
#[template(path = "payouts/page.html")]
struct Page {
    shell: Shell,
    kind: Option<ListedKind>,
    state: Option<ListedState>,
    rows: Vec<ListedPayout>,
    older: Option<String>,
    may_create: bool,
}

/// The kind of payout that an id in an address names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Order,
    NonCustodial,
}

/// Reads the kind off an id; no other text needs the database.
fn named(id: &str) -> Result<Named, Problem> {
    if PayoutFamily::ALL.into_iter().any(|family| Gateway::names_payout(family, id)) {
        Ok(Named::Order)
    } else if nc_payout::is_id(id) {
        Ok(Named::NonCustodial)
    } else {
        Err(Problem::NotFound)
    }
}

fn may(visit: &Visit, action: Action) -> Result<bool, Problem> {
    Ok(visit.signed()?.may(action) == Permission::Granted)
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let kind: Option<ListedKind> = visit.asked("kind").and_then(|text| text.parse().ok());
    let state: Option<ListedState> = visit.asked("state").and_then(|text| text.parse().ok());
    let before = visit.asked("older").and_then(list::place).unwrap_or_else(list::newest);
    let chosen = (kind, state);
    let mut rows = gateway.payouts_before(merchant_id, chosen, before, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let last = rows.last().filter(|_| is_more).map(|row| list::cursor(row.created_at, row.id));
    let older = last.map(|cursor| {
        let kind = kind.map(|kind| format!("&kind={kind}")).unwrap_or_default();
        let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
        format!("{HERE}?older={cursor}{kind}{state}")
    });
    let may_create = may(&visit, Action::PayoutCreate)?;
    show(&Page { shell: Shell::of(&visit, HERE), kind, state, rows, older, may_create })
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let mut shell = Shell::of(&visit, HERE);
    if let Some(done) = visit.asked("done").and_then(said) {
        shell = shell.with_notice(done);
    }
    match named(&id)? {
        Named::Order => order::show(&gateway, &visit, &id, shell).await,
        Named::NonCustodial => nc_payouts::show(&gateway, &visit, &id, shell).await,
    }
}

/// The sentence after an act, by its name in the address.
fn said(done: &str) -> Option<&'static str> {
    Some(match done {
        "created" => "The order is a draft. Compare its quote, then confirm it.",
        "confirmed" => "Confirmed. Send the exact amount to the address below.",
        "refreshed" => "The prices were refreshed. Compare them again.",
        "cancelled" => "Cancelled. Money that came in goes back to the refund address.",
        "given-up" => "Cancelled. Nothing of it will be sent.",
        "built" => "The transactions are built. Sign them, then submit them below.",
        "submitted" => "The signed transactions are stored, and are sent until a block holds them.",
        _ => return None,
    })
}

impl Page {
    fn is_kind(&self, kind: &ListedKind) -> bool {
        self.kind.as_ref() == Some(kind)
    }

    fn is_state(&self, state: &ListedState) -> bool {
        self.state.as_ref() == Some(state)
    }
}

/// An amount of a currency with its symbol.
fn coins(amount: &BaseUnits, token_id: &str) -> String {
    match Catalogue::get().by_token_id(token_id) {
        Some(currency) => {
            let decimals = u32::from(currency.decimals);
            format!("{} {}", amount.to_decimal(decimals), currency.symbol)
        }
        None => amount.get().to_string(),
    }
}

/// A network's title; the id itself where the catalogue has no such currency.
fn network(token_id: &str) -> &str {
    let currency = Catalogue::get().by_token_id(token_id);
    currency.map_or(token_id, |currency| currency.network.title())
}
