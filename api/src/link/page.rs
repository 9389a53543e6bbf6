//! The page of a link at the checkout's origin, for visitors. It needs no script, and a GET of it
//! changes nothing.

use askama::Template;
use axum::{
    body::Body,
    extract,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        invoice::currency_choices::Standing,
        link::{
            order::OrderForm,
            visit::{LinkState, LinkVisit},
        },
        merchant::admit::BuyerBudget,
    },
    link::{self, LinkKind, terms::Terms, typed},
    money::Price,
    subscription::{Interval, calendar::Period},
};

use super::form::{self, Notice};
use crate::{
    State,
    body::read_form,
    checkout::{
        choices::{Choices, Coin, Unavailable, grouped},
        language::{Language, Texts},
        markup::plain,
        pages::TroublePage,
        route::{Id, answer},
        shell::{Shell, Visit},
    },
    client_ip::Client,
    error::ApiError,
    query::Parameters,
};

/// A link that takes payments.
#[derive(Template)]
#[template(path = "link.html")]
struct OpenPage {
    shell: Shell,
    id: String,
    title: String,
    description: Option<String>,
    /// The fixed price; `None` where the visitor chooses.
    price: Option<String>,
    open: Option<OpenPrice>,
    is_donation: bool,
    /// When it renews; of a subscription.
    renews: Option<String>,
    typed: OrderForm,
    /// Names this rendering of the form.
    once: String,
    /// The amount of the address, kept in links to other languages.
    amount: Option<String>,
    /// The currencies are those of one amount.
    is_priced: bool,
    button: String,
    ways: usize,
    coins: Vec<Coin>,
    more: Vec<Coin>,
    unavailable: Vec<Unavailable>,
    notice: Option<String>,
}

/// The amount that a visitor chooses.
struct OpenPrice {
    label: String,
    hint: String,
    suggestions: Vec<Suggestion>,
}

/// An amount that the page offers: a link to the same page with the amount filled in, so that its
/// currencies can be seen before anything is sent.
struct Suggestion {
    text: String,
    ways: String,
    link: String,
    is_chosen: bool,
}

/// A link that takes no payments, or none.
#[derive(Template)]
#[template(path = "link_ended.html")]
struct EndedPage {
    shell: Shell,
    id: String,
    heading: &'static str,
    text: &'static str,
}

/// `/l/<id>`; `?amount=` fills in an amount of an open price.
pub async fn show(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    id: Id,
    parameters: Parameters,
) -> Response {
    let amount = parameters.text("amount").ok().flatten().map(ToOwned::to_owned);
    let typed = OrderForm { amount: amount.unwrap_or_default(), ..OrderForm::default() };
    shown(&gateway, visit, id, typed, None).await
}

/// The page's form: creates a draft and leads to its page.
pub async fn order(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    id: Id,
    body: Body,
) -> Response {
    let t = visit.language.texts();
    let Ok(fields) = read_form(body).await else {
        let notice = (StatusCode::BAD_REQUEST, t.notice_later.to_owned());
        return shown(&gateway, visit, id, OrderForm::default(), Some(notice)).await;
    };
    let typed = form::read(&fields, visit.language.of_mails());
    if let Err(error) = gateway.admit_buyer(BuyerBudget::Action, &client).await {
        let error = ApiError::of_buyer(error);
        let too_many = matches!(error, ApiError::PolledTooOften);
        let text = if too_many { t.notice_too_many } else { t.notice_later };
        let notice = (error.status_and_code().0, text.to_owned());
        return shown(&gateway, visit, id, typed, Some(notice)).await;
    }
    if form::is_trapped(&fields) {
        let notice = (StatusCode::BAD_REQUEST, t.notice_trap.to_owned());
        return shown(&gateway, visit, id, typed, Some(notice)).await;
    }
    let link_id = id.as_ref().map(|extract::Path(id)| id.clone()).unwrap_or_default();
    match gateway.order_by_link(&link_id, &client, &typed).await {
        Ok(payment_id) => to_payment(&Shell::new(&gateway, visit), &payment_id),
        Err(error) => {
            let fiat = fiat_of(&gateway, &link_id).await;
            let notice = form::notice(&error, fiat, t);
            shown(&gateway, visit, id, typed, notice).await
        }
    }
}

/// The currency that a notice names; the link is gone if it has none.
async fn fiat_of(gateway: &State, link_id: &str) -> gateway::asset::fiat::Fiat {
    let found = gateway.visit_link(link_id, None).await.ok().flatten();
    found.map_or(gateway::asset::fiat::Fiat::Usd, |visit| visit.link.terms.price_currency)
}

