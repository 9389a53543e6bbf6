//! Webhooks of a merchant: listed, read with each attempt, tried and sent again.

pub mod bulk_resend;
pub mod test_event;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{account::session::Permission, event::resend::ResendError},
    storage::{
        deliveries::{AttemptRow, DeliveryRow},
        delivery_lists::{LOOKED_AT, LastAttempt, Listed},
        endpoints::EndpointRow,
        events::feed::EventRow,
    },
    webhook::{Channel, event::EventKind, retry::DeliveryState},
};

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    overview::needs::is_failing,
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "events/page.html")]
struct Page {
    shell: Shell,
    state: Option<DeliveryState>,
    kind: Option<EventKind>,
    kinds: Vec<EventKind>,
    rows: Vec<(DeliveryRow, Option<LastAttempt>)>,
    endpoints: Vec<EndpointRow>,
    may_resend: bool,
    older: Option<String>,
    /// The page ends where it stopped looking, not at the end of the list.
    is_cut: bool,
    is_first: bool,
}

#[derive(Template)]
#[template(path = "events/detail.html")]
struct Detail {
    shell: Shell,
    event: EventRow,
    attempts: Vec<AttemptRow>,
    recipe: Option<Recipe>,
    base_url: String,
    may_resend: bool,
}

/// The signature of a webhook, for somebody who checks one by hand.
struct Recipe {
    header: &'static str,
    digest: &'static str,
    id_member: &'static str,
    at_member: &'static str,
}

impl Recipe {
    const fn of(channel: Channel) -> Self {
        match channel {
            Channel::Ipn => Self {
                header: "x-gateway-sig",
                digest: "sha512",
                id_member: "event_id",
                at_member: "event_at",
            },
            Channel::Payout => Self {
                header: "X-Gateway-Signature",
                digest: "sha256",
                id_member: "eventId",
                at_member: "eventAt",
            },
        }
    }
}

impl Page {
    fn is_state(&self, state: &DeliveryState) -> bool {
        self.state.as_ref() == Some(state)
    }

    fn is_kind(&self, kind: &EventKind) -> bool {
        self.kind.as_ref() == Some(kind)
    }

    fn is_failing(&self, endpoint: &EndpointRow) -> bool {
        is_failing(endpoint)
    }

    /// The page that shows how many a resend of this filter would send.
    fn resend(&self) -> String {
        let parameters = parameters(self.state, self.kind);
        format!("/events/resend?{}", parameters.trim_start_matches('&'))
    }

    fn newest(&self) -> String {
        format!("/events?{}", parameters(self.state, self.kind).trim_start_matches('&'))
    }
}

/// The types of events that have webhooks.
pub fn kinds() -> Vec<EventKind> {
    EventKind::ALL.into_iter().filter(|kind| kind.has_deliveries()).collect()
}

/// The filters as parameters of an address, each with `&` before it.
pub fn parameters(state: Option<DeliveryState>, kind: Option<EventKind>) -> String {
    let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
    let kind = kind.map(|kind| format!("&type={}", kind.as_str())).unwrap_or_default();
    state + &kind
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let state: Option<DeliveryState> = visit.asked("state").and_then(|text| text.parse().ok());
    let kind: Option<EventKind> = visit.asked("type").and_then(|text| text.parse().ok());
    let kind = kind.filter(|kind| kind.has_deliveries());
    let place = visit.asked("older").and_then(list::place);
    let before = place.unwrap_or_else(list::newest);
    let listed = Listed { state, kind: kind.map(EventKind::delivery_name) };
    let found = gateway.deliveries_before(merchant_id, listed, before, ROWS_AND_NEXT).await?;
    let mut rows = found.rows;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let last = rows.last().filter(|_| is_more).map(|(row, _)| (row.created_at, row.id));
    let older = last.or(found.beyond).map(|(at, id)| {
        format!("/events?older={}{}", list::cursor(at, id), parameters(state, kind))
    });
    show(&Page {
        shell: Shell::of(&visit, "/events"),
        state,
        kind,
        kinds: kinds(),
        is_cut: !is_more && older.is_some(),
        rows,
        endpoints: gateway.endpoints(merchant_id).await?,
        may_resend: visit.signed()?.may(Action::EventResend) == Permission::Granted,
        older,
        is_first: place.is_none(),
    })
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let found = gateway.find_event(merchant_id, &id).await?.ok_or(Problem::NotFound)?;
    let may = visit.signed()?.may(Action::EventResend) == Permission::Granted;
    let ended = found.event.delivery.as_ref().is_some_and(|delivery| delivery.state.is_ended());
    let mut shell = Shell::of(&visit, "/events");
    if visit.asked("done") == Some("resent") {
        shell = shell.with_notice("It is sent again now, as often as a new event would be.");
    }
    show(&Detail {
        shell,
        recipe: found.event.delivery.as_ref().map(|delivery| Recipe::of(delivery.channel)),
        event: found.event,
        attempts: found.attempts,
        base_url: gateway.config.base_url.trim_end_matches('/').to_owned(),
        may_resend: may && ended,
    })
}

impl Detail {
    /// The page of the thing that the event is about, where there is one.
    fn about(&self) -> Option<String> {
        let id = self.event.resource_id.as_str();
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| id.starts_with(prefix));
        if begins(&["pzi_"]) {
            Some(format!("/payments/{id}"))
        } else if begins(&["mpo_", "empo_"]) {
            Some(format!("/payouts/{id}"))
        } else if begins(&["pzs_"]) {
            Some(format!("/subscriptions/{id}"))
        } else if begins(&["pzx_"]) {
            Some(format!("/x402/{id}"))
        } else {
            None
        }
    }
}

pub async fn resend(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    match gateway.resend_event(merchant_id, &id).await {
        Ok(found) => {
            let to = format!("/events/{}?done=resent", found.event.event_id);
            Ok(Redirect::to(&to).into_response())
        }
        Err(ResendError::NotFound) => Err(Problem::NotFound),
        Err(ResendError::Storage(error)) => Err(error.into()),
        Err(error @ ResendError::NoWebhook) => Err(Problem::Conflict(error.to_string())),
    }
}
