//! Changing a link. Its type stays, and so do the invoices that it has brought.

use uuid::Uuid;

use super::{LinkError, checked};
use crate::app::{Gateway, merchant::change::Setting};
use crate::{
    asset::fiat::Fiat,
    link::{LinkKind, terms::Terms},
    money::Price,
    storage::{
        PgConnection, StorageError,
        links::{self, Link},
        tills,
    },
    till::pin::Pin,
};

/// New values; whatever is `None` or unchanged stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub title: Option<String>,
    pub description: Setting<String>,
    pub price_amount: Setting<Price>,
    pub price_currency: Option<Fiat>,
    pub min_amount: Setting<Price>,
    pub max_amount: Setting<Price>,
    pub suggested_amounts: Setting<Vec<Price>>,
    pub accepted: Setting<Vec<String>>,
    pub single_use: Option<bool>,
    pub success_url: Setting<String>,
    pub cancel_url: Setting<String>,
    pub ipn_callback_url: Setting<String>,
    pub order_id: Setting<String>,
    pub time_zone: Setting<String>,
    pub pin: Setting<Pin>,
    pub active: Option<bool>,
}

impl Gateway {
    /// Applies changes and returns the link as it is then. The outcome is checked as at creation.
    pub async fn change_link(
        &self,
        merchant_id: Uuid,
        link_id: &str,
        changes: Changes,
    ) -> Result<Link, LinkError> {
        // Before the lock, under which a till's charges wait: it reads the list of all zones.
        if let Setting::Set(time_zone) = &changes.time_zone {
            self.check_time_zone(Some(time_zone)).await?;
        }
        let mut tx = self.db.begin().await?;
        let link = links::lock_of_merchant(&mut tx, merchant_id, link_id).await?;
        let mut link = link.ok_or(LinkError::NotFound)?;
        link.active = changes.active.unwrap_or(link.active);
        self.change_pin(&mut tx, &mut link, &changes.pin).await?;
        apply(&mut link.terms, changes);
        checked(&link.terms, self.config.is_sandbox())?;
        link.updated_at = links::update(&mut tx, link.id, &link.terms, link.active).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(link)
    }
}

impl Gateway {
    /// Devices that are enrolled keep the PIN that they have.
    async fn change_pin(
        &self,
        tx: &mut PgConnection,
        link: &mut Link,
        pin: &Setting<Pin>,
    ) -> Result<(), LinkError> {
        let pin = match pin {
            Setting::Unchanged => return Ok(()),
            Setting::Removed => None,
            Setting::Set(_) if link.terms.kind != LinkKind::Pos => {
                return Err(LinkError::PinWithoutTill);
            }
            Setting::Set(pin) => Some(pin),
        };
        let digest = pin.map(|pin| self.digest_of_pin(&link.link_id, pin));
        tills::set_pin(tx, link.id, digest.as_ref()).await?;
        link.has_pin = digest.is_some();
        Ok(())
    }
}

fn apply(terms: &mut Terms, changes: Changes) {
    if let Some(title) = changes.title {
        terms.title = title;
    }
    if let Some(currency) = changes.price_currency {
        terms.price_currency = currency;
    }
    if let Some(single_use) = changes.single_use {
        terms.single_use = single_use;
    }
    set(&mut terms.description, changes.description);
    set(&mut terms.price_amount, changes.price_amount);
    set(&mut terms.min_amount, changes.min_amount);
    set(&mut terms.max_amount, changes.max_amount);
    set(&mut terms.accepted, changes.accepted);
    set(&mut terms.success_url, changes.success_url);
    set(&mut terms.cancel_url, changes.cancel_url);
    set(&mut terms.ipn_callback_url, changes.ipn_callback_url);
    set(&mut terms.order_id, changes.order_id);
    set(&mut terms.time_zone, changes.time_zone);
    match changes.suggested_amounts {
        Setting::Unchanged => {}
        Setting::Removed => terms.suggested_amounts.clear(),
        Setting::Set(amounts) => terms.suggested_amounts = amounts,
    }
}

fn set<T>(value: &mut Option<T>, setting: Setting<T>) {
    match setting {
        Setting::Unchanged => {}
        Setting::Removed => *value = None,
        Setting::Set(new) => *value = Some(new),
    }
}
