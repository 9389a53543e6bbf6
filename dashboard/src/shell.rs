//! The frame of all pages: who is signed in, where he can go, and the token of his forms.

use askama::Template;
use axum::{
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use gateway::{
    account::{Action, action::Scope},
    app::account::session::{Permission, Signed},
};

use crate::{
    announcements::Banners,
    asset::{ICON_PATH, SCRIPT_PATH, STYLE_PATH},
    problem::Problem,
    visit::Visit,
};

/// Addresses of the operators' pages begin with it.
const OPERATION: &str = "/operator";

/// The navigation: what exists, of which a page shows what its reader may see.
const PLACES: &[(Action, &str, &str)] = &[
    (Action::OverviewView, "/", "Overview"),
    (Action::PaymentView, "/payments", "Payments"),
    (Action::LinkView, "/links", "Links"),
    (Action::SubscriptionView, "/subscriptions", "Subscriptions"),
    (Action::X402View, "/x402", "x402"),
    (Action::PayoutView, "/payouts", "Payouts"),
    (Action::EventView, "/events", "Events"),
    (Action::BalanceView, "/balance", "Balance"),
    (Action::ReportView, "/reports", "Reports"),
    (Action::DevelopersView, "/developers", "Developers"),
    (Action::SettingsView, "/settings", "Settings"),
    (Action::TeamView, "/team", "Team"),
    (Action::AccountView, "/account", "Account"),
    (Action::OperatorView, "/operator", "Operation"),
    (Action::MerchantView, "/operator/merchants", "Merchants"),
    (Action::DeadLetterView, "/operator/dead-letters", "Dead letters"),
    (Action::OperatorTeamView, "/operator/accounts", "Operators"),
    (Action::DepositView, "/operator/deposits", "Deposits"),
    (Action::OperatorPayoutView, "/operator/payouts", "Payouts"),
    (Action::CurrencyView, "/operator/currencies", "Currencies"),
    (Action::NetworkView, "/operator/networks", "Networks"),
    (Action::X402HealthView, "/operator/x402", "x402"),
    (Action::AnnouncementView, "/operator/announcements", "Announcements"),
    (Action::AuditView, "/operator/audit", "Audit log"),
];

pub struct Place {
    pub href: &'static str,
    pub label: &'static str,
    pub is_here: bool,
}

/// Places of one kind, under a heading where there are two kinds.
pub struct Group {
    pub heading: Option<&'static str>,
    pub places: Vec<Place>,
}

/// The frame of a page, for its template.
pub struct Shell {
    pub style: &'static str,
    pub script: &'static str,
    pub icon: &'static str,
    pub token: String,
    pub email: Option<String>,
    pub merchant: Option<String>,
    /// The operator's own pages are marked, so that nobody takes them for a merchant's.
    pub is_operators: bool,
    pub groups: Vec<Group>,
    /// The page to which the key `/` leads from one without a search of its own.
    pub search: Option<&'static str>,
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
            banners: Banners::of(visit, signed, here),
            is_operators: here.starts_with(OPERATION),
            groups: groups(signed, here),
            search: search(signed),
            ..Self::bare(visit)
        }
    }

    /// The frame of a page with nothing but its one form.
    pub fn bare(visit: &Visit) -> Self {
        Self {
            style: STYLE_PATH.as_str(),
            script: SCRIPT_PATH.as_str(),
            icon: ICON_PATH.as_str(),
            token: visit.token.clone(),
            email: None,
            merchant: None,
            is_operators: false,
            groups: Vec::new(),
            search: None,
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

/// The places that somebody may see: a merchant's, the operators', and what belongs to the account.
fn groups(signed: &Signed, here: &str) -> Vec<Group> {
    let may = |action: Action| signed.may(action) == Permission::Granted;
    let seen: Vec<_> = PLACES.iter().copied().filter(|(action, ..)| may(*action)).collect();
    let of = |kind: Kind| -> Vec<Place> {
        let kept = seen.iter().copied().filter(|(action, ..)| Kind::of(*action) == kind);
        kept.map(|(_, href, label)| Place { href, label, is_here: href == here }).collect()
    };
    let (merchant, operators) = (of(Kind::Merchant), of(Kind::Operators));
    let is_both = !merchant.is_empty() && !operators.is_empty();
    let headed = |heading| is_both.then_some(heading);
    [
        (headed("Merchant"), merchant),
        (headed("Operation"), operators),
        (headed("You"), of(Kind::Account)),
    ]
    .into_iter()
    .filter(|(_, places)| !places.is_empty())
    .map(|(heading, places)| Group { heading, places })
    .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Merchant,
    Operators,
    Account,
}

impl Kind {
    const fn of(action: Action) -> Self {
        match action.scope() {
            Scope::Merchant => Self::Merchant,
            Scope::Operator => Self::Operators,
            Scope::Anyone | Scope::SecondFactorPending | Scope::Account => Self::Account,
        }
    }
}

/// The page with the search of whoever is signed in.
fn search(signed: &Signed) -> Option<&'static str> {
    let may = signed.may(Action::PaymentView) == Permission::Granted;
    may.then_some("/payments#search")
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

/// A screen of the navigation by its address; the first page for anything else.
pub fn screen(path: &str) -> &'static str {
    PLACES.iter().map(|(_, href, _)| *href).find(|href| *href == path).unwrap_or("/")
}
