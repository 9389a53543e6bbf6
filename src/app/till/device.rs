//! A till's devices, for its merchant: a code for a new one, the list, and revocation.

use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    link::LinkKind,
    storage::{
        PgConnection, StorageError, audit,
        links::{self, Link},
        tills::{self, Device},
    },
    till::{self, code::EnrolmentCode},
};

/// A device that waits for its code, which is shown this once.
#[derive(Debug)]
pub struct NewDevice {
    pub device: Device,
    pub code: EnrolmentCode,
}

#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    #[error("there is no such link")]
    NoLink,
    #[error("there is no such device")]
    NotFound,
    #[error("devices belong to links of type pos")]
    NoTill,
    #[error("name must be 1 to {} characters long, on one line", till::NAME_CHARS_MAX)]
    Name,
    #[error("the till has {max} devices already; revoke one that is not used any more")]
    TooMany { max: i64 },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Prepares a device: whoever enters the code on a browser within minutes enrols that one.
    ///
    /// The lock of the link's row makes the limit exact.
    pub async fn add_device(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        name: &str,
    ) -> Result<NewDevice, DeviceError> {
        let mut tx = self.db.begin().await?;
        let link = links::lock_of_merchant(&mut tx, merchant_id, link_id).await?;
        let link = of_till(link)?;
        let name = till::name(name).ok_or(DeviceError::Name)?;
        if tills::count(&mut tx, link.id).await? >= till::DEVICES_MAX {
            return Err(DeviceError::TooMany { max: till::DEVICES_MAX });
        }
        let code = EnrolmentCode::generate();
        let device = tills::insert(&mut tx, &link, &till::new_id(), &name, &code.sha256()).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(NewDevice { device, code })
    }

    /// The same by an account of the dashboard.
    pub async fn add_device_by_hand(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        name: &str,
        by: &str,
    ) -> Result<NewDevice, DeviceError> {
        let new = self.add_device(merchant_id, link_id, name).await?;
        let mut connection = self.db.connection().await?;
        note(&mut connection, "enrol", &new.device, by).await?;
        Ok(new)
    }

    /// Devices in use first, then revoked ones; each the newest first.
    pub async fn list_devices(
        &self,
        merchant_id: Uuid,
        link_id: &str,
    ) -> Result<Vec<Device>, DeviceError> {
        let mut connection = self.db.connection().await?;
        let link = links::of_merchant(&mut connection, merchant_id, link_id).await?;
        let link = of_till(link)?;
        Ok(tills::of_link(&mut connection, link.id).await?)
    }

    /// Revokes a device at once: its next request finds it unknown. The charge that it shows can
    /// still be paid.
    pub async fn revoke_device(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        device_id: &str,
    ) -> Result<Device, DeviceError> {
        if !till::is_id(device_id) {
            return Err(DeviceError::NotFound);
        }
        let mut connection = self.db.connection().await?;
        let link = links::of_merchant(&mut connection, merchant_id, link_id).await?;
        let link = link.ok_or(DeviceError::NoLink)?;
        let revoked = tills::revoke(&mut connection, link.id, device_id).await?;
        revoked.ok_or(DeviceError::NotFound)
    }

    /// The same by an account of the dashboard.
    pub async fn revoke_device_by_hand(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        device_id: &str,
        by: &str,
    ) -> Result<Device, DeviceError> {
        let device = self.revoke_device(merchant_id, link_id, device_id).await?;
        let mut connection = self.db.connection().await?;
        note(&mut connection, "revoke", &device, by).await?;
        Ok(device)
    }
}

fn of_till(link: Option<Link>) -> Result<Link, DeviceError> {
    let link = link.ok_or(DeviceError::NoLink)?;
    if link.terms.kind == LinkKind::Pos { Ok(link) } else { Err(DeviceError::NoTill) }
}

async fn note(
    connection: &mut PgConnection,
    act: &str,
    device: &Device,
    by: &str,
) -> Result<(), StorageError> {
    audit::note(connection, ("device", act), &device.device_id, by, &device.name).await
}
