//! A merchant as buyers see it, for the checkout and for the merchant who changes it.

use std::{sync::Arc, time::Duration};

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::manage::MerchantError;
use crate::app::Gateway;
use crate::{
    account::contact::Contact,
    merchant::{
        colour::Colour,
        front::shown_name,
        logo::{self, LogoError},
    },
    storage::{
        StorageError,
        fronts::{self, FrontRow, LogoRow},
        merchants,
    },
};

/// Uploaded pictures that are decoded at a time: each may take a hundred megabytes while it lasts.
pub(crate) const DECODED_AT_ONCE: usize = 1;
/// Longest wait for that, after which nobody waits with a file in memory.
const TURN_LIMIT: Duration = Duration::from_secs(5);

/// Hex digits of a logo's name, half of its hash.
const NAME_DIGITS: usize = 32;

/// A merchant as its buyers see it.
#[derive(Debug, Clone)]
pub struct Front {
    pub name: String,
    pub colour: Option<Colour>,
    pub contact: Option<Contact>,
    pub logo: Option<LogoPlace>,
    /// A text that any change changes.
    pub version: String,
}

/// A logo by its name, and its size in pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoPlace {
    pub name: String,
    pub width: u32,
    pub height: u32,
}

/// New values; a colour and a contact that are `None` are removed.
#[derive(Debug, Clone, Default)]
pub struct FrontChange {
    pub colour: Option<String>,
    pub contact: Option<String>,
    pub logo: LogoChange,
}

#[derive(Debug, Clone, Default)]
pub enum LogoChange {
    #[default]
    Unchanged,
    Removed,
    /// The bytes of an uploaded file.
    File(Vec<u8>),
}

#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    #[error("a colour is written as # and six hexadecimal digits, such as #0b6b63")]
    Colour,
    #[error("a contact is an e-mail address, or an address of a page that begins with https://")]
    Contact,
    #[error(transparent)]
    Logo(#[from] LogoError),
    #[error(transparent)]
    Merchant(#[from] MerchantError),
}

impl From<StorageError> for FrontError {
    fn from(error: StorageError) -> Self {
        Self::Merchant(error.into())
    }
}

impl Gateway {
    /// The merchant of an invoice; `None` if there is no such invoice.
    pub async fn front_of_payment(&self, payment_id: &str) -> Result<Option<Front>, StorageError> {
        let mut connection = self.db.connection().await?;
        Ok(fronts::of_payment(&mut connection, payment_id).await?.as_ref().map(front))
    }

    /// `None` if there is no such merchant.
    pub async fn front_of(&self, merchant_id: Uuid) -> Result<Option<Front>, StorageError> {
        let mut connection = self.db.connection().await?;
        Ok(fronts::of_merchant(&mut connection, merchant_id).await?.as_ref().map(front))
    }

    /// A logo's PNG by its name.
    pub async fn logo(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let well_formed = name.len() == NAME_DIGITS
            && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        if !well_formed {
            return Ok(None);
        }
        let mut connection = self.db.connection().await?;
        fronts::logo(&mut connection, name).await
    }

    /// Changes what buyers see, for somebody who saw it in the version `seen`. All is checked
    /// before anything is stored.
    pub async fn change_front(
        &self,
        merchant_id: Uuid,
        seen: &str,
        change: FrontChange,
    ) -> Result<(), FrontError> {
        let colour = change.colour.map(|text| Colour::parse(&text).ok_or(FrontError::Colour));
        let colour = colour.transpose()?.map(Colour::to_hex);
        let contact = change.contact.map(|text| Contact::parse(&text).ok_or(FrontError::Contact));
        let contact = contact.transpose()?;
        let logo = match change.logo {
            LogoChange::Unchanged => None,
            LogoChange::Removed => Some(None),
            LogoChange::File(file) => Some(Some(self.made(file).await?)),
        };
        let mut tx = self.db.begin().await?;
        if !merchants::lock(&mut tx, merchant_id).await? {
            return Err(MerchantError::Unknown(merchant_id).into());
        }
        let before = fronts::of_merchant(&mut tx, merchant_id).await?;
        let before = before.ok_or(MerchantError::Unknown(merchant_id))?;
        if version(&before) != seen {
            return Err(MerchantError::ChangedMeanwhile.into());
        }
        let contact = contact.as_ref().map(Contact::as_text);
        fronts::store(&mut tx, merchant_id, colour.as_deref(), contact).await?;
        if let Some(logo) = logo {
            fronts::store_logo(&mut tx, merchant_id, logo.as_ref()).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }
}

impl Gateway {
    /// Makes the served file. A picture takes some tens of milliseconds, in which no request may
    /// wait.
    async fn made(&self, file: Vec<u8>) -> Result<LogoRow, FrontError> {
        let reencode = move || logo::reencode(&file);
        let logo = in_turn(&self.pictures_room, TURN_LIMIT, reencode).await??;
        let mut name = hex::encode(Sha256::digest(&logo.png));
        name.truncate(NAME_DIGITS);
        let side = |pixels: u32| i32::try_from(pixels).map_err(|_| LogoError::Pixels);
        Ok(LogoRow { name, width: side(logo.width)?, height: side(logo.height)?, png: logo.png })
    }
}

/// Runs `work` on a thread of its own while it has a place in `room`, for which it waits up to
/// `limit`. The place is free again when that thread ends, which goes on when the request is given
/// up.
async fn in_turn<T: Send + 'static>(
    room: &Arc<Semaphore>,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LogoError> {
    let turn = tokio::time::timeout(limit, room.clone().acquire_owned());
    let turn = turn.await.map_err(|_| LogoError::Busy)?.map_err(|_| LogoError::Busy)?;
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        work()
    });
    done.await.map_err(|_| LogoError::Format)
}

