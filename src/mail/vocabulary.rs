//! Names of mails and of the languages that they are written in.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Kind of a mail.
    pub enum MailKind: "kind of mail" {
        Receipt = "receipt",
        Reminder = "reminder",
        /// Of operators, to owners of merchants.
        Announcement = "announcement",
    }
}

vocabulary! {
    /// Language of a mail, as BCP 47 writes it: those of the checkout.
    #[derive(Default)]
    pub enum Language: "language" {
        #[default]
        English = "en",
        German = "de",
        Arabic = "ar",
    }
}

impl Language {
    pub const fn is_right_to_left(self) -> bool {
        match self {
            Self::English | Self::German => false,
            Self::Arabic => true,
        }
    }
}
