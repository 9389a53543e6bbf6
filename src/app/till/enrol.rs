//! A browser becomes a device of a till: its code is used up, and its PIN chosen.

use super::{Keys, visit::till};
use crate::{
    account::bearer::Bearer,
    app::{Gateway, account::hashing},
    storage::{
        StorageError, access,
        tills::{self, Secrets},
    },
    till::{
        code,
        pin::{Pin, PinError},
    },
};

/// The form of the enrolment page, as it was sent.
#[derive(Clone)]
pub struct EnrolForm {
    pub code: String,
    pub pin: String,
    pub pin_again: String,
}

/// Keys that the browser keeps from then on.
#[derive(Debug)]
pub struct Enrolled {
    pub token: Bearer,
    /// It begins unlocked.
    pub session: Bearer,
}

#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    #[error("there is no such till")]
    NoTill,
    #[error("this address has tried too often")]
    TooManyTries,
    #[error("the code was used, expired, or is none")]
    Code,
    #[error(transparent)]
    Pin(#[from] PinError),
    #[error("the PIN was typed in two ways")]
    PinTwice,
    #[error("the PIN is not that of the till")]
    WrongPin,
    #[error("the PIN was wrong too often")]
    Wait,
    #[error("too many PINs are being looked at")]
    Busy,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Enrols the browser that sends a good code. A code enrols one browser: of two that send it at
    /// once the second is refused. If the browser was a device of the till before, that one is
    /// revoked, and the new one shows its charge.
    pub async fn enrol_device(
        &self,
        link_id: &str,
        keys: &Keys,
        client: &str,
        form: &EnrolForm,
    ) -> Result<Enrolled, EnrolError> {
        let mut connection = self.db.connection().await?;
        let link = till(&mut connection, link_id).await?.ok_or(EnrolError::NoTill)?;
        if !access::admit_visitor(&mut connection, link_id, client).await? {
            return Err(EnrolError::TooManyTries);
        }
        // The code first: whoever has none learns nothing about PINs and costs no hash.
        let code = code::sha256_of(&form.code).ok_or(EnrolError::Code)?;
        let device = tills::of_code(&mut connection, link.id, &code).await?;
        let device = device.ok_or(EnrolError::Code)?;
        let pin = match tills::pin_digest(&mut connection, link.id).await? {
            // Tries count as those of an enrolled device do: five, and the code is over before the
            // next one.
            Some(digest) => {
                if !tills::take_try(&mut connection, device).await? {
                    return Err(EnrolError::Wait);
                }
                let pin = Pin::parse(&form.pin).ok_or(EnrolError::WrongPin)?;
                if !self.is_pin_of_till(link_id, &pin, &digest) {
                    return Err(EnrolError::WrongPin);
                }
                pin
            }
            None => chosen(form)?,
        };
        drop(connection);
        let (token, session) = (Bearer::generate(), Bearer::generate());
        let hashed = hashing::hash(pin.with_token(&token)).await;
        let Ok(pin_hash) = hashed else {
            let mut connection = self.db.connection().await?;
            tills::return_try(&mut connection, device).await?;
            return Err(EnrolError::Busy);
        };
        let secrets = Secrets {
            token_hash: token.sha256(),
            pin_hash: &pin_hash,
            session_hash: session.sha256(),
        };
        let mut tx = self.db.begin().await?;
        let enrolled = tills::enrol(&mut tx, link.id, &code, &secrets).await?;
        let device_id = enrolled.ok_or(EnrolError::Code)?;
        if let Some(earlier) = &keys.token {
            tills::hand_over(&mut tx, link.id, &earlier.sha256(), &device_id).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Enrolled { token, session })
    }
}

/// The PIN that the cashier chooses where the merchant has set none.
fn chosen(form: &EnrolForm) -> Result<Pin, EnrolError> {
    let pin = Pin::choose(&form.pin)?;
    let is_same = Pin::parse(&form.pin_again).is_some_and(|again| again.is(&pin));
    if is_same { Ok(pin) } else { Err(EnrolError::PinTwice) }
}
