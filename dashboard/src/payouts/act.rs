//! Acts on a payout: confirmed, priced again, cancelled. A refusal shows the payout as it is now.

use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{app::payout::Confirmation, money::BaseUnits, nc_payout::FeeLevel};

use super::{HERE, Named, named, nc_payouts, order, words};
use crate::{problem::Problem, visit::Visit};

/// Confirms exactly the quote that the page showed.
pub async fn confirm(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    if named(&id)? != Named::Order {
        return Err(Problem::NotFound);
    }
    let total = BaseUnits::parse(visit.form.text("total"), 0);
    let (Some(quote_id), Ok(accept_total)) = (visit.form.filled("quote"), total) else {
        let text = "The form was incomplete. Compare the quote below, and confirm it.";
        return order::refused(&gateway, &visit, &id, text.to_owned()).await;
    };
    let said =
        Confirmation { quote_id: Some(quote_id.to_owned()), accept_total: Some(accept_total) };
    match gateway.confirm_payout(visit.merchant()?.merchant_id, &id, &said).await {
        Ok(_) => Ok(done(&id, "confirmed")),
        Err(error) => order::refused(&gateway, &visit, &id, words::of_order(error)?).await,
    }
}

pub async fn refresh(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let refusal = match named(&id)? {
        Named::Order => match gateway.refresh_payout(merchant_id, &id).await {
            Ok(_) => return Ok(done(&id, "refreshed")),
            Err(error) => words::of_order(error)?,
        },
        Named::NonCustodial => {
            let level: Option<FeeLevel> = visit.form.text("fee_level").parse().ok();
            match gateway.refresh_nc_payout(merchant_id, &id, level).await {
                Ok(_) => return Ok(done(&id, "refreshed")),
                Err(error) => words::of_nc(error)?,
            }
        }
    };
    refused(&gateway, &visit, &id, refusal).await
}

pub async fn cancel(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let refusal = match named(&id)? {
        Named::Order => match gateway.cancel_payout(merchant_id, &id).await {
            Ok(_) => return Ok(done(&id, "cancelled")),
            Err(error) => words::of_order(error)?,
        },
        Named::NonCustodial => match gateway.cancel_nc_payout(merchant_id, &id).await {
            Ok(_) => return Ok(done(&id, "given-up")),
            Err(error) => words::of_nc(error)?,
        },
    };
    refused(&gateway, &visit, &id, refusal).await
}

async fn refused(
    gateway: &crate::State,
    visit: &Visit,
    id: &str,
    text: String,
) -> Result<Response, Problem> {
    match named(id)? {
        Named::Order => order::refused(gateway, visit, id, text).await,
        Named::NonCustodial => nc_payouts::refused(gateway, visit, id, text).await,
    }
}

pub fn done(id: &str, what: &str) -> Response {
    Redirect::to(&format!("{HERE}/{id}?done={what}")).into_response()
}
