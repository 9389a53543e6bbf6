//! What every operation is asked with.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use gateway::{app::Gateway, payout::PayoutFamily, storage::access::Caller};
use uuid::Uuid;

use super::{kind::Kind, problem::Problem};
use crate::{State, auth::Merchant};

/// A merchant whose refusal is told in the words of payouts, and the family that he asks.
pub struct Asked {
    pub gateway: State,
    pub family: PayoutFamily,
    pub caller: Caller,
}

/// The same about one order. What cannot be an id of the family names none.
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
