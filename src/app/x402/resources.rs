//! A merchant's resources, and the public catalogue of those that he lists.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;
use uuid::Uuid;

use super::{X402Error, token::Token};
use crate::{
    app::{Gateway, address::give::NoAddress},
    asset::{Family, Network},
    money::BaseUnits,
    storage::{
        StorageError, merchants,
        x402::resources::{self, Resource},
    },
    x402::{
        answer::{Offer, Way},
        check::timeout_seconds,
        resource::{self, Terms, TermsError},
    },
};

/// One page of the catalogue.
#[derive(Debug)]
pub struct Page {
    pub resources: Vec<(Resource, Offer)>,
    pub total: i64,
}

/// Why a merchant's resource is not stored.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    #[error("there is no such resource")]
    NotFound,
    #[error(transparent)]
    Terms(#[from] TermsError),
    #[error("programs cannot pay on {0}; GET /v1/x402/supported names the networks")]
    NotOffered(&'static str),
    #[error("price_amount is below {least} USD, the least that is settled on {network} at present")]
    BelowMinimum { network: &'static str, least: String },
    #[error("there are {max} resources already; delete one that is not sold any more")]
    TooMany { max: i64 },
    #[error("the merchant is suspended")]
    Suspended,
    #[error("the token of a network cannot be read at the moment; try again")]
    Unavailable,
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<X402Error> for ResourceError {
    fn from(error: X402Error) -> Self {
        match error {
            X402Error::Storage(error) => error.into(),
            error @ (X402Error::NotOffered
            | X402Error::NoDomain
            | X402Error::Unread
            | X402Error::Source(_)
            | X402Error::Chain(_)
            | X402Error::Sign(_)) => {
                tracing::warn!(%error, "a token of x402 cannot be read");
                Self::Unavailable
            }
        }
    }
}

impl Gateway {
    /// Creates a resource with an address of its own.
    pub async fn create_x402_resource(
        &self,
        merchant_id: Uuid,
        terms: &Terms,
    ) -> Result<(Resource, Offer), ResourceError> {
        let stored = self.insert_x402_resource(merchant_id, Uuid::now_v7(), terms).await?;
        self.with_offer(stored).await
    }

    /// Stores a resource under the id of its row. The lock of the merchant's row makes the limit
    /// exact.
    pub(super) async fn insert_x402_resource(
        &self,
        merchant_id: Uuid,
        id: Uuid,
        terms: &Terms,
    ) -> Result<Resource, ResourceError> {
        terms.check()?;
        for network in &terms.networks {
            if !self.config.takes_x402_on(*network) {
                return Err(ResourceError::NotOffered(network.name()));
            }
            let token = self.x402_token(*network).await?;
            let amount = resource::amount(terms.price, token.currency.decimals);
            let minimum = self.x402_minimum(&token).await?;
            if amount.is_ok_and(|amount| amount < minimum) {
                let least = minimum.to_decimal(u32::from(token.currency.decimals));
                return Err(ResourceError::BelowMinimum { network: network.name(), least });
            }
        }
        let first = terms.networks.first().ok_or(TermsError::Networks)?;
        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(ResourceError::Suspended);
        }
        if resources::count(&mut tx, merchant_id).await? >= resource::RESOURCES_MAX {
            return Err(ResourceError::TooMany { max: resource::RESOURCES_MAX });
        }
        let address = self.give_address(&mut tx, Family::Evm).await?;
        resources::insert_address(&mut tx, &address, first.name()).await?;
        let name = resource::new_id();
        let stored = resources::insert(&mut tx, merchant_id, (id, &name), terms, &address).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(stored)
    }

    pub async fn x402_resource(
        &self,
        merchant_id: Uuid,
        resource_id: &str,
    ) -> Result<(Resource, Offer), ResourceError> {
        let mut connection = self.db.connection().await?;
        let found = resources::of_merchant(&mut connection, merchant_id, resource_id).await?;
        drop(connection);
        self.with_offer(found.ok_or(ResourceError::NotFound)?).await
    }

    pub async fn list_x402_resources(
        &self,
        merchant_id: Uuid,
        limit: i64,
        offset: i64,
    ) -> Result<Page, ResourceError> {
        let mut connection = self.db.connection().await?;
        let found = resources::list(&mut connection, merchant_id, limit, offset).await?;
        let total = resources::count(&mut connection, merchant_id).await?;
        drop(connection);
        Ok(Page { resources: self.with_offers(found).await?, total })
    }

    /// The public catalogue, of all merchants; `words` narrows it.
    pub async fn x402_catalogue(
        &self,
        words: Option<&str>,
        limit: i64,
        offset: i64,
    ) -> Result<Page, ResourceError> {
        let mut connection = self.db.connection().await?;
        let found = resources::listed(&mut connection, words, limit, offset).await?;
        let total = resources::count_listed(&mut connection, words).await?;
        drop(connection);
        Ok(Page { resources: self.with_offers(found).await?, total })
    }

    /// Takes a resource out of the catalogue. What arrives at its address stays the merchant's.
    pub async fn delete_x402_resource(
        &self,
        merchant_id: Uuid,
        resource_id: &str,
    ) -> Result<(), ResourceError> {
        let mut connection = self.db.connection().await?;
        if resources::delete(&mut connection, merchant_id, resource_id).await? {
            Ok(())
        } else {
            Err(ResourceError::NotFound)
        }
    }

    async fn with_offer(&self, found: Resource) -> Result<(Resource, Offer), ResourceError> {
        let sold = self.sold_on(found.terms.networks.clone()).await?;
        let offer = offer(&found, &sold)?;
        Ok((found, offer))
    }

    async fn with_offers(
        &self,
        found: Vec<Resource>,
    ) -> Result<Vec<(Resource, Offer)>, ResourceError> {
        let networks: HashSet<Network> =
            found.iter().flat_map(|resource| &resource.terms.networks).copied().collect();
        let sold = self.sold_on(networks).await?;
        let mut pairs = Vec::with_capacity(found.len());
        for resource in found {
            let offer = offer(&resource, &sold)?;
            pairs.push((resource, offer));
        }
        Ok(pairs)
    }

    /// The tokens of networks, each asked for once and all at once, however many resources there
    /// are. A network that is offered no more, or whose token cannot be read, is left out.
    async fn sold_on(
        &self,
        networks: impl IntoIterator<Item = Network>,
    ) -> Result<HashMap<Network, Sold>, StorageError> {
        let asked = networks.into_iter().map(|network| self.sold(network));
        let mut sold = HashMap::new();
        for told in join_all(asked).await {
            if let Some(one) = told? {
                sold.insert(one.token.network, one);
            }
        }
        Ok(sold)
    }

    async fn sold(&self, network: Network) -> Result<Option<Sold>, StorageError> {
        match self.x402_token(network).await {
            Ok(token) => {
                let minimum = self.x402_minimum(&token).await?;
                Ok(Some(Sold { token, minimum }))
            }
            Err(X402Error::Storage(error)) => Err(error),
            Err(error) => {
                tracing::debug!(%network, %error, "a way to pay is left out");
                Ok(None)
            }
        }
    }
}

/// A token that is taken now, and the least that is settled in it.
struct Sold {
    token: Arc<Token>,
    minimum: BaseUnits,
}

/// The ways to pay for a resource now. One that settling would refuse, because the price is below
/// the least, is left out.
fn offer(found: &Resource, sold: &HashMap<Network, Sold>) -> Result<Offer, StorageError> {
    let terms = &found.terms;
    let mut ways = Vec::new();
    for network in &terms.networks {
        let Some(Sold { token, minimum }) = sold.get(network) else { continue };
        let amount = resource::amount(terms.price, token.currency.decimals)
            .map_err(|error| StorageError::damaged("x402_resource", error))?;
        if amount < *minimum {
            continue;
        }
        ways.push(Way {
            chain_id: token.domain.chain_id,
            asset: token.currency.contract.unwrap_or_default().to_owned(),
            pay_to: found.address.clone(),
            amount,
            max_timeout_seconds: timeout_seconds(*network, terms.timeout_seconds.into()),
            domain_name: token.domain.name.clone(),
            domain_version: token.domain.version.clone(),
        });
    }
    Ok(Offer {
        url: terms.url.clone(),
        description: terms.description.clone(),
        mime_type: terms.mime_type.clone(),
        ways,
    })
}
