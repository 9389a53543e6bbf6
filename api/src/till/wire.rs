//! A till's devices as their merchant sees them.

use gateway::{
    app::till::device::NewDevice, invoice::payment::iso_8601, invoice::schema,
    storage::tills::Device, till::DeviceState,
};
use serde::Serialize;
use utoipa::ToSchema;

/// A device to enrol.
///
/// It describes the input of the endpoint; nothing is read into it.
#[derive(ToSchema)]
pub struct NewTillDevice {
    /// A name by which you know it, on one line.
    #[schema(min_length = 1, max_length = 60, examples("Counter 1"))]
    pub name: String,
}

/// A code that enrols one browser as a device.
#[derive(Serialize, ToSchema)]
pub struct TillEnrolment {
    /// `pzd_` and 26 characters; never changes.
    #[schema(pattern = "^pzd_[0-9a-hjkmnp-tv-z]{26}$")]
    pub device_id: String,
    /// Its name.
    pub name: String,
    /// The code, shown this once. It enrols one browser.
    #[schema(examples("k7m2-9qxt-4c0d"))]
    pub code: String,
    /// The enrolment page with the code filled in, to be opened on the device or shown to its
    /// camera as a QR code. It is as secret as the code.
    pub enrol_url: String,
    /// The code is good until then.
    #[schema(value_type = schema::Instant)]
    pub code_expires_at: String,
}

/// A device of a till. Fields are only ever added.
#[derive(Debug, Serialize, ToSchema)]
pub struct TillDevice {
    /// `pzd_` and 26 characters; never changes.
    #[schema(pattern = "^pzd_[0-9a-hjkmnp-tv-z]{26}$")]
    pub device_id: String,
    /// Its name.
    pub name: String,
    /// `waiting` for its code, `expired` without it, `enrolled`, `locked` by too many wrong PINs,
    /// `revoked`.
    #[schema(value_type = TillDeviceState)]
    pub state: &'static str,
    /// The code was used then; null before.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub enrolled_at: Option<String>,
    /// Its last use, to the minute; null before the first.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub seen_at: Option<String>,
    /// It was revoked then; null if it was not.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub revoked_at: Option<String>,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
pub enum TillDeviceState {
    Waiting,
    Expired,
    Enrolled,
    Locked,
    Revoked,
}

/// The devices of a till: those in use first, each group the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TillDeviceList {
    #[schema(max_items = 200)]
    pub data: Vec<TillDevice>,
}

impl TillEnrolment {
    /// `till_url` is the address of the till's page.
    pub fn render(new: NewDevice, till_url: &str) -> Self {
        let code = new.code.reveal();
        Self {
            enrol_url: format!("{till_url}/enrol/{code}"),
            device_id: new.device.device_id,
            name: new.device.name,
            code,
            code_expires_at: iso_8601(new.device.code_expires_at),
        }
    }
}

impl TillDevice {
    pub fn render(device: Device) -> Self {
        Self {
            device_id: device.device_id,
            name: device.name,
            state: DeviceState::as_str(device.state),
            enrolled_at: device.enrolled_at.map(iso_8601),
            seen_at: device.seen_at.map(iso_8601),
            revoked_at: device.revoked_at.map(iso_8601),
            created_at: iso_8601(device.created_at),
        }
    }
}
