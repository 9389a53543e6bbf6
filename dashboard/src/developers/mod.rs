//! Keys of a merchant: shown by their ends, replaced, and shown whole once.

pub mod legacy;

use askama::Template;
use axum::{extract::State, response::Response};
use gateway::{
    account::Action,
    app::{account::session::Permission, merchant::manage::MerchantError},
    storage::payment_search::{Filter, Side},
};

use crate::{
    list,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "developers/page.html")]
struct Page {
    shell: Shell,
    merchant_id: String,
    base_url: String,
    key_preview: String,
    secret_version: String,
    /// The newest payment, for the snippets.
    newest: Option<String>,
    may_rotate: bool,
    /// Keys of the `/legacy` adapter, if the merchant has any.
    legacy: Option<legacy::Shown>,
}

/// The one page with the secret itself; a reload finds that it was replaced already.
#[derive(Template)]
#[template(path = "developers/once.html")]
struct Once<'a> {
    shell: Shell,
    title: &'static str,
    name: &'static str,
    secret: &'a str,
    effect: &'static str,
}

/// The words of a refusal; what is nobody's fault passes on.
pub fn problem(error: MerchantError) -> Problem {
    match error {
        MerchantError::Unknown(_) => Problem::NotFound,
        MerchantError::Storage(error) => error.into(),
        MerchantError::MasterKey(error) => {
            gateway::app::account::SignInError::MasterKey(error).into()
        }
        error @ (MerchantError::Name
        | MerchantError::DeceptiveName
        | MerchantError::AlreadyThere(_)
        | MerchantError::ChangedMeanwhile
        | MerchantError::Settings(_)
        | MerchantError::UnknownCurrency(_)
        | MerchantError::DefaultCallback(_)
        | MerchantError::Url { .. }) => Problem::Conflict(error.to_string()),
    }
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let row = gateway.merchant(id).await.map_err(problem)?;
    let secret_version = gateway.secret_version(id).await.map_err(problem)?;
    let legacy = gateway.legacy_keys(id).await.map_err(problem)?;
    let (at, place) = list::newest();
    let place = (Side::Older, at, place);
    let newest = gateway.payments_beside(id, &Filter::default(), place, 1).await?;
    show(&Page {
        shell: Shell::of(&visit, "/developers"),
        newest: newest.into_iter().next().map(|payment| payment.payment_id),
        merchant_id: id.to_string(),
        base_url: gateway.config.base_url.trim_end_matches('/').to_owned(),
        key_preview: row.api_key_preview,
        secret_version,
        legacy: legacy.map(|keys| legacy::Shown::of(id, keys)),
        may_rotate: visit.signed()?.may(Action::KeyRotate) == Permission::Granted,
    })
}

pub async fn rotate_key(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let key = gateway.rotate_key_seen(id, visit.form.text("seen")).await.map_err(problem)?;
    show(&Once {
        shell: Shell::of(&visit, "/developers"),
        title: "The new API key",
        name: "API key",
        secret: key.reveal(),
        effect: "The key before it stopped working.",
    })
}

pub async fn rotate_secret(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let secret = gateway.rotate_secret_seen(id, visit.form.text("seen")).await.map_err(problem)?;
    show(&Once {
        shell: Shell::of(&visit, "/developers"),
        title: "The new webhook secret",
        name: "Webhook secret",
        secret: secret.reveal(),
        effect: "It signs from the next attempt on, retries included.",
    })
}
