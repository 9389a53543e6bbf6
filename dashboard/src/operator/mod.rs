//! The first page of an operator: the state of everything in one picture, with the runbook.

mod runbook;

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        operator::{
            examine::Examined,
            status::{Picture, QueueDepth},
        },
    },
    storage::operator::audit_search::AuditFilter,
};

use crate::{
    audit::{Line, lines},
    networks::LAG_SECONDS,
    problem::Problem,
    shell::{Shell, page as show, when},
    visit::Visit,
    x402_health::SETTLEMENTS_LOW,
};
use runbook::Paragraph;

/// Entries of the audit log.
const SHOWN: i64 = 8;
/// The times and sizes of `deploy/prometheus/alerts.yml`.
const OUTBOX_SECONDS: i64 = 60;
const PAYOUT_SECONDS: i64 = 6 * 60 * 60;
const QUEUE_MESSAGES: u64 = 10_000;

#[derive(Template)]
#[template(path = "operator/page.html")]
struct Page {
    shell: Shell,
    picture: Picture,
    queues: Result<Vec<Bar>, String>,
    troubles: Vec<Trouble>,
    examined: Option<Examined>,
    may_examine: bool,
    again: String,
    /// `None` where the role does not read the audit log.
    entries: Option<Vec<Line>>,
}

/// A queue with the length of its bar, in per cent of the longest one.
struct Bar {
    depth: QueueDepth,
    total: u64,
    percent: u64,
}

/// Something that an alert reports, with the runbook's words about it.
#[derive(Debug)]
struct Trouble {
    name: String,
    text: String,
    href: &'static str,
    help: &'static [Paragraph],
}

impl Trouble {
    fn new(name: &str, text: String, href: &'static str) -> Self {
        Self { name: name.to_owned(), text, href, help: runbook::section(name) }
    }
}

impl Page {
    /// True if there are more alerts than the page shows.
    fn is_cut(&self) -> bool {
        usize::try_from(self.picture.alert_count).is_ok_and(|all| all > self.picture.alerts.len())
    }
}

pub async fn page(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let (picture, queues) = tokio::join!(gateway.picture(), gateway.queue_depths());
    let (picture, queues) = (picture?, queues.map_err(|error| error.to_string()));
    let entries = if may(Action::AuditView) {
        let placed = gateway.audit_page(&AuditFilter::default(), None, SHOWN).await?;
        let entries: Vec<_> = placed.into_iter().map(|placed| placed.entry).collect();
        Some(lines(&entries))
    } else {
        None
    };
    show(&Page {
        shell: Shell::of(&visit, "/operator"),
        troubles: troubles(&picture, queues.as_deref().unwrap_or_default()),
        queues: queues.map(bars),
        picture,
        examined: gateway.examined(None).await?,
        may_examine: may(Action::NetworkExamine),
        again: "/operator".to_owned(),
        entries,
    })
}

fn bars(depths: Vec<QueueDepth>) -> Vec<Bar> {
    let total = |depth: &QueueDepth| depth.counts.map_or(0, |counts| counts.total);
    let longest = depths.iter().map(total).max().unwrap_or(0).max(1);
    let bar = |depth: QueueDepth| {
        let total = total(&depth);
        Bar { total, percent: total * 100 / longest, depth }
    };
    depths.into_iter().map(bar).collect()
}

