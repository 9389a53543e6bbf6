//! Mass payouts: `/v1/mass-payout` and `/v1/evm-mass-payout`, the same operations on two families
//! of networks, with their own result envelope (spec, "Other surfaces").

mod asked;
pub mod kind;
pub mod problem;
mod request;
pub mod route;
pub mod shape;
mod wire;

use axum::{
    Extension, Router,
    http::Method,
    routing::{MethodRouter, get, post},
};
use gateway::payout::PayoutFamily;

use crate::{State, on_both_spellings};
use kind::Kind;

/// One operation of both families.
pub struct Operation {
    pub method: Method,
    /// Path below [`path`] of the family.
    pub path: &'static str,
    /// Errors of the operation besides [`Kind::OF_ALL`].
    pub kinds: &'static [Kind],
    handler: MethodRouter<State>,
}

/// All operations. The routes and their OpenAPI description are built from this list alone.
pub fn operations() -> Vec<Operation> {
    use Kind::{
        DepositAlreadyDetected, InvalidRequest, InvalidState, NodeUnavailable, OrderNotFound,
        QuoteChanged, QuoteExpired, RateProviderDown, UnsupportedNetwork,
    };
    const READ: &[Kind] = &[OrderNotFound];
    const LISTED: &[Kind] = &[InvalidRequest];
    const LISTED_OF: &[Kind] = &[InvalidRequest, OrderNotFound];
    const CONFIRMED: &[Kind] = &[
        InvalidRequest,
        UnsupportedNetwork,
        OrderNotFound,
        InvalidState,
        QuoteExpired,
        QuoteChanged,
    ];
    const REFRESHED: &[Kind] =
        &[OrderNotFound, InvalidState, DepositAlreadyDetected, RateProviderDown, NodeUnavailable];
    const CANCELLED: &[Kind] = &[OrderNotFound, InvalidState];
    let row = |method, path, kinds, handler| Operation { method, path, kinds, handler };
    vec![
        row(Method::POST, "/", Kind::OF_NEW, post(route::create)),
        row(Method::GET, "/", LISTED, get(route::list)),
        row(Method::GET, "/template.csv", &[], get(route::template)),
        row(Method::GET, "/{id}", READ, get(route::read)),
        row(Method::GET, "/{id}/items", LISTED_OF, get(route::items)),
        row(Method::GET, "/{id}/batches", READ, get(route::batches)),
        row(Method::GET, "/{id}/report.csv", READ, get(route::report)),
        row(Method::POST, "/{id}/confirm", CONFIRMED, post(route::confirm)),
        row(Method::POST, "/{id}/refresh-quote", REFRESHED, post(route::refresh)),
        row(Method::POST, "/{id}/cancel", CANCELLED, post(route::cancel)),
    ]
}

/// Base path of a family's operations.
pub const fn path(family: PayoutFamily) -> &'static str {
    match family {
        PayoutFamily::Utxo => "/v1/mass-payout",
        PayoutFamily::Evm => "/v1/evm-mass-payout",
    }
}

/// Routes of both families.
pub fn routes() -> Router<State> {
    let each = |family: PayoutFamily| {
        let add = |router: Router<State>, row: Operation| {
            let path = format!("{}{}", path(family), row.path.trim_end_matches('/'));
            on_both_spellings(router, &path, row.handler)
        };
        operations().into_iter().fold(Router::new(), add).layer(Extension(family))
    };
    PayoutFamily::ALL.into_iter().map(each).fold(Router::new(), Router::merge)
}
