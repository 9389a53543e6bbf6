//! Does a network's node know the tokens that the catalogue sells, and what an address of ours holds?

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Finding, Health, LOOK_LIMIT, with_causes};
use crate::{
    app::{Gateway, follow_chain::node_of},
    asset::{
        Family, Network,
        address::match_key,
        catalogue::{Catalogue, Currency},
    },
    chain::{ChainError, ChainSource, Held, Source, TokenFacts, TransferAsset, walks_for_balances},
    storage::pools,
};

/// Questions under way at once.
const AT_ONCE: usize = 4;

impl Gateway {
    /// Asks the first node that is configured; nothing where there is none.
    pub(super) async fn look_at_tokens(&self, network: Network) -> Vec<Finding> {
        let settings = self.config.chain(network);
        let source = settings.rpc_url.as_ref().map(|url| node_of(&settings, url));
        let Some(Ok(source)) = source else { return Vec::new() };
        let (tokens, held) = tokio::join!(tokens(&source), self.known_address(&source));
        tokens.into_iter().chain(held).collect()
    }

    /// What the first address of ours holds, as balances are compared with the rows; and a clear word where they are not.
    async fn known_address(&self, source: &Source) -> Option<Finding> {
        let network = source.network();
        let first = self.first_address(network.family()).await?;
        let asked = async {
            let head = source.head().await?;
            // A walk would take minutes; asked about nobody, the node tells whether it can.
            let walks = walks_for_balances(network);
            let of = if walks { Vec::new() } else { vec![match_key(network.family(), &first)] };
            let held = source.holdings(&head, &of, &[TransferAsset::Native]).await?;
            Ok::<_, ChainError>(held)
        };
        let name = format!("address on {network}");
        let finding = match tokio::time::timeout(LOOK_LIMIT, asked).await {
            Ok(Ok(Some(held))) => self.told(network, name, &first, &held),
            Ok(Ok(None)) => {
                let detail = "its node does not tell what addresses hold: nothing is compared here";
                Finding::new(name, Health::Doubtful, detail)
            }
            Ok(Err(error)) => Finding::new(name, Health::Broken, with_causes(&error)),
            Err(_) => Finding::new(name, Health::Broken, "no answer in time"),
        };
        Some(finding.fact("address", first).advice(how_to_tell(network)))
    }

    fn told(&self, network: Network, name: String, first: &str, held: &Held) -> Finding {
        if walks_for_balances(network) {
            let detail = match self.config.reconciliation.scan_minutes {
                0 => "balances are never compared: scan_minutes is 0".to_owned(),
                minutes => format!("balances are told by a walk, every {minutes} minutes"),
            };
            return Finding::new(name, Health::Ok, detail);
        }
        let Some(units) = held.by_address.first().and_then(|of| of.first().copied().flatten())
        else {
            return Finding::new(name, Health::Broken, "its balance is not told");
        };
        let coin = Catalogue::get().native(network);
        let coins = units.to_decimal(u32::from(coin.decimals));
        let detail = format!("{first} holds {coins} {} at block {}", coin.symbol, held.up_to);
        Finding::new(name, Health::Ok, detail)
    }

    /// The address at index 0 of a key, or the lowest of a pool.
    async fn first_address(&self, family: Family) -> Option<String> {
        if !family.has_pool() {
            return self.derived_first(family);
        }
        let mut connection = self.db.connection().await.ok()?;
        pools::load(&mut connection, family).await.ok()?.first
    }
}

/// What lets a node tell balances.
const fn how_to_tell(network: Network) -> &'static str {
    if matches!(network, Network::Near) {
        "chains.near.state_url names a node that tells balances"
    } else if walks_for_balances(network) {
        "balances need scantxoutset, which dogecoin's nodes do not have: compare with a wallet of your own"
    } else {
        "a node must keep the state of recent blocks"
    }
}

async fn tokens(source: &Source) -> Option<Finding> {
    let network = source.network();
    let sold = Catalogue::get().all().iter().filter(|currency| currency.network == network);
    let sold: Vec<_> = sold.filter_map(|currency| Some((currency, currency.contract?))).collect();
    if sold.is_empty() {
        return None;
    }
    let name = format!("tokens of {network}");
    let count = sold.len();
    let questions = stream::iter(sold).map(|(currency, contract)| async move {
        let contract = match_key(network.family(), contract);
        Ok::<_, ChainError>((currency, source.token(&contract).await?))
    });
    let asked = questions.buffered(AT_ONCE).try_collect::<Vec<_>>();
    let told = match tokio::time::timeout(LOOK_LIMIT, asked).await {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => return Some(Finding::new(name, Health::Broken, with_causes(&error))),
        Err(_) => return Some(Finding::new(name, Health::Broken, "no answer in time")),
    };
    let Some(told) =
        told.into_iter().map(|(c, facts)| Some((c, facts?))).collect::<Option<Vec<_>>>()
    else {
        let detail = format!("{count} are sold; this network's nodes tell nothing of them");
        return Some(Finding::new(name, Health::Ok, detail));
    };
    let faults: Vec<_> =
        told.iter().filter_map(|(currency, facts)| fault(currency, facts)).collect();
    let finding = if faults.is_empty() {
        Finding::new(name, Health::Ok, format!("{count} are there, with the catalogue's decimals"))
    } else {
        Finding::new(name, Health::Broken, faults.join("; "))
    };
    Some(
        finding
            .fact("tokens", count)
            .fact("faults", faults)
            .advice("switch them off until it is clear who is wrong: gatewayctl currency disable"),
    )
}

/// What speaks against selling a token.
fn fault(currency: &Currency, facts: &TokenFacts) -> Option<String> {
    let id = currency.token_id();
    let wanted = u32::from(currency.decimals);
    match facts {
        TokenFacts { has_code: false, .. } => Some(format!(
            "{id} is not there: nothing is at {}",
            currency.contract.unwrap_or_default()
        )),
        TokenFacts { decimals: Some(found), .. } if *found == wanted => None,
        TokenFacts { decimals: Some(found), .. } => {
            Some(format!("{id} has {found} decimals, not {wanted}"))
        }
        TokenFacts { decimals: None, .. } => Some(format!("{id} tells no decimals")),
    }
}
