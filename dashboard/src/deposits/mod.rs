//! Deposits that ask for a decision: a transaction explained, imported, accepted; and lists of what
//! came late or in another currency.

mod words;

use std::time::Duration;

use askama::Template;
use axum::{
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        deposit::{
            accept::AcceptDepositError,
            accept_together::{AcceptTogetherError, digest},
            explain::{AddressStory, ExplainError, TransactionStory, Verdict},
            import::ImportDepositError,
        },
        operator::find::Kind,
    },
    asset::{Network, catalogue::Catalogue},
    config::ChainSourceKind,
    deposit::BookedAs,
    money::BaseUnits,
    storage::operator::{alerts_of_deposits::DepositAlert, odd_deposits::OddDeposit},
};
use url::form_urlencoded;

use crate::{
    list::{self, ROWS, ROWS_AND_NEXT},
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const HERE: &str = "/operator/deposits";
/// The time that a page waits for the nodes of a network.
const NODES_LIMIT: Duration = Duration::from_secs(8);
const KINDS: [(BookedAs, &str); 3] = [
    (BookedAs::Late, "Late"),
    (BookedAs::Foreign, "Another currency"),
    (BookedAs::Suspicious, "Unknown token"),
];

#[derive(Template)]
#[template(path = "deposits/page.html")]
struct Page {
    shell: Shell,
    networks: Vec<Network>,
    network: Option<Network>,
    kinds: Vec<(&'static str, &'static str, bool)>,
    rows: Vec<OddDeposit>,
    older: Option<String>,
    alerts: Vec<DepositAlert>,
}

#[derive(Template)]
#[template(path = "deposits/explained.html")]
struct Explained {
    shell: Shell,
    networks: Vec<Network>,
    network: Option<Network>,
    query: String,
    height: String,
    story: Option<Story>,
    addresses: Vec<AddressStory>,
    may_import: bool,
    may_accept: bool,
}

/// A transaction with the ways to act on it.
struct Story {
    story: TransactionStory,
    place: String,
    missed: usize,
    returned: usize,
    digest: String,
    takes_two: bool,
}

/// The question of a page: a transaction on a network, or an address.
struct Asked<'a> {
    network: Option<Network>,
    text: &'a str,
    height: Option<u64>,
}

fn followed(gateway: &crate::State) -> Vec<Network> {
    let on = |network: &Network| gateway.config.chain(*network).source != ChainSourceKind::Off;
    Network::ALL.into_iter().filter(on).collect()
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let network: Option<Network> = visit.asked("network").and_then(|name| name.parse().ok());
    let asked = visit.asked("booked").and_then(|text| text.parse::<BookedAs>().ok());
    let kind = KINDS.iter().map(|(kind, _)| *kind).find(|kind| asked == Some(*kind));
    let kind = kind.unwrap_or(BookedAs::Late);
    let before = visit.asked("older").and_then(list::place).unwrap_or_else(list::newest);
    let mut rows = gateway.odd_deposits((kind, network), before, ROWS_AND_NEXT).await?;
    let is_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let older = rows.last().filter(|_| is_more).map(|row| {
        let network = network.map(|network| format!("&network={network}")).unwrap_or_default();
        let cursor = list::cursor(row.settled_at, row.id);
        format!("{HERE}?booked={kind}{network}&older={cursor}")
    });
    show(&Page {
        shell: Shell::of(&visit, HERE),
        networks: followed(&gateway),
        network,
        kinds: KINDS.iter().map(|(each, label)| (each.as_str(), *label, *each == kind)).collect(),
        rows,
        older,
        alerts: gateway.deposit_alerts().await?,
    })
}

impl Page {
    fn is_network(&self, network: &Network) -> bool {
        self.network.as_ref() == Some(network)
    }
}

impl Explained {
    fn is_network(&self, network: &Network) -> bool {
        self.network.as_ref() == Some(network)
    }
}

pub async fn explain(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let asked = Asked {
        network: visit.asked("network").and_then(|name| name.parse().ok()),
        text: visit.asked("q").unwrap_or_default(),
        height: visit.asked("height").and_then(|text| text.parse().ok()),
    };
    let mut shell = Shell::of(&visit, HERE);
    if let Some(text) = visit.asked("done").and_then(done) {
        shell = shell.with_notice(text);
    }
    let signed = visit.signed()?;
    let may = |action| signed.may(action) == Permission::Granted;
    let mut page = Explained {
        shell,
        networks: followed(&gateway),
        network: asked.network,
        query: asked.text.to_owned(),
        height: asked.height.map(|height| height.to_string()).unwrap_or_default(),
        story: None,
        addresses: Vec::new(),
        may_import: may(Action::DepositImport),
        may_accept: may(Action::DepositAccept),
    };
    if asked.text.is_empty() || asked.text.contains('\0') {
        return show(&page);
    }
    if let Ok(found) = gateway.explain_address(asked.text).await {
        page.addresses = found;
        return show(&page);
    }
    let network = match asked.network {
        None => recorded_on(&gateway, asked.text).await?,
        chosen => chosen,
    };
    page.network = network;
    match story(&gateway, &Asked { network, ..asked }).await {
        Ok(story) => page.story = Some(story),
        Err(Problem::Conflict(text)) => page.shell = page.shell.with_error(text),
        Err(other) => return Err(other),
    }
    show(&page)
}

/// The words for what was done, by its mark in the address of the page.
fn done(mark: &str) -> Option<&'static str> {
    match mark {
        "imported" => Some("Recorded. It is booked within seconds of its confirmations."),
        "accepted" => Some("Accepted. It is booked within seconds."),
        "proposed" => Some("Noted. It counts once another account has accepted the same deposit."),
        "nothing" => Some("Nothing was left to do."),
        _ => None,
    }
}

