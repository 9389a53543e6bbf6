//! Mass payouts: `/v1/mass-payout` and `/v1/evm-mass-payout`, the same operations on two families of networks, with a
//! result envelope of their own (spec, "Other surfaces").

mod problem;
mod request;
mod route;
mod wire;

use axum::{
    Extension, Router,
    extract::FromRequestParts,
    http::request::Parts,
    routing::{get, post},
};
use gateway::{payout::PayoutFamily, storage::access::Caller};

use crate::{State, auth::Merchant};
use problem::Problem;

/// Both families.
pub fn routes() -> Router<State> {
    Router::new()
        .nest("/v1/mass-payout", family(PayoutFamily::Utxo))
        .nest("/v1/evm-mass-payout", family(PayoutFamily::Evm))
}

fn family(family: PayoutFamily) -> Router<State> {
    Router::new()
        .route("/", get(route::list).post(route::create))
        .route("/template.csv", get(route::template))
        .route("/{id}", get(route::read))
        .route("/{id}/items", get(route::items))
        .route("/{id}/batches", get(route::batches))
        .route("/{id}/report.csv", get(route::report))
        .route("/{id}/confirm", post(route::confirm))
        .route("/{id}/refresh-quote", post(route::refresh))
        .route("/{id}/cancel", post(route::cancel))
        .layer(Extension(family))
}

/// A merchant whose refusal is told in this family's envelope.
pub struct PayoutMerchant(pub Caller);

impl FromRequestParts<State> for PayoutMerchant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Merchant(caller) = Merchant::from_request_parts(parts, state).await?;
        Ok(Self(caller))
    }
}
