//! `get_callback_address` and `get_deposit_address`: an address without an invoice.

use super::LegacyError;
use crate::{
    app::{Gateway, address::give::NoAddress, market::Market},
    asset::{Family, catalogue::Catalogue, catalogue::Currency},
    legacy::{Refusal, address::Purpose},
    storage::{
        PgConnection, StorageError,
        access::Caller,
        legacy_addresses::{self, NewLegacyAddress},
        merchants,
    },
};

/// A validated `get_callback_address`.
#[derive(Debug, Clone)]
pub struct NewCallback {
    /// As sent.
    pub currency: String,
    pub ipn_url: Option<String>,
    pub label: Option<String>,
}

impl Gateway {
    /// Gives out a new address, whose deposits are told by IPNs.
    pub async fn legacy_callback_address(
        &self,
        caller: &Caller,
        new: NewCallback,
    ) -> Result<String, LegacyError> {
        let market = self.market().await?;
        let currency = on_sale(&market, caller, &new.currency)?;
        self.give_legacy_address(caller, currency, Purpose::Callback, new).await
    }

    /// The merchant's own address for a currency: always the same, also while the currency is not
    /// on sale. Deposits at it are credited all the same.
    pub async fn legacy_deposit_address(
        &self,
        caller: &Caller,
        code: &str,
    ) -> Result<String, LegacyError> {
        if let Some(currency) = Catalogue::get().by_legacy_code(code) {
            let mut connection = self.db.connection().await?;
            let (merchant_id, token_id) = (caller.merchant_id, currency.token_id());
            let given = legacy_addresses::standing(&mut connection, merchant_id, &token_id).await?;
            if let Some(address) = given {
                return Ok(address);
            }
        }
        let market = self.market().await?;
        let currency = on_sale(&market, caller, code)?;
        let new = NewCallback { currency: code.to_owned(), ipn_url: None, label: None };
        self.give_legacy_address(caller, currency, Purpose::Standing, new).await
    }

    /// Under the merchant's row lock, so that a currency has one standing address and concurrent
    /// requests stay within the quota.
    async fn give_legacy_address(
        &self,
        caller: &Caller,
        currency: &'static Currency,
        purpose: Purpose,
        new: NewCallback,
    ) -> Result<String, LegacyError> {
        let (merchant_id, token_id) = (caller.merchant_id, currency.token_id());
        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(Refusal::Suspended.into());
        }
        if purpose == Purpose::Standing
            && let Some(address) =
                legacy_addresses::standing(&mut tx, merchant_id, &token_id).await?
        {
            return Ok(address);
        }
        self.refuse_addresses_beyond_quota(&mut tx, caller, currency.family()).await?;
        let address = self.give_address(&mut tx, currency.family()).await.map_err(refused)?;
        let given = NewLegacyAddress {
            merchant_id,
            network: currency.network.name(),
            token_id,
            purpose,
            ipn_url: new.ipn_url,
            label: new.label,
        };
        legacy_addresses::insert(&mut tx, &address, &given).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(address.address)
    }

    async fn refuse_addresses_beyond_quota(
        &self,
        tx: &mut PgConnection,
        caller: &Caller,
        family: Family,
    ) -> Result<(), LegacyError> {
        let limits = &self.config.legacy;
        let most =
            if family.has_pool() { limits.pooled_addresses_max } else { limits.addresses_max };
        let most = i64::from(most);
        let given = legacy_addresses::count(tx, caller.merchant_id, family.name(), most).await?;
        if given >= most { Err(Refusal::AddressQuota.into()) } else { Ok(()) }
    }
}

/// The currency of an address, if it is on sale and the merchant accepts it.
fn on_sale(market: &Market, caller: &Caller, code: &str) -> Result<&'static Currency, LegacyError> {
    let currency = Catalogue::get().by_legacy_code(code).ok_or(Refusal::Currency("currency"))?;
    Ok(super::create::offered(market, caller, currency)?.currency)
}

fn refused(error: NoAddress) -> LegacyError {
    match error {
        NoAddress::Storage(error) => LegacyError::Storage(error),
        NoAddress::NoKey { .. } | NoAddress::PoolEmpty { .. } | NoAddress::NotDerivable { .. } => {
            tracing::error!(%error, "no address for a merchant of the legacy adapter");
            Refusal::NoAddress.into()
        }
    }
}
