//! Values of settings as people may read them. The type of a setting decides: a secret one has no
//! text here that could be printed.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU16, path::PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{ChainSourceKind, Profile};
use crate::{egress::smtp::Security, rate::ProviderName};

/// A value as it may be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Nothing is set, and the programs do without.
    Unset,
    /// Something is set that is never printed.
    Secret,
    Plain(Value),
}

/// A type of settings.
pub(super) trait Show {
    /// True for types whose every value is secret.
    const SECRET: bool = false;

    fn show(&self) -> Shown;
}

impl Show for SecretString {
    const SECRET: bool = true;

    fn show(&self) -> Shown {
        if self.expose_secret().is_empty() { Shown::Unset } else { Shown::Secret }
    }
}

impl<T: Show> Show for Option<T> {
    const SECRET: bool = T::SECRET;

    fn show(&self) -> Shown {
        self.as_ref().map_or(Shown::Unset, T::show)
    }
}

impl<T: Show> Show for Vec<T> {
    const SECRET: bool = T::SECRET;

    fn show(&self) -> Shown {
        if T::SECRET {
            return if self.is_empty() { Shown::Unset } else { Shown::Secret };
        }
        let plain = |shown| match shown {
            Shown::Plain(value) => Some(value),
            Shown::Unset | Shown::Secret => None,
        };
        let values: Option<Vec<_>> = self.iter().map(|value| plain(value.show())).collect();
        values.map_or(Shown::Secret, |values| Shown::Plain(values.into()))
    }
}

impl Show for String {
    /// A text that holds a password or a private key by mistake is as secret as one in its place.
    fn show(&self) -> Shown {
        if self.is_empty() {
            Shown::Unset
        } else if carries_credentials(self) || is_private_key(self) {
            Shown::Secret
        } else {
            Shown::Plain(self.as_str().into())
        }
    }
}

fn carries_credentials(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| {
        !url.username().is_empty() || url.password().is_some() || url.query().is_some()
    })
}

/// Extended private keys begin with `xprv`, `zprv` and the like (BIP-32, SLIP-132).
fn is_private_key(text: &str) -> bool {
    text.len() > 100 && text.get(1..4) == Some("prv")
}

impl Show for url::Url {
    fn show(&self) -> Shown {
        self.as_str().to_owned().show()
    }
}

/// An entry of a setting that is a map; each has a row of its own.
pub(super) fn entry(map: &BTreeMap<String, String>, key: &str) -> Shown {
    map.get(key).map_or(Shown::Unset, String::show)
}

macro_rules! shown_as_number {
    ($($number:ty),+) => {
        $(impl Show for $number {
            fn show(&self) -> Shown {
                Shown::Plain((*self).into())
            }
        })+
    };
}

macro_rules! shown_as_text {
    ($($type:ty: $text:expr),+ $(,)?) => {
        $(impl Show for $type {
            fn show(&self) -> Shown {
                let text: fn(&Self) -> String = $text;
                Shown::Plain(text(self).into())
            }
        })+
    };
}

shown_as_number!(bool, u16, u32, u64, i64, usize);
shown_as_text!(
    SocketAddr: ToString::to_string,
    ipnet::IpNet: ToString::to_string,
    Profile: ToString::to_string,
    PathBuf: |path| path.display().to_string(),
    ChainSourceKind: |source| format!("{source:?}").to_lowercase(),
    Security: |security| format!("{security:?}").to_lowercase(),
    ProviderName: |provider| format!("{provider:?}").to_lowercase(),
);

impl Show for NonZeroU16 {
    fn show(&self) -> Shown {
        self.get().show()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_by_its_type_or_its_form_is_never_shown() {
        let secret = SecretString::from("hunter2");
        assert_eq!(secret.show(), Shown::Secret);
        assert_eq!(Some(secret.clone()).show(), Shown::Secret);
        assert_eq!(vec![secret].show(), Shown::Secret);
        assert_eq!(SecretString::from("").show(), Shown::Unset);
        let private = format!("xprv{}", "9".repeat(107));
        for text in ["https://user:hunter2@host/", "https://host/?key=hunter2", &private] {
            assert_eq!(text.to_owned().show(), Shown::Secret, "{text}");
        }
        let plain = ["https://host/path", "relay.example:587", "Shop <a@b.example>"];
        for text in plain {
            assert_eq!(text.to_owned().show(), Shown::Plain(text.into()));
        }
    }
}
