//! Settings of a merchant. A form that was opened before somebody else's change changes nothing.

pub mod front;

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        merchant::change::{Changes, Setting, version},
    },
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    money::Bps,
    storage::merchants::MerchantRow,
};

use crate::{
    developers::problem,
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "settings/page.html")]
struct Page {
    shell: Shell,
    row: MerchantRow,
    version: String,
    networks: Vec<Choices>,
    front: front::Shown,
    may_change: bool,
}

/// The currencies of one network.
struct Choices {
    network: &'static str,
    choices: Vec<Choice>,
}

struct Choice {
    id: String,
    label: &'static str,
    is_accepted: bool,
}

impl Page {
    fn new(shell: Shell, row: MerchantRow, front: front::Shown, may_change: bool) -> Self {
        let accepted = row.accepted_tokens.as_ref();
        let choice = |currency: &'static Currency| {
            let id = currency.token_id();
            let is_accepted = accepted.is_none_or(|accepted| accepted.contains(&id));
            Choice { id, label: currency.symbol, is_accepted }
        };
        let of = |network: Network| {
            let all = Catalogue::get().all().iter();
            let choices = all.filter(|currency| currency.network == network).map(choice);
            Choices { network: network.title(), choices: choices.collect() }
        };
        let networks = Network::ALL.into_iter().map(of).collect();
        Self { shell, version: version(&row), networks, front, row, may_change }
    }
}

fn may_change(visit: &Visit) -> Result<bool, Problem> {
    Ok(visit.signed()?.may(Action::SettingsChange) == Permission::Granted)
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let (row, front) = stored(&gateway, &visit).await?;
    let shell = Shell::of(&visit, "/settings");
    let shell = match visit.asked("done") {
        Some("front") => shell.with_notice("Saved. Buyers see it from now on."),
        Some(_) => shell.with_notice("Saved. Open payments keep what they were created with."),
        None => shell,
    };
    show(&Page::new(shell, row, front, may_change(&visit)?))
}

async fn stored(
    gateway: &crate::State,
    visit: &Visit,
) -> Result<(MerchantRow, front::Shown), Problem> {
    let id = visit.merchant()?.merchant_id;
    let row = gateway.merchant(id).await.map_err(problem)?;
    let front = gateway.front_of(id).await?.ok_or(Problem::NotFound)?;
    Ok((row, front::Shown::of(gateway, &front)))
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let seen = visit.form.text("version");
    let done = match changes(&visit) {
        Ok(changes) => gateway.change_merchant_seen(id, Some(seen), changes).await,
        Err(text) => return again(&gateway, &visit, text).await,
    };
    match done.map_err(problem) {
        Ok(_) => Ok(Redirect::to("/settings?done=saved").into_response()),
        Err(Problem::Conflict(text)) => again(&gateway, &visit, text).await,
        Err(other) => Err(other),
    }
}

/// The settings as they are now, with the reason why they were not changed.
async fn again(gateway: &crate::State, visit: &Visit, text: String) -> Result<Response, Problem> {
    let (row, front) = stored(gateway, visit).await?;
    let shell = Shell::of(visit, "/settings").with_error(text);
    let page = Page::new(shell, row, front, may_change(visit)?);
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The fields that an owner may change, and no other: the number of open invoices is operators'.
/// The error is a sentence for the page.
fn changes(visit: &Visit) -> Result<Changes, String> {
    let form = &visit.form;
    let number = |field: &str, name: &str| {
        let read = form.text(field).trim().parse::<u32>();
        read.map_err(|_| format!("{name} must be a whole number."))
    };
    let setting = |name| match form.filled(name) {
        Some(text) => Setting::Set(text.to_owned()),
        None => Setting::Removed,
    };
    let accepted: Vec<_> = form.all("accept").map(ToOwned::to_owned).collect();
    let all = form.text("accept_all") == "yes";
    if !all && accepted.is_empty() {
        return Err("Tick at least one currency, or every enabled one.".to_owned());
    }
    Ok(Changes {
        name: Some(form.text("name").to_owned()),
        overpay_tolerance: Some(Bps::new(number("overpay_bps", "The tolerance")?)),
        // A form of the earlier release has neither.
        underpay_tolerance: form
            .filled("underpay_bps")
            .map(|_| number("underpay_bps", "The underpayment").map(Bps::new))
            .transpose()?,
        underpay_when: form.text("underpay_when").parse().ok(),
        payment_window_seconds: Some(number("payment_window", "The time to pay")?),
        selection_window_seconds: Some(number("selection_window", "The time to choose")?),
        open_invoices_max: None,
        accepted: if all { Setting::Removed } else { Setting::Set(accepted) },
        payout_webhook_url: setting("payout_webhook_url"),
        default_ipn_callback_url: setting("default_ipn_callback_url"),
        default_success_url: setting("default_success_url"),
        default_cancel_url: setting("default_cancel_url"),
        logo_url: setting("logo_url"),
    })
}
