//! A subscriber's own page at the checkout's origin. Its token is the only credential; a GET shows
//! buttons and starts nothing, because mail programs open links by themselves.

use askama::Template;
use axum::{
    extract,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{
        merchant::admit::BuyerBudget,
        subscription::renew::{RenewError, RenewalVisit},
    },
    asset::Fiat,
    subscription::State as Standing,
};

use crate::{
    State,
    checkout::{
        language::Language,
        markup::plain,
        pages::TroublePage,
        route::{Id, answer},
        shell::{Shell, Visit},
    },
    client_ip::Client,
    error::ApiError,
    link::form::{self, Notice},
};

#[derive(Template)]
#[template(path = "renew.html")]
struct RenewPage {
    shell: Shell,
    token: String,
    title: String,
    price: String,
    status: String,
    is_payable: bool,
    is_cancellable: bool,
    notice: Option<String>,
}

#[derive(Template)]
#[template(path = "link_ended.html")]
struct MissingPage {
    shell: Shell,
    id: String,
    heading: &'static str,
    text: &'static str,
}

/// `/renew/<token>`.
pub async fn show(
    extract::State(gateway): extract::State<State>,
    visit: Visit,
    token: Id,
) -> Response {
    shown(&gateway, visit, token, None).await
}

/// The page's button: leads to the next cycle's payment.
pub async fn renew(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    token: Id,
) -> Response {
    let t = visit.language.texts();
    if let Some(notice) = refused(&gateway, &client, &visit).await {
        return shown(&gateway, visit, token, Some(notice)).await;
    }
    let text = token.as_ref().map(|extract::Path(text)| text.clone()).unwrap_or_default();
    let notice = match gateway.renew(&text).await {
        Ok(payment_id) => {
            let shell = Shell::new(&gateway, visit);
            return redirect(&shell, &shell.link(&payment_id, ""));
        }
        // The page says it.
        Err(RenewError::NotFound | RenewError::Over) => None,
        // The currency is for refusals of typed amounts, and here nobody types one.
        Err(RenewError::Order(error)) => form::notice(&error, Fiat::Usd, t),
        Err(RenewError::Storage(error)) => form::notice(&error.into(), Fiat::Usd, t),
    };
    shown(&gateway, visit, token, notice).await
}

/// The page's other button.
pub async fn cancel(
    extract::State(gateway): extract::State<State>,
    Client(client): Client,
    visit: Visit,
    token: Id,
) -> Response {
    if let Some(notice) = refused(&gateway, &client, &visit).await {
        return shown(&gateway, visit, token, Some(notice)).await;
    }
    let text = token.as_ref().map(|extract::Path(text)| text.clone()).unwrap_or_default();
    match gateway.cancel_by_token(&text).await {
        Ok(Some(_)) => {
            let shell = Shell::new(&gateway, visit);
            redirect(&shell, &shell.renew_page(&text, ""))
        }
        Ok(None) => shown(&gateway, visit, token, None).await,
        Err(error) => trouble(Shell::new(&gateway, visit), &error.into()),
    }
}

async fn refused(gateway: &State, client: &str, visit: &Visit) -> Option<Notice> {
    let t = visit.language.texts();
    let error = gateway.admit_buyer(BuyerBudget::Action, client).await.err()?;
    let error = ApiError::of_buyer(error);
    let too_many = matches!(error, ApiError::PolledTooOften);
    let text = if too_many { t.notice_too_many } else { t.notice_later };
    Some((error.status_and_code().0, text.to_owned()))
}

fn redirect(shell: &Shell, to: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    if let Ok(location) = HeaderValue::from_str(to) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    shell.headers(response.headers_mut());
    response
}

/// The page of a token that names nothing. It repeats no token.
pub(crate) fn missing(shell: Shell, heading: &'static str) -> Response {
    let text = shell.t.link_missing_text;
    let page = MissingPage { shell, id: String::new(), heading, text };
    answer(StatusCode::NOT_FOUND, &page.shell, &page)
}

pub(super) fn trouble(shell: Shell, error: &ApiError) -> Response {
    let page = TroublePage { shell, missing: false };
    answer(error.status_and_code().0, &page.shell, &page)
}

async fn shown(gateway: &State, visit: Visit, token: Id, notice: Option<Notice>) -> Response {
    let shell = Shell::new(gateway, visit);
    let token = token.map(|extract::Path(token)| token).unwrap_or_default();
    match gateway.visit_renewal(&token).await {
        Ok(Some(found)) => {
            let (code, notice) = notice.unzip();
            let merchant = found.subscription.merchant_id;
            let front = gateway.front_of(merchant).await.ok().flatten();
            let shell = shell.of(front, &found.title);
            let page = RenewPage::new(shell, token, found, notice);
            answer(code.unwrap_or(StatusCode::OK), &page.shell, &page)
        }
        Ok(None) => {
            let heading = shell.t.renew_missing;
            missing(shell, heading)
        }
        Err(error) => trouble(shell, &error.into()),
    }
}

impl MissingPage {
    /// The page names no token, so there is none in another language.
    fn in_language(&self, _: &Language) -> String {
        String::new()
    }
}

impl RenewPage {
    fn action(&self, action: &str) -> String {
        self.shell.renew_page(&self.token, action)
    }

    fn in_language(&self, language: &Language) -> String {
        self.shell.renew_page_to(language, &self.token)
    }

    fn new(shell: Shell, token: String, found: RenewalVisit, notice: Option<String>) -> Self {
        let (t, subscription) = (shell.t, &found.subscription);
        let date = t.locale.date(subscription.rules.next_renewal().date_naive());
        let status = match subscription.rules.state {
            Standing::Pending => t.renew_pending,
            Standing::Active => t.renew_active,
            Standing::PastDue => t.renew_past_due,
            Standing::Cancelled => t.renew_cancelled,
            Standing::Ended => t.renew_ended,
        };
        let is_over = matches!(subscription.rules.state, Standing::Cancelled | Standing::Ended);
        let amount = subscription.price_amount.to_decimal();
        Self {
            price: t.locale.price(&amount, subscription.price_currency.code()),
            status: plain(status, &[("date", &date)]),
            is_payable: subscription.rules.is_payable(),
            is_cancellable: !is_over,
            title: found.title,
            token,
            notice,
            shell,
        }
    }
}