/// Reports that the alerts would make now, as far as rows and queues say.
fn troubles(picture: &Picture, queues: &[QueueDepth]) -> Vec<Trouble> {
    let mut found = Vec::new();
    let mut note = |name: &str, text: String, href| found.push(Trouble::new(name, text, href));
    for lag in picture.lags.iter().filter(|lag| lag.seconds > LAG_SECONDS) {
        let text = format!("{} was last read completely {} s ago", lag.network, lag.seconds);
        note("GatewayChainLagging", text, "/operator/networks");
    }
    if picture.outbox_age_seconds > OUTBOX_SECONDS {
        let (waiting, age) = (picture.outbox_waiting, picture.outbox_age_seconds);
        let text = format!("{waiting} messages wait for the broker, the oldest for {age} s");
        note("GatewayOutboxOld", text, "/operator");
    }
    for depth in queues {
        let total = depth.counts.map_or(0, |counts| counts.total);
        if total > QUEUE_MESSAGES && !depth.is_dead_letters {
            let text = format!("{total} messages wait in {}", depth.queue);
            note("GatewayQueueBacklog", text, "/operator");
        }
    }
    let payouts = &picture.payouts;
    for (count, name, what, href) in counts(picture) {
        if count > 0 {
            note(name, format!("{count} {what}"), href);
        }
    }
    if payouts.oldest_seconds > PAYOUT_SECONDS {
        let text = format!("the oldest payout order has waited for {} s", payouts.oldest_seconds);
        note("GatewayPayoutSlow", text, "/operator/payouts");
    }
    for pool in picture.pools.iter().filter(|pool| pool.free < pool.low) {
        let name = if pool.free == 0 { "GatewayAddressPoolEmpty" } else { "GatewayAddressPoolLow" };
        let text = format!("{} addresses of {} are free", pool.free, pool.network);
        note(name, text, "/operator/networks");
    }
    for gas in picture.x402_gas.iter().filter(|gas| gas.settlements < SETTLEMENTS_LOW) {
        let text =
            format!("the gas wallet of x402 pays for {} more on {}", gas.settlements, gas.network);
        note("GatewayX402GasLow", text, "/operator/x402");
    }
    for (network, more, less) in &picture.differences {
        let text =
            format!("on {network} {more} addresses hold more than the rows say, {less} less");
        note("GatewayBalanceDiffers", text, "/operator/networks");
    }
    for alert in &picture.alerts {
        let at = when(&alert.created_at);
        let text = format!("{}: {} ({at})", alert.subject, alert.detail);
        let is_x402 = alert.kind.starts_with("x402_");
        let href = if is_x402 { "/operator/x402" } else { "/operator/deposits" };
        note(&alert.kind, text, href);
    }
    found
}

/// Counts of which none should be above zero: each with its alert, its words and its screen.
fn counts(picture: &Picture) -> [(i64, &'static str, &'static str, &'static str); 8] {
    let payouts = &picture.payouts;
    [
        (picture.dead_ipns, "GatewayDeadLetters", "IPNs were given up", "/operator/dead-letters"),
        (
            picture.dead_payout_webhooks,
            "GatewayPayoutDeadLetters",
            "payout webhooks were given up",
            "/operator/dead-letters",
        ),
        (
            picture.dead_mails,
            "GatewayMailDeadLetters",
            "mails were given up",
            "/operator/dead-letters",
        ),
        (
            picture.x402_stuck,
            "GatewayX402Stuck",
            "payments of programs wait in no block",
            "/operator/x402",
        ),
        (payouts.held, "GatewayPayoutHeld", "payout orders are held", "/operator/payouts"),
        (payouts.stuck, "GatewayPayoutStuck", "payments wait in no block", "/operator/payouts"),
        (payouts.stopped, "GatewayPayoutsStopped", "stops of signing", "/operator/payouts"),
        (
            picture.nc_payouts_stuck,
            "GatewayPayoutStuck",
            "payouts that merchants signed wait in no block",
            "/operator/payouts",
        ),
    ]
}

/// Examines the whole installation in the background.
pub async fn examine(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    gateway.examine(None, visit.email()?).await?;
    Ok(Redirect::to("/operator?done=examining#doctor").into_response())
}

#[cfg(test)]
mod tests {
    use super::runbook;

    /// Names as this file gives them to `note`.
    #[test]
    fn every_alert_of_the_page_has_a_section_in_the_runbook() {
        let names = [
            "GatewayChainLagging",
            "GatewayOutboxOld",
            "GatewayQueueBacklog",
            "GatewayDeadLetters",
            "GatewayPayoutDeadLetters",
            "GatewayMailDeadLetters",
            "GatewayX402Stuck",
            "GatewayX402GasLow",
            "GatewayPayoutHeld",
            "GatewayPayoutStuck",
            "GatewayPayoutsStopped",
            "GatewayPayoutSlow",
            "GatewayAddressPoolEmpty",
            "GatewayAddressPoolLow",
            "GatewayBalanceDiffers",
            "deposit_reversed",
            "payout_gas_limit",
        ];
        for name in names {
            assert!(!runbook::section(name).is_empty(), "{name}");
        }
        assert!(runbook::section("GatewayNothing").is_empty());
    }
}
