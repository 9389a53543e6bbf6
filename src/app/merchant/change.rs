//! Settings of a merchant, changed after it was created.

use sha2::{Digest, Sha256};
use url::Url;
use uuid::Uuid;

use super::manage::{MerchantError, checked_name, token_ids};
use crate::app::Gateway;
use crate::{
    egress::guard::{self, Policy},
    merchant::settings::{DefaultUrls, Settings, Underpay, UnderpayWhen},
    money::Bps,
    storage::{
        StorageError, merchants,
        merchants::{MerchantRow, Profile},
    },
};

const URL_CHARS_MAX: usize = 2_048;
const VERSION_DIGITS: usize = 16;

/// A setting that may be left as it is, removed or given a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Setting<T> {
    #[default]
    Unchanged,
    Removed,
    Set(T),
}

/// New values; whatever is `None` or unchanged stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub name: Option<String>,
    pub overpay_tolerance: Option<Bps>,
    pub underpay_tolerance: Option<Bps>,
    pub underpay_when: Option<UnderpayWhen>,
    pub payment_window_seconds: Option<u32>,
    pub selection_window_seconds: Option<u32>,
    pub open_invoices_max: Option<u32>,
    /// `CODE` or `CODE@NETWORK`; removed accepts every enabled currency.
    pub accepted: Setting<Vec<String>>,
    pub payout_webhook_url: Setting<String>,
    /// The same rules as for the members of `POST /v1/payment` that they stand for.
    pub default_ipn_callback_url: Setting<String>,
    pub default_success_url: Setting<String>,
    pub default_cancel_url: Setting<String>,
    pub logo_url: Setting<String>,
}

impl Gateway {
    /// Applies changes to a merchant and returns it as it is then. All are checked as at creation,
    /// and none is stored if one is refused. Open invoices keep what they were created with.
    pub async fn change_merchant(
        &self,
        id: Uuid,
        changes: Changes,
    ) -> Result<MerchantRow, MerchantError> {
        self.change_merchant_seen(id, None, changes).await
    }

    /// The same for somebody who saw the settings in a form: refused if they are no longer of that
    /// version ([`version`]).
    pub async fn change_merchant_seen(
        &self,
        id: Uuid,
        seen: Option<&str>,
        changes: Changes,
    ) -> Result<MerchantRow, MerchantError> {
        let mut tx = self.db.begin().await?;
        if !merchants::lock(&mut tx, id).await? {
            return Err(MerchantError::Unknown(id));
        }
        let row = merchants::by_id(&mut tx, id).await?.ok_or(MerchantError::Unknown(id))?;
        if seen.is_some_and(|seen| seen != version(&row)) {
            return Err(MerchantError::ChangedMeanwhile);
        }
        let (profile, settings) = changed(row, changes, self.egress.policy())?;
        settings.check(self.config.window_seconds_min())?;
        merchants::update(&mut tx, id, &profile, &settings).await?;
        let row = merchants::by_id(&mut tx, id).await?.ok_or(MerchantError::Unknown(id))?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(row)
    }
}

/// A short text that any other settings change.
pub fn version(row: &MerchantRow) -> String {
    let settings = format!(
        "{:?}",
        (
            &row.name,
            &row.logo_url,
            row.overpay_bps,
            (row.underpay_bps, row.underpay_when),
            row.payment_window_seconds,
            row.selection_window_seconds,
            row.open_invoices_max,
            &row.accepted_tokens,
            &row.payout_webhook_url,
            (&row.default_ipn_callback_url, &row.default_success_url, &row.default_cancel_url),
        )
    );
    let mut hash = hex::encode(Sha256::digest(settings));
    hash.truncate(VERSION_DIGITS);
    hash
}

fn changed(
    row: MerchantRow,
    changes: Changes,
    policy: &Policy,
) -> Result<(Profile, Settings), MerchantError> {
    let name = match changes.name {
        Some(name) => checked_name(&name)?.to_owned(),
        None => row.name,
    };
    let accepted = match changes.accepted {
        Setting::Unchanged => row.accepted_tokens,
        Setting::Removed => None,
        Setting::Set(names) => Some(token_ids(names)?),
    };
    let logo_url = changes.logo_url.over(row.logo_url);
    if let Some(url) = &logo_url {
        check_url(url, &["https"], "logo")?;
    }
    let payout_webhook_url = changes.payout_webhook_url.over(row.payout_webhook_url);
    if let Some(url) = &payout_webhook_url {
        check_url(url, &["http", "https"], "payout webhook")?;
    }
    let webhooks = changes.default_ipn_callback_url.checked(|url| callback(url, policy))?;
    let success = changes.default_success_url.checked(|url| page(&url, "success"))?;
    let cancel = changes.default_cancel_url.checked(|url| page(&url, "cancel"))?;
    let default_urls = DefaultUrls {
        ipn_callback: webhooks.over(row.default_ipn_callback_url),
        success: success.over(row.default_success_url),
        cancel: cancel.over(row.default_cancel_url),
    };
    let settings = Settings {
        overpay_tolerance: changes.overpay_tolerance.unwrap_or(Bps::new(stored(row.overpay_bps))),
        underpay: Underpay {
            tolerance: changes.underpay_tolerance.unwrap_or(Bps::new(stored(row.underpay_bps))),
            when: changes.underpay_when.unwrap_or(row.underpay_when),
        },
        payment_window_seconds: changes
            .payment_window_seconds
            .unwrap_or(stored(row.payment_window_seconds)),
        selection_window_seconds: changes
            .selection_window_seconds
            .unwrap_or(stored(row.selection_window_seconds)),
        open_invoices_max: changes.open_invoices_max.unwrap_or(stored(row.open_invoices_max)),
        accepted,
        payout_webhook_url,
        default_urls,
    };
    Ok((Profile { name, logo_url }, settings))
}

/// The database keeps these above zero.
fn stored(column: i32) -> u32 {
    column.unsigned_abs()
}

impl<T> Setting<T> {
    fn over(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Unchanged => before,
            Self::Removed => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Only a new value is checked: an address that was stored under other rules does not prevent
    /// a change of something else.
    fn checked<E>(self, check: impl FnOnce(T) -> Result<T, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Set(value) => Self::Set(check(value)?),
            other @ (Self::Unchanged | Self::Removed) => other,
        })
    }
}

/// Refused here if it literally points inward, and checked again at every attempt.
fn callback(url: String, policy: &Policy) -> Result<String, MerchantError> {
    guard::check_url(&url, policy).map_err(MerchantError::DefaultCallback)?;
    Ok(url)
}

fn page(url: &str, what: &'static str) -> Result<String, MerchantError> {
    let refused = || MerchantError::Url { what, schemes: "http or https".to_owned() };
    let page = guard::page_url(url).filter(|_| url.chars().count() <= URL_CHARS_MAX);
    page.ok_or_else(refused)
}

fn check_url(text: &str, schemes: &[&str], what: &'static str) -> Result<(), MerchantError> {
    let url = Url::parse(text).ok().filter(|url| {
        let plain = url.username().is_empty() && url.password().is_none();
        schemes.contains(&url.scheme()) && url.has_host() && plain
    });
    if url.is_none() || text.chars().count() > URL_CHARS_MAX {
        return Err(MerchantError::Url { what, schemes: schemes.join(" or ") });
    }
    Ok(())
}
