//! Tokens of x402: their networks, their minimums, and the domain of their signatures, which is
//! read from the chain once and kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
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
    pub minimum: BaseUnits,
}

#[derive(Default)]
pub(super) struct Tokens(Mutex<HashMap<Network, Arc<Token>>>);

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
        let kept = || self.x402.tokens.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = kept().get(&network) {
            return Ok(token.clone());
        }
        if !self.config.takes_x402_on(network) {
            return Err(X402Error::NotOffered);
        }
        let currency = x402::token_of(network).ok_or(X402Error::NotOffered)?;
        let contract = currency.contract.ok_or(X402Error::NotOffered)?;
        let token = address_bytes(contract).ok_or(X402Error::NotOffered)?;
        let chain_id = self.x402_chain_id(network).ok_or(X402Error::NotOffered)?;
        let contract = address::match_key(network.family(), contract);
        let (name, version) = self.x402_domain(network, &contract, &token).await?;
        let domain = Domain { name, version, chain_id, token };
        let minimum = self.x402_minimum(network, currency);
        let token = Arc::new(Token { network, currency, contract, domain, minimum });
        kept().insert(network, token.clone());
        Ok(token)
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

    /// The least that is settled on a network. The configuration's texts were checked at the start.
    fn x402_minimum(&self, network: Network, currency: &Currency) -> BaseUnits {
        let settings = &self.config.x402;
        let text = settings.minimum_usd.get(network.name());
        let price = Price::parse(text.unwrap_or(&settings.minimum_usd_default)).ok();
        let amount = price.and_then(|price| resource::amount(price, currency.decimals).ok());
        amount.unwrap_or(BaseUnits::new(u128::MAX))
    }
}
