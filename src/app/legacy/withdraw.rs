//! Withdrawals: each is a payout order of one recipient.
//!
//! Nothing is paid from a balance. A merchant's coins lie at addresses whose keys the operator
//! keeps offline, so an order is funded by a deposit of its own, as every payout is.

use rust_decimal::Decimal;

use super::{LegacyError, create::PricedIn};
use crate::{
    app::{
        Gateway,
        market::{Market, NoFreshRate},
        payout::{NewOrder, PayoutError, Withdrawal},
    },
    asset::{Fiat, catalogue::Catalogue, catalogue::Currency},
    invoice::quote,
    legacy::{Refusal, amount::price_rounded_down, withdrawal},
    money::Price,
    payout::{
        FeeMode, PayoutFamily,
        quote::QuoteFault,
        recipients::{Amount, Reason, Row, RowFault},
    },
    storage::{
        StorageError,
        access::Caller,
        legacy_withdrawals::{self, WithdrawalRow},
    },
};

/// A validated `create_withdrawal`.
#[derive(Debug, Clone)]
pub struct NewWithdrawal {
    pub amount: Price,
    /// Currency to be paid out, as sent.
    pub currency: String,
    /// Currency of the amount, if it is another one.
    pub currency2: Option<String>,
    pub address: String,
    /// The fees are added to the amount instead of deducted from it.
    pub add_tx_fee: bool,
    /// Confirmed at once; otherwise the merchant confirms it in the dashboard or in `/v1`.
    pub auto_confirm: bool,
    pub ipn_url: Option<String>,
    pub note: Option<String>,
    /// Ours: where a rest goes back to.
    pub refund_address: Option<String>,
}

impl Gateway {
    /// Orders a withdrawal. It has no idempotency key, as the dialect has none: a repeated request
    /// makes another order, which pays nobody unless it is funded too. So every error but
    /// [`Refusal::Unclear`] means that nothing is ordered.
    pub async fn create_legacy_withdrawal(
        &self,
        caller: &Caller,
        new: &NewWithdrawal,
    ) -> Result<WithdrawalRow, LegacyError> {
        let merchant_id = caller.merchant_id;
        let currency = Catalogue::get().by_legacy_code(&new.currency);
        let currency = currency.ok_or(Refusal::Currency("currency"))?;
        let family = PayoutFamily::of(currency.network).ok_or(Refusal::NotWithdrawable)?;
        let market = self.market().await?;
        let amount = amount(&market, currency, new)?;
        let withdrawal_id = withdrawal::new_id();
        let order = order(currency, family, amount, new, &withdrawal_id);
        self.create_payout_withdrawal(merchant_id, &order).await.map_err(refused)
    }

    /// A merchant's withdrawal by its public id.
    pub async fn legacy_withdrawal(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<WithdrawalRow, LegacyError> {
        // Other texts need no look, and one with a NUL cannot be asked for.
        if !withdrawal::is_id(id) {
            return Err(Refusal::NoWithdrawal.into());
        }
        let mut connection = self.db.connection().await?;
        let found =
            legacy_withdrawals::of_merchant(&mut connection, caller.merchant_id, id).await?;
        Ok(found.ok_or(Refusal::NoWithdrawal)?)
    }

    /// A merchant's withdrawals, newest first.
    pub async fn legacy_withdrawals(
        &self,
        caller: &Caller,
        (newer, limit, start): (i64, i64, i64),
    ) -> Result<Vec<WithdrawalRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        let (newer, limit) = super::read::bounds(newer, limit);
        legacy_withdrawals::page(&mut connection, caller.merchant_id, newer, limit, start.max(0))
            .await
    }

