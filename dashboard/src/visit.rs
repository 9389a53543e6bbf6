//! A request as the guard has let it through.

use axum::{
    extract::FromRequestParts,
    http::request::Parts,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::bearer::Bearer,
    app::account::{
        Visitor,
        session::{Chosen, Signed},
        sign_in::Opened,
    },
    storage::operator::announcements::Shown,
};
use uuid::{Uuid, fmt::Simple};

use crate::{State, cookie, form::Form, problem::Problem};

/// The token of the forms of a session's pages: what follows from the session, then the merchant
/// that the pages are about. A form of a page that is still open must not act on a merchant that
/// was chosen later.
pub fn form_token(session: &Bearer, signed: Option<&Signed>) -> String {
    let chosen = signed.and_then(Signed::chosen);
    let merchant_id = chosen.map_or_else(Uuid::nil, |chosen| chosen.merchant_id);
    format!("{}{}", session.form_token(), merchant_id.simple())
}

/// The part of a token that follows from the session, whichever merchant it shows.
pub fn session_part(token: &str) -> &str {
    let at = token.len().checked_sub(Simple::LENGTH);
    at.and_then(|at| token.get(..at)).unwrap_or(token)
}

/// The caller with his session, his form and the token of his forms.
#[derive(Clone)]
pub struct Visit {
    signed: Option<Signed>,
    pub visitor: Visitor,
    pub form: Form,
    pub token: String,
    pub query: Form,
    /// Announcements of operators to this account.
    pub announcements: Vec<Shown>,
}

impl Visit {
    pub const fn new(
        signed: Option<Signed>,
        visitor: Visitor,
        form: Form,
        token: String,
        query: Form,
    ) -> Self {
        Self { signed, visitor, form, token, query, announcements: Vec::new() }
    }

    #[must_use]
    pub fn with_announcements(self, announcements: Vec<Shown>) -> Self {
        Self { announcements, ..self }
    }

    /// The session, of a route that needs one.
    pub fn signed(&self) -> Result<&Signed, Problem> {
        self.signed.as_ref().ok_or(Problem::SignedOut)
    }

    /// The session of a page that also strangers see.
    pub const fn anyone(&self) -> Option<&Signed> {
        self.signed.as_ref()
    }

    /// The merchant whose screen this is.
    pub fn merchant(&self) -> Result<Chosen<'_>, Problem> {
        self.signed()?.chosen().ok_or(Problem::SignedOut)
    }

    /// Whom a challenge is for: the session, or the browser before there is one.
    pub fn holder(&self) -> &str {
        session_part(&self.token)
    }

    /// The address of the account that acts.
    pub fn email(&self) -> Result<&str, Problem> {
        Ok(&self.signed()?.row.email)
    }

    /// A parameter of the page's address.
    pub fn asked(&self, name: &str) -> Option<&str> {
        self.query.filled(name)
    }
}

impl FromRequestParts<State> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or(Problem::Broken)
    }
}

/// An answer that leads to a page of ours and gives the session its id.
pub fn with_session(gateway: &State, id: &Bearer, to: &str) -> Response {
    with_session_in(gateway, id, Redirect::to(to).into_response())
}

/// Any answer that gives the session its id.
pub fn with_session_in(gateway: &State, id: &Bearer, mut response: Response) -> Response {
    let url = &gateway.config.dashboard_url;
    if let Some(line) = cookie::set(cookie::Kind::Session, id, url) {
        response.headers_mut().append(axum::http::header::SET_COOKIE, line);
    }
    response
}

/// An answer to a sign-in: the session's id, and the token by which this browser is known. A
/// session that was open in it ends.
pub async fn entered(
    gateway: &State,
    visit: &Visit,
    opened: &Opened,
    to: &str,
) -> Result<Response, Problem> {
    if let Some(before) = visit.anyone()
        && before.row.complete
    {
        gateway.end_session(before, before.row.handle).await?;
    }
    Ok(with_opened(gateway, opened, to))
}

/// The same of a session that was completed.
pub fn with_opened(gateway: &State, opened: &Opened, to: &str) -> Response {
    let mut response = with_session(gateway, &opened.id, to);
    let url = &gateway.config.dashboard_url;
    if let Some(device) = &opened.device
        && let Some(line) = cookie::set(cookie::Kind::Device, device, url)
    {
        response.headers_mut().append(axum::http::header::SET_COOKIE, line);
    }
    response
}
