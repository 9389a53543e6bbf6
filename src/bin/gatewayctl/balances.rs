//! `gatewayctl balances …`

use clap::{Args, Subcommand};
use gateway::{
    app::{Gateway, deposit::reconcile::Compared, operator::doctor::with_reasons},
    asset::{Network, catalogue::Catalogue},
    invoice::payment::iso_8601,
    money::BaseUnits,
    storage::balances::Difference,
};
use serde_json::{Value, json};

use crate::{
    failure::wrong_usage,
    network,
    operator::Operator,
    render::{self, Answer, Cell, Tone},
    words,
};

const LISTED_MAX: i64 = 1_000;

#[derive(Subcommand)]
pub enum Balances {
    /// List addresses whose balance differs from their rows
    #[command(after_help = words::BALANCES_LIST)]
    List(List),
    /// Compare one address now
    #[command(after_help = words::BALANCES_CHECK)]
    Check(Place),
    /// Record the reason of a difference at an address
    #[command(after_help = words::BALANCES_EXPLAIN)]
    Explain(Explain),
    /// Record the initial balance of an address, if no node can report it
    #[command(after_help = words::BALANCES_START)]
    Start(Start),
}

#[derive(Args)]
pub struct List {
    /// Only on this network
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Option<Network>,
}

#[derive(Args)]
pub struct Place {
    /// On which network
    #[arg(long, value_name = "NET", hide_possible_values = true, value_parser = network::parser())]
    network: Network,
    /// An address of an invoice or a payout order
    #[arg(long, value_name = "A")]
    address: String,
}

#[derive(Args)]
pub struct Explain {
    #[command(flatten)]
    place: Place,
    /// Where the difference comes from
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    by: Operator,
}

#[derive(Args)]
pub struct Start {
    #[command(flatten)]
    place: Place,
    /// Initial balance in the network's coin, in whole coins
    #[arg(long, value_name = "AMOUNT")]
    held: String,
    /// Source of this knowledge, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    by: Operator,
}

impl Balances {
    pub async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        match self {
            Self::List(List { network }) => {
                let found = gateway.balance_differences(network, LISTED_MAX).await?;
                let mut not_asked = gateway.not_asked();
                not_asked.retain(|(other, _)| network.is_none_or(|network| network == *other));
                Ok(listed(&found, &not_asked))
            }
            Self::Check(Place { network, address }) => {
                let compared = gateway.check_balance(network, &address).await?;
                let differ = compared.iter().any(|one| one.expected != one.found);
                let json: Value = compared.iter().map(to_json).collect();
                let rows: Vec<_> = compared.iter().map(line).collect();
                let text = render::table(&["currency", "by our rows", "on chain", ""], &rows);
                let answer = Answer::new(json, text);
                Ok(if differ { answer.bad() } else { answer })
            }
            Self::Start(start) => start.run(gateway).await,
            Self::Explain(Explain { place: Place { network, address }, reason, by }) => {
                let by = by.name()?;
                let count = gateway.explain_balance(network, &address, (&by, &reason)).await?;
                let json =
                    json!({ "network": network.name(), "address": address, "explained": count });
                Ok(Answer::new(
                    json,
                    format!("{count} differences at {address} are accounted for."),
                ))
            }
        }
    }
}

impl Start {
    async fn run(self, gateway: &Gateway) -> anyhow::Result<Answer> {
        let Self { place: Place { network, address }, held, reason, by } = self;
        let coin = Catalogue::get().native(network);
        let units = BaseUnits::parse(&held, u32::from(coin.decimals));
        let units = units.map_err(|error| wrong_usage(format!("--held {held}: {error}")))?;
        gateway.note_starting_balance(network, &address, units, (&by.name()?, &reason)).await?;
        let held = coins(units, &coin.token_id());
        let json = json!({ "network": network.name(), "address": address, "held": held });
        let text = format!(
            "{address} counts as having held {held} at first. What it holds beyond that and beyond its deposits is recorded \
             at the watcher's next block."
        );
        Ok(Answer::new(json, text))
    }
}

fn coins(units: BaseUnits, token_id: &str) -> String {
    let currency = Catalogue::get().by_token_id(token_id);
    units.to_decimal(currency.map_or(0, |currency| u32::from(currency.decimals)))
}

fn line(one: &Compared) -> Vec<Cell> {
    let verdict = match one.found.cmp(&one.expected) {
        std::cmp::Ordering::Equal => Cell::toned("as expected", Tone::Good),
        std::cmp::Ordering::Greater => Cell::toned("more than the rows say", Tone::Bad),
        std::cmp::Ordering::Less => Cell::toned("less than the rows say", Tone::Doubtful),
    };
    vec![
        Cell::from(&one.token_id),
        coins(one.expected, &one.token_id).into(),
        coins(one.found, &one.token_id).into(),
        verdict,
    ]
}

fn to_json(one: &Compared) -> Value {
    json!({
        "address": one.address,
        "token_id": one.token_id,
        "expected": coins(one.expected, &one.token_id),
        "found": coins(one.found, &one.token_id),
        "differs": one.expected != one.found,
    })
}

/// A deposit that was missed shows as a surplus on chain over the rows.
fn is_surplus(one: &Difference) -> bool {
    !one.unexplained.starts_with('-')
}

/// Advice for the operator.
fn advice(one: &Difference) -> String {
    let (network, address) = (&one.network, &one.address);
    if is_surplus(one) {
        format!(
            "find its transaction in an explorer, then: gatewayctl deposit import TXID --network {network}"
        )
    } else {
        format!(
            "if you moved it: gatewayctl balances explain --network {network} --address {address} --reason …"
        )
    }
}

fn listed(found: &[Difference], not_asked: &[(Network, &str)]) -> Answer {
    let json: Value = found
        .iter()
        .map(|one| {
            json!({
                "network": one.network,
                "address": one.address,
                "payment_id": one.payment_id,
                "token_id": one.token_id,
                "expected": coins(one.expected, &one.token_id),
                "found": coins(one.found, &one.token_id),
                "unexplained_raw": one.unexplained,
                "kind": if is_surplus(one) { "surplus" } else { "deficit" },
                "height": one.height,
                "first_seen_at": iso_8601(one.first_seen_at),
                "advice": advice(one),
            })
        })
        .collect();
    let not_asked = match not_asked {
        [] => String::new(),
        networks => format!("\nNot asked for balances: {}", with_reasons(networks)),
    };
    if found.is_empty() {
        let text =
            "Every compared address holds what the rows say. The role sweeper compares them.";
        return Answer::new(json, format!("{text}{not_asked}"));
    }
    let rows: Vec<_> = found
        .iter()
        .map(|one| {
            let (word, tone) =
                if is_surplus(one) { ("surplus", Tone::Bad) } else { ("deficit", Tone::Doubtful) };
            vec![
                Cell::toned(word, tone),
                Cell::from(&one.token_id),
                coins(one.expected, &one.token_id).into(),
                coins(one.found, &one.token_id).into(),
                Cell::from(&one.address),
                render::or_dash(one.payment_id.as_ref()),
            ]
        })
        .collect();
    let heading = ["what", "currency", "by our rows", "on chain", "address", "invoice"];
    let mut text = render::table(&heading, &rows);
    for one in found {
        text = format!("{text}\n{}: {}", one.address, advice(one));
    }
    Answer::new(json, format!("{text}{not_asked}"))
}
