//! Subscriptions: what happens when an invoice of one is paid, when a renewal comes near, and when
//! its merchant or its subscriber acts.

pub mod advance;
pub mod cancel;
mod cover;
pub mod read;
mod remind;
pub mod renew;

use crate::{
    app::delivery::emit,
    invoice::payment::{iso_8601, json_number},
    storage::{events::NewEvent, subscriptions::Subscription},
    subscription::{State, lifecycle::Told},
    webhook::{event::EventKind, subscription::SubscriptionBody},
};

/// A subscription as its merchant sees it.
pub fn body(subscription: &Subscription) -> SubscriptionBody {
    let rules = &subscription.rules;
    let is_over = matches!(rules.state, State::Cancelled | State::Ended);
    SubscriptionBody {
        subscription_id: subscription.subscription_id.clone(),
        link_id: subscription.link_id.clone(),
        state: rules.state.to_string(),
        subscriber_email: subscription.email.clone(),
        price_amount: json_number(&subscription.price_amount.to_decimal()),
        price_currency: subscription.price_currency.code().to_owned(),
        interval: rules.period.interval.to_string(),
        interval_count: rules.period.count,
        cycles_max: rules.payments_max,
        subscription_cycle: rules.covered,
        next_renewal_at: (!is_over).then(|| iso_8601(rules.next_renewal())),
        created_at: iso_8601(subscription.created_at),
        updated_at: iso_8601(subscription.updated_at),
    }
}

/// The event of a change. Only the feed tells it.
fn told(subscription: &Subscription, told: Told) -> NewEvent {
    let kind = match told {
        Told::Started => EventKind::SubscriptionStarted,
        Told::Renewed => EventKind::SubscriptionRenewed,
        Told::PastDue => EventKind::SubscriptionPastDue,
        Told::Cancelled => EventKind::SubscriptionCancelled,
        Told::Ended => EventKind::SubscriptionEnded,
    };
    let payload = serde_json::to_string(&body(subscription)).unwrap_or_default();
    NewEvent {
        event_id: emit::new_id(),
        kind,
        merchant_id: subscription.merchant_id,
        payment_id: subscription.subscription_id.clone(),
        subject: None,
        payload,
        delivery: None,
    }
}