    /// Cancels a withdrawal of which nothing is signed; its deposit goes back.
    pub async fn cancel_legacy_withdrawal(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(), LegacyError> {
        let found = self.legacy_withdrawal(caller, id).await?;
        let cancelled = self.cancel_payout(caller.merchant_id, &found.order_id).await;
        cancelled.map_err(refused)?;
        Ok(())
    }
}

fn order(
    currency: &Currency,
    family: PayoutFamily,
    amount: String,
    new: &NewWithdrawal,
    withdrawal_id: &str,
) -> NewOrder {
    let row = Row {
        number: 1,
        address: new.address.clone(),
        amount: Amount::Whole(amount),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    };
    NewOrder {
        family,
        network: currency.network.name().to_owned(),
        currency: currency.code.to_owned(),
        rows: vec![row],
        fee_mode: if new.add_tx_fee { FeeMode::Sender } else { FeeMode::Recipient },
        refund_address: new.refund_address.clone(),
        label: new.note.clone(),
        metadata: None,
        callback_url: new.ipn_url.clone(),
        idempotency: None,
        withdrawal: Some(Withdrawal {
            id: withdrawal_id.to_owned(),
            auto_confirm: new.auto_confirm,
        }),
    }
}

/// The amount in whole coins of `currency`, rounded down to what the coin and the dialect can say.
/// One in another currency is converted by way of fiat, at the rate of this moment.
fn amount(
    market: &Market,
    currency: &Currency,
    new: &NewWithdrawal,
) -> Result<String, LegacyError> {
    let decimals = u32::from(currency.decimals);
    let as_sent = || {
        let amount = price_rounded_down(new.amount, decimals);
        if amount.is_zero() { Err(Refusal::TooSmall.into()) } else { Ok(amount.to_decimal()) }
    };
    let Some(code) = &new.currency2 else { return as_sent() };
    let other = PricedIn::named(code).ok_or(Refusal::Currency("currency2"))?;
    if matches!(other, PricedIn::Coin(coin) if std::ptr::eq(coin, currency)) {
        return as_sent();
    }
    let (price, fiat) = other.in_fiat(market, new.amount)?;
    let rate = fresh(market, currency, fiat)?;
    let units = quote::pay_amount(price, rate, currency.decimals);
    Ok(units.map_err(|_| Refusal::Amount)?.to_decimal(decimals))
}

fn fresh(market: &Market, currency: &Currency, fiat: Fiat) -> Result<Decimal, Refusal> {
    let rate = market.fresh_rate(currency.symbol, fiat);
    rate.map(|rate| rate.price).map_err(|NoFreshRate| Refusal::NoRate)
}

fn refused(error: PayoutError) -> LegacyError {
    LegacyError::Refused(match error {
        PayoutError::Storage(error) => return LegacyError::Storage(error),
        PayoutError::Unclear(error) => {
            tracing::error!(%error, "a withdrawal may be ordered, and may not");
            Refusal::Unclear
        }
        PayoutError::Disabled => Refusal::Permission,
        PayoutError::UnsupportedNetwork
        | PayoutError::UnsupportedCurrency
        | PayoutError::Quote(QuoteFault::NoPayouts) => Refusal::NotWithdrawable,
        PayoutError::Rows(faults) | PayoutError::AboveLimit(faults) => fault(&faults),
        PayoutError::RefundAddress(reason) => {
            Refusal::Withdrawal(format!("refund_address {reason}"))
        }
        PayoutError::OwnRefundAddress => {
            Refusal::Withdrawal("refund_address belongs to this gateway".to_owned())
        }
        PayoutError::Quote(QuoteFault::NetTooSmall(_)) => Refusal::TooSmall,
        PayoutError::Quote(QuoteFault::TooLarge | QuoteFault::UnusablePrice) => Refusal::Amount,
        PayoutError::TooManyOpen(_) => Refusal::WithdrawalQuota,
        PayoutError::Suspended => Refusal::Suspended,
        PayoutError::NotFound => Refusal::NoWithdrawal,
        PayoutError::InvalidState(state) => {
            Refusal::TooLateToCancel(withdrawal::standing(state, false).text)
        }
        PayoutError::NoFreshRate(_) => Refusal::NoRate,
        PayoutError::NoFreshFee => Refusal::NoFee,
        PayoutError::NoAddress(error) => {
            tracing::error!(%error, "no address for a withdrawal");
            Refusal::NoAddress
        }
        // The adapter confirms a draft at once, and names no key and no quote.
        PayoutError::QuoteExpired
        | PayoutError::QuoteChanged { .. }
        | PayoutError::DepositDetected
        | PayoutError::IdempotencyConflict => {
            tracing::error!("a withdrawal was refused without a reason");
            Refusal::Internal
        }
    })
}

/// The fault of the one recipient.
fn fault(faults: &[RowFault]) -> Refusal {
    let Some(first) = faults.first() else { return Refusal::Amount };
    if matches!(first.reason, Reason::NetTooSmall { .. }) {
        Refusal::TooSmall
    } else {
        Refusal::Withdrawal(format!("{} {}", first.column.as_str(), first.reason))
    }
}
