//! Devices of a till, for its merchant.

use axum::{
    Json,
    body::Body,
    extract::{self, Path, rejection::PathRejection},
    http::StatusCode,
};
use gateway::app::till::device::DeviceError;

use super::wire::{NewTillDevice, TillDevice, TillDeviceList, TillEnrolment};
use crate::{
    State,
    auth::Merchant,
    body::{read_members, required},
    error::ApiError,
    link::route::link_id,
};

/// Enrol a device of a till
///
/// Answers a code for a link of type `pos`. Whoever enters it on the till's page within 15 minutes
/// enrols that browser and chooses its PIN. A repeated request makes another device.
#[utoipa::path(
    post, path = "/v1/links/{id}/devices", operation_id = "enrolDevice", tag = "Payment links",
    params(("id" = String, Path, description = "The `link_id`.")),
    request_body(content = NewTillDevice, example = json!({ "name": "Counter 1" })),
    responses((status = 201, description = "The code.", body = TillEnrolment)),
)]
pub async fn create(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
    body: Body,
) -> Result<(StatusCode, Json<TillEnrolment>), ApiError> {
    let id = link_id(id)?;
    let members = read_members(body).await?;
    // Longer than a name may be: invisible characters are left out of it first.
    let name = required("name", members.string("name", 1..=200)?)?;
    let new = gateway.add_device(caller.merchant_id, &id, &name).await?;
    let checkout_url = gateway.config.checkout_url.trim_end_matches('/');
    let enrolment = TillEnrolment::render(new, &format!("{checkout_url}/pos/{id}"));
    Ok((StatusCode::CREATED, Json(enrolment)))
}

/// List the devices of a till
#[utoipa::path(
    get, path = "/v1/links/{id}/devices", operation_id = "listDevices", tag = "Payment links",
    params(("id" = String, Path, description = "The `link_id`.")),
    responses((status = 200, description = "Its devices, at most 200.", body = TillDeviceList)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<TillDeviceList>, ApiError> {
    let devices = gateway.list_devices(caller.merchant_id, &link_id(id)?).await?;
    Ok(Json(TillDeviceList { data: devices.into_iter().map(TillDevice::render).collect() }))
}

/// Revoke a device of a till
///
/// At once and for good; its code, if it was not used, is void too. A charge that it shows can
/// still be paid. One that is revoked already stays as it is.
#[utoipa::path(
    delete, path = "/v1/links/{id}/devices/{device_id}", operation_id = "revokeDevice", tag = "Payment links",
    params(
        ("id" = String, Path, description = "The `link_id`."),
        ("device_id" = String, Path, description = "The `device_id`."),
    ),
    responses((status = 200, description = "The device as it is now.", body = TillDevice)),
)]
pub async fn revoke(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    ids: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<TillDevice>, ApiError> {
    let Path((id, device_id)) = ids.map_err(|_| ApiError::LinkNotFound)?;
    let id = link_id(Ok(Path(id)))?;
    let device = gateway.revoke_device(caller.merchant_id, &id, &device_id).await?;
    Ok(Json(TillDevice::render(device)))
}

impl From<DeviceError> for ApiError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::NoLink => Self::LinkNotFound,
            DeviceError::NotFound => Self::DeviceNotFound,
            DeviceError::NoTill | DeviceError::Name | DeviceError::TooMany { .. } => {
                Self::invalid(error.to_string())
            }
            DeviceError::Storage(error) => error.into(),
        }
    }
}