/// The network on which deposits of a transaction are recorded; `None` if there are none, or on
/// several.
async fn recorded_on(gateway: &crate::State, tx_hash: &str) -> Result<Option<Network>, Problem> {
    let found = gateway.find(tx_hash).await?;
    let deposits = found.hits.into_iter().filter(|hit| hit.kind == Kind::Deposit);
    let mut networks: Vec<Network> =
        deposits.filter_map(|hit| hit.row.network?.parse().ok()).collect();
    networks.dedup();
    Ok(if let [network] = networks[..] { Some(network) } else { None })
}

async fn story(gateway: &crate::State, asked: &Asked<'_>) -> Result<Story, Problem> {
    let Some(network) = asked.network else {
        let text = "No address of this gateway matches, and no deposit of such a transaction is recorded. If it is a transaction, choose its network.";
        return Err(Problem::Conflict(text.to_owned()));
    };
    let explained = gateway.explain_transaction(network, asked.text, asked.height);
    let story = match tokio::time::timeout(NODES_LIMIT, explained).await {
        Ok(done) => done.map_err(refused)?,
        Err(_) => return Err(too_slow(network)),
    };
    let count =
        |wanted: &Verdict| story.transfers.iter().filter(|told| told.verdict == *wanted).count();
    let takes_two = gateway.takes_two_to_accept(&story).await?;
    Ok(Story {
        place: words::place(&story),
        missed: count(&Verdict::Missed),
        returned: count(&Verdict::Returned),
        digest: digest(&story),
        takes_two,
        story,
    })
}

fn too_slow(network: Network) -> Problem {
    let seconds = NODES_LIMIT.as_secs();
    Problem::Conflict(format!(
        "The nodes of {network} did not answer within {seconds} s. Try again, or ask gatewayctl deposit explain, which waits longer."
    ))
}

fn refused(error: ExplainError) -> Problem {
    if let ExplainError::Storage(error) = error {
        return error.into();
    }
    Problem::Conflict(format!("{error}."))
}

/// The transaction that a form is about.
fn of_form(visit: &Visit) -> Result<(Network, &str, Option<u64>), Problem> {
    let form = &visit.form;
    let network = form.text("network").parse().map_err(|_| Problem::NotFound)?;
    let text = form.filled("q").filter(|text| !text.contains('\0')).ok_or(Problem::NotFound)?;
    Ok((network, text, form.filled("height").and_then(|height| height.parse().ok())))
}

fn back(visit: &Visit, mark: &str) -> Response {
    let form = &visit.form;
    let mut query = form_urlencoded::Serializer::new(String::new());
    for name in ["network", "q", "height"] {
        query.append_pair(name, form.text(name));
    }
    let query = query.append_pair("done", mark).finish();
    Redirect::to(&format!("{HERE}/explain?{query}")).into_response()
}

pub async fn import(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (network, tx_hash, height) = of_form(&visit)?;
    let importing = gateway.import_deposit(network, tx_hash, height, Some(visit.email()?));
    let Ok(done) = tokio::time::timeout(NODES_LIMIT, importing).await else {
        return Err(too_slow(network));
    };
    match done {
        Ok(found) if found.written > 0 => Ok(back(&visit, "imported")),
        Ok(_) => Ok(back(&visit, "nothing")),
        Err(ImportDepositError::Explain(error)) => Err(refused(error)),
        Err(error @ ImportDepositError::Import(_)) => Err(Problem::Conflict(format!("{error}."))),
    }
}

pub async fn accept(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (network, tx_hash, height) = of_form(&visit)?;
    let reason = visit.form.filled("reason").unwrap_or_default().replace('\0', "");
    if reason.is_empty() {
        let text = "Give the reason why it counts, for the audit log.";
        return Err(Problem::Conflict(text.to_owned()));
    }
    let transaction = (network, tx_hash, height);
    let seen = visit.form.text("seen");
    let accepting = gateway.accept_deposit_together(transaction, seen, (visit.email()?, &reason));
    let Ok(done) = tokio::time::timeout(NODES_LIMIT, accepting).await else {
        return Err(too_slow(network));
    };
    match done {
        Ok(done) if done.people_missing > 0 => Ok(back(&visit, "proposed")),
        Ok(done) if done.accepted > 0 => Ok(back(&visit, "accepted")),
        Ok(_) => Ok(back(&visit, "nothing")),
        Err(AcceptTogetherError::Storage(error)) => Err(error.into()),
        Err(AcceptTogetherError::Accept(AcceptDepositError::Explain(error))) => Err(refused(error)),
        Err(error) => Err(Problem::Conflict(format!("{error}."))),
    }
}

/// In whole coins if the token is known, in base units otherwise.
fn amount(units: &str, token_id: Option<&str>) -> String {
    let currency = token_id.and_then(|id| Catalogue::get().by_token_id(id));
    match (units.parse::<u128>(), currency) {
        (Ok(units), Some(currency)) => {
            let decimals = u32::from(currency.decimals);
            format!("{} {}", BaseUnits::new(units).to_decimal(decimals), currency.symbol)
        }
        _ => format!("{units} base units of an unknown token"),
    }
}

/// The payment or the payout order of a deposit.
fn about(row: &OddDeposit) -> &str {
    row.payment_id.as_deref().or(row.order_id.as_deref()).unwrap_or("–")
}

/// The page that explains a transaction.
fn link(network: &Network, name: &str) -> String {
    let network = network.name();
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("network", network)
        .append_pair("q", name)
        .finish();
    format!("{HERE}/explain?{query}")
}
