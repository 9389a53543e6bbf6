//! One link: its address, its code, its button, and the switch.

use askama::{Template, filters::Safe};
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{account::session::Permission, link::LinkError, till::device::DeviceError},
    link::{self, LinkKind, button},
    storage::{links::Link, tills::Device},
    till::{DeviceState, NAME_CHARS_MAX},
};

use super::{address, price};
use crate::{
    problem::Problem,
    qr,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "links/detail.html")]
struct Page {
    shell: Shell,
    link: Link,
    price: String,
    address: String,
    /// The button's HTML, to be copied.
    snippet: String,
    code: Safe<String>,
    may_change: bool,
    /// Of a till.
    devices: Vec<Device>,
    may_enrol: bool,
}

impl Page {
    fn is_till(&self) -> bool {
        self.link.terms.kind == LinkKind::Pos
    }
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let link = gateway.find_link(merchant_id, known(&id)?).await?.ok_or(Problem::NotFound)?;
    let shell = Shell::of(&visit, super::HERE);
    let address = address(&gateway, &link);
    let devices = if link.terms.kind == LinkKind::Pos {
        gateway.list_devices(merchant_id, &link.link_id).await.map_err(|error| match error {
            DeviceError::Storage(error) => error.into(),
            DeviceError::NoLink
            | DeviceError::NotFound
            | DeviceError::NoTill
            | DeviceError::Name
            | DeviceError::TooMany { .. } => Problem::NotFound,
        })?
    } else {
        Vec::new()
    };
    show(&Page {
        shell: match visit.asked("done") {
            Some("created") => shell.with_notice("Created. Send its address, or print its code."),
            Some("revoked") => shell.with_notice("The device is revoked."),
            Some("on") => shell.with_notice("The link is on."),
            Some("off") => {
                shell.with_notice("The link is off. Payments that are open can still be paid.")
            }
            Some(_) | None => shell,
        },
        price: price(&link),
        snippet: button::html(&address, &link.terms.title),
        code: qr::svg(&address, "QR code of the link"),
        may_change: visit.signed()?.may(Action::LinkChange) == Permission::Granted,
        may_enrol: visit.signed()?.may(Action::DeviceEnrol) == Permission::Granted,
        devices,
        address,
        link,
    })
}

pub async fn switch(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let link_id = known(&id)?;
    let active = match visit.form.text("active") {
        "yes" => true,
        "no" => false,
        _ => return Err(Problem::Conflict("The form names no state. Open it again.".to_owned())),
    };
    match gateway.switch_link(merchant_id, link_id, active, visit.email()?).await {
        Ok(_) => {
            let done = if active { "on" } else { "off" };
            Ok(Redirect::to(&format!("/links/{link_id}?done={done}")).into_response())
        }
        Err(LinkError::NotFound) => Err(Problem::NotFound),
        Err(LinkError::Storage(error)) => Err(error.into()),
        Err(refused) => Err(Problem::Conflict(format!("Not changed: {refused}."))),
    }
}

/// A text that cannot be an id names no link.
pub(super) fn known(id: &str) -> Result<&str, Problem> {
    if link::is_id(id) { Ok(id) } else { Err(Problem::NotFound) }
}
