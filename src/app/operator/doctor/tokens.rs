//! Checks that a network's nodes know the tokens of the catalogue, and that they agree on the
//! balance of one of our addresses. Every node is asked: a node that contradicts the others stops
//! its network as soon as it matters.

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Finding, Health, LOOK_LIMIT, with_causes};
use crate::{
    app::{Gateway, deposit::follow_chain::node_of},
    asset::{
        Family, Network,
        address::match_key,
        catalogue::{Catalogue, Currency},
    },
    chain::{ChainError, ChainSource, Held, Source, TokenFacts, TransferAsset, walks_for_balances},
    money::BaseUnits,
    storage::pools,
};

/// Concurrent requests.
const AT_ONCE: usize = 4;

/// Response of one node, or the reason of its failure.
type Asked<T> = Result<T, String>;

impl Gateway {
    /// Checks every configured node; no finding without one.
    pub(super) async fn look_at_tokens(&self, network: Network) -> Vec<Finding> {
        let settings = self.config.chain(network);
        let urls = settings.rpc_url.iter().chain(&settings.witnesses);
        // A URL that cannot be used at all is reported by the checks of the nodes themselves.
        let sources = urls.enumerate().map(|(place, url)| (place, node_of(&settings, url)));
        let sources: Vec<_> =
            sources.filter_map(|(place, source)| Some((place, source.ok()?))).collect();
        let nodes = Nodes { network, sources };
        if nodes.sources.is_empty() {
            return Vec::new();
        }
        let (tokens, held) = tokio::join!(nodes.tokens(), self.known_address(&nodes));
        tokens.into_iter().chain(held).collect()
    }

    /// Balance of our first address, read in the way in which balances are compared with the rows,
    /// or a clear message where they are not compared.
    async fn known_address(&self, nodes: &Nodes) -> Option<Finding> {
        let network = nodes.network;
        let first = self.first_address(network.family()).await?;
        // A full walk would take minutes. A request without addresses shows if the node supports
        // it.
        let walks = walks_for_balances(network);
        let of = if walks { Vec::new() } else { vec![match_key(network.family(), &first)] };
        let asked = nodes
            .ask(async |source| {
                let head = source.head().await?;
                source.holdings(&head, &of, &[TransferAsset::Native]).await
            })
            .await;
        let (health, detail) = self.told(nodes, &first, &asked);
        let finding = Finding::new(format!("address on {network}"), health, detail);
        let advice = if health == Health::Doubtful && asked.iter().all(|(_, told)| is_told(told)) {
            "a payment may have arrived in between: run it again in a moment"
        } else {
            how_to_tell(network)
        };
        Some(finding.fact("address", first).advice(advice))
    }

    fn told(
        &self,
        nodes: &Nodes,
        first: &str,
        asked: &[(usize, Asked<Option<Held>>)],
    ) -> (Health, String) {
        let failed = asked.iter().find_map(|(place, told)| Some((*place, told.as_ref().err()?)));
        if let Some((place, error)) = failed {
            return (Health::Broken, nodes.named(place, error));
        }
        if let Some((place, _)) = asked.iter().find(|(_, told)| !is_told(told)) {
            let detail = "its node does not report balances: nothing is compared here";
            return (Health::Doubtful, nodes.named(*place, detail));
        }
        if walks_for_balances(nodes.network) {
            let detail = match self.config.reconciliation.scan_minutes {
                0 => "balances are never compared: scan_minutes is 0".to_owned(),
                minutes => format!("balances are found by a scan, every {minutes} minutes"),
            };
            return (Health::Ok, detail);
        }
        let coin = Catalogue::get().native(nodes.network);
        let told = |(place, told): &(usize, Asked<Option<Held>>)| {
            let held = told.as_ref().ok()?.as_ref()?;
            let units = held.by_address.first()?.first().copied().flatten()?;
            let coins = units.to_decimal(u32::from(coin.decimals));
            Some((*place, units, format!("{coins} {} at block {}", coin.symbol, held.up_to)))
        };
        let Some(told) = asked.iter().map(told).collect::<Option<Vec<_>>>() else {
            return (Health::Broken, "its balance is not reported".to_owned());
        };
        let alike = |units: &BaseUnits| told.iter().filter(|(_, other, _)| other == units).count();
        // If equally many nodes report different balances, the first of those nodes is the
        // reference.
        let measure = told.iter().rev().max_by_key(|(_, units, _)| alike(units));
        let Some((_, units, text)) = measure else { return (Health::Ok, String::new()) };
        let others = told.iter().filter(|(_, other, _)| other != units);
        let others: String =
            others.map(|(place, _, text)| format!(", but by node {place} {text}")).collect();
        let health = if others.is_empty() { Health::Ok } else { Health::Doubtful };
        (health, format!("{first} holds {text}{others}"))
    }

    /// The address at index 0 of a key, or the lowest one of a pool.
    pub(super) async fn first_address(&self, family: Family) -> Option<String> {
        if !family.has_pool() {
            return self.derived_first(family);
        }
        let mut connection = self.db.connection().await.ok()?;
        pools::load(&mut connection, family).await.ok()?.first
    }
}

