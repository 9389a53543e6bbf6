//! Values of settings as people may read them. The type of a setting decides: a secret one has no
//! text here that could be printed.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU16, path::PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{ChainSourceKind, Profile};
use crate::{
    asset::{
        Family,
        address::{AccountKey, Realm, pool::PoolSigner},
    },
    egress::smtp::Security,
    rate::ProviderName,
};

/// A value as it may be printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Nothing is set, and the programs do without.
    Unset,
    /// Something is set that is never printed.
    Secret,
    Plain(Value),
}

impl Shown {
    /// The value of the setting `key`, if it is a text of the kind that belongs there. What stands
    /// there by mistake may be a seed or a password.
    pub fn of_setting(self, key: &str) -> Self {
        let Self::Plain(Value::String(text)) = &self else { return self };
        let (section, name) = key.split_once('.').unwrap_or_default();
        let is_kept = match (section, name) {
            ("addresses", "pool_signer") => PoolSigner::parse(text).is_ok(),
            ("addresses", family) => match Family::ALL.into_iter().find(|of| of.name() == family) {
                Some(family) => is_account_key(family, text),
                None => true,
            },
            ("payouts", name) if name.starts_with("accounts.") => {
                let families = [Family::Bitcoin, Family::Litecoin, Family::Dogecoin, Family::Evm];
                families.into_iter().any(|family| is_account_key(family, text))
            }
            ("x402", "account") => is_account_key(Family::Evm, text),
            ("mail", "server") => !text.contains('@'),
            ("telemetry", "otlp_url") => {
                return origin(text).map_or(Self::Secret, |origin| Self::Plain(origin.into()));
            }
            _ => true,
        };
        if is_kept { self } else { Self::Secret }
    }
}

fn is_account_key(family: Family, text: &str) -> bool {
    [Realm::Main, Realm::Regtest]
        .into_iter()
        .any(|realm| AccountKey::parse_in(realm, family, text).is_ok())
}

/// Scheme, host and port: a collector's path and its query may hold its key.
fn origin(text: &str) -> Option<String> {
    let origin = url::Url::parse(text).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization())
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

shown_as_number!(bool, u8, u16, u32, u64, i64, usize);
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
    use crate::asset::address::Account;

    #[test]
    fn a_key_setting_shows_a_public_key_and_nothing_else() {
        let xpub = |account: Account, family| account.xpub(&[7; 64], family, Realm::Main).unwrap();
        let (signer, words) = (PoolSigner::of_seed(&[7; 64]).unwrap().to_hex(), "abandon about");
        for (key, public) in [
            ("addresses.evm", xpub(Account::Invoices, Family::Evm)),
            ("addresses.bitcoin", xpub(Account::Invoices, Family::Bitcoin)),
            ("addresses.pool_signer", signer),
            ("payouts.accounts.litecoin", xpub(Account::Payouts, Family::Litecoin)),
            ("payouts.accounts.gas", xpub(Account::Gas, Family::Evm)),
            ("x402.account", xpub(Account::X402, Family::Evm)),
        ] {
            let shown = |text: &str| text.to_owned().show().of_setting(key);
            assert_eq!(shown(&public), Shown::Plain(public.as_str().into()), "{key}");
            for secret in [words, &"0f".repeat(64), &public[1..]] {
                assert_eq!(shown(secret), Shown::Secret, "{key}");
            }
            assert_eq!(shown(""), Shown::Unset, "{key}");
        }
    }

    #[test]
    fn of_a_relay_and_a_collector_no_password_is_shown() {
        let collector = Shown::Plain("https://otlp.example:4318".into());
        for (key, text, expected) in [
            ("mail.server", "relay.example:587", Shown::Plain("relay.example:587".into())),
            ("mail.server", "shop:hunter2@relay.example:587", Shown::Secret),
            ("telemetry.otlp_url", "https://otlp.example:4318/hunter2", collector),
            ("telemetry.otlp_url", "hunter2", Shown::Secret),
            ("telemetry.otlp_url", "", Shown::Unset),
            ("base_url", "https://api.example/v", Shown::Plain("https://api.example/v".into())),
        ] {
            assert_eq!(text.to_owned().show().of_setting(key), expected, "{key} {text}");
        }
    }

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
