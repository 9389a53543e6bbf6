//! Payouts that the merchant signs: built here, signed elsewhere, handed in and followed.

pub mod compose;
pub mod sign;

use askama::Template;
use axum::{http::StatusCode, response::Response};
use gateway::{
    account::Action,
    asset::{Network, catalogue::Catalogue, explorer},
    money::BaseUnits,
    nc_payout::{
        FeeLevel, State,
        view::{NcOutput, NcPayout, PayoutView},
    },
    payout::recipients::in_coins,
};

use super::{HERE, may, words};
use crate::{
    problem::Problem,
    shell::{Shell, page_with, when},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "payouts/nc_payouts/payout.html")]
struct Page {
    shell: Shell,
    view: PayoutView,
    payout: NcPayout,
    facts: Vec<(&'static str, String)>,
    may_act: bool,
    linked: bool,
}

pub async fn show(
    gateway: &crate::State,
    visit: &Visit,
    id: &str,
    shell: Shell,
) -> Result<Response, Problem> {
    with_status(gateway, visit, id, shell, StatusCode::OK).await
}

/// The payout as it is now, with the reason why something was not done.
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
    let view = match gateway.look_at_nc_payout(merchant_id, id).await {
        Ok(view) => view,
        Err(error) => return Err(Problem::Conflict(words::of_nc(error)?)),
    };
    let payout = view.render();
    let page = Page {
        shell,
        facts: facts(&view, &payout),
        may_act: may(visit, Action::NcPayoutSubmit)?,
        linked: gateway.has_explorer(view.currency.network),
        view,
        payout,
    };
    page_with(status, &page)
}

fn facts(view: &PayoutView, payout: &NcPayout) -> Vec<(&'static str, String)> {
    let add = BaseUnits::saturating_add;
    let total = view.outputs.iter().map(|output| output.amount).fold(BaseUnits::ZERO, add);
    let native = |raw: &str| match BaseUnits::parse(raw, 0) {
        Ok(amount) => native_coins(view.currency.network, amount),
        Err(_) => raw.to_owned(),
    };
    let mut facts = vec![
        ("Network", view.currency.network.title().to_owned()),
        ("Recipients", view.outputs.len().to_string()),
        ("To the recipients", in_coins(view.currency, total)),
        ("Network fee, at most", native(&payout.network_fee_raw)),
        ("Paid from", view.from_address.clone()),
        ("Fee level", view.fee_level.to_string()),
        ("Created", when(&view.created_at)),
    ];
    let mut push = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    push("Change to the paying address", payout.change_raw.as_deref().map(native));
    push("Submitted", view.submitted_at.as_ref().map(when));
    push("Ended", view.ended_at.as_ref().map(when));
    let paid = Some(payout.network_fee_paid_raw.as_str()).filter(|raw| *raw != "0");
    push("Network fee paid", paid.map(native));
    facts
}

/// An amount of the network's own coin.
fn native_coins(network: Network, amount: BaseUnits) -> String {
    in_coins(Catalogue::get().native(network), amount)
}

impl Page {
    fn awaits_signature(&self) -> bool {
        self.view.state == State::AwaitingSignature
    }

    fn is_over(&self) -> bool {
        self.view.state.is_terminal()
    }

    fn amount(&self, output: &NcOutput) -> String {
        format!("{} {}", output.amount, self.payout.symbol)
    }

    fn explorer(&self, hash: &str) -> Option<String> {
        self.linked.then(|| explorer::transaction_url(self.view.currency.network, hash))
    }

    fn is_level(&self, level: &FeeLevel) -> bool {
        self.view.fee_level == *level
    }

    const fn is_psbt(&self) -> bool {
        self.view.chain_id.is_none()
    }
}
