//! A look at a payout before it is built: which outputs can be paid. Nothing is stored, and no node
//! is asked.

use uuid::Uuid;

use super::{NcPayoutError, create::NewNcPayout, read::view};
use crate::{
    app::Gateway,
    asset::{address, catalogue::Currency},
    money::BaseUnits,
    nc_payout::view::PayoutView,
    payout::recipients::{self, Recipient, RowFault},
    storage::StorageError,
};

/// The rows of a payout, sorted into those that can be paid and the faults of the others.
#[derive(Debug)]
pub struct NcPreview {
    pub currency: &'static Currency,
    pub good: Vec<Recipient>,
    /// In the order of the rows; a row may have several.
    pub faults: Vec<RowFault>,
    /// The sum of the good rows.
    pub sum: BaseUnits,
}

impl Gateway {
    /// Checks the rows of a payout as its creation would.
    ///
    /// # Errors
    /// For what is wrong with the payout as a whole; faults of rows are part of the preview.
    pub async fn preview_nc_payout(
        &self,
        request: &NewNcPayout,
    ) -> Result<NcPreview, NcPayoutError> {
        let currency = self.nc_currency(&request.network, &request.currency).await?;
        let realm = self.realm(currency.network);
        address::validate_in(realm, currency.network, &request.from_address)
            .map_err(NcPayoutError::FromAddress)?;
        let (mut good, mut faults) = recipients::sift_in(realm, &request.rows, currency);
        let own = self.own_output_faults(currency, &good).await?;
        good.retain(|recipient| !own.iter().any(|fault| fault.row == recipient.row));
        faults.extend(own);
        faults.sort_by_key(|fault| fault.row);
        let amounts = good.iter().map(|recipient| recipient.amount);
        let sum = amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add);
        Ok(NcPreview { currency, good, faults, sum })
    }

    /// The currencies that merchants can sign payouts of here.
    pub async fn nc_payout_currencies(&self) -> Result<Vec<&'static Currency>, StorageError> {
        let market = self.market().await?;
        let offers = market.offers().iter().map(|offer| offer.currency);
        Ok(offers.filter(|currency| self.nc_payers(currency.network).is_ok()).collect())
    }

    /// A payout of this merchant with its outputs and transactions.
    pub async fn look_at_nc_payout(
        &self,
        merchant_id: Uuid,
        payout_id: &str,
    ) -> Result<PayoutView, NcPayoutError> {
        let (payout, parts) = self.nc_payout(merchant_id, payout_id).await?;
        Ok(view(&payout, &parts, self.required_of_nc(&payout)))
    }
}
