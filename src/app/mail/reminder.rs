//! The reminder of a renewal, for the subscriber himself.

use uuid::Uuid;

use super::{About, new_mail};
use crate::{
    mail::compose::{Contents, Reminder},
    storage::{
        mail::{NewMail, Subscriber},
        subscriptions::Subscription,
    },
};

/// The mail of one day of a renewal; `subject` names that day, `url` is the subscriber's own page.
pub(crate) fn reminder(
    subscription: &Subscription,
    subscriber: &Subscriber,
    day: i8,
    (subject, url): (Uuid, &str),
) -> NewMail {
    let (language, amount) = (subscriber.language, subscription.price_amount.to_decimal());
    let contents = Contents::Reminder(Reminder {
        title: subscriber.title.clone(),
        price: language.price(&amount, subscription.price_currency.code()),
        date: language.date(subscription.rules.next_renewal().date_naive()),
        day,
        url: url.to_owned(),
    });
    let about = About {
        subject,
        merchant_id: subscription.merchant_id,
        link: Some(subscription.link),
        subscription: Some(subscription.id),
        renewal_cycle: Some(subscription.rules.next_cycle()),
    };
    new_mail(about, &subscription.email, subscriber.language, &contents)
}
