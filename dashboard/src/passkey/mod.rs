//! Passkeys in pages: the script that asks the authenticator, the form it fills in, and the answer
//! that the form brings back.

use std::sync::LazyLock;

use askama::Template;
use axum::{http::header, response::IntoResponse};
use gateway::{
    account::{
        Action,
        passkey::{self, NAME_CHARS_MAX, Purpose},
    },
    app::account::passkey::{Answer, Question},
};
use sha2::{Digest, Sha256};

use crate::{form::Form, next_page::NextPage, visit::Visit};

const SCRIPT: &str = include_str!("../../assets/passkey.js");
const NAME_DIGITS: usize = 12;

pub static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = hex::encode(Sha256::digest(SCRIPT));
    hash.truncate(NAME_DIGITS);
    format!("/assets/passkey.{hash}.js")
});

pub async fn serve_script() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, SCRIPT)
}

/// The form of a passkey, hidden until its script finds that the browser knows them.
#[derive(Template)]
#[template(path = "passkey/form.html")]
pub struct PasskeyForm {
    path: &'static str,
    action: Action,
    label: &'static str,
    token: String,
    question: Question,
    /// The account that a new passkey is for.
    user_name: Option<String>,
    next: Option<NextPage>,
    name_max: usize,
    script: &'static str,
}

/// A form before its question.
pub struct Blank {
    pub path: &'static str,
    pub action: Action,
    pub label: &'static str,
    pub purpose: Purpose,
    pub next: Option<NextPage>,
}

/// Asks for a passkey. `None` where there can be none, as at an address without a name: the page
/// has another way then.
pub async fn form(gateway: &crate::State, visit: &Visit, blank: Blank) -> Option<PasskeyForm> {
    // Before a sign-in the passkey itself names the account.
    let signed = visit.anyone().filter(|_| blank.purpose != Purpose::SignIn);
    let asked = gateway.ask_for_passkey(blank.purpose, visit.holder(), signed).await;
    let question = match asked {
        Ok(question) => question,
        Err(error) => {
            tracing::warn!(%error, "no passkey can be asked for");
            return None;
        }
    };
    let is_new = blank.purpose == Purpose::Register;
    if !is_new && signed.is_some() && question.credentials.is_empty() {
        return None;
    }
    let Blank { path, action, label, next, .. } = blank;
    let user_name = signed.filter(|_| is_new).map(|signed| signed.row.email.clone());
    let (token, name_max, script) = (visit.token.clone(), NAME_CHARS_MAX, SCRIPT_PATH.as_str());
    Some(PasskeyForm { path, action, label, token, question, user_name, next, name_max, script })
}

/// The answer in a form. What cannot be read is empty, and then refused as any wrong answer.
pub fn answer(form: &Form) -> Answer {
    let field = |name| passkey::decode(form.text(name)).unwrap_or_default();
    Answer {
        credential_id: field("credential_id"),
        client_data: field("client_data"),
        authenticator_data: field("authenticator_data"),
        signature: field("signature"),
        user_handle: field("user_handle"),
    }
}
