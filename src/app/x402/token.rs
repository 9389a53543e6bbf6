//! Tokens of x402: their networks, their minimums, and the domain of their signatures, which is
//! read from the chain once and kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::X402Error;
use crate::{
    app::Gateway,
    asset::{Network, address, catalogue::Currency},
    money::{BaseUnits, Price},
    payout::transfer::address_bytes,
    storage::x402 as rows,
    x402::{self, eip712::Domain, resource},
};

/// The token of a network.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub network: Network,
    pub currency: &'static Currency,
    /// In lower case, as rows spell it.
    pub contract: String,
    pub domain: Domain,
    /// The least that is settled by the configuration, whatever it costs at present.
    pub minimum: BaseUnits,
}

/// Time for which a token that could not be read is not asked for again: the catalogue is public,
/// and everybody who looks at it would ask the node once more.
const UNREAD_FOR: Duration = Duration::from_secs(5);

enum Kept {
    Read(Arc<Token>),
    Unread { at: Instant, has_no_domain: bool },
}

impl Kept {
    /// What is known of a token; `None` if it is to be asked for again.
    fn answer(&self) -> Option<Result<Arc<Token>, X402Error>> {
        match self {
            Self::Read(token) => Some(Ok(token.clone())),
            Self::Unread { at, .. } if at.elapsed() >= UNREAD_FOR => None,
            Self::Unread { has_no_domain: true, .. } => Some(Err(X402Error::NoDomain)),
            Self::Unread { has_no_domain: false, .. } => Some(Err(X402Error::Unread)),
        }
    }

    /// What is worth keeping: neither what the configuration says nor a fault of the database.
    fn of(read: &Result<Arc<Token>, X402Error>) -> Option<Self> {
        match read {
            Ok(token) => Some(Self::Read(token.clone())),
            Err(X402Error::NotOffered | X402Error::Storage(_)) => None,
            Err(error) => {
                let has_no_domain = matches!(error, X402Error::NoDomain);
                Some(Self::Unread { at: Instant::now(), has_no_domain })
            }
        }
    }
}

type Place = Arc<tokio::sync::Mutex<Option<Kept>>>;

/// What is known of the token of each network. Who needs one that somebody is asking for waits for
/// that answer.
#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<Network, Place>>);

impl Tokens {
    fn place(&self, network: Network) -> Place {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(network).or_default().clone()
    }
}

impl Gateway {
    /// The id of a network's chain, which wallets sign.
    pub(super) fn x402_chain_id(&self, network: Network) -> Option<u64> {
        self.config.chain(network).chain_id.or_else(|| network.evm_chain_id())
    }

    /// The network of a chain id, if programs can pay there.
    pub(super) fn x402_network(&self, chain_id: u64) -> Option<Network> {
        let is_it = |network: &Network| self.x402_chain_id(*network) == Some(chain_id);
        self.x402_networks().into_iter().find(is_it)
    }

    /// The token of a network, with the name and the version that it tells of itself. Lists of
    /// clients disagree about them, so the contract alone is asked.
    pub(super) async fn x402_token(&self, network: Network) -> Result<Arc<Token>, X402Error> {
        if !self.config.takes_x402_on(network) {
            return Err(X402Error::NotOffered);
        }
        let place = self.x402.tokens.place(network);
        let mut kept = place.lock().await;
        if let Some(answer) = kept.as_ref().and_then(Kept::answer) {
            return answer;
        }
        let read = self.read_x402_token(network).await;
        *kept = Kept::of(&read);
        read
    }

    async fn read_x402_token(&self, network: Network) -> Result<Arc<Token>, X402Error> {
        let currency = x402::token_of(network).ok_or(X402Error::NotOffered)?;
        let contract = currency.contract.ok_or(X402Error::NotOffered)?;
        let token = address_bytes(contract).ok_or(X402Error::NotOffered)?;
        let chain_id = self.x402_chain_id(network).ok_or(X402Error::NotOffered)?;
        let contract = address::match_key(network.family(), contract);
        let (name, version) = self.x402_domain(network, &contract, &token).await?;
        let domain = Domain { name, version, chain_id, token };
        let minimum = self.configured_minimum(network, currency);
        Ok(Arc::new(Token { network, currency, contract, domain, minimum }))
    }

    /// From the rows, so that an API without a node's answer goes on after a restart.
    async fn x402_domain(
        &self,
        network: Network,
        contract: &str,
        token: &[u8; 20],
    ) -> Result<(String, String), X402Error> {
        let told = match self.x402_payers(network)?.payer.evm() {
            Some(node) => node.domain(token).await,
            None => return Err(X402Error::NotOffered),
        };
        let mut connection = self.db.connection().await?;
        match told {
            Ok(Some((name, version))) => {
                rows::store_domain(&mut connection, network, contract, (&name, &version)).await?;
                Ok((name, version))
            }
            Ok(None) => Err(X402Error::NoDomain),
            Err(error) => match rows::domain(&mut connection, network, contract).await? {
                Some(known) => Ok(known),
                None => Err(error.into()),
            },
        }
    }

    /// The least that is settled on a network by the configuration, whose texts were checked at the
    /// start.
    fn configured_minimum(&self, network: Network, currency: &Currency) -> BaseUnits {
        let settings = &self.config.x402;
        let text = settings.minimum_usd.get(network.name());
        let price = Price::parse(text.unwrap_or(&settings.minimum_usd_default)).ok();
        let amount = price.and_then(|price| resource::amount(price, currency.decimals).ok());
        amount.unwrap_or(BaseUnits::new(u128::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_could_not_be_read_is_asked_for_again_after_a_pause() {
        let kept = Kept::of(&Err(X402Error::NoDomain)).unwrap();
        assert!(matches!(kept.answer(), Some(Err(X402Error::NoDomain))));
        let kept = |at| Kept::Unread { at, has_no_domain: false };
        assert!(matches!(kept(Instant::now()).answer(), Some(Err(X402Error::Unread))));
        let before = Instant::now().checked_sub(UNREAD_FOR).unwrap();
        assert!(kept(before).answer().is_none());
        assert!(Kept::of(&Err(X402Error::NotOffered)).is_none());
    }
}
