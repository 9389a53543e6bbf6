//! Payouts for operators: held orders and their release by two accounts, limits, the stop switch
//! and the gas wallets.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use chrono::{DateTime, Utc};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        payout::{OperateError, PayoutPicture, Review},
        x402::health::STOP,
    },
    asset::{Network, catalogue::Catalogue},
    money::BaseUnits,
    storage::operator::payout_orders::{GasWalletRow, ListedOrder, OrderRow},
};
use uuid::Uuid;

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

const HERE: &str = "/operator/payouts";
const REASON_CHARS_MAX: usize = 500;
/// The name of a stop of all networks.
const EVERYWHERE: &str = "*";

#[derive(Template)]
#[template(path = "operator_payouts/page.html")]
struct Page {
    shell: Shell,
    held: Vec<ListedOrder>,
    next: Option<String>,
    picture: PayoutPicture,
    may_stop: bool,
    may_resume: bool,
    reason_max: usize,
}

#[derive(Template)]
#[template(path = "operator_payouts/detail.html")]
struct Detail {
    shell: Shell,
    review: Review,
    facts: Vec<(&'static str, String)>,
    may_hold: bool,
    may_release: bool,
    /// True where the account that looks has released this hold already.
    has_released: bool,
    reason_max: usize,
}

impl Detail {
    /// True if the order has more rows than the page shows.
    fn is_cut(&self) -> bool {
        let count = usize::try_from(self.review.order.item_count).unwrap_or(usize::MAX);
        count > self.review.rows.len()
    }

    fn amount(&self, row: &OrderRow) -> String {
        coins(&row.net_amount, &self.review.order.currency.token_id())
    }
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let shell = Shell::of(&visit, HERE);
    let shell = match visit.asked("done") {
        Some("stopped") => shell
            .with_notice("Nothing more is signed there. Payments that are signed already go on."),
        Some("resumed") => shell.with_notice("Signing goes on."),
        Some(_) | None => shell,
    };
    listed(&gateway, &visit, StatusCode::OK, shell).await
}

async fn listed(
    gateway: &crate::State,
    visit: &Visit,
    status: StatusCode,
    shell: Shell,
) -> Result<Response, Problem> {
    let after: Option<(DateTime<Utc>, Uuid)> = visit.asked("after").and_then(list::place);
    let mut held = gateway.held_payouts(after, ROWS_AND_NEXT).await?;
    let is_more = held.len() > ROWS;
    held.truncate(ROWS);
    let last = held.last().filter(|_| is_more);
    let next = last.map(|row| format!("{HERE}?after={}", list::cursor(row.at, row.id)));
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let page = Page {
        shell,
        held,
        next,
        picture: gateway.payout_picture().await?,
        may_stop: may(Action::PayoutStop),
        may_resume: may(Action::PayoutResume),
        reason_max: REASON_CHARS_MAX,
    };
    page_with(status, &page)
}

fn problem(error: OperateError) -> Problem {
    if let OperateError::Storage(error) = error {
        return error.into();
    }
    if matches!(error, OperateError::UnknownOrder(_)) {
        return Problem::NotFound;
    }
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    Problem::Conflict(format!("{}{}.", first.unwrap_or_default(), letters.as_str()))
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let review = gateway.review_payout(&id).await.map_err(problem)?;
    let mut shell = Shell::of(&visit, HERE);
    match visit.asked("done") {
        Some("held") => shell = shell.with_notice("Nothing more is signed for it."),
        Some("released") => shell = shell.with_notice("It goes on."),
        Some("noted") => {
            shell =
                shell.with_notice("Noted. It goes on once another account has released it too.");
        }
        Some(_) | None => {}
    }
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let has_released = review.released_by.contains(&signed.row.email);
    show(&Detail {
        shell,
        facts: facts(&review),
        may_hold: may(Action::PayoutHold) && review.order.held.is_none(),
        may_release: may(Action::PayoutRelease) && review.order.held.is_some(),
        has_released,
        review,
        reason_max: REASON_CHARS_MAX,
    })
}

fn facts(review: &Review) -> Vec<(&'static str, String)> {
    let order = &review.order;
    let coins = |units: BaseUnits| {
        format!(
            "{} {}",
            units.to_decimal(u32::from(order.currency.decimals)),
            order.currency.symbol
        )
    };
    let books = &order.books;
    let mut facts = vec![
        ("State", order.state.to_string()),
        ("Merchant", order.merchant_id.to_string()),
        ("Currency", order.currency.token_id()),
        ("Rows", format!("{} in {} batches", order.item_count, order.batch_count)),
        ("To send", coins(order.total_to_send)),
        ("Received", coins(books.credited)),
        ("Paid", coins(books.paid)),
        ("Failed", coins(books.failed)),
        ("Signed, not final", coins(books.reserved)),
        ("Left", coins(books.left())),
    ];
    facts.extend(order.deposit.as_ref().map(|place| ("Its address", place.address.clone())));
    let refunds = order.refund_address.clone().unwrap_or_else(|| "none was named".to_owned());
    facts.push(("Refund address", refunds));
    facts.extend(order.waits_for.clone().map(|reason| ("Waits for", reason)));
    facts
}

fn reason(visit: &Visit) -> Option<String> {
    let reason = visit.form.filled("reason")?.replace('\0', "");
    let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
    Some(reason).filter(|reason| !reason.is_empty())
}

fn no_reason() -> Problem {
    Problem::Conflict("Give a reason, for whoever looks at this next.".to_owned())
}

pub async fn hold(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let reason = reason(&visit).ok_or_else(no_reason)?;
    gateway.hold_order(&id, &reason).await.map_err(problem)?;
    Ok(Redirect::to(&format!("{HERE}/{id}?done=held")).into_response())
}

pub async fn release(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let seen = visit.form.text("seen");
    let missing = gateway.release_order_seen(&id, visit.email()?, seen).await.map_err(problem)?;
    let done = if missing == 0 { "released" } else { "noted" };
    Ok(Redirect::to(&format!("{HERE}/{id}?done={done}")).into_response())
}

/// A network's name, or the one that stands for all of them.
fn place(visit: &Visit) -> Result<&'static str, Problem> {
    match visit.form.text("network") {
        EVERYWHERE => Ok(EVERYWHERE),
        name => name.parse::<Network>().map(Network::name).map_err(|_| Problem::NotFound),
    }
}