/// 303 to the payment's page: a GET that may be repeated safely.
fn to_payment(shell: &Shell, payment_id: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(location) = HeaderValue::from_str(&shell.link(payment_id, "")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    shell.headers(response.headers_mut());
    response
}

async fn shown(
    gateway: &State,
    visit: Visit,
    id: Id,
    typed: OrderForm,
    notice: Option<Notice>,
) -> Response {
    let shell = Shell::new(gateway, visit);
    let id = id.map(|extract::Path(id)| id).unwrap_or_default();
    let amount = typed::amount(&typed.amount).ok();
    let found = match gateway.visit_link(&id, amount).await {
        Ok(found) => found,
        Err(error) => {
            let code = ApiError::from(error).status_and_code().0;
            let page = TroublePage { shell, missing: false };
            return answer(code, &page.shell, &page);
        }
    };
    let front = match &found {
        Some(found) => gateway.front_of(found.link.merchant_id).await.ok().flatten(),
        None => None,
    };
    let shell = shell.of(front, &id);
    let t = shell.t;
    let (code, heading, text) = match found {
        None => (StatusCode::NOT_FOUND, t.link_missing, t.link_missing_text),
        Some(LinkVisit { state: LinkState::Inactive, .. }) => {
            (StatusCode::GONE, t.link_inactive, t.link_inactive_text)
        }
        Some(LinkVisit { state: LinkState::Used, .. }) => {
            (StatusCode::GONE, t.link_used, t.link_used_text)
        }
        Some(found) => {
            let (code, notice) = notice.unzip();
            let page = OpenPage::new(shell, found, typed, notice);
            return answer(code.unwrap_or(StatusCode::OK), &page.shell, &page);
        }
    };
    // A text that is no id is not repeated in the page's links.
    let id = if code == StatusCode::NOT_FOUND { String::new() } else { id };
    let page = EndedPage { shell, id, heading, text };
    answer(code, &page.shell, &page)
}

impl EndedPage {
    fn in_language(&self, language: &Language) -> String {
        self.shell.link_page_to(language, &self.id, None)
    }
}

impl OpenPage {
    fn here(&self) -> String {
        self.shell.link_page(&self.id, None)
    }

    fn in_language(&self, language: &Language) -> String {
        self.shell.link_page_to(language, &self.id, self.amount.as_deref())
    }

    fn new(shell: Shell, found: LinkVisit, typed: OrderForm, notice: Option<String>) -> Self {
        let LinkVisit { link, choices, suggestions, .. } = found;
        let (terms, t) = (link.terms, shell.t);
        let ways = choices.iter().filter(|one| one.standing == Standing::Eligible).count();
        let Choices { coins, more, unavailable } = grouped(&choices, t);
        let fixed = terms.price_amount.filter(|_| !terms.is_open());
        let typed = proposed(&terms, typed);
        let amount = typed::amount(&typed.amount).ok();
        let typed = as_typed(typed, amount, t);
        let suggestion = |(one, ways): (Price, usize)| {
            let value = one.to_decimal();
            Suggestion {
                text: money(one, &terms, t),
                ways: plain(t.link_ways_count, &[("count", &ways.to_string())]),
                link: shell.link_page(&link.link_id, Some(&value)),
                is_chosen: amount == Some(one),
            }
        };
        let open = terms.is_open().then(|| OpenPrice {
            label: plain(t.link_amount, &[("currency", terms.price_currency.code_upper())]),
            hint: hint(&terms, t),
            suggestions: suggestions.into_iter().map(suggestion).collect(),
        });
        Self {
            id: link.link_id,
            price: fixed.map(|price| money(price, &terms, t)),
            is_donation: terms.kind == LinkKind::Donation,
            renews: terms.period.map(|period| every(period, t)),
            amount: amount.filter(|_| terms.is_open()).map(Price::to_decimal),
            is_priced: fixed.is_some() || amount.is_some(),
            button: label(&terms, t),
            title: terms.title,
            description: terms.description.filter(|text| !text.is_empty()),
            open,
            once: link::new_once(),
            typed,
            ways,
            coins,
            more,
            unavailable,
            notice,
            shell,
        }
    }
}

/// The form with the link's own proposal where nothing was typed.
fn proposed(terms: &Terms, typed: OrderForm) -> OrderForm {
    let proposal = terms.price_amount.filter(|_| terms.is_open() && typed.amount.is_empty());
    match proposal {
        Some(price) => OrderForm { amount: price.to_decimal(), ..typed },
        None => typed,
    }
}

/// The form with an amount as somebody types it in the page's language. What was no amount stays as
/// it was typed.
fn as_typed(typed: OrderForm, amount: Option<Price>, t: &Texts) -> OrderForm {
    match amount {
        Some(_) => OrderForm { amount: t.locale.typed(&typed.amount.replace(',', ".")), ..typed },
        None => typed,
    }
}

fn money(amount: Price, terms: &Terms, t: &Texts) -> String {
    t.locale.price(&amount.to_decimal(), terms.price_currency.code())
}

fn hint(terms: &Terms, t: &Texts) -> String {
    let (min, max) = (money(terms.least(), terms, t), money(terms.most(), terms, t));
    plain(t.link_amount_hint, &[("min", &min), ("max", &max)])
}

/// The words of the button that leads to the payment.
pub(super) fn label(terms: &Terms, t: &Texts) -> String {
    match terms.kind {
        LinkKind::Donation => t.link_donate.to_owned(),
        LinkKind::Payment | LinkKind::Subscription | LinkKind::Pos => match terms.price_amount {
            Some(price) => plain(t.link_pay, &[("price", &money(price, terms, t))]),
            None => t.link_pay_open.to_owned(),
        },
    }
}

fn every(period: Period, t: &Texts) -> String {
    let text = match period.interval {
        Interval::Day => &t.link_every_days,
        Interval::Week => &t.link_every_weeks,
        Interval::Month => &t.link_every_months,
        Interval::Year => &t.link_every_years,
    };
    plain(t.form(text, period.count.into()), &[("count", &period.count.to_string())])
}
