//! A paid invoice of a subscription covers a cycle.

use crate::app::{Gateway, subscription::told};
use crate::{
    broker::route::Route,
    invoice::payment,
    storage::{self, PgConnection, StorageError, events, invoices::Invoice, subscriptions},
    subscription::lifecycle::{self, Effect, Event},
};

impl Gateway {
    /// Moves the subscription of an invoice that was just paid, and says on the invoice which cycle
    /// it covers. The caller holds the invoice's row lock, and commits.
    pub(crate) async fn cover_cycle(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
    ) -> Result<(), StorageError> {
        let Some(id) = invoice.subscription_id else { return Ok(()) };
        let Some(mut subscription) = subscriptions::lock(tx, id).await? else {
            return Err(StorageError::damaged("invoice", "its subscription is missing"));
        };
        subscription.updated_at = storage::now(tx).await?;
        let at = subscription.clock.date_at(subscription.updated_at);
        let step = lifecycle::step(&subscription.rules, Event::Paid { at });
        subscription.rules = step.subscription;
        subscriptions::save(tx, &[&subscription]).await?;
        let (cycle, next) = (subscription.rules.covered, subscription.rules.next_renewal());
        subscriptions::set_cycle(tx, invoice.id, cycle, next).await?;
        invoice.view.subscription = Some(payment::Subscription {
            subscriber_email: subscription.email.clone(),
            cycle: i32::try_from(cycle).unwrap_or(i32::MAX),
            next_renewal_at: next,
        });
        let told = step.effects.iter().filter_map(|effect| match effect {
            Effect::Tell(change) => Some(told(&subscription, *change)),
            Effect::Remind(_) => None,
        });
        events::tell(tx, &told.collect::<Vec<_>>(), Route::Ipn.as_str()).await
    }
}
