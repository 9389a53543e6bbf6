//! Cancelling a subscription: by its merchant, or by its subscriber.

use uuid::Uuid;

use crate::app::{Gateway, subscription::told};
use crate::{
    broker::route::Route,
    storage::{
        self, StorageError, Tx, audit, events,
        subscriptions::{self, Subscription},
    },
    subscription::{
        Token,
        lifecycle::{self, Effect, Event},
    },
};

impl Gateway {
    /// Cancels a merchant's subscription, and returns it as it is then; one that is over stays as
    /// it is. `None` if there is no such subscription.
    pub async fn cancel_subscription(
        &self,
        merchant_id: Uuid,
        subscription_id: &str,
    ) -> Result<Option<Subscription>, StorageError> {
        let mut tx = self.db.begin().await?;
        let found = subscriptions::lock_of_merchant(&mut tx, merchant_id, subscription_id).await?;
        match found {
            Some(found) => self.cancel_locked(tx, found).await.map(Some),
            None => Ok(None),
        }
    }

    /// The same by an account of the dashboard.
    pub async fn cancel_subscription_by_hand(
        &self,
        merchant_id: Uuid,
        subscription_id: &str,
        by: &str,
    ) -> Result<Option<Subscription>, StorageError> {
        let Some(found) = self.cancel_subscription(merchant_id, subscription_id).await? else {
            return Ok(None);
        };
        let mut connection = self.db.connection().await?;
        let state = found.rules.state.as_str();
        let about = ("subscription", "cancel");
        audit::note(&mut connection, about, subscription_id, by, state).await?;
        Ok(Some(found))
    }

    /// The same for the subscriber who has its token.
    pub async fn cancel_by_token(&self, token: &str) -> Result<Option<Subscription>, StorageError> {
        let Some(token) = Token::parse(token) else { return Ok(None) };
        let mut tx = self.db.begin().await?;
        match subscriptions::lock_by_token(&mut tx, &token.sha256()).await? {
            Some(found) => self.cancel_locked(tx, found).await.map(Some),
            None => Ok(None),
        }
    }

    async fn cancel_locked(
        &self,
        mut tx: Tx,
        mut found: Subscription,
    ) -> Result<Subscription, StorageError> {
        let step = lifecycle::step(&found.rules, Event::CancelRequested);
        found.rules = step.subscription;
        if !step.effects.is_empty() {
            found.updated_at = storage::now(&mut tx).await?;
        }
        let changes = step.effects.iter().filter_map(|effect| match effect {
            Effect::Tell(change) => Some(told(&found, *change)),
            Effect::Remind(_) => None,
        });
        let events: Vec<_> = changes.collect();
        if !events.is_empty() {
            subscriptions::save(&mut tx, &[&found]).await?;
            events::tell(&mut tx, &events, Route::Ipn.as_str()).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(found)
    }
}
