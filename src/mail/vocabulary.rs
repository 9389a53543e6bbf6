//! Names of mails.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Kind of a mail.
    pub enum MailKind: "kind of mail" {
        Receipt = "receipt",
        Reminder = "reminder",
        /// Of operators, to owners of merchants.
        Announcement = "announcement",
        /// To whoever is offered a role in a merchant's team.
        Invitation = "invitation",
    }
}
