//! A merchant's subscriptions.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    storage::{
        StorageError,
        payment_search::Side,
        subscription_lists::{self, CycleInvoice, SentReminder},
        subscriptions::{self, Subscription},
    },
    subscription::State,
};

/// One page of a merchant's subscriptions.
#[derive(Debug)]
pub struct SubscriptionPage {
    pub subscriptions: Vec<Subscription>,
    pub has_more: bool,
}

/// A subscription with everything that its page shows.
#[derive(Debug)]
pub struct SubscriptionStory {
    pub subscription: Subscription,
    pub invoices: Vec<CycleInvoice>,
    pub reminders: Vec<SentReminder>,
}

impl Gateway {
    pub async fn find_subscription(
        &self,
        merchant_id: Uuid,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, StorageError> {
        let mut connection = self.db.connection().await?;
        subscriptions::of_merchant(&mut connection, merchant_id, subscription_id).await
    }

    /// The newest first, older than `after` if it is given. `None` if `after` is no subscription of
    /// this merchant.
    pub async fn list_subscriptions(
        &self,
        merchant_id: Uuid,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Option<SubscriptionPage>, StorageError> {
        let mut connection = self.db.connection().await?;
        let place = match after {
            None => (DateTime::<Utc>::MAX_UTC, Uuid::max()),
            Some(id) => {
                let found = subscriptions::of_merchant(&mut connection, merchant_id, id).await?;
                let Some(found) = found else { return Ok(None) };
                (found.created_at, found.id)
            }
        };
        let with_next = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
        let mut rows = subscriptions::page(&mut connection, merchant_id, place, with_next).await?;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Ok(Some(SubscriptionPage { subscriptions: rows, has_more }))
    }

    /// One page of the dashboard's list, the newest first.
    pub async fn subscriptions_beside(
        &self,
        merchant_id: Uuid,
        state: Option<State>,
        place: (Side, DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<Subscription>, StorageError> {
        let mut connection = self.db.connection().await?;
        subscription_lists::page(&mut connection, merchant_id, state, place, limit).await
    }

    pub async fn subscription_story(
        &self,
        merchant_id: Uuid,
        subscription_id: &str,
    ) -> Result<Option<SubscriptionStory>, StorageError> {
        let mut connection = self.db.connection().await?;
        let found =
            subscriptions::of_merchant(&mut connection, merchant_id, subscription_id).await?;
        let Some(subscription) = found else { return Ok(None) };
        let invoices = subscription_lists::invoices(&mut connection, subscription.id).await?;
        let reminders = subscription_lists::reminders(&mut connection, subscription.id).await?;
        Ok(Some(SubscriptionStory { subscription, invoices, reminders }))
    }
}
