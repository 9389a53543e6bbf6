//! The first page of a merchant: the takings, and whatever asks for attention.

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    app::merchant::overview::Overview, asset::Fiat, storage::payment_search::FoundPayment,
};

use crate::{
    list,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const NEWEST: i64 = 8;

#[derive(Template)]
#[template(path = "overview/page.html")]
struct Page {
    shell: Shell,
    overview: Overview,
    balances: Vec<Balance>,
    rows: Vec<FoundPayment>,
}

struct Balance {
    currency: String,
    network: &'static str,
    available: String,
    fiat: String,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let overview = gateway.overview(merchant_id).await?;
    let (at, id) = list::newest();
    let place = (gateway::storage::payment_search::Side::Older, at, id);
    let rows = gateway.payments_beside(merchant_id, None, place, NEWEST).await?;
    let usd: Option<Fiat> = "usd".parse().ok();
    let balances = match usd {
        Some(usd) => gateway.balance(merchant_id, usd).await?,
        None => Vec::new(),
    };
    let balances = balances
        .into_iter()
        .map(|balance| Balance {
            currency: balance.currency.symbol.to_owned(),
            network: balance.currency.network.name(),
            available: balance.available,
            fiat: balance.fiat_estimate.map_or_else(|| "–".to_owned(), |usd| format!("{usd} USD")),
        })
        .collect();
    show(&Page { shell: Shell::of(&visit, "/"), overview, balances, rows })
}
