//! One payment: what happened to it, its deposits, what was told of it.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use chrono::{DateTime, Utc};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        invoice::{
            cancel::CancelError,
            deposits::{DepositPage, PaymentDeposit},
            explain::Explanation,
        },
    },
    invoice::payment::invoice_url,
    storage::deliveries::DeliveryRow,
};

use crate::{
    problem::Problem,
    shell::{Shell, page as show, when},
    visit::Visit,
};

const DEPOSITS: usize = 50;

#[derive(Template)]
#[template(path = "payments/detail.html")]
struct Page {
    shell: Shell,
    payment_id: String,
    facts: Vec<(&'static str, String)>,
    status: String,
    checkout: String,
    may_cancel: bool,
    timeline: Vec<Moment>,
    deposits: DepositPage,
    rows: Vec<DeliveryRow>,
}

struct Moment {
    at: DateTime<Utc>,
    text: String,
}

/// A payment of this merchant, by its own id alone. Another merchant's looks like none.
async fn of_merchant(gateway: &crate::State, visit: &Visit, id: &str) -> Result<(), Problem> {
    let known = gateway.has_payment(visit.merchant()?.merchant_id, id).await?;
    if known { Ok(()) } else { Err(Problem::NotFound) }
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    of_merchant(&gateway, &visit, &id).await?;
    let merchant_id = visit.merchant()?.merchant_id;
    let found = gateway.explain_invoice(&id).await?.ok_or(Problem::NotFound)?;
    let deposits = gateway.payment_deposits(merchant_id, &id, DEPOSITS).await?;
    let deposits = deposits.ok_or(Problem::NotFound)?;
    let signed = visit.signed()?;
    let view = &found.invoice.view;
    let may = |action| signed.may(action) == Permission::Granted;
    let mut shell = Shell::of(&visit, "/payments");
    if visit.asked("done") == Some("cancelled") {
        shell = shell.with_notice("The payment was cancelled.");
    }
    let page = Page {
        shell,
        payment_id: view.payment_id.clone(),
        facts: facts(&found),
        status: view.status.to_string(),
        checkout: invoice_url(&gateway.config.checkout_url, &view.payment_id),
        may_cancel: may(Action::PaymentCancel) && !view.status.is_terminal(),
        timeline: timeline(&found, &deposits.deposits),
        deposits,
        rows: found.deliveries.into_iter().map(|(row, _)| row).collect(),
    };
    show(&page)
}

fn facts(found: &Explanation) -> Vec<(&'static str, String)> {
    let view = &found.invoice.view;
    let price = view.price_amount.to_decimal();
    let mut facts = vec![("Price", format!("{price} {}", view.price_currency.to_uppercase()))];
    if let Some(asset) = &view.asset {
        let decimals = u32::from(asset.decimals);
        let due = asset.pay_amount.to_decimal(decimals);
        let paid = view.actually_paid.to_decimal(decimals);
        let code = asset.code.to_uppercase();
        facts.push(("To pay", format!("{due} {code} on {}", asset.network.title())));
        facts.push(("Received", format!("{paid} {code}")));
        facts.push(("Address", asset.pay_address.clone()));
    }
    let optional = [("Order", &view.order_id), ("Description", &view.order_description)];
    for (name, value) in optional {
        facts.extend(value.clone().map(|value| (name, value)));
    }
    facts.push(("Deadline", when(&view.deadline)));
    facts
}

/// Everything that has a time, in its order.
fn timeline(found: &Explanation, deposits: &[PaymentDeposit]) -> Vec<Moment> {
    let moment = |at, text: String| Moment { at, text };
    let view = &found.invoice.view;
    let mut moments = vec![moment(view.created_at, "created".to_owned())];
    for deposit in deposits {
        let of = format!("{} {}", deposit.amount, deposit.currency.unwrap_or("(unknown token)"));
        moments.push(moment(deposit.first_seen_at, format!("{of} seen")));
        moments.extend(deposit.final_at.map(|at| moment(at, format!("{of} confirmed"))));
    }
    for (row, attempts) in &found.deliveries {
        for attempt in attempts {
            let answer = match (attempt.status, &attempt.error) {
                (Some(status), _) => format!("answered {status}"),
                (None, Some(error)) => error.clone(),
                (None, None) => "sent".to_owned(),
            };
            moments.push(moment(attempt.started_at, format!("webhook {}: {answer}", row.kind)));
        }
    }
    if view.status.is_terminal() {
        moments.push(moment(view.updated_at, view.status.to_string()));
    }
    moments.sort_by_key(|moment| moment.at);
    moments
}

pub async fn cancel(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    of_merchant(&gateway, &visit, &id).await?;
    match gateway.cancel_invoice(&id).await {
        Ok(()) => Ok(Redirect::to(&format!("/payments/{id}?done=cancelled")).into_response()),
        Err(CancelError::NotFound) => Err(Problem::NotFound),
        Err(CancelError::Storage(error)) => Err(error.into()),
        Err(refused @ CancelError::Refused(_)) => Err(Problem::Conflict(refused.to_string())),
    }
}
