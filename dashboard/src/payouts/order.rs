//! An order's page: its state, what it waits for, its rows, batches, deposits and webhooks.

use askama::{Template, filters::Safe};
use axum::{http::StatusCode, response::Response};
use chrono::{DateTime, Utc};
use gateway::{
    account::Action,
    app::payout::OrderLook,
    asset::{Network, catalogue::Catalogue, explorer},
    money::BaseUnits,
    payout::{
        Funding, State, batch::ItemState, lifecycle::CancelledBy, order::RefundState,
        recipients::in_coins,
    },
    storage::{deliveries::DeliveryRow, delivery_lists::LastAttempt, payouts::items::ItemRow},
};

use super::{HERE, may, words};
use crate::{
    list::ROWS,
    problem::Problem,
    qr,
    shell::{Shell, page_with, when},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "payouts/order.html")]
struct Page {
    shell: Shell,
    id: String,
    look: OrderLook,
    facts: Vec<(&'static str, String)>,
    qr: Option<Safe<String>>,
    items: Vec<ItemRow>,
    /// Rows of this state alone.
    only: Option<ItemState>,
    more: Option<String>,
    /// The webhooks, as the list of events shows them.
    rows: Vec<(DeliveryRow, Option<LastAttempt>)>,
    may_act: bool,
    linked: bool,
    is_sandbox: bool,
}

pub async fn show(
    gateway: &crate::State,
    visit: &Visit,
    id: &str,
    shell: Shell,
) -> Result<Response, Problem> {
    with_status(gateway, visit, id, shell, StatusCode::OK).await
}

/// The order as it is now, with the reason why something was not done.
pub async fn refused(
    gateway: &crate::State,
    visit: &Visit,
    id: &str,
    text: String,
) -> Result<Response, Problem> {
    let shell = Shell::of(visit, HERE).with_error(text);
    with_status(gateway, visit, id, shell, StatusCode::CONFLICT).await
}

async fn with_status(
    gateway: &crate::State,
    visit: &Visit,
    id: &str,
    shell: Shell,
    status: StatusCode,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let found = gateway.look_at_payout(merchant_id, id).await;
    let mut look = found.map_err(problem)?;
    let only: Option<ItemState> = visit.asked("rows").and_then(|text| text.parse().ok());
    let after: i32 = visit.asked("after").and_then(|text| text.parse().ok()).unwrap_or(0);
    let with_next = i64::try_from(ROWS + 1).unwrap_or(i64::MAX);
    let items = gateway.payout_rows_after(merchant_id, id, only, after, with_next).await;
    let mut items = items.map_err(problem)?;
    let is_more = items.len() > ROWS;
    items.truncate(ROWS);
    let more = items.last().filter(|_| is_more).map(|last| {
        let only = only.map(|state| format!("&rows={state}")).unwrap_or_default();
        format!("{HERE}/{id}?after={}{only}#rows", last.row_number)
    });
    let page = Page {
        id: id.to_owned(),
        facts: facts(&look),
        qr: look.funding_code.as_deref().map(|code| qr::svg(code, "Code to fund the order")),
        items,
        only,
        more,
        rows: std::mem::take(&mut look.webhooks),
        may_act: may(visit, Action::PayoutConfirm)?,
        linked: gateway.has_explorer(look.view.currency.network),
        is_sandbox: gateway.config.is_sandbox(),
        look,
        shell,
    };
    page_with(status, &page)
}

fn problem(error: gateway::app::payout::PayoutError) -> Problem {
    words::of_order(error).map_or_else(|problem| problem, Problem::Conflict)
}

fn facts(look: &OrderLook) -> Vec<(&'static str, String)> {
    let view = &look.view;
    let coins = |amount| in_coins(view.currency, amount);
    let quote = &view.quote;
    let mut facts = vec![
        ("Network", view.currency.network.title().to_owned()),
        ("Recipients", view.item_count.to_string()),
        ("To the recipients", coins(view.payout_total)),
        ("Network fee, at most", coins(quote.network_fee)),
        ("Service fee", coins(quote.service_fee)),
        ("To send in all", coins(view.total_to_send)),
        ("Fees are paid by", payer(look).to_owned()),
        ("Refunds go to", view.refund_address.clone().unwrap_or_else(|| "nowhere yet".to_owned())),
        ("Created", when(&view.created_at)),
    ];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("Deposit address", view.deposit_address.clone());
    add("Confirmed", view.confirmed_at.as_ref().map(when));
    add("Funded", view.funded_at.as_ref().map(when));
    add("Ended", view.finished_at.as_ref().map(when));
    let received = Some(view.received).filter(|received| !received.is_zero());
    add("Received", received.map(coins));
    let by = view.cancelled_by.map(|by| match by {
        CancelledBy::Merchant => "you",
        CancelledBy::Operator => "the operator",
    });
    add("Cancelled by", by.map(ToOwned::to_owned));
    if let Some(refund) = &view.refund {
        let state = match refund.state {
            RefundState::Pending => "to be sent back",
            RefundState::Sent => "on its way back",
            RefundState::Confirmed => "sent back",
            RefundState::Held => "waits for the operator",
        };
        facts.push(("Refund", format!("{}, {state}", coins(refund.amount))));
        facts.extend(refund.tx_hash.clone().map(|hash| ("Refund's transaction", hash)));
    }
    facts
}

const fn payer(look: &OrderLook) -> &'static str {
    match look.view.fee_mode {
        gateway::payout::FeeMode::Sender => "you, on top",
        gateway::payout::FeeMode::Recipient => "the recipients",
    }
}

