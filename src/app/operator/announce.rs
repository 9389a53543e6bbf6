//! Announcements of operators to merchants, such as the end of an old API.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    operator::announcements::{self, Announcement, Shown},
};

pub const TITLE_CHARS_MAX: usize = 120;
pub const BODY_CHARS_MAX: usize = 2_000;
pub const DAYS_MAX: i32 = 366;
/// Announcements on one page; older ones follow once these are dismissed.
const SHOWN_MAX: i64 = 3;

#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    #[error("a title is 1 to {TITLE_CHARS_MAX} characters")]
    Title,
    #[error("a text is at most {BODY_CHARS_MAX} characters")]
    Body,
    #[error("an announcement is shown for 1 to {DAYS_MAX} days, or until it is withdrawn")]
    Days,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Shows an announcement to everybody from now on. One that is sent twice under its id is
    /// stored once.
    pub async fn announce(
        &self,
        id: Uuid,
        (title, body): (&str, &str),
        days: Option<i32>,
        by: &str,
    ) -> Result<(), AnnounceError> {
        let (title, body) = (title.trim(), body.trim());
        if !(1..=TITLE_CHARS_MAX).contains(&title.chars().count()) {
            return Err(AnnounceError::Title);
        }
        if body.chars().count() > BODY_CHARS_MAX {
            return Err(AnnounceError::Body);
        }
        if days.is_some_and(|days| !(1..=DAYS_MAX).contains(&days)) {
            return Err(AnnounceError::Days);
        }
        let mut connection = self.db.connection().await?;
        announcements::insert(&mut connection, id, (title, body), days, by).await?;
        Ok(())
    }

    /// `false` if there is no such announcement, or it was withdrawn already.
    pub async fn withdraw_announcement(&self, id: Uuid) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        announcements::withdraw(&mut connection, id).await
    }

    pub async fn announcements_before(
        &self,
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<Announcement>, StorageError> {
        let mut connection = self.db.connection().await?;
        announcements::page(&mut connection, before, limit).await
    }

    /// The announcements for an account's pages.
    pub async fn announcements_for(&self, account_id: Uuid) -> Result<Vec<Shown>, StorageError> {
        let mut connection = self.db.connection().await?;
        announcements::shown_to(&mut connection, account_id, SHOWN_MAX).await
    }

    /// `false` if there is no such announcement.
    pub async fn dismiss_announcement(
        &self,
        id: Uuid,
        account_id: Uuid,
    ) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        announcements::dismiss(&mut connection, id, account_id).await
    }
}
