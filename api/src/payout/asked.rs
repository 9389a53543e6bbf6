//! Context of every payout operation.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use gateway::{app::Gateway, payout::PayoutFamily, storage::access::Caller};
use uuid::Uuid;

use super::{kind::Kind, problem::Problem};
use crate::{State, auth::Merchant};

/// An authenticated merchant, with errors in the payout envelope, and the requested family.
pub struct Asked {
    pub gateway: State,
    pub family: PayoutFamily,
    pub caller: Caller,
}

/// The same for a request about one order. A malformed id names no order of the family.
pub struct AskedOf {
    pub gateway: State,
    pub merchant_id: Uuid,
    pub order_id: String,
}

impl FromRequestParts<State> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Merchant(caller) = Merchant::from_request_parts(parts, state).await?;
        let family = parts.extensions.get().copied();
        let family = family.expect("each family's routes say which one they are");
        Ok(Self { gateway: state.clone(), family, caller })
    }
}

impl FromRequestParts<State> for AskedOf {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Problem> {
        let Asked { gateway, family, caller } = Asked::from_request_parts(parts, state).await?;
        let unknown = || Problem::new(Kind::OrderNotFound, "no order has this id");
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(order_id) = path.map_err(|_| unknown())?;
        if !Gateway::names_payout(family, &order_id) {
            return Err(unknown());
        }
        Ok(Self { gateway, merchant_id: caller.merchant_id, order_id })
    }
}