pub async fn stop(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let place = place(&visit)?;
    let Some(reason) = reason(&visit) else {
        let shell = Shell::of(&visit, HERE).with_error("Give a reason: whoever resumes reads it.");
        return listed(&gateway, &visit, StatusCode::UNPROCESSABLE_ENTITY, shell).await;
    };
    gateway.stop_payouts(place, &reason).await?;
    Ok(Redirect::to(&format!("{HERE}?done=stopped")).into_response())
}

pub async fn resume(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let place = place(&visit)?;
    if !gateway.resume_payouts(place).await? {
        return Err(Problem::Conflict("Signing was not stopped there.".to_owned()));
    }
    Ok(Redirect::to(&format!("{HERE}?done=resumed")).into_response())
}

/// An amount of a currency in whole coins.
fn coins(units: &BaseUnits, token_id: &str) -> String {
    match Catalogue::get().by_token_id(token_id) {
        Some(currency) => {
            let amount = units.to_decimal(u32::from(currency.decimals));
            format!("{amount} {}", currency.symbol)
        }
        None => format!("{} base units of {token_id}", units.get()),
    }
}

/// The balance that a gas wallet has by the rows.
fn balance(row: &GasWalletRow) -> String {
    let held = row.paid_in.saturating_add(row.came).remaining_after(row.went);
    coins(&held, &Catalogue::get().native(row.network).token_id())
}

fn spoken(network: &str) -> &str {
    match network {
        EVERYWHERE => "all networks",
        STOP => "settlements of x402",
        network => network,
    }
}
