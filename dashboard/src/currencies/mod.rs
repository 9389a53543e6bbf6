//! Currencies on sale and their minimums. A change is shown with its effect before it is made.

use askama::Template;
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        market::{
            preview_change::{Weighed, version},
            set_currency::{CurrencyError, CurrencyState},
        },
    },
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
};
use rust_decimal::Decimal;

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

const HERE: &str = "/operator/currencies";

#[derive(Template)]
#[template(path = "currencies/page.html")]
struct Page {
    shell: Shell,
    networks: Vec<Network>,
    network: Option<Network>,
    rows: Vec<CurrencyState>,
}

#[derive(Template)]
#[template(path = "currencies/detail.html")]
struct Detail {
    shell: Shell,
    weighed: Weighed,
    id: String,
    version: String,
    /// The values in the form.
    enabled: bool,
    minimum: String,
    /// True where the page shows the effect of these values.
    is_preview: bool,
    may_change: bool,
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let network: Option<Network> = visit.asked("network").and_then(|name| name.parse().ok());
    let mut rows = gateway.currencies().await?;
    rows.retain(|state| network.is_none_or(|network| network == state.currency.network));
    let shell = Shell::of(&visit, HERE);
    show(&Page { shell, networks: Network::ALL.to_vec(), network, rows })
}

impl Page {
    fn is_network(&self, network: &Network) -> bool {
        self.network.as_ref() == Some(network)
    }
}

fn named(id: &str) -> Result<&'static Currency, Problem> {
    Catalogue::get().by_token_id(id).ok_or(Problem::NotFound)
}

/// A minimum as it was typed.
fn minimum(text: &str) -> Result<Decimal, CurrencyError> {
    Decimal::from_str_exact(text.trim()).map_err(|_| CurrencyError::Minimum)
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let currency = named(&id)?;
    let mut shell = Shell::of(&visit, HERE);
    if visit.asked("done").is_some() {
        shell =
            shell.with_notice("Saved. New payments use it within seconds; open ones keep theirs.");
    }
    let typed = visit.asked("min_usd").map(ToOwned::to_owned);
    let enabled = visit.asked("enabled").map(|text| text == "yes");
    shown(&gateway, &visit, currency, (StatusCode::OK, shell), (typed, enabled)).await
}

async fn shown(
    gateway: &crate::State,
    visit: &Visit,
    currency: &'static Currency,
    (mut status, mut shell): (StatusCode, Shell),
    (typed, enabled): (Option<String>, Option<bool>),
) -> Result<Response, Problem> {
    let wanted = typed.as_deref().map(minimum).transpose();
    let weighed = match wanted {
        Ok(wanted) => gateway.weigh_currency(currency, wanted).await,
        Err(error) => Err(error),
    };
    let is_wrong = matches!(weighed, Err(CurrencyError::Minimum));
    let weighed = match weighed {
        Err(CurrencyError::Minimum) => {
            status = StatusCode::UNPROCESSABLE_ENTITY;
            shell = shell.with_error(format!("Not so: {}.", CurrencyError::Minimum));
            gateway.weigh_currency(currency, None).await
        }
        other => other,
    };
    let weighed = weighed.map_err(problem)?;
    let state = &weighed.state;
    let page = Detail {
        shell,
        id: currency.token_id(),
        version: version(state),
        enabled: enabled.unwrap_or(state.enabled),
        is_preview: typed.is_some() && !is_wrong,
        minimum: typed.unwrap_or_else(|| state.min_usd.normalize().to_string()),
        may_change: visit.signed()?.may(Action::CurrencyChange) == Permission::Granted,
        weighed,
    };
    page_with(status, &page)
}

fn problem(error: CurrencyError) -> Problem {
    match error {
        CurrencyError::Storage(error) => error.into(),
        error @ (CurrencyError::Minimum | CurrencyError::ChangedMeanwhile) => {
            Problem::Conflict(format!("{error}."))
        }
    }
}

pub async fn change(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let currency = named(&id)?;
    let form = &visit.form;
    let wanted = minimum(form.text("min_usd"));
    let enabled = form.text("enabled") == "yes";
    let done = match wanted {
        Ok(min_usd) => {
            gateway.set_currency_seen(currency, form.text("seen"), (enabled, min_usd)).await
        }
        Err(error) => Err(error),
    };
    match done.map_err(problem) {
        Ok(()) => Ok(Redirect::to(&format!("{HERE}/{id}?done=saved")).into_response()),
        Err(Problem::Conflict(text)) => {
            let shell = Shell::of(&visit, HERE).with_error(text);
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            shown(&gateway, &visit, currency, (status, shell), (None, None)).await
        }
        Err(other) => Err(other),
    }
}
