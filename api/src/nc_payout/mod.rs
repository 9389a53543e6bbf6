//! Non-custodial payouts: `/v1/nc-payout`. The gateway builds, the merchant signs, the gateway
//! checks, broadcasts and follows. The family has its own result envelope and error codes (spec,
//! "Other endpoint families").

pub mod code;
pub mod details;
pub mod problem;
pub mod request;
pub mod route;

use axum::{
    Router,
    extract::{FromRequestParts, Path},
    http::{Method, request::Parts},
    routing::{MethodRouter, get, post},
};
use gateway::{nc_payout, storage::access::Caller};
use uuid::Uuid;

use crate::{State, auth::Merchant, on_both_spellings};
use code::Code;
use problem::Problem;

/// Base path of the operations.
pub const PATH: &str = "/v1/nc-payout";

/// One operation.
pub struct Operation {
    pub method: Method,
    /// Path below [`PATH`].
    pub path: &'static str,
    /// Error codes of the operation besides [`Code::OF_ALL`].
    pub codes: &'static [Code],
    handler: MethodRouter<State>,
}

/// All operations of the family.
pub fn operations() -> Vec<Operation> {
    const LISTED: &[Code] = &[Code::InvalidRequest];
    const READ: &[Code] = &[Code::PayoutNotFound];
    let row = |method, path, codes, handler| Operation { method, path, codes, handler };
    vec![
        row(Method::POST, "/", Code::OF_CREATE, post(route::create)),
        row(Method::GET, "/", LISTED, get(route::list)),
        row(Method::GET, "/{id}", READ, get(route::read)),
        row(Method::POST, "/{id}/refresh", Code::OF_REFRESH, post(route::refresh)),
        row(Method::POST, "/{id}/submit", Code::OF_SUBMIT, post(route::submit)),
        row(Method::POST, "/{id}/cancel", Code::OF_CANCEL, post(route::cancel)),
    ]
}

pub fn routes() -> Router<State> {
    let add = |router: Router<State>, row: Operation| {
        let path = format!("{PATH}{}", row.path.trim_end_matches('/'));
        on_both_spellings(router, &path, row.handler)
    };
    operations().into_iter().fold(Router::new(), add)
}

/// An authenticated merchant, with errors in this family's envelope.
pub struct Asked {
    pub gateway: State,
    pub caller: Caller,
}

/// The same for a request about one payout. A malformed id names no payout.
pub struct AskedOf {
    pub gateway: State,
    pub merchant_id: Uuid,
    pub payout_id: String,
}

impl FromRequestParts<State> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Merchant(caller) = Merchant::from_request_parts(parts, state).await?;
        Ok(Self { gateway: state.clone(), caller })
    }
}

impl FromRequestParts<State> for AskedOf {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Asked { gateway, caller } = Asked::from_request_parts(parts, state).await?;
        let unknown = || Problem::new(Code::PayoutNotFound, "no payout has this id");
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(payout_id) = path.map_err(|_| unknown())?;
        if !nc_payout::is_id(&payout_id) {
            return Err(unknown());
        }
        Ok(Self { gateway, merchant_id: caller.merchant_id, payout_id })
    }
}
