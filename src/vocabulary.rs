//! Closed vocabularies: enums whose members have a text in the database or on the wire.
//!
//! A text that is no member is an error where it is read, so that no match has an arm for the
//! unknown.

/// A text that is no member of its vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no known {vocabulary}")]
pub struct UnknownText {
    pub vocabulary: &'static str,
    pub text: String,
}

/// Defines an enum of texts: `ALL`, `as_str`, and `FromStr`, `Display` and `Serialize` by the same
/// texts. The text behind the enum's name names the vocabulary in errors.
macro_rules! vocabulary {
    (
        $(#[$attribute:meta])*
        $visible:vis enum $name:ident: $vocabulary:literal {
            $($(#[$of_member:meta])* $member:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $visible enum $name {
            $($(#[$of_member])* $member),+
        }

        impl $name {
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$member),+];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$member => $text),+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::vocabulary::UnknownText;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$member),)+
                    unknown => Err($crate::vocabulary::UnknownText {
                        vocabulary: $vocabulary,
                        text: unknown.chars().take(40).collect(),
                    }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use vocabulary;

#[cfg(test)]
mod tests {
    vocabulary! {
        /// A tide.
        enum Tide: "tide" { Ebb = "ebb", Flood = "flood" }
    }

    #[test]
    fn members_read_back_and_other_texts_are_refused() {
        for tide in Tide::ALL {
            assert_eq!(tide.to_string().parse(), Ok(tide));
        }
        let unknown = "Ebb".parse::<Tide>().unwrap_err().to_string();
        assert_eq!(unknown, "\"Ebb\" is no known tide");
        assert_eq!(serde_json::to_string(&Tide::Flood).unwrap(), "\"flood\"");
    }
}
