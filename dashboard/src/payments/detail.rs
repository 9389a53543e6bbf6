//! One payment: what happened to it, its deposits, the books behind it, what was told of it.

use askama::{Template, filters::Safe};
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        invoice::{cancel::CancelError, deposits::DepositPage, explain::Explanation},
    },
    asset::catalogue::Catalogue,
    invoice::payment::invoice_url,
    ledger::Account,
    storage::{
        deliveries::{AttemptRow, DeliveryRow},
        ledger::EntryRow,
    },
};
use uuid::Uuid;

use super::timeline::{Moment, timeline};
use crate::{
    names,
    problem::Problem,
    qr,
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
    address: Option<String>,
    checkout: String,
    code: Option<Safe<String>>,
    may_cancel: bool,
    may_resend: bool,
    timeline: Vec<Moment>,
    deposits: DepositPage,
    entries: Vec<Entry>,
    deliveries: Vec<(DeliveryRow, Vec<AttemptRow>)>,
}

/// An entry of the books in the merchant's words.
struct Entry {
    kind: String,
    amount: String,
    from: String,
    to: String,
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
    shell = match visit.asked("done") {
        Some("cancelled") => shell.with_notice("The payment was cancelled."),
        Some("created") => {
            shell.with_notice("Created. Send the buyer the address of the checkout.")
        }
        _ => shell,
    };
    let checkout = invoice_url(&gateway.config.checkout_url, &view.payment_id);
    let page = Page {
        shell,
        payment_id: view.payment_id.clone(),
        facts: facts(&found),
        status: view.status.to_string(),
        address: view.asset.as_ref().map(|asset| asset.pay_address.clone()),
        code: (!view.status.is_terminal()).then(|| qr::svg(&checkout, "QR code of the checkout")),
        checkout,
        may_cancel: may(Action::PaymentCancel) && !view.status.is_terminal(),
        may_resend: may(Action::EventResend),
        timeline: timeline(&found, &deposits.deposits),
        deposits,
        entries: found.entries.iter().map(|row| entry(merchant_id, row)).collect(),
        deliveries: found.deliveries,
    };
    show(&page)
}

fn facts(found: &Explanation) -> Vec<(&'static str, String)> {
    let view = &found.invoice.view;
    let price = view.price_amount.to_decimal();
    let mut facts = vec![("Price", format!("{price} {}", view.price_currency.to_uppercase()))];
    if let (Some(asset), Some(token)) = (&view.asset, &found.invoice.token_id) {
        let decimals = u32::from(asset.decimals);
        let due = asset.pay_amount.to_decimal(decimals);
        let paid = view.actually_paid.to_decimal(decimals);
        facts.push(("To pay", format!("{due} {}", names::token(token))));
        facts.push(("Received", format!("{paid} {}", names::token(token))));
    } else {
        facts.push(("To pay", "the buyer has not chosen a currency".to_owned()));
    }
    if let (Some(rate), Some(at)) = (found.invoice.rate, &found.invoice.rate_at) {
        let currency = view.price_currency.to_uppercase();
        facts.push(("Rate", format!("{} {currency}, of {}", rate.normalize(), when(at))));
    }
    let email = view.subscription.as_ref().map(|subscription| &subscription.subscriber_email);
    let optional = [
        ("Order", view.order_id.as_ref()),
        ("Description", view.order_description.as_ref()),
        ("Subscriber", email),
        ("Webhooks go to", view.ipn_callback_url.as_ref()),
    ];
    for (name, value) in optional {
        facts.extend(value.map(|value| (name, value.clone())));
    }
    facts.push(("Deadline", when(&view.deadline)));
    facts
}

fn entry(merchant_id: Uuid, row: &EntryRow) -> Entry {
    let currency = Catalogue::get().by_token_id(&row.asset);
    let amount = currency.map_or_else(
        || format!("{} base units of {}", row.amount.get(), row.asset),
        |of| format!("{} {}", row.amount.to_decimal(u32::from(of.decimals)), of.symbol),
    );
    Entry {
        kind: row.kind.to_string(),
        amount,
        from: account(merchant_id, &row.debit),
        to: account(merchant_id, &row.credit),
    }
}

/// The name of an account in the merchant's words; his own id adds nothing.
fn account(merchant_id: Uuid, name: &str) -> String {
    let own = [
        (Account::Merchant(merchant_id), "available balance"),
        (Account::Late(merchant_id), "late deposits"),
        (Account::Foreign(merchant_id), "foreign deposits"),
        (Account::Treasury, "operator"),
    ];
    let own = own.into_iter().find_map(|(known, word)| (known.to_string() == name).then_some(word));
    match (own, name.strip_prefix("custody:")) {
        (Some(word), _) => word.to_owned(),
        (None, Some(network)) => format!("buyer, on {network}"),
        (None, None) => name.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_named_in_the_merchants_words() {
        let id = Uuid::from_u128(7);
        for (name, words) in [
            (format!("merchant:{id}"), "available balance"),
            (format!("late:{id}"), "late deposits"),
            (format!("foreign:{id}"), "foreign deposits"),
            ("treasury".to_owned(), "operator"),
            ("custody:polygon".to_owned(), "buyer, on polygon"),
            ("payout:x".to_owned(), "payout:x"),
        ] {
            assert_eq!(account(id, &name), words);
        }
    }
}
