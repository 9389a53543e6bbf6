//! Subscriptions: listed by state, shown with their invoices and reminders, cancelled.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{account::session::Permission, subscription::read::SubscriptionStory},
    storage::{
        subscription_lists::{CycleInvoice, SentReminder},
        subscriptions::Subscription,
    },
    subscription::{self, State as Standing},
};

use crate::{
    list::{Asked, Pages, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const HERE: &str = "/subscriptions";
/// A subscription is listed from its first payment on.
const LISTED: [Standing; 4] =
    [Standing::Active, Standing::PastDue, Standing::Cancelled, Standing::Ended];

#[derive(Template)]
#[template(path = "subscriptions/page.html")]
struct Page {
    shell: Shell,
    state: Option<Standing>,
    rows: Vec<Subscription>,
    pages: Pages,
}

#[derive(Template)]
#[template(path = "subscriptions/detail.html")]
struct Detail {
    shell: Shell,
    subscription: Subscription,
    invoices: Vec<CycleInvoice>,
    reminders: Vec<SentReminder>,
    may_cancel: bool,
}

impl Page {
    fn is_state(&self, state: &Standing) -> bool {
        self.state.as_ref() == Some(state)
    }
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let state = visit.asked("state").and_then(|text| text.parse().ok());
    let state = state.filter(|state| LISTED.contains(state));
    let asked = Asked::of(&visit);
    let place = asked.place();
    let mut rows = gateway.subscriptions_beside(merchant_id, state, place, ROWS_AND_NEXT).await?;
    let filters = [("state", state.map_or("", Standing::as_str))];
    let pages =
        Pages::cut(&mut rows, asked, HERE, &filters, |row: &Subscription| (row.created_at, row.id));
    show(&Page { shell: Shell::of(&visit, HERE), state, rows, pages })
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let story = gateway.subscription_story(merchant_id, known(&id)?).await?;
    let story = story.ok_or(Problem::NotFound)?;
    let SubscriptionStory { subscription, invoices, reminders } = story;
    let shell = Shell::of(&visit, HERE);
    show(&Detail {
        shell: match visit.asked("done") {
            Some("cancelled") => shell.with_notice(
                "Cancelled. No reminder is sent any more; an open invoice can still be paid.",
            ),
            Some(_) | None => shell,
        },
        may_cancel: visit.signed()?.may(Action::SubscriptionCancel) == Permission::Granted
            && !is_over(&subscription),
        subscription,
        invoices,
        reminders,
    })
}

pub async fn cancel(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let id = known(&id)?;
    let found = gateway.cancel_subscription_by_hand(merchant_id, id, visit.email()?).await?;
    found.ok_or(Problem::NotFound)?;
    Ok(Redirect::to(&format!("{HERE}/{id}?done=cancelled")).into_response())
}

fn is_over(subscription: &Subscription) -> bool {
    matches!(subscription.rules.state, Standing::Cancelled | Standing::Ended)
}

/// The price with its interval, in words.
fn price(subscription: &Subscription) -> String {
    let period = subscription.rules.period;
    let (amount, code) =
        (subscription.price_amount.to_decimal(), subscription.price_currency.code_upper());
    let interval = period.interval;
    if period.count == 1 {
        format!("{amount} {code} every {interval}")
    } else {
        format!("{amount} {code} every {} {interval}s", period.count)
    }
}

/// The next renewal; of one that is over there is none.
fn renewal(subscription: &Subscription) -> String {
    if is_over(subscription) {
        return "–".to_owned();
    }
    crate::shell::when(&subscription.rules.next_renewal())
}

/// The day of a reminder, from the renewal.
fn day(offset: &i16) -> String {
    match *offset {
        0 => "on the day".to_owned(),
        -1 => "1 day before".to_owned(),
        1 => "1 day after".to_owned(),
        before if before < 0 => format!("{} days before", before.unsigned_abs()),
        after => format!("{after} days after"),
    }
}

/// A text that cannot be an id names no subscription.
fn known(id: &str) -> Result<&str, Problem> {
    if subscription::is_id(id) { Ok(id) } else { Err(Problem::NotFound) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_s_day_is_counted_from_the_renewal() {
        let days: Vec<_> = (-3..=3).map(|offset| day(&offset)).collect();
        assert_eq!(
            days,
            [
                "3 days before",
                "2 days before",
                "1 day before",
                "on the day",
                "1 day after",
                "2 days after",
                "3 days after"
            ]
        );
    }
}
