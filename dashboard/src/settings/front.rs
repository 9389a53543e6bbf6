//! A merchant's colour, contact and logo, which buyers see beside its name.

use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::contact::Contact,
    app::merchant::{
        front::{Front, FrontChange, FrontError, LogoChange},
        manage::MerchantError,
    },
    merchant::colour::Colour,
};

use super::again;
use crate::{developers::problem, problem::Problem, visit::Visit};

/// The form's values.
pub(super) struct Shown {
    pub version: String,
    pub colour: String,
    pub contact: String,
    /// The address of the logo, at the checkout.
    pub logo: Option<String>,
}

impl Shown {
    pub fn of(gateway: &crate::State, front: &Front) -> Self {
        let checkout = gateway.config.checkout_url.trim_end_matches('/');
        let logo = front.logo.as_ref().map(|logo| format!("{checkout}/logo/{}.png", logo.name));
        Self {
            version: front.version.clone(),
            colour: front.colour.map(Colour::to_hex).unwrap_or_default(),
            contact: front.contact.as_ref().map(Contact::as_text).unwrap_or_default().to_owned(),
            logo,
        }
    }
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = visit.merchant()?.merchant_id;
    let form = &visit.form;
    let logo = match form.file("file") {
        Some(file) => LogoChange::File(file.to_vec()),
        None if form.text("remove_logo") == "yes" => LogoChange::Removed,
        None => LogoChange::Unchanged,
    };
    let change = FrontChange {
        colour: form.filled("colour").map(ToOwned::to_owned),
        contact: form.filled("contact").map(ToOwned::to_owned),
        logo,
    };
    let refusal = match gateway.change_front(id, form.text("version"), change).await {
        Ok(()) => return Ok(Redirect::to("/settings?done=front").into_response()),
        Err(FrontError::Merchant(error @ MerchantError::ChangedMeanwhile)) => error.to_string(),
        Err(FrontError::Merchant(error)) => return Err(problem(error)),
        Err(error @ (FrontError::Colour | FrontError::Contact | FrontError::Logo(_))) => {
            error.to_string()
        }
    };
    again(&gateway, &visit, refusal).await
}
