//! The calls that a watcher will make to a node in a day, beside what the node bears at once.

use std::time::{Duration, Instant};

use super::{Finding, Health, More, Told, millis};
use crate::{
    asset::Network,
    chain::{
        BlockRef, ChainSource, Source,
        calls::{self, Outcome},
        needs::{Cost, block_every_ms, cost},
    },
    config::ChainSettings,
};

const DAY_S: u64 = 86_400;
const DAY_MS: u64 = DAY_S * 1_000;
/// Bounds of the test: less than a watcher asks that catches up for a moment, which reads up to
/// eight blocks at once.
const CALLS_MAX: usize = 30;
const TIME_MAX: Duration = Duration::from_secs(3);
const AT_ONCE: usize = 4;

/// Answers to some calls at once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Borne {
    pub answered: u64,
    pub took: Duration,
    /// Set if the node asked to slow down, at any time since it was first asked.
    pub is_limited: bool,
    pub failed: u64,
}

/// Asks for one header again and again, until a bound is reached or the node wants fewer calls.
pub(super) async fn bear(source: &Source, head: &BlockRef) -> Borne {
    let (first, began) = (calls::so_far(), Instant::now());
    while calls::so_far() - first < CALLS_MAX && began.elapsed() < TIME_MAX {
        let asking = (0..AT_ONCE).map(|_| source.header(head.height));
        let left = TIME_MAX.saturating_sub(began.elapsed());
        let asked = tokio::time::timeout(left, futures_util::future::join_all(asking)).await;
        if asked.is_ok_and(|asked| asked.iter().any(Result::is_err)) {
            break;
        }
    }
    let took = began.elapsed();
    let made = calls::since(first);
    let count = |is: fn(Outcome) -> bool| {
        u64::try_from(made.iter().filter(|call| is(call.outcome)).count()).unwrap_or(u64::MAX)
    };
    Borne {
        answered: count(|outcome| outcome == Outcome::Answered),
        took,
        is_limited: calls::since(0).iter().any(|call| call.outcome == Outcome::RateLimited),
        failed: count(|outcome| outcome != Outcome::Answered),
    }
}

/// The calls that a watcher will make to one node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    poll: Duration,
    blocks: u64,
    /// In a block, where those that wait are read one by one.
    transactions: u64,
    /// Invoices whose balances are read at each head; `None` if they could not be counted.
    open: Option<u64>,
    is_first: bool,
    cost: Cost,
}

/// Calls in a day.
#[derive(Debug, PartialEq, Eq)]
struct Calls {
    looks: u64,
    blocks: u64,
    balances: u64,
    waiting: u64,
}

impl Calls {
    const fn total(&self) -> u64 {
        self.looks + self.blocks + self.balances + self.waiting
    }
}

impl Load {
    pub fn of(
        settings: &ChainSettings,
        (place, open): (usize, Option<u64>),
        (told, more): (&Told, &More),
    ) -> Self {
        let network = settings.network;
        let every = more.block_every_ms.unwrap_or_else(|| block_every_ms(network));
        let usual = cost(network);
        // A node that lacks a method is asked by more calls.
        let block = u64::try_from(told.block_calls).unwrap_or(0).max(usual.block);
        Self {
            poll: settings.poll,
            blocks: DAY_MS / every.max(1),
            transactions: u64::try_from(told.transactions).unwrap_or(0),
            open,
            is_first: place == 0,
            cost: Cost { block, ..usual },
        }
    }

    /// Looks beyond one per `poll`, for new invoices, are not counted.
    fn calls(&self) -> Calls {
        let looks = DAY_MS / millis(self.poll).max(1);
        let per_look =
            if self.is_first { self.cost.look } else { self.cost.look - self.cost.waiting };
        let balances = self
            .cost
            .addresses_per_call
            .map_or(0, |at_once| looks.min(self.blocks) * self.open.unwrap_or(0).div_ceil(at_once));
        let waiting = if self.is_first { self.cost.transaction } else { 0 };
        Calls {
            looks: looks * per_look,
            blocks: self.blocks * self.cost.block,
            balances,
            waiting: self.blocks * self.transactions * waiting,
        }
    }

