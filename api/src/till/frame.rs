//! The parts that all pages of a till share: the browser's keys, its style, its headers, the
//! notices.

use std::sync::LazyLock;

use askama::Template;
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Response},
};
use gateway::{account::bearer::Bearer, app::till::Keys};
use sha2::{Digest, Sha256};

use super::cookie;
use crate::{
    State,
    checkout::{
        asset::{ASSETS, STYLE},
        language::{Language, Texts},
        shell::{Shell, Visit, policy},
    },
    client_ip::Client,
    error::ApiError,
};

/// Rules of the till's pages beside those of the checkout.
const TILL_STYLE: &str = include_str!("../../assets/till.css");

/// A message shown with the page, and the HTTP status that expresses it to machines.
pub type Notice = (StatusCode, String);

/// A request for a till's page.
pub struct Request {
    pub gateway: State,
    /// The text of the path, which may be no link's id.
    pub id: String,
    pub keys: Keys,
    pub client: String,
    visit: Visit,
}

impl FromRequestParts<State> for Request {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, ApiError> {
        let Client(client) = Client::from_request_parts(parts, state).await?;
        let visit = Visit::from_request_parts(parts, state).await;
        let visit = visit.unwrap_or_else(|never| match never {});
        let path = axum::extract::RawPathParams::from_request_parts(parts, state).await;
        let path = path.map_err(|_| ApiError::UnknownPath)?;
        let named = path.iter().find(|(name, _)| *name == "id");
        let id = named.map(|(_, value)| value.to_owned()).unwrap_or_default();
        let keys = cookie::keys(&parts.headers, &id, &state.config.checkout_url);
        Ok(Self { gateway: state.clone(), id, keys, client, visit })
    }
}

impl Request {
    pub fn texts(&self) -> &'static Texts {
        self.visit.language.texts()
    }

    pub fn shell(&self) -> Shell {
        Shell::new(&self.gateway, self.visit.clone())
    }

    /// The token of the forms of an unlocked device.
    pub fn form_token(&self) -> String {
        self.keys.session.as_ref().map(Bearer::form_token).unwrap_or_default()
    }

    /// The token of the form that unlocks a device.
    pub fn unlock_token(&self) -> String {
        self.keys.token.as_ref().map(Bearer::form_token).unwrap_or_default()
    }

    pub fn is_form_token(&self, posted: &str) -> bool {
        self.keys.session.is_some() && is_same(posted, &self.form_token())
    }

    pub fn is_unlock_token(&self, posted: &str) -> bool {
        self.keys.token.is_some() && is_same(posted, &self.unlock_token())
    }

    /// 303 to the till's page: a GET that may be repeated safely. `keys` are new to the browser.
    pub fn to_till(&self, keys: &Keys) -> Response {
        let shell = self.shell();
        let mut response = StatusCode::SEE_OTHER.into_response();
        if let Ok(location) = HeaderValue::from_str(&shell.till_page(&self.id, "")) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        fence(&shell, response.headers_mut());
        cookie::give(response.headers_mut(), keys, &self.id, &self.gateway.config.checkout_url);
        response
    }
}

/// Compares tokens by their hashes, so that the time says nothing of the right one.
fn is_same(posted: &str, right: &str) -> bool {
    Sha256::digest(posted.as_bytes()) == Sha256::digest(right.as_bytes())
}

/// The till of a page, for its template.
pub struct Till {
    pub id: String,
    /// The link's.
    pub title: String,
    pub notice: Option<String>,
}

impl Till {
    pub fn style(&self) -> &'static str {
        TILL_STYLE
    }

    pub fn script(&self, shell: &Shell) -> String {
        shell.asset(&ASSETS.till.name)
    }

    /// The till's page or an action of it.
    pub fn at(&self, shell: &Shell, action: &str) -> String {
        shell.till_page(&self.id, action)
    }

    /// The same in another language.
    pub fn in_language(&self, shell: &Shell, language: &Language, action: &str) -> String {
        shell.till_page_to(language, &self.id, action)
    }
}

/// A page with its headers.
pub fn answer(code: StatusCode, shell: &Shell, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => {
            let mut response = (code, Html(html)).into_response();
            fence(shell, response.headers_mut());
            response
        }
        Err(error) => {
            tracing::error!(%error, "a page of a till could not be rendered");
            ApiError::Internal.into_response()
        }
    }
}

/// Headers of the checkout, with the till's own style and its manifest. No page may frame a till.
pub fn fence(shell: &Shell, headers: &mut HeaderMap) {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let common = policy(&[STYLE, TILL_STYLE]);
        format!("{common}; manifest-src 'self'; frame-ancestors 'none'")
    });
    shell.headers(headers);
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    // The address is a till's, and the answer depends on the browser's keys.
    headers.append(header::VARY, HeaderValue::from_static("cookie"));
}
