//! A look at an order before there is one: which rows can be paid, and what it would cost.
//!
//! Nothing is stored. [`Gateway::create_payout`] checks everything again.

use uuid::Uuid;

use super::{
    create::NewOrder,
    errors::PayoutError,
    limits::{batch_sizes, refuse_above_limits},
    price::priced,
};
use crate::{
    app::Gateway,
    asset::{address, catalogue::Currency},
    money::BaseUnits,
    payout::{
        quote::Quote,
        recipients::{self, Recipient, RowFault},
    },
};

/// The rows of an order, sorted into those that can be paid and the faults of the others.
#[derive(Debug)]
pub struct Preview {
    pub currency: &'static Currency,
    pub good: Vec<Recipient>,
    /// In the order of the rows; a row may have several.
    pub faults: Vec<RowFault>,
    /// The sum of the good rows.
    pub sum: BaseUnits,
    /// At the prices of this moment; `None` while there are faults.
    pub quote: Option<Quote>,
}

impl Gateway {
    /// Checks the rows of an order as its creation would, and prices it if all are good.
    ///
    /// # Errors
    /// For what is wrong with the order as a whole; faults of rows are part of the preview.
    pub async fn preview_payout(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
    ) -> Result<Preview, PayoutError> {
        if !self.config.payouts_enabled() {
            return Err(PayoutError::Disabled);
        }
        let market = self.market().await?;
        let currency =
            self.payout_currency(&market, request.family, &request.network, &request.currency)?;
        let realm = self.realm(currency.network);
        let refund = request.refund_address.as_deref();
        let refund = refund.map(|text| address::validate_in(realm, currency.network, text));
        let refund = refund.transpose().map_err(PayoutError::RefundAddress)?;
        let (good, mut faults) = recipients::sift_in(realm, &request.rows, currency);
        let mut tx = self.db.begin().await?;
        self.refuse_own_refund(&mut tx, currency, refund.as_deref()).await?;
        faults.extend(self.own_address_faults(&mut tx, currency, &good).await?);
        drop(tx);
        let mut preview = Preview { currency, good, faults, sum: BaseUnits::ZERO, quote: None };
        self.price_preview(merchant_id, request, &market, &mut preview).await?;
        preview.settle();
        Ok(preview)
    }

    /// Adds what only the prices of this moment tell: rows above the limits, rows that the fees eat
    /// up, and the quote.
    async fn price_preview(
        &self,
        merchant_id: Uuid,
        request: &NewOrder,
        market: &crate::app::market::Market,
        preview: &mut Preview,
    ) -> Result<(), PayoutError> {
        let currency = preview.currency;
        let price = self.quoted_price(currency).await?;
        let tariff = self.tariff(market, currency, request.fee_mode, price)?;
        let price_usd = tariff.prices.asset_usd;
        let limits = self.limits_of(merchant_id).await?;
        let rows = preview.good.iter().map(|recipient| (recipient.row, recipient.amount));
        match refuse_above_limits(rows, currency, price_usd, &limits) {
            Err(PayoutError::AboveLimit(faults)) => preview.faults.extend(faults),
            other => other?,
        }
        if !preview.faults.is_empty() || preview.good.is_empty() {
            return Ok(());
        }
        let good = &preview.good;
        let batches = batch_sizes(request.family, good, currency, price_usd, &limits);
        let amounts: Vec<_> = good.iter().map(|recipient| recipient.amount).collect();
        let row_of = |position: usize| good[position].row;
        match priced(currency, (&amounts, batches.len()), &tariff, row_of) {
            Ok(quote) => preview.quote = Some(quote),
            Err(PayoutError::Rows(faults)) => preview.faults = faults,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Preview {
    /// Takes rows with a fault out of the good ones, orders the faults, and sums.
    fn settle(&mut self) {
        self.faults.sort_by_key(|fault| fault.row);
        let faulty = |row: u32| self.faults.binary_search_by_key(&row, |fault| fault.row).is_ok();
        self.good.retain(|recipient| !faulty(recipient.row));
        let amounts = self.good.iter().map(|recipient| recipient.amount);
        self.sum = amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add);
    }
}
