//! The first page of a merchant: what asks for attention, the takings, and how payments end.

mod chart;
pub mod needs;

use askama::{Template, filters::Safe};
use axum::{extract::State, response::Response};
use gateway::{
    app::merchant::overview::{Ends, Overview},
    asset::{Fiat, catalogue::Catalogue},
    merchant::takings::{Compared, FiatTakings, TokenTakings, per_mille},
    money::digits_in_coins,
    storage::{
        endpoints::Latency,
        payment_search::{Filter, FoundPayment, Side},
    },
};
use rust_decimal::Decimal;

use crate::{
    balance::{Line, lines},
    chart::Chart,
    list,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};
use needs::{Need, counted};

const NEWEST: i64 = 8;

#[derive(Template)]
#[template(path = "overview/page.html")]
struct Page {
    shell: Shell,
    needs: Vec<Need>,
    fiats: Vec<FiatSection>,
    tokens: Vec<TokenLine>,
    open_invoices: String,
    ends: Vec<EndLine>,
    rates: Rates,
    latency: Option<Latency>,
    balances: Vec<Line>,
    rows: Vec<FoundPayment>,
}

/// Takings in one fiat currency.
struct FiatSection {
    code: String,
    tiles: [Tile; 3],
    chart: Chart,
}

struct Tile {
    name: &'static str,
    now: String,
    name_before: &'static str,
    before: String,
}

/// Takings in one currency, in whole coins.
struct TokenLine {
    currency: &'static str,
    network: &'static str,
    day: String,
    week: String,
    month: String,
    month_before: String,
}

/// A step between the creation of payments and their ends.
struct EndLine {
    name: &'static str,
    count: i64,
    share: String,
    bar: Safe<String>,
}

struct Rates {
    paid: String,
    expired: String,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let overview = gateway.overview(merchant_id).await?;
    let (at, id) = list::newest();
    let place = (Side::Older, at, id);
    let rows = gateway.payments_beside(merchant_id, &Filter::default(), place, NEWEST).await?;
    let balances = lines(gateway.balance(merchant_id, Fiat::Usd).await?);
    show(&Page::new(Shell::of(&visit, "/"), &overview, balances, rows))
}

impl Page {
    fn new(
        shell: Shell,
        overview: &Overview,
        balances: Vec<Line>,
        rows: Vec<FoundPayment>,
    ) -> Self {
        let ends = &overview.ends;
        Self {
            shell,
            needs: needs::needs(overview),
            fiats: overview.fiats.iter().map(fiat_section).collect(),
            tokens: overview.tokens.iter().filter_map(token_line).collect(),
            open_invoices: counted(overview.attention.open_invoices),
            ends: end_lines(ends),
            rates: Rates {
                paid: per_cent(ends.paid, ends.ended()),
                expired: per_cent(ends.expired, ends.ended()),
            },
            latency: overview.latency,
            balances,
            rows,
        }
    }
}

fn fiat_section(of: &FiatTakings) -> FiatSection {
    let code = of.fiat.to_uppercase();
    let tile = |name, name_before, sums: &Compared<Decimal>| Tile {
        name,
        now: money(sums.now),
        name_before,
        before: money(sums.before),
    };
    FiatSection {
        tiles: [
            tile("Today", "Yesterday", &of.day),
            tile("This week", "Last week", &of.week),
            tile("This month", "Last month", &of.month),
        ],
        chart: chart::days(&of.fiat, &of.days),
        code,
    }
}

fn token_line(of: &TokenTakings) -> Option<TokenLine> {
    let currency = Catalogue::get().by_token_id(&of.token_id)?;
    let coins = |units: u128| {
        digits_in_coins(&units.to_string(), u32::from(currency.decimals)).unwrap_or_default()
    };
    Some(TokenLine {
        currency: currency.symbol,
        network: currency.network.title(),
        day: coins(of.day.now),
        week: coins(of.week.now),
        month: coins(of.month.now),
        month_before: coins(of.month.before),
    })
}

fn end_lines(ends: &Ends) -> Vec<EndLine> {
    let whole = ends.created.max(ends.ended());
    let steps = [
        ("Created", ends.created),
        ("Paid", ends.paid),
        ("Expired", ends.expired),
        ("Cancelled", ends.cancelled),
    ];
    let line = |(name, count)| EndLine {
        name,
        count,
        share: per_cent(count, whole),
        bar: chart::share(per_mille(count, whole).unwrap_or(0)),
    };
    if whole == 0 { Vec::new() } else { steps.map(line).into() }
}

fn per_cent(part: i64, whole: i64) -> String {
    let share = per_mille(part, whole);
    share.map_or_else(|| "–".to_owned(), |share| format!("{}.{} %", share / 10, share % 10))
}

/// A sum of money with two places, and commas between thousands.
fn money(value: Decimal) -> String {
    let text = format!("{:.2}", value.round_dp(2));
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}.{cents}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_has_two_places_and_commas() {
        for (value, text) in [
            ("0", "0.00"),
            ("7.1", "7.10"),
            ("999.999", "1,000.00"),
            ("1234567.5", "1,234,567.50"),
            ("-1000", "-1,000.00"),
        ] {
            assert_eq!(money(value.parse().unwrap()), text);
        }
    }

    #[test]
    fn shares_are_of_those_that_ended() {
        assert_eq!(per_cent(2, 3), "66.6 %");
        assert_eq!(per_cent(0, 0), "–");
        let ends = Ends { created: 4, paid: 2, expired: 1, cancelled: 0 };
        let lines = end_lines(&ends);
        let shares: Vec<_> = lines.iter().map(|line| line.share.as_str()).collect();
        assert_eq!(shares, ["100.0 %", "50.0 %", "25.0 %", "0.0 %"]);
        assert!(end_lines(&Ends::default()).is_empty());
    }
}
