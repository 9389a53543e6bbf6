//! The catalogue of strings, one file per language.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Language;

fn load(json: &'static str) -> Texts {
    serde_json::from_str(json).expect("the embedded texts pass their own tests")
}

macro_rules! files {
    ($($language:ident $code:literal),+ $(,)?) => {
        impl Language {
            /// Read when a mail first needs them.
            pub(super) fn texts(self) -> &'static Texts {
                match self {
                    $(Self::$language => {
                        static TEXTS: LazyLock<Texts> =
                            LazyLock::new(|| load(include_str!(concat!("texts/", $code, ".json"))));
                        &TEXTS
                    })+
                }
            }
        }
    };
}

files! {
    German "de",
    English "en",
    Spanish "es",
    French "fr",
    Italian "it",
    Dutch "nl",
    Polish "pl",
    Portuguese "pt",
    Turkish "tr",
    Arabic "ar",
    Chinese "zh",
    Japanese "ja",
}

/// Every string of the mails. A language that lacks one, or has one too many, fails its test.
macro_rules! texts {
    ($($name:ident),* $(,)?) => {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Texts { $(pub $name: &'static str),* }

        impl Texts {
            #[cfg(test)]
            fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), self.$name)),*]
            }
        }
    };
}

texts! {
    title,
    price,
    paid,
    date,
    payment,
    receipt_subject,
    receipt_intro,
    receipt_open,
    receipt_why,
    reminder_subject_before,
    reminder_subject_today,
    reminder_subject_after,
    reminder_intro_before,
    reminder_intro_after,
    reminder_open,
    reminder_secret,
    reminder_why,
    unsubscribe,
    announcement_why,
    announcement_secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders(text: &str) -> Vec<&str> {
        let mut found: Vec<_> =
            text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn every_language_has_every_text_with_the_same_placeholders() {
        for language in Language::ALL {
            let english = Language::English.texts().all();
            for ((name, text), (_, english)) in language.texts().all().into_iter().zip(english) {
                assert!(!text.is_empty() && text.trim() == text, "{language} {name}");
                assert_eq!(placeholders(text), placeholders(english), "{language} {name}");
                assert!(!text.contains(['<', '&', '\n', '\r']), "{language} {name}");
            }
        }
    }

    #[test]
    fn no_sentence_was_left_in_english_or_in_another_language() {
        for (at, language) in Language::ALL.into_iter().enumerate() {
            for other in Language::ALL.into_iter().skip(at + 1) {
                let pairs = language.texts().all().into_iter().zip(other.texts().all());
                for ((name, text), (_, same)) in pairs.filter(|((_, text), _)| text.len() > 40) {
                    assert_ne!(text, same, "{language} and {other} say the same: {name}");
                }
            }
        }
    }
}
