//! A till's devices: a code for a new one, shown once, and revocation.

use askama::{Template, filters::Safe};
use axum::{
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    app::till::device::{DeviceError, NewDevice},
    till::DeviceState,
};

use super::{address, detail};
use crate::{
    problem::Problem,
    qr,
    shell::{Shell, page_with},
    visit::Visit,
};

/// The one page with the code itself.
#[derive(Template)]
#[template(path = "links/device_once.html")]
struct Once {
    shell: Shell,
    link_id: String,
    name: String,
    code: String,
    /// The enrolment page, with the code in it.
    url: String,
    qr: Safe<String>,
    until: String,
}

pub async fn enrol(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let link_id = detail::known(&id)?;
    let name = visit.form.text("name");
    let added = gateway.add_device_by_hand(merchant_id, link_id, name, visit.email()?).await;
    let NewDevice { device, code } = added.map_err(problem)?;
    let link = gateway.find_link(merchant_id, link_id).await?.ok_or(Problem::NotFound)?;
    let url = format!("{}/enrol/{}", address(&gateway, &link), code.reveal());
    let page = Once {
        shell: Shell::of(&visit, super::HERE),
        link_id: link_id.to_owned(),
        name: device.name,
        qr: qr::svg(&url, "QR code that enrols the device"),
        code: code.reveal(),
        url,
        until: crate::shell::when(&device.code_expires_at),
    };
    page_with(StatusCode::OK, &page)
}

pub async fn revoke(
    State(gateway): State<crate::State>,
    Path((id, device)): Path<(String, String)>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let link_id = detail::known(&id)?;
    let by = visit.email()?;
    let revoked = gateway.revoke_device_by_hand(merchant_id, link_id, &device, by).await;
    revoked.map_err(problem)?;
    Ok(Redirect::to(&format!("/links/{link_id}?done=revoked")).into_response())
}

fn problem(error: DeviceError) -> Problem {
    match error {
        DeviceError::NoLink | DeviceError::NotFound => Problem::NotFound,
        DeviceError::Storage(error) => error.into(),
        error @ (DeviceError::NoTill | DeviceError::Name | DeviceError::TooMany { .. }) => {
            Problem::Conflict(format!("Not done: {error}."))
        }
    }
}

/// The class of a state's mark, by which the style sheet colours it.
pub fn mark(state: &DeviceState) -> &'static str {
    match state {
        DeviceState::Enrolled => "active",
        DeviceState::Locked => "dead",
        DeviceState::Waiting => "partial",
        DeviceState::Expired | DeviceState::Revoked => "cancelled",
    }
}
