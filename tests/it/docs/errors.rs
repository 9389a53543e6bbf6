//! Each request of `docs/errors.md`, run as a reader would, gets the status and the code under
//! which it stands, and the page has the codes of the source and no others.

use std::{collections::BTreeSet, path::Path};

use gateway::asset::Network;
use gateway_api::nc_payout::code::Code;
use gateway_workers::Role;
use http::StatusCode;
use serde_json::Value;
use support::server::stack::{Stack, with_configured_stack};

use super::shell;

/// Number of codes that a client can bring about alone.
const PRODUCIBLE_MIN: usize = 45;

/// The answer's body on one line, and its status on the next.
const CURL_SETTINGS: &str = "silent\nwrite-out = \"\\n%{http_code}\\n\"\n";

const PAGE: &str = include_str!("../../../docs/errors.md");
const PAYMENTS: &str = include_str!("../../../api/src/error.rs");
const BUYERS: &str = include_str!("../../../api/src/buyer_status/wire.rs");
const MASS_PAYOUTS: &str = include_str!("../../../api/src/payout/kind.rs");

/// Parts of the page, each with its own form of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    Payments,
    Buyers,
    MassPayouts,
    NcPayouts,
}

const FAMILIES: [(&str, Family); 4] = [
    ("Payments, events and all other paths", Family::Payments),
    ("The buyer's status", Family::Buyers),
    ("Mass payouts", Family::MassPayouts),
    ("Non-custodial payouts", Family::NcPayouts),
];

/// A code of the page.
#[derive(Debug)]
struct Entry {
    family: Family,
    code: &'static str,
    status: u16,
    /// Commands whose last answer is this error; without them the page says how it arises.
    request: Option<&'static str>,
}

fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (heading, family) in FAMILIES {
        let (_, part) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
        let part = part.split("\n## ").next().unwrap();
        for section in part.split("\n### `").skip(1) {
            let (code, text) = section.split_once("`\n").unwrap();
            let status = text.trim_start().strip_prefix("HTTP ").unwrap();
            let (status, text) = status.split_once(": ").unwrap();
            let request =
                text.split_once("```sh\n").map(|(_, rest)| rest.split_once("```").unwrap().0);
            assert!(text.contains("**Do:** "), "{code} does not say what to do");
            assert_ne!(request.is_some(), text.contains("**Arises** "), "{code}");
            entries.push(Entry { family, code, status: status.parse().unwrap(), request });
        }
    }
    entries
}

/// The number of a status by the name of its constant.
fn number(name: &str) -> u16 {
    let named = |status: &StatusCode| {
        let words = status.canonical_reason().unwrap_or_default();
        words.to_uppercase().replace(' ', "_") == name
    };
    let mut all = (100..600).filter_map(|number| StatusCode::from_u16(number).ok());
    all.find(named).unwrap_or_else(|| panic!("{name}")).as_u16()
}

/// Statuses and codes of `/v1`, as its source pairs them.
fn of_payments() -> Vec<(u16, String)> {
    let (table, _) = PAYMENTS.split_once("fn message(").unwrap();
    let parts = table.split("(StatusCode::").skip(1);
    let pairs = parts.map(|rest| rest.split_once(')').unwrap().0.split_once(", ").unwrap());
    pairs.map(|(status, code)| (number(status), code.trim_matches('"').to_owned())).collect()
}

/// Slugs of the buyer's status, beside codes of `/v1`.
fn of_buyers() -> Vec<(u16, String)> {
    let (_, table) = BUYERS.split_once("let slugs = [").unwrap();
    let rows = table.split("];").next().unwrap().split('"').skip(1).step_by(2);
    let words: Vec<_> = rows.collect();
    let of_code = |code: &str| of_payments().into_iter().find(|(_, own)| own == code).unwrap().0;
    words.chunks(2).map(|pair| (of_code(pair[0]), pair[1].to_owned())).collect()
}

/// Rows of the macro `kinds!`: name, status, kind.
fn of_mass_payouts() -> Vec<(u16, String)> {
    let (_, table) = MASS_PAYOUTS.split_once("\nkinds! {\n").unwrap();
    let rows = table.split("\n}\n").next().unwrap().lines();
    let rows = rows.filter_map(|line| {
        let [_, status, kind, ..] = line.trim().split(", ").collect::<Vec<_>>()[..] else {
            return None;
        };
        let kind = kind.strip_prefix('"')?.strip_suffix("\",")?;
        Some((number(status), kind.to_owned()))
    });
    rows.collect()
}

