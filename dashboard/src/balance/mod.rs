//! The balance of a merchant, and the statement of how it came about.

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    app::merchant::{balance::AssetBalance, statement::Movement},
    asset::{
        Fiat,
        catalogue::{Catalogue, Currency},
    },
};

use crate::{
    list::ROWS,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "balance/page.html")]
struct Page {
    shell: Shell,
    balances: Vec<Line>,
    fiat: Fiat,
    currencies: Vec<&'static Currency>,
    chosen: Option<&'static Currency>,
    movements: Vec<Movement>,
    older: Option<String>,
    is_first: bool,
}

/// The amounts of one currency.
pub struct Line {
    pub currency: &'static str,
    pub network: &'static str,
    pub available: String,
    pub pending: String,
    pub late: String,
    pub foreign: String,
    pub in_payouts: String,
    pub fiat: String,
}

pub fn lines(balances: Vec<AssetBalance>) -> Vec<Line> {
    let line = |balance: AssetBalance| Line {
        currency: balance.currency.symbol,
        network: balance.currency.network.title(),
        available: balance.available,
        pending: balance.pending,
        late: balance.late,
        foreign: balance.foreign,
        in_payouts: balance.in_payouts,
        fiat: balance.fiat_estimate.map_or_else(|| "–".to_owned(), |value| value.to_string()),
    };
    balances.into_iter().map(line).collect()
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let fiat = visit.asked("fiat").and_then(|text| text.parse().ok()).unwrap_or(Fiat::Usd);
    let chosen = visit.asked("currency").and_then(|id| Catalogue::get().by_token_id(id));
    let before = visit.asked("older").and_then(|text| text.parse().ok());
    let mut movements = gateway.statement(merchant_id, chosen, before).await?;
    let is_more = movements.len() > ROWS;
    movements.truncate(ROWS);
    let last = movements.last().filter(|_| is_more).map(|movement| movement.id);
    let balances = gateway.balance(merchant_id, fiat).await?;
    show(&Page {
        shell: Shell::of(&visit, "/balance"),
        balances: lines(balances),
        fiat,
        currencies: Catalogue::get().all().iter().collect(),
        chosen,
        movements,
        older: last.map(|id| place(chosen, fiat, Some(id))),
        is_first: before.is_none(),
    })
}

/// The address of a part of the statement.
fn place(chosen: Option<&Currency>, fiat: Fiat, older: Option<i64>) -> String {
    let currency = chosen.map(Currency::token_id).unwrap_or_default();
    let older = older.map(|id| format!("&older={id}")).unwrap_or_default();
    format!("/balance?currency={currency}&fiat={fiat}{older}")
}

impl Page {
    fn is_chosen(&self, currency: &Currency) -> bool {
        self.chosen.is_some_and(|chosen| std::ptr::eq(chosen, currency))
    }

    fn is_fiat(&self, fiat: &Fiat) -> bool {
        self.fiat == *fiat
    }

    fn newest(&self) -> String {
        place(self.chosen, self.fiat, None)
    }
}
