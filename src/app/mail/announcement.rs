//! The mail of an announcement, to the owners of all merchants.

use uuid::Uuid;

use crate::{
    app::Gateway,
    storage::{StorageError, announcement_mail},
};

/// The outcome of mailing an announcement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailedAnnouncement {
    /// So many mails are written.
    Written(u64),
    /// It was mailed before, is shown no more, or never was.
    NotNow,
    /// No mail is sent here (section `mail`).
    MailsAreOff,
}

impl Gateway {
    /// Mails an announcement to every account that owns a merchant: once, however often it is asked
    /// for. The mails are written in one transaction with the note that they were, and are sent
    /// after it. `by` is the account that acts.
    pub async fn mail_announcement(
        &self,
        announcement_id: Uuid,
        by: &str,
    ) -> Result<MailedAnnouncement, StorageError> {
        if !self.config.mail.enabled {
            return Ok(MailedAnnouncement::MailsAreOff);
        }
        let mut tx = self.db.begin().await?;
        if !announcement_mail::take(&mut tx, announcement_id, by).await? {
            return Ok(MailedAnnouncement::NotNow);
        }
        let written = announcement_mail::write(&mut tx, announcement_id).await?;
        tx.commit().await?;
        Ok(MailedAnnouncement::Written(written))
    }
}
