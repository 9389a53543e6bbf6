//! A visitor subscribes: the row of his subscription, and the invoices of its cycles.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::order::{OrderError, OrderForm, of_link};
use crate::app::invoice::create::Inherited;
use crate::{
    account::email::InvalidEmail,
    invoice::payment,
    link::words::{self, WordsError},
    storage::{
        PgConnection, StorageError,
        invoices::Invoice,
        links::Link,
        subscriptions::{self, Subscription},
    },
    subscription::{
        self, State,
        clock::{Clock, DAY_SECONDS},
        lifecycle::Subscription as Rules,
    },
};

/// A draft of a subscription's next cycle, at the subscription's own price.
pub(crate) fn of_subscription(
    inherited: Inherited,
    link: &Link,
    subscription: &Subscription,
    now: DateTime<Utc>,
) -> Invoice {
    let rules = &subscription.rules;
    let mut invoice = of_link(inherited, link, subscription.price_amount, now);
    invoice.view.price_currency = subscription.price_currency.code().to_owned();
    invoice.subscription_id = Some(subscription.id);
    invoice.view.subscription = Some(payment::Subscription {
        subscriber_email: subscription.email.clone(),
        cycle: i32::try_from(rules.next_cycle()).unwrap_or(i32::MAX),
        next_renewal_at: rules.next_cycle_end(),
    });
    invoice
}

/// The subscription of an address on a link that is not over; else a new one. The caller holds the
/// lock of the link.
pub(super) async fn subscribed(
    tx: &mut PgConnection,
    link: &Link,
    form: &OrderForm,
    now: DateTime<Utc>,
) -> Result<Subscription, OrderError> {
    let email = words::email(&form.email)?.ok_or(WordsError::Email(InvalidEmail))?;
    match subscriptions::lock_of_subscriber(tx, link.id, &email).await? {
        Some(found) if found.rules.state == State::Pending => {
            subscriptions::set_language(tx, found.id, form.language).await?;
            Ok(priced(tx, link, found, now).await?)
        }
        Some(found) if !found.rules.is_payable() => Err(OrderError::AllPaid),
        Some(found) => Ok(found),
        None => {
            let new = blank(link, email, now)?;
            subscriptions::insert(tx, &new).await?;
            subscriptions::set_language(tx, new.id, form.language).await?;
            Ok(new)
        }
    }
}

/// A subscription that was never paid has the price of today.
async fn priced(
    tx: &mut PgConnection,
    link: &Link,
    mut found: Subscription,
    now: DateTime<Utc>,
) -> Result<Subscription, StorageError> {
    found.price_amount = link.terms.price_amount.unwrap_or(found.price_amount);
    found.price_currency = link.terms.price_currency;
    found.rules.anchor = found.clock.date_at(now);
    found.updated_at = now;
    subscriptions::save(tx, &[&found]).await?;
    Ok(found)
}

fn blank(link: &Link, email: String, now: DateTime<Utc>) -> Result<Subscription, StorageError> {
    let (Some(period), Some(price_amount)) = (link.terms.period, link.terms.price_amount) else {
        return Err(StorageError::damaged("link", "a subscription without its period or price"));
    };
    Ok(Subscription {
        id: Uuid::now_v7(),
        subscription_id: subscription::new_id(),
        merchant_id: link.merchant_id,
        link: link.id,
        link_id: link.link_id.clone(),
        email,
        price_amount,
        price_currency: link.terms.price_currency,
        rules: Rules {
            state: State::Pending,
            anchor: now,
            period,
            covered: 0,
            payments: 0,
            payments_max: link.terms.cycles_max,
            reminded: None,
        },
        clock: Clock {
            origin: now,
            day_seconds: link.terms.sandbox_day_seconds.unwrap_or(DAY_SECONDS),
            advanced_days: 0,
        },
        created_at: now,
        updated_at: now,
    })
}
