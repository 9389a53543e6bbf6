//! Dead letters of all merchants, in groups of one cause, receiver or day, sent again by group, and
//! followed to their outcome.

pub mod mails;

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use chrono::{DateTime, Days, SecondsFormat, Utc};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        delivery::{requeue_dead_letters::DEAD_LETTERS_MAX, requeue_run::RunStory},
        operator::status::QueueDepth,
    },
    storage::{
        deliveries::DeliveryRow,
        operator::{
            dead_letters::{DeadGroup, DeadGroupKey, Grouping},
            dead_mails::DeadMailGroup,
            requeue_runs::RequeueRun,
        },
    },
};
use url::form_urlencoded;
use uuid::Uuid;

use crate::{
    problem::Problem,
    shell::{Shell, page as show, when},
    visit::Visit,
};

const HERE: &str = "/operator/dead-letters";
const PREVIEW: i64 = 25;

/// The ways of grouping, by their names in addresses.
const WAYS: [(&str, &str, Grouping); 4] = [
    ("all", "Cause and receiver", Grouping { by_cause: true, by_receiver: true, by_day: false }),
    ("cause", "Cause alone", Grouping { by_cause: true, by_receiver: false, by_day: false }),
    ("receiver", "Receiver alone", Grouping { by_cause: false, by_receiver: true, by_day: false }),
    ("day", "Day", Grouping { by_cause: false, by_receiver: false, by_day: true }),
];

#[derive(Template)]
#[template(path = "dead_letters/page.html")]
struct Page {
    shell: Shell,
    ways: Vec<(&'static str, &'static str, bool)>,
    groups: Vec<Group>,
    total: i64,
    runs: Vec<RequeueRun>,
    mails: Vec<DeadMailGroup>,
    /// Dead-letter queues whose messages are no webhooks, or the reason why they are not seen.
    queues: Result<Vec<QueueDepth>, String>,
    may_requeue: bool,
}

