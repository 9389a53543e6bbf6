//! Does a network's node know the tokens that the catalogue sells, and what an address of ours holds?

use futures_util::{StreamExt, TryStreamExt, stream};

use super::{Finding, Health, LOOK_LIMIT, with_causes};
use crate::{
    app::Gateway,
    asset::{
        Network, address,
        catalogue::{Catalogue, Currency},
    },
    chain::{ChainError, ChainSource, Source, TokenFacts, TransferAsset},
};

/// Questions under way at once.
const AT_ONCE: usize = 4;

impl Gateway {
    /// Asks the first node that is configured; nothing where there is none.
    pub(super) async fn look_at_tokens(&self, network: Network) -> Vec<Finding> {
        let settings = self.config.chain(network);
        let genesis = settings.genesis.as_deref();
        let url = settings.rpc_url.as_ref();
        let Some(Ok(source)) =
            url.map(|url| Source::node(network, Some(url), settings.chain_id, genesis))
        else {
            return Vec::new();
        };
        let (tokens, held) = tokio::join!(tokens(&source), self.known_address(&source));
        tokens.into_iter().chain(held).collect()
    }

    /// What the first address of ours holds, where nodes keep balances by block.
    async fn known_address(&self, source: &Source) -> Option<Finding> {
        let network = source.network();
        let first = self.derived_first(network.family())?;
        let key = address::match_key(network.family(), &first);
        let asked = async {
            let head = source.head().await?;
            let held = source.holdings(&head, &key, &[TransferAsset::Native]).await?;
            Ok::<_, ChainError>((head, held))
        };
        let name = format!("address on {network}");
        let finding = match tokio::time::timeout(LOOK_LIMIT, asked).await {
            Ok(Ok((_, None))) => return None,
            Ok(Ok((head, Some(held)))) => match held.first().copied().flatten() {
                Some(units) => {
                    let coin = Catalogue::get().native(network);
                    let coins = units.to_decimal(u32::from(coin.decimals));
                    let detail =
                        format!("{first} holds {coins} {} at block {}", coin.symbol, head.height);
                    Finding::new(name, Health::Ok, detail)
                }
                None => Finding::new(name, Health::Broken, "its balance is not told"),
            },
            Ok(Err(error)) => Finding::new(name, Health::Broken, with_causes(&error)),
            Err(_) => Finding::new(name, Health::Broken, "no answer in time"),
        };
        Some(finding.fact("address", first).advice("a node must keep the state of recent blocks"))
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
        let contract = address::match_key(network.family(), contract);
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
        Finding::new(name, Health::Ok, format!("{count} have code and the catalogue's decimals"))
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
        TokenFacts { has_code: false, .. } => Some(format!("{id} has no code")),
        TokenFacts { decimals: Some(found), .. } if *found == wanted => None,
        TokenFacts { decimals: Some(found), .. } => {
            Some(format!("{id} has {found} decimals, not {wanted}"))
        }
        TokenFacts { decimals: None, .. } => Some(format!("{id} tells no decimals")),
    }
}