fn is_told(told: &Asked<Option<Held>>) -> bool {
    matches!(told, Ok(Some(_)))
}

/// Advice on a node that serves balances.
const fn how_to_tell(network: Network) -> &'static str {
    if matches!(network, Network::Near) {
        "chains.near.state_url names a node that reports balances"
    } else if walks_for_balances(network) {
        "balances need scantxoutset, which dogecoin's nodes do not have: compare the balance with another wallet"
    } else {
        "a node must keep the state of recent blocks"
    }
}

/// Nodes of one network, each with its position in the configuration: URLs contain access keys.
struct Nodes {
    network: Network,
    sources: Vec<(usize, Source)>,
}

impl Nodes {
    /// Sends a request to all nodes at once, each within the time limit.
    async fn ask<T>(
        &self,
        question: impl AsyncFn(&Source) -> Result<T, ChainError>,
    ) -> Vec<(usize, Asked<T>)> {
        let question = &question;
        let asked = self.sources.iter().map(|(place, source)| async move {
            let told = match tokio::time::timeout(LOOK_LIMIT, question(source)).await {
                Ok(Ok(told)) => Ok(told),
                Ok(Err(error)) => Err(with_causes(&error)),
                Err(_) => Err("no answer in time".to_owned()),
            };
            (*place, told)
        });
        futures_util::future::join_all(asked).await
    }

    /// A response prefixed with the position of its node; a single node needs no name.
    fn named(&self, place: usize, told: &str) -> String {
        if self.sources.len() == 1 { told.to_owned() } else { format!("node {place}: {told}") }
    }

    async fn tokens(&self) -> Option<Finding> {
        let network = self.network;
        let all = Catalogue::get().all().iter().filter(|currency| currency.network == network);
        let sold: Vec<_> =
            all.filter_map(|currency| Some((currency, currency.contract?))).collect();
        if sold.is_empty() {
            return None;
        }
        let asked = self.ask(async |source| faults(source, &sold).await).await;
        let (name, count) = (format!("tokens of {network}"), sold.len());
        if asked.iter().all(|(_, told)| matches!(told, Ok(None))) {
            let detail =
                format!("{count} are offered; this network's nodes report nothing about them");
            return Some(Finding::new(name, Health::Ok, detail));
        }
        let (mut found, mut silent) = (Vec::new(), Vec::new());
        for (place, told) in asked {
            match told {
                Ok(faults) => {
                    let faults = faults.unwrap_or_default();
                    found.extend(faults.iter().map(|fault| self.named(place, fault)));
                }
                Err(error) => silent.push(self.named(place, &error)),
            }
        }
        let all: Vec<_> = found.iter().chain(&silent).cloned().collect();
        let finding = match (all.is_empty(), self.sources.len()) {
            (false, _) => Finding::new(name, Health::Broken, all.join("; ")),
            (true, nodes) => {
                let by = if nodes == 1 { String::new() } else { format!(", by {nodes} nodes") };
                let detail = format!("{count} are there, with the catalogue's decimals{by}");
                Finding::new(name, Health::Ok, detail)
            }
        };
        let is_odd = !found.is_empty();
        let finding = finding.fact("tokens", count).fact("faults", found);
        let advice = "disable them until it is clear which is wrong: gatewayctl currency disable";
        Some(if is_odd { finding.advice(advice) } else { finding })
    }
}

/// Faults that one node reports in the tokens of the catalogue; `None` if the network's nodes serve
/// no token data.
async fn faults(
    source: &Source,
    sold: &[(&'static Currency, &'static str)],
) -> Result<Option<Vec<String>>, ChainError> {
    let network = source.network();
    let questions = stream::iter(sold).map(|(currency, contract)| async move {
        let contract = match_key(network.family(), contract);
        Ok::<_, ChainError>((*currency, source.token(&contract).await?))
    });
    let told = questions.buffered(AT_ONCE).try_collect::<Vec<_>>().await?;
    let told = told.into_iter().map(|(currency, facts)| Some((currency, facts?)));
    let told = told.collect::<Option<Vec<_>>>();
    Ok(told
        .map(|told| told.iter().filter_map(|(currency, facts)| fault(currency, facts)).collect()))
}

/// Reason against selling a token, if any.
fn fault(currency: &Currency, facts: &TokenFacts) -> Option<String> {
    let id = currency.token_id();
    let wanted = u32::from(currency.decimals);
    match facts {
        TokenFacts { has_code: false, .. } => Some(format!(
            "{id} does not exist: no contract is at {}",
            currency.contract.unwrap_or_default()
        )),
        TokenFacts { decimals: Some(found), .. } if *found == wanted => None,
        TokenFacts { decimals: Some(found), .. } => {
            Some(format!("{id} has {found} decimals, not {wanted}"))
        }
        TokenFacts { decimals: None, .. } => Some(format!("{id} reports no decimals")),
    }
}