impl Page {
    fn coins(&self, amount: &BaseUnits) -> String {
        in_coins(self.look.view.currency, *amount)
    }

    /// An amount of the network's own coin, in which fees are paid.
    fn native(&self, amount: &BaseUnits) -> String {
        in_coins(Catalogue::get().native(self.network()), *amount)
    }

    fn network(&self) -> Network {
        self.look.view.currency.network
    }

    fn explorer(&self, hash: &str) -> Option<String> {
        self.linked.then(|| explorer::transaction_url(self.network(), hash))
    }

    fn is(&self, state: State) -> bool {
        self.look.view.state == state
    }

    fn is_draft(&self) -> bool {
        self.is(State::Draft)
    }

    fn awaits_money(&self) -> bool {
        self.is(State::PendingDeposit)
    }

    fn is_over(&self) -> bool {
        self.look.view.state.is_terminal()
    }

    fn quote_has_expired(&self) -> bool {
        self.look.view.quote.expires_at <= self.look.now
    }

    /// The amount that is still to be sent.
    fn missing(&self) -> String {
        self.coins(&self.look.view.total_to_send.remaining_after(self.look.view.received))
    }

    fn is_only(&self, state: &ItemState) -> bool {
        self.only.as_ref() == Some(state)
    }

    /// True where a payment was ever signed for one of the rows.
    fn has_payments(&self) -> bool {
        let rows = &self.look.view.progress;
        rows.signed + rows.sent + rows.confirmed + rows.failed > 0
    }

    fn may_cancel(&self) -> bool {
        self.may_act
            && match self.look.view.state {
                State::Draft | State::PendingDeposit | State::Funded => true,
                State::Processing => !self.has_payments(),
                State::Completed | State::PartialFailed | State::Expired | State::Cancelled => {
                    false
                }
            }
    }

    fn may_refresh(&self) -> bool {
        self.may_act
            && match self.look.view.state {
                State::Draft => true,
                State::PendingDeposit => self.look.view.funding == Funding::None,
                State::Processing => !self.has_payments(),
                State::Funded
                | State::Completed
                | State::PartialFailed
                | State::Expired
                | State::Cancelled => false,
            }
    }

    /// The rows that have ended, of all.
    fn ended(&self) -> u32 {
        self.look.view.progress.confirmed + self.look.view.progress.failed
    }

    /// The time until an instant, in the largest unit that leaves a whole number.
    fn left(&self, until: &DateTime<Utc>) -> String {
        let seconds = (*until - self.look.now).num_seconds();
        match seconds {
            ..=0 => "over".to_owned(),
            1..120 => "less than two minutes left".to_owned(),
            120..7_200 => format!("{} minutes left", seconds / 60),
            _ => format!("{} hours left", seconds / 3_600),
        }
    }

    /// The address of a list of rows in one state.
    fn rows_in(&self, state: &ItemState) -> String {
        format!("{HERE}/{}?rows={state}#rows", self.id)
    }
}
