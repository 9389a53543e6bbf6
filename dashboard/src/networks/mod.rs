//! Networks: how far each was read, its nodes, finality, addresses, and the doctor's findings.

use askama::Template;
use axum::{
    extract::{Path, State},
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::Action,
    app::{
        account::session::Permission,
        operator::{
            examine::{Examined, KeptFinding},
            status::{Picture, PoolLevel},
        },
    },
    asset::Network,
    config::{ChainSettings, ChainSourceKind},
};

use crate::{
    problem::Problem,
    shell::{Shell, page as show},
    visit::Visit,
};

const HERE: &str = "/operator/networks";
/// As long as the alert `GatewayChainLagging` waits.
pub const LAG_SECONDS: i64 = 120;

#[derive(Template)]
#[template(path = "networks/page.html")]
struct Page {
    shell: Shell,
    rows: Vec<Row>,
}

/// A network in the list.
pub struct Row {
    pub network: Network,
    pub is_on: bool,
    pub height: i64,
    pub lag_seconds: i64,
    pub nodes: usize,
    pub confirmations: u64,
    pub large_confirmations: u64,
    pub large_amount_usd: u64,
    pub pool: Option<PoolLevel>,
    /// Addresses that hold more than the rows say, and less.
    pub differences: (i64, i64),
}

impl Row {
    fn of(network: Network, settings: &ChainSettings, picture: &Picture) -> Self {
        let lag = picture.lags.iter().find(|lag| lag.network == network);
        let found = picture.differences.iter().find(|(name, ..)| name == network.name());
        Self {
            network,
            is_on: settings.source != ChainSourceKind::Off,
            height: lag.map_or(0, |lag| lag.height),
            lag_seconds: lag.map_or(0, |lag| lag.seconds),
            nodes: usize::from(settings.rpc_url.is_some()) + settings.witnesses.len(),
            confirmations: settings.confirmations,
            large_confirmations: settings.large_confirmations,
            large_amount_usd: settings.large_amount_usd,
            pool: picture.pools.iter().find(|pool| pool.network == network).copied(),
            differences: found.map_or((0, 0), |(_, more, less)| (*more, *less)),
        }
    }

    pub const fn is_lagging(&self) -> bool {
        self.is_on && self.lag_seconds > LAG_SECONDS
    }
}

#[derive(Template)]
#[template(path = "networks/detail.html")]
struct Detail {
    shell: Shell,
    row: Row,
    examined: Option<Examined>,
    agreement: Option<String>,
    may_examine: bool,
}

impl Detail {
    fn again(&self) -> String {
        format!("{HERE}/{}", self.row.network)
    }
}

pub async fn list(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let picture = gateway.picture().await?;
    let row = |network| Row::of(network, &gateway.config.chain(network), &picture);
    let mut rows: Vec<_> = Network::ALL.into_iter().map(row).collect();
    rows.sort_by_key(|row| !row.is_on);
    show(&Page { shell: Shell::of(&visit, HERE), rows })
}

fn named(id: &str) -> Result<Network, Problem> {
    id.parse().map_err(|_| Problem::NotFound)
}

pub async fn page(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let network = named(&id)?;
    let picture = gateway.picture().await?;
    let examined = gateway.examined(Some(network)).await?;
    let agreement = examined.as_ref().and_then(|examined| agreement(&examined.findings));
    show(&Detail {
        shell: Shell::of(&visit, HERE),
        row: Row::of(network, &gateway.config.chain(network), &picture),
        examined,
        agreement,
        may_examine: visit.signed()?.may(Action::NetworkExamine) == Permission::Granted,
    })
}

/// A sentence about the newest blocks of nodes that answered; none with fewer than two of them.
fn agreement(findings: &[KeptFinding]) -> Option<String> {
    let heads: Vec<_> = findings.iter().filter_map(|finding| finding.head.as_ref()).collect();
    let highest = heads.iter().map(|(height, _)| *height).max()?;
    let lowest = heads.iter().map(|(height, _)| *height).min()?;
    if heads.len() < 2 {
        return None;
    }
    let forked = heads.iter().any(|(height, hash)| {
        heads.iter().any(|(other, theirs)| height == other && hash != theirs)
    });
    Some(match (forked, highest - lowest) {
        (true, _) => "Nodes report different blocks at one height: they disagree.".to_owned(),
        (false, 0) => format!("All {} nodes that answered report one newest block.", heads.len()),
        (false, apart) => {
            format!("The {} nodes that answered are up to {apart} blocks apart.", heads.len())
        }
    })
}

pub async fn examine(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    visit: Visit,
) -> Result<Response, Problem> {
    let network = named(&id)?;
    gateway.examine(Some(network), visit.email()?).await?;
    Ok(Redirect::to(&format!("{HERE}/{network}#doctor")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_agree_by_the_blocks_that_they_report() {
        let node = |height, hash: &str| KeptFinding {
            check: "node".to_owned(),
            health: "ok".to_owned(),
            detail: String::new(),
            advice: None,
            head: Some((height, hash.to_owned())),
        };
        let told = |nodes: &[KeptFinding]| agreement(nodes).unwrap_or_default();
        assert_eq!(told(&[node(7, "a")]), "");
        assert!(told(&[node(7, "a"), node(7, "a")]).contains("one newest block"));
        assert!(told(&[node(7, "a"), node(7, "b")]).contains("disagree"));
        assert!(told(&[node(9, "c"), node(7, "a")]).contains("2 blocks apart"));
    }
}
