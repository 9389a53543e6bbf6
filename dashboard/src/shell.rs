//! The frame of all pages: who is signed in, where he can go, and the token of his forms.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use gateway::{
    account::Action,
    app::account::session::{Permission, Signed},
};

use crate::{announcements::Banners, asset::STYLE_PATH, problem::Problem, visit::Visit};

/// The navigation: what exists, of which a page shows what its reader may see.
const PLACES: &[(Action, &str, &str)] = &[
    (Action::OverviewView, "/", "Overview"),
    (Action::PaymentView, "/payments", "Payments"),
    (Action::PayoutView, "/payouts", "Payouts"),
    (Action::EventView, "/events", "Events"),
    (Action::BalanceView, "/balance", "Balance"),
    (Action::DevelopersView, "/developers", "Developers"),
    (Action::SettingsView, "/settings", "Settings"),
    (Action::TeamView, "/team", "Team"),
    (Action::OperatorView, "/operator", "Operation"),
    (Action::MerchantView, "/operator/merchants", "Merchants"),
    (Action::DeadLetterView, "/operator/dead-letters", "Dead letters"),
    (Action::OperatorTeamView, "/operator/accounts", "Operators"),
    (Action::DepositView, "/operator/deposits", "Deposits"),
    (Action::OperatorPayoutView, "/operator/payouts", "Payouts"),
    (Action::CurrencyView, "/operator/currencies", "Currencies"),
    (Action::NetworkView, "/operator/networks", "Networks"),
    (Action::AnnouncementView, "/operator/announcements", "Announcements"),
    (Action::AuditView, "/operator/audit", "Audit log"),
];

pub struct Place {
    pub href: &'static str,
    pub label: &'static str,
    pub is_here: bool,
}

/// The frame of a page, for its template.
pub struct Shell {
    pub style: &'static str,
    pub token: String,
    pub email: Option<String>,
    pub merchant: Option<String>,
    pub places: Vec<Place>,
    /// A sentence above the page, after something went wrong or was done.
    pub notice: Option<Notice>,
    pub banners: Banners,
}

pub struct Notice {
    pub text: String,
    pub is_error: bool,
}

impl Shell {
    /// The frame of a signed-in page at `here`.
    pub fn of(visit: &Visit, here: &str) -> Self {
        let Some(signed) = visit.anyone() else { return Self::bare(visit) };
        let chosen = signed.chosen().map(|chosen| chosen.name.to_owned());
        Self {
            email: Some(signed.row.email.clone()),
            merchant: chosen,
            places: places(signed, here),
            banners: Banners::of(visit, signed, here),
            ..Self::bare(visit)
        }
    }

    /// The frame of a page with nothing but its one form.
    pub fn bare(visit: &Visit) -> Self {
        Self {
            style: STYLE_PATH.as_str(),
            token: visit.token.clone(),
            email: None,
            merchant: None,
            places: Vec::new(),
            notice: None,
            banners: Banners::default(),
        }
    }

    #[must_use]
    pub fn with_error(self, text: impl Into<String>) -> Self {
        Self { notice: Some(Notice { text: text.into(), is_error: true }), ..self }
    }

    #[must_use]
    pub fn with_notice(self, text: impl Into<String>) -> Self {
        Self { notice: Some(Notice { text: text.into(), is_error: false }), ..self }
    }
}

fn places(signed: &Signed, here: &str) -> Vec<Place> {
    let may = |action: Action| signed.may(action) == Permission::Granted;
    let places = PLACES.iter().filter(|(action, ..)| may(*action));
    places.map(|(_, href, label)| Place { href, label, is_here: *href == here }).collect()
}

/// A screen of the navigation by its address; the first page for anything else.
pub fn screen(path: &str) -> &'static str {
    PLACES.iter().map(|(_, href, _)| *href).find(|href| *href == path).unwrap_or("/")
}

/// A page with status 200.
pub fn page(template: &impl Template) -> Result<Response, Problem> {
    page_with(StatusCode::OK, template)
}

pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response, Problem> {
    match template.render() {
        Ok(html) => Ok((status, Html(html)).into_response()),
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            Err(Problem::Broken)
        }
    }
}

/// An instant for people, in UTC, which it says.
pub fn when(instant: &DateTime<Utc>) -> String {
    instant.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}
