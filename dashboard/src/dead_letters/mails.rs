//! Mails that were given up: sent again by kind and cause.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};

use super::HERE;
use crate::{problem::Problem, visit::Visit};

pub async fn requeue(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let kind = visit.form.text("kind").parse().map_err(|_| Problem::NotFound)?;
    let cause = visit.form.text("cause");
    let count = gateway.requeue_mail_group(kind, cause).await?;
    Ok(Redirect::to(&format!("{HERE}?mails={count}#mails")).into_response())
}
