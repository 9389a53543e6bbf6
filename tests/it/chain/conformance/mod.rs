//! Requirements for every `ChainSource`, proven on a chain that a driver controls.
//!
//! A driver ([`ChainUnderTest`]) can pay, mine and reorganise on one kind of chain. It names the
//! features that its chain cannot show at all, with a reason ([`ChainUnderTest::lacks`]);
//! everything else is demanded. [`prove`] runs all proofs and returns one column of the table that
//! [`table`] prints.

mod driver;
mod evidence;
mod holdings;
mod lag;
mod line;
mod proof;
mod reorg;
mod replacement;

use std::fmt::Write as _;

pub use driver::{Act, ChainUnderTest, Coin, Connect, Feature, LeftOut, Output};

/// Result of one requirement on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Proven,
    /// The chain lacks the feature, for this reason.
    Lacking(&'static str),
}

/// All results of one chain.
#[derive(Debug)]
pub struct Report {
    pub chain: String,
    pub outcomes: Vec<(&'static str, Outcome)>,
}

/// Runs every proof, in the order of the table; panics with the chain and the failed requirement.
pub async fn prove<C: ChainUnderTest>(chain: &mut C) -> Report {
    let outcomes = vec![
        ("headers form one chain up to the head", proof::headers(chain).await),
        ("a native payment is reported once", proof::native(chain).await),
        ("a token payment is reported under its contract", proof::token(chain).await),
        ("payments of one block to one address stay apart", proof::one_address(chain).await),
        ("a part and the rest in a later block stay apart", proof::in_parts(chain).await),
        ("a payment that is older than its invoice is found", proof::older(chain).await),
        ("native outputs of one transaction stay apart", proof::native_outputs(chain).await),
        ("token outputs of one transaction stay apart", proof::token_outputs(chain).await),
        ("dust of one unit and the largest amount are exact", proof::extremes(chain).await),
        ("an amount beyond 128 bits is reported as such", proof::beyond(chain).await),
        ("zero amounts are left out", proof::zero(chain).await),
        ("failed transactions pay nothing", proof::failures(chain).await),
        ("a look-alike token keeps its own name", proof::look_alike(chain).await),
        ("what only looks like a payment is left out", proof::noise(chain).await),
        ("hidden native value shows in balances", proof::hidden(chain).await),
        ("balances belong to the block asked for", proof::dated_balances(chain).await),
        ("what addresses hold is what they were paid", holdings::sums(chain).await),
        ("waiting transactions are seen before they are mined", proof::mempool(chain).await),
        ("a replaced payment gives way to the one that is mined", replacement::by_fee(chain).await),
        ("a payment that comes back at its place", reorg::connect(chain, Connect::Same).await),
        ("a payment that comes back elsewhere", reorg::connect(chain, Connect::Moved).await),
        ("a payment that never comes back", reorg::connect(chain, Connect::Gone).await),
        ("every block reads the same twice", proof::replay(chain).await),
        ("a node that asks to slow down is understood", line::rate_limit(chain).await),
        ("a node that is down is told as such", line::outage(chain).await),
        ("a part of an answer is no answer", line::truncation(chain).await),
        ("a silent node is given up", line::silence(chain).await),
        ("a node that goes back shows what it still has", line::going_back(chain).await),
        ("a block emptied of its payments is refused", evidence::of(chain, LeftOut::All).await),
        (
            "a block without one transaction is refused",
            evidence::of(chain, LeftOut::Transaction).await,
        ),
        (
            "a transaction without one movement is refused",
            evidence::of(chain, LeftOut::Movement).await,
        ),
        ("a node that lags shows no block in part", lag::behind(chain).await),
    ];
    Report { chain: chain.name(), outcomes }
}

/// The reports side by side, the reasons below.
pub fn table(reports: &[Report]) -> String {
    let Some(first) = reports.first() else { return String::new() };
    let width = first.outcomes.iter().map(|(sentence, _)| sentence.len()).max().unwrap_or(0);
    let mut reasons: Vec<&str> = Vec::new();
    // Writing to a string cannot fail.
    let mut text = String::new();
    let _ = write!(text, "{:width$}", "");
    for report in reports {
        let _ = write!(text, "  {}", report.chain);
    }
    for (row, (sentence, _)) in first.outcomes.iter().enumerate() {
        let _ = write!(text, "\n{sentence:width$}");
        for report in reports {
            let cell = match report.outcomes[row].1 {
                Outcome::Proven => "proven".to_owned(),
                Outcome::Lacking(reason) => {
                    if !reasons.contains(&reason) {
                        reasons.push(reason);
                    }
                    let place = reasons.iter().position(|known| *known == reason).unwrap_or(0);
                    format!("– ({})", place + 1)
                }
            };
            let _ = write!(text, "  {cell:column$}", column = report.chain.chars().count());
        }
    }
    for (place, reason) in reasons.iter().enumerate() {
        let _ = write!(text, "\n({}) {reason}", place + 1);
    }
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
