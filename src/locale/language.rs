//! The languages of pages and mails.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// Language of a buyer, as BCP 47 writes it.
    #[derive(Default)]
    pub enum Language: "language" {
        German = "de",
        #[default]
        English = "en",
        Spanish = "es",
        French = "fr",
        Italian = "it",
        Dutch = "nl",
        Polish = "pl",
        Portuguese = "pt",
        Turkish = "tr",
        Arabic = "ar",
        Chinese = "zh",
        Japanese = "ja",
    }
}

impl Language {
    pub const fn is_right_to_left(self) -> bool {
        matches!(self, Self::Arabic)
    }
}