fn of_nc_payouts() -> Vec<(u16, String)> {
    let lists = [Code::OF_CREATE, Code::OF_REFRESH, Code::OF_SUBMIT, Code::OF_CANCEL, Code::OF_ALL];
    let codes = lists.into_iter().flatten();
    codes.map(|code| (code.status().as_u16(), code.as_str().to_owned())).collect()
}

#[test]
fn the_page_has_every_code_with_its_status_and_no_other() {
    let mut expected = BTreeSet::new();
    for (family, codes, least) in [
        (Family::Payments, of_payments(), 16),
        (Family::Buyers, of_buyers(), 3),
        (Family::MassPayouts, of_mass_payouts(), 30),
        (Family::NcPayouts, of_nc_payouts(), 26),
    ] {
        let codes: BTreeSet<_> = codes.into_iter().collect();
        assert!(codes.len() >= least, "only {} codes of {family:?} were found", codes.len());
        expected.extend(codes.into_iter().map(|(status, code)| (family, status, code)));
    }
    let shown = entries().into_iter().map(|one| (one.family, one.status, one.code.to_owned()));
    let shown: BTreeSet<_> = shown.collect();
    let missing: Vec<_> = expected.difference(&shown).collect();
    let unknown: Vec<_> = shown.difference(&expected).collect();
    assert!(missing.is_empty(), "docs/errors.md lacks {missing:?}");
    assert!(unknown.is_empty(), "docs/errors.md names {unknown:?}");
    assert_eq!(entries().len(), shown.len(), "a code has two sections");
}

/// Two networks: EVM networks and bitcoin-like ones pay out in different ways.
fn settings() -> String {
    let kept = [Network::Polygon, Network::Bitcoin];
    let others = Network::ALL.into_iter().filter(|other| !kept.contains(other));
    others.map(|other| format!("chains.{other}.source = \"off\"\n")).collect()
}

fn code(family: Family, body: &Value) -> &Value {
    match family {
        Family::Payments => &body["code"],
        Family::Buyers => &body["error"],
        Family::MassPayouts => &body["error"]["kind"],
        Family::NcPayouts => &body["error"]["code"],
    }
}

/// Runs one request with a merchant of its own, whose budget nobody else has used.
async fn outcome(stack: &Stack, folder: &Path, entry: &Entry) -> Result<(), String> {
    let Some(request) = entry.request else { return Ok(()) };
    let merchant = stack.merchant().await;
    let mut command = shell(request);
    command
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("CURL_HOME", folder)
        .env("GATEWAY_BASE_URL", format!("http://{}", stack.api))
        .env("API_KEY", merchant.new.api_key.reveal());
    let ran = tokio::time::timeout(std::time::Duration::from_secs(60), command.output());
    let ran = ran.await.map_err(|_| "it does not end".to_owned())?.unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let [.., body, status] = said.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>()[..]
    else {
        return Err(format!("no answer: {said} {}", String::from_utf8_lossy(&ran.stderr)));
    };
    let json: Value = serde_json::from_str(body).map_err(|_| format!("no JSON: {said}"))?;
    let is_told = *code(entry.family, &json) == entry.code && status == entry.status.to_string();
    if is_told { Ok(()) } else { Err(format!("{status} {body}")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_the_page_gets_the_code_under_which_it_stands() {
    with_configured_stack(&settings(), |stack| async move {
        // Deposits are seen by themselves; nothing else has to move.
        stack.start(&[Role::ChainWatcher, Role::DepositMatching]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("docs-errors");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(".curlrc"), CURL_SETTINGS).unwrap();
        let (mut wrong, mut count) = (Vec::new(), 0);
        for entry in entries() {
            count += usize::from(entry.request.is_some());
            if let Err(reason) = outcome(&stack, &folder, &entry).await {
                wrong.push(format!("{} {}: {reason}", entry.status, entry.code));
            }
            // The buyer's budget is that of a client address, which all of these share.
            stack.sql("delete from request_window").await;
        }
        assert!(count >= PRODUCIBLE_MIN, "only {count} requests were run");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    })
    .await;
}