fn front(row: &FrontRow) -> Front {
    let logo = row.logo_name.as_ref().zip(row.logo_width.zip(row.logo_height));
    Front {
        name: shown_name(&row.name),
        colour: row.colour.as_deref().and_then(Colour::parse),
        contact: row.contact.as_deref().and_then(Contact::parse),
        logo: logo.map(|(name, (width, height))| LogoPlace {
            name: name.clone(),
            width: width.unsigned_abs(),
            height: height.unsigned_abs(),
        }),
        version: version(row),
    }
}

fn version(row: &FrontRow) -> String {
    row.updated_at.map_or_else(|| "new".to_owned(), |at| at.timestamp_micros().to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    use super::*;

    /// No machine is so busy.
    const LONG: Duration = Duration::from_secs(600);

    /// Attack: many uploads at once, each of which takes a hundred megabytes while it is decoded.
    #[tokio::test]
    async fn pictures_are_decoded_one_at_a_time() {
        let room = Arc::new(Semaphore::new(DECODED_AT_ONCE));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut uploads = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (room, running, most) = (room.clone(), running.clone(), most.clone());
            uploads.spawn(async move {
                let work = move || {
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                in_turn(&room, LONG, work).await
            });
        }
        let done = uploads.join_all().await;
        assert_eq!(done, [Ok(()); 8]);
        assert_eq!(most.load(Ordering::SeqCst), DECODED_AT_ONCE);
    }

    #[tokio::test]
    async fn whoever_gets_no_turn_hears_so_and_a_request_that_is_given_up_keeps_its_turn() {
        let room = Arc::new(Semaphore::new(DECODED_AT_ONCE));
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (end, ended) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let room = room.clone();
            let work = move || {
                let _nobody_left = begun.send(());
                let _released = ended.recv();
            };
            async move { in_turn(&room, LONG, work).await }
        });
        has_begun.await.unwrap();
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        // Its thread still decodes.
        assert_eq!(in_turn(&room, Duration::ZERO, || ()).await, Err(LogoError::Busy));
        end.send(()).unwrap();
        assert_eq!(in_turn(&room, LONG, || ()).await, Ok(()));
    }
}