/// A group with its form.
struct Group {
    group: DeadGroup,
    fields: Vec<(&'static str, String)>,
    link: String,
    /// The id of the press that the form would make: sent twice, it queues once.
    run_id: Uuid,
}

#[derive(Template)]
#[template(path = "dead_letters/group.html")]
struct Preview {
    shell: Shell,
    subject: String,
    fields: Vec<(&'static str, String)>,
    count: i64,
    at_once: i64,
    rows: Vec<DeliveryRow>,
    run_id: Uuid,
    may_requeue: bool,
}

#[derive(Template)]
#[template(path = "dead_letters/run.html")]
struct Run {
    shell: Shell,
    story: RunStory,
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let asked = visit.asked("by").unwrap_or("all");
    let chosen = WAYS.iter().find(|(name, ..)| *name == asked).unwrap_or(&WAYS[0]);
    let groups = gateway.dead_letters_by(chosen.2, &DeadGroupKey::default()).await?;
    let total = groups.iter().map(|group| group.count).sum();
    let queues = match gateway.queue_depths().await {
        Ok(depths) => Ok(depths.into_iter().filter(|depth| depth.is_dead_letters).collect()),
        Err(error) => Err(error.to_string()),
    };
    let shell = Shell::of(&visit, HERE);
    let queued = visit.asked("mails").and_then(|text| text.parse::<u32>().ok());
    show(&Page {
        shell: match queued {
            Some(count) => shell.with_notice(format!("{count} mails are queued again.")),
            None => shell,
        },
        mails: gateway.dead_mail_groups().await?,
        ways: WAYS.iter().map(|(name, label, _)| (*name, *label, *name == chosen.0)).collect(),
        groups: groups.into_iter().map(Group::of).collect(),
        total,
        runs: gateway.requeue_runs().await?,
        queues,
        may_requeue: visit.signed()?.may(Action::DeadLetterRequeue) == Permission::Granted,
    })
}

impl Group {
    fn of(group: DeadGroup) -> Self {
        let fields = fields(&key(&group));
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&fields).finish();
        let link = format!("{HERE}/group?{query}");
        Self { group, fields, link, run_id: Uuid::now_v7() }
    }
}

fn key(group: &DeadGroup) -> DeadGroupKey {
    DeadGroupKey {
        merchant_id: group.merchant_id,
        channel: Some(group.channel),
        host: group.host.clone(),
        cause: group.cause.clone(),
        since: group.day,
        until: group.day.and_then(|day| day.checked_add_days(Days::new(1))),
    }
}

/// The criteria as fields of a form; `key_of` reads them back.
fn fields(key: &DeadGroupKey) -> Vec<(&'static str, String)> {
    let time = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Micros, true);
    let all = [
        ("merchant", key.merchant_id.map(|id| id.to_string())),
        ("channel", key.channel.map(|channel| channel.to_string())),
        ("host", key.host.clone()),
        ("cause", key.cause.clone()),
        ("since", key.since.map(time)),
        ("until", key.until.map(time)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// A group is named by its channel and something more: no press queues everything by accident.
fn key_of<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Result<DeadGroupKey, Problem> {
    let time = |name: &str| match field(name) {
        Some(text) => match DateTime::parse_from_rfc3339(text) {
            Ok(at) => Ok(Some(at.to_utc())),
            Err(_) => Err(Problem::NotFound),
        },
        None => Ok(None),
    };
    let text = |name: &str| match field(name) {
        // PostgreSQL has no zero in its texts.
        Some(text) if text.contains('\0') => Err(Problem::NotFound),
        found => Ok(found.map(ToOwned::to_owned)),
    };
    let merchant = field("merchant").map(Uuid::try_parse).transpose();
    let channel = field("channel").ok_or(Problem::NotFound)?;
    let key = DeadGroupKey {
        merchant_id: merchant.map_err(|_| Problem::NotFound)?,
        channel: Some(channel.parse().map_err(|_| Problem::NotFound)?),
        host: text("host")?,
        cause: text("cause")?,
        since: time("since")?,
        until: time("until")?,
    };
    let is_named = key.host.is_some() || key.cause.is_some() || key.since.is_some();
    if is_named { Ok(key) } else { Err(Problem::NotFound) }
}

/// The group in words, for the page and the audit log.
fn subject(key: &DeadGroupKey) -> String {
    let mut words = key.channel.map(|channel| format!("{channel}")).unwrap_or_default();
    for (before, value) in [(" to ", &key.host), (": ", &key.cause)] {
        if let Some(value) = value {
            words = format!("{words}{before}{value}");
        }
    }
    match key.since {
        Some(day) => format!("{words} of {}", day.format("%Y-%m-%d")),
        None => words,
    }
}

pub async fn group(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let key = key_of(|name| visit.asked(name))?;
    let (count, rows) = gateway.dead_letters_of(&key, PREVIEW).await?;
    show(&Preview {
        shell: Shell::of(&visit, HERE),
        subject: subject(&key),
        fields: fields(&key),
        count,
        at_once: count.min(DEAD_LETTERS_MAX),
        rows,
        run_id: Uuid::now_v7(),
        may_requeue: visit.signed()?.may(Action::DeadLetterRequeue) == Permission::Granted,
    })
}

pub async fn requeue(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let form = &visit.form;
    let run_id = Uuid::try_parse(form.text("run")).map_err(|_| Problem::NotFound)?;
    let key = key_of(|name| Some(form.text(name)).filter(|text| !text.is_empty()))?;
    gateway.requeue_group(run_id, &key, (visit.email()?, &subject(&key))).await?;
    Ok(Redirect::to(&format!("{HERE}/runs/{run_id}")).into_response())
}

pub async fn run(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let story = gateway.requeue_run(id).await?.ok_or(Problem::NotFound)?;
    show(&Run { shell: Shell::of(&visit, HERE), story })
}

/// The host of a receiver: its path may hold a token.
fn host(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|url| {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{}{port}", url.host_str()?))
    });
    host.unwrap_or_else(|| "–".to_owned())
}

/// The payment or the payout order of a webhook.
fn about(row: &DeliveryRow) -> &str {
    row.payment_id.as_deref().or(row.order_id.as_deref()).unwrap_or("–")
}

/// The last answer in words.
fn cause(row: &DeliveryRow) -> String {
    match (&row.last_error, row.last_status) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("status {status}"),
        (None, None) => "unknown".to_owned(),
    }
}

fn since(row: &DeliveryRow) -> String {
    row.dead_since.as_ref().map_or_else(|| "–".to_owned(), when)
}
