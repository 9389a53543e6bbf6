//! The guard of every route: origin, session, token, role, and a fresh proof where the action needs
//! one, in this order. A route that forgets something cannot be built.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::{Action, action::Scope, bearer::Bearer},
    app::account::{
        Visitor,
        session::{Permission, Signed},
    },
    serve::client::client_key,
    storage::author::{Author, as_author},
};
use http_body_util::{BodyExt, Limited};
use subtle::ConstantTimeEq;

use crate::{
    cookie::{self, Kind},
    form::{Form, TOKEN},
    live,
    next_page::NextPage,
    origin,
    problem::Problem,
    upload,
    visit::{Visit, form_token, session_part},
};

/// The action of a route.
#[derive(Clone)]
pub struct Gate {
    pub gateway: crate::State,
    pub action: Action,
}

pub async fn guard(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match gate.pass(request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

/// The bearer whose token a form must carry, and whether the browser has yet to learn it.
struct Holder {
    bearer: Bearer,
    is_new: bool,
}

impl Gate {
    async fn pass(&self, request: Request, next: Next) -> Result<Response, Problem> {
        // No name in the database holds a zero, and PostgreSQL fails where it is asked for one.
        if request.uri().path().contains("%00") {
            return Err(Problem::NotFound);
        }
        let (mut parts, body) = request.into_parts();
        let url = &self.gateway.config.dashboard_url;
        let is_change = parts.method != Method::GET && parts.method != Method::HEAD;
        if is_change && !origin::is_ours(&parts.headers, url) {
            return Err(Problem::ForeignOrigin);
        }
        let visitor = self.visitor(&parts.headers, &parts.extensions);
        let bearer = cookie::read(&parts.headers, Kind::Session, url);
        let signed = match &bearer {
            Some(bearer) if live::is_poll(&parts.method, &parts.headers) => {
                self.gateway.still_signed(bearer).await?
            }
            Some(bearer) => self.gateway.signed(bearer).await?,
            None => None,
        };
        let holder = match (self.action.scope(), &signed, bearer) {
            (Scope::Anyone, _, _) => self.visiting(&parts.headers),
            (_, Some(_), Some(bearer)) => Holder { bearer, is_new: false },
            (_, None, _) | (_, _, None) => return Ok(Redirect::to("/sign-in").into_response()),
        };
        let token = form_token(&holder.bearer, signed.as_ref());
        let form = if is_change {
            read_form(&parts.headers, body, self.action, &token).await?
        } else {
            Form::default()
        };
        if let Some(signed) = &signed
            && let Some(elsewhere) = self.elsewhere(signed, parts.uri.path())?
        {
            return Ok(elsewhere);
        }
        let query = Form::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let author = signed.as_ref().map(|signed| Author {
            name: signed.row.email.clone(),
            address: visitor.address.clone(),
        });
        let announcements = match &signed {
            Some(signed) => self.gateway.announcements_for(signed.row.account_id).await?,
            None => Vec::new(),
        };
        let visit = Visit::new(signed, visitor, form, token, query);
        parts.extensions.insert(visit.with_announcements(announcements));
        let work = next.run(Request::from_parts(parts, Body::empty()));
        let mut response = match author {
            Some(author) => as_author(author, work).await,
            None => work.await,
        };
        if holder.is_new
            && let Some(line) = cookie::set(Kind::Visitor, &holder.bearer, url)
        {
            response.headers_mut().append(header::SET_COOKIE, line);
        }
        Ok(response)
    }

    /// The page that the caller must see first; an error where he may not do this at all.
    fn elsewhere(&self, signed: &Signed, path: &str) -> Result<Option<Response>, Problem> {
        let to = |path: &str| Ok(Some(Redirect::to(path).into_response()));
        match signed.may(self.action) {
            Permission::CodeMissing => to("/sign-in/code"),
            Permission::CodesMissing => to("/account"),
            // The first page of an operator, and of somebody without any role.
            Permission::Refused if path == "/" && signed.operator_role().is_some() => {
                to("/operator")
            }
            Permission::Refused if path == "/" => to("/account"),
            Permission::Suspended => Err(Problem::Suspended),
            Permission::Refused => Err(Problem::Refused(self.action)),
            Permission::Granted if self.action.needs_confirmation() && !signed.row.is_confirmed => {
                to(&format!("/account/confirm?{}", NextPage::after(self.action, path).query()))
            }
            Permission::Granted => Ok(None),
        }
    }

    fn visitor(&self, headers: &HeaderMap, extensions: &axum::http::Extensions) -> Visitor {
        let proxies = &self.gateway.config.api.trusted_proxies;
        let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
        Visitor {
            address: client_key(extensions, headers, proxies),
            agent: agent.unwrap_or_default().to_owned(),
            device: cookie::read(headers, Kind::Device, &self.gateway.config.dashboard_url),
        }
    }

    fn visiting(&self, headers: &HeaderMap) -> Holder {
        match cookie::read(headers, Kind::Visitor, &self.gateway.config.dashboard_url) {
            Some(bearer) => Holder { bearer, is_new: false },
            None => Holder { bearer: Bearer::generate(), is_new: true },
        }
    }
}

async fn read_form(
    headers: &HeaderMap,
    body: Body,
    action: Action,
    token: &str,
) -> Result<Form, Problem> {
    let most = upload::bytes_max(action);
    let body = Limited::new(body, most).collect().await.map_err(|_| Problem::TooLarge)?;
    let form = upload::read(headers, body.to_bytes()).await?;
    if is_token(form.text(TOKEN), token, action.scope()) {
        Ok(form)
    } else {
        Err(Problem::WrongToken)
    }
}

/// Compares a posted token in constant time: the whole of it where the form acts on a merchant,
/// otherwise the part that follows from the session.
fn is_token(posted: &str, token: &str, scope: Scope) -> bool {
    let posted = posted.as_bytes();
    match scope {
        Scope::Merchant => posted.ct_eq(token.as_bytes()).into(),
        Scope::Anyone | Scope::SecondFactorPending | Scope::Account | Scope::Operator => {
            let wanted = session_part(token).as_bytes();
            posted.get(..wanted.len()).is_some_and(|part| part.ct_eq(wanted).into())
        }
    }
}