    pub fn finding(&self, (place, network): (usize, Network), borne: &Borne) -> Finding {
        let calls = self.calls();
        let (total, needed) = (calls.total(), calls.total() * 10 / DAY_S);
        let mut detail = format!(
            "about {} calls a day, {} a second: {} for looks every {} and {} for {} blocks",
            grouped(total),
            tenths(needed),
            grouped(calls.looks),
            seconds(self.poll),
            grouped(calls.blocks),
            grouped(self.blocks),
        );
        if calls.waiting > 0 {
            detail.push_str(&format!(", {} for payments that wait", grouped(calls.waiting)));
        }
        match (self.cost.addresses_per_call, self.open) {
            (Some(_), Some(open)) => {
                let open = grouped(open);
                detail.push_str(&format!(
                    ", {} for balances of {open} open invoices",
                    grouped(calls.balances)
                ));
            }
            (Some(_), None) => {
                detail.push_str(", without balances of open invoices, which could not be counted")
            }
            (None, _) => {}
        }
        let speed = borne.answered * 10_000 / millis(borne.took).max(1);
        let (health, advice) = self.judge(borne, (needed, speed));
        detail.push_str(&match (borne.is_limited, borne.answered) {
            (_, 0) => "; it answered none of the calls that tried its pace".to_owned(),
            (limited, answered) => {
                let end = if limited {
                    "and asked for fewer (rate limit)"
                } else if borne.failed > 0 {
                    "and then failed"
                } else {
                    "and refused none"
                };
                let took = millis(borne.took);
                format!("; it answered {answered} calls in {took} ms, {AT_ONCE} at once, {end}")
            }
        });
        Finding::new(format!("load of node {place} of {network}"), health, detail)
            .fact("network", network.name())
            .fact("node", place)
            .fact("calls_a_day", total)
            .fact("calls_a_day_looks", calls.looks)
            .fact("calls_a_day_blocks", calls.blocks)
            .fact("calls_a_day_balances", calls.balances)
            .fact("calls_a_day_waiting", calls.waiting)
            .fact("open_invoices", self.open)
            .fact("tried_calls", borne.answered + borne.failed)
            .fact("tried_answered", borne.answered)
            .fact("tried_ms", millis(borne.took))
            .fact("rate_limited", borne.is_limited)
            .advice(advice)
    }

    /// By tenths of calls a second: those that are needed, and those that were answered.
    fn judge(&self, borne: &Borne, (needed, speed): (u64, u64)) -> (Health, String) {
        let plan = format!(
            "take a plan or a node that allows {} calls a day and bursts of {} at once",
            grouped(self.calls().total()),
            8 * self.cost.block
        );
        if borne.is_limited {
            let advice =
                format!("{plan}; until then the watcher asks for less by itself, and is late");
            return (Health::Doubtful, advice);
        }
        if borne.answered == 0 || borne.failed > 0 {
            let advice =
                "run it again in a minute; the log of the role chain-watcher says what fails";
            return (Health::Doubtful, advice.to_owned());
        }
        if speed < needed {
            return (Health::Broken, format!("it is too slow for this network; {plan}"));
        }
        if speed < 2 * needed {
            let advice = format!("it is hardly fast enough, and cannot catch up; {plan}");
            return (Health::Doubtful, advice);
        }
        (Health::Ok, String::new())
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

fn seconds(time: Duration) -> String {
    let ms = millis(time);
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(network: Network, poll_s: u64, open: Option<u64>, is_first: bool) -> Load {
        let (poll, blocks) = (Duration::from_secs(poll_s), DAY_MS / block_every_ms(network));
        Load { poll, blocks, transactions: 2_000, open, is_first, cost: cost(network) }
    }

    #[test]
    fn calls_a_day_grow_with_looks_blocks_and_open_invoices() {
        for (load, looks, blocks, balances, waiting) in [
            (load(Network::Ethereum, 4, Some(0), true), 43_200, 14_400, 0, 0),
            (load(Network::Ethereum, 4, Some(500), true), 43_200, 14_400, 7_200, 0),
            (load(Network::Ethereum, 4, Some(501), true), 43_200, 14_400, 14_400, 0),
            (load(Network::Ethereum, 4, None, true), 43_200, 14_400, 0, 0),
            // At each head that is looked at, and not at each block.
            (load(Network::Arbitrum, 2, Some(1), true), 86_400, 691_200, 43_200, 0),
            (load(Network::Bitcoin, 15, None, true), 40_320, 288, 0, 288_000),
            (load(Network::Bitcoin, 15, None, false), 23_040, 288, 0, 0),
            (load(Network::Ton, 4, None, true), 64_800, 1_080_000, 0, 0),
        ] {
            let expected = Calls { looks, blocks, balances, waiting };
            assert_eq!(load.calls(), expected, "{load:?}");
        }
    }

    #[test]
    fn a_node_that_bears_too_little_is_named_with_what_to_do() {
        let ethereum = load(Network::Ethereum, 4, Some(0), true);
        let borne = |answered, ms, is_limited| Borne {
            answered,
            took: Duration::from_millis(ms),
            is_limited,
            failed: 0,
        };
        for (borne, health, says, advises) in [
            (
                borne(32, 210, false),
                Health::Ok,
                "answered 32 calls in 210 ms, 4 at once, and refused none",
                "",
            ),
            (
                borne(12, 210, true),
                Health::Doubtful,
                "and asked for fewer (rate limit)",
                "allows 57,600 calls a day",
            ),
            (borne(3, 3_000, false), Health::Doubtful, "answered 3 calls", "cannot catch up"),
            (borne(1, 3_000, false), Health::Broken, "answered 1 calls", "too slow"),
            (borne(0, 3_000, false), Health::Doubtful, "answered none", "run it again"),
        ] {
            let found = ethereum.finding((0, Network::Ethereum), &borne);
            assert_eq!(found.health, health, "{found:?}");
            assert!(
                found.detail.starts_with("about 57,600 calls a day, 0.6 a second: "),
                "{found:?}"
            );
            assert!(found.detail.contains(says), "{found:?}");
            assert!(found.advice.unwrap_or_default().contains(advises), "{}", found.detail);
        }
    }

    #[test]
    fn numbers_are_grouped_in_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
