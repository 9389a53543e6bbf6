//! Keys of the `/legacy` adapter: given, replaced, revoked.

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{legacy::keys::merchant_id, storage::legacy_keys::PublicPart};

use super::problem;
use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

/// The one page with the private key itself.
#[derive(Template)]
#[template(path = "developers/legacy_once.html")]
struct Once<'a> {
    shell: Shell,
    merchant_id: String,
    public_key: &'a str,
    private_key: &'a str,
}

/// The public part of a merchant's keys, as the screen shows it.
pub struct Shown {
    pub public_key: String,
    pub may_withdraw: bool,
    /// The merchant's id as plugins ask for it.
    pub merchant_id: String,
}

impl Shown {
    pub fn of(id: uuid::Uuid, keys: PublicPart) -> Self {
        let PublicPart { public_key, may_withdraw, .. } = keys;
        Self { public_key, may_withdraw, merchant_id: merchant_id(id) }
    }
}

/// Gives first keys, or replaces those that the page showed.
pub async fn rotate(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let seen = Some(visit.form.text("seen")).filter(|seen| !seen.is_empty());
    let may_withdraw = !visit.form.text("withdrawals").is_empty();
    let new = gateway.issue_legacy_keys_seen(id, seen, may_withdraw).await.map_err(problem)?;
    show(&Once {
        shell: Shell::of(&visit, "/developers"),
        merchant_id: merchant_id(id),
        public_key: &new.public_key,
        private_key: new.private_key.reveal(),
    })
}

pub async fn revoke(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let seen = visit.form.text("seen");
    gateway.revoke_legacy_keys_seen(id, seen).await.map_err(problem)?;
    Ok(Redirect::to("/developers").into_response())
}
