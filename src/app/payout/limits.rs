//! Limits in USD: checked when an order is created, and again under its row lock when it is signed.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::{
    errors::{OperateError, PayoutError},
    intent::Intent,
    permit::{Allowed, Signing, permit},
};
use crate::{
    app::Gateway,
    asset::catalogue::Currency,
    money::BaseUnits,
    payout::{
        PayoutFamily, State,
        hold::Hold,
        limit::{self, Limit, Limits},
        payment::Purpose,
        recipients::{Column, FAULTS_MAX, Reason, Recipient, RowFault, in_coins},
    },
    storage::{
        PgConnection, StorageError, merchants,
        payouts::{self, PayoutOrder, safety},
    },
};

impl Gateway {
    /// The limits that hold for a merchant's orders: the settings', and his own where he has any.
    pub(super) async fn payout_limits(
        &self,
        connection: &mut PgConnection,
        merchant_id: Uuid,
    ) -> Result<Limits, StorageError> {
        let own = merchants::payout_limits(connection, merchant_id).await?;
        let settings = &self.config.payouts;
        Ok(Limits {
            transaction: settings.transaction_usd_max,
            hour: settings.hour_usd_max,
            day: settings.day_usd_max,
            merchant_hour: own.hour.unwrap_or(settings.merchant_hour_usd_max),
            merchant_day: own.day.unwrap_or(settings.merchant_day_usd_max),
        })
    }

    /// Sets a merchant's own limits; `None` leaves one as it is. Returns those that hold now.
    pub async fn set_payout_limits(
        &self,
        merchant_id: Uuid,
        (hour, day): (Option<u64>, Option<u64>),
    ) -> Result<Limits, OperateError> {
        let mut tx = self.db.begin().await?;
        if !merchants::set_payout_limits(&mut tx, merchant_id, hour, day).await? {
            return Err(OperateError::UnknownMerchant(merchant_id));
        }
        let limits = self.payout_limits(&mut tx, merchant_id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(limits)
    }

    /// Refuses a new order beside too many open ones: abandoned drafts must not pile up.
    pub(super) async fn refuse_beyond_quota(
        &self,
        tx: &mut PgConnection,
        merchant_id: Uuid,
    ) -> Result<(), PayoutError> {
        let most = self.config.payouts.open_orders_max;
        let open = payouts::count_open(tx, merchant_id).await?;
        if open >= u64::from(most) { Err(PayoutError::TooManyOpen(most)) } else { Ok(()) }
    }

    /// The value that may be signed now for an order, if anything may. `is_bump` says that the
    /// payment only helps one already sent.
    pub(super) async fn room(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        is_bump: bool,
    ) -> Result<Allowed<Room>, StorageError> {
        let signing = if is_bump { Signing::Again(Purpose::Bump) } else { Signing::Payment };
        match permit(tx, order, signing).await? {
            Allowed::Now(()) => {}
            Allowed::Later(why) => return Ok(Allowed::Later(why)),
            Allowed::No => return Ok(Allowed::No),
        }
        let limits = self.payout_limits(tx, order.merchant_id).await?;
        let signed = safety::signed_lately(tx, order.merchant_id).await?;
        let left = |limit: Limit| match limit {
            Limit::Transaction => None,
            Limit::Hour => Some(Decimal::from(limits.hour) - signed.hour),
            Limit::Day => Some(Decimal::from(limits.day) - signed.day),
            Limit::MerchantHour => Some(Decimal::from(limits.merchant_hour) - signed.merchant_hour),
            Limit::MerchantDay => Some(Decimal::from(limits.merchant_day) - signed.merchant_day),
        };
        let windows = limits
            .all()
            .into_iter()
            .filter_map(|(limit, most)| left(limit).map(|left| Window { limit, most, left }));
        Ok(Allowed::Now(Room { windows: windows.collect(), limits }))
    }

    /// Decides whether a payment worth `value` may be signed, and takes it out of `room`. A payment
    /// that no hour and no day has room for holds its order, since it would wait for ever; one that
    /// only this hour or day has no room for is signed later.
    pub(super) async fn may_sign(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        intent: &Intent,
        value: Decimal,
        room: &mut Room,
    ) -> Result<Allowed<()>, StorageError> {
        let wanted = match intent.purpose {
            Purpose::Pay | Purpose::Allowance => order.state == State::Processing,
            Purpose::Refund => order.state.is_terminal(),
            // Gas has limits of its own.
            Purpose::Gas | Purpose::GasReturn => false,
            Purpose::Bump => order.held.is_none(),
        };
        if !wanted {
            return Ok(Allowed::No);
        }
        if matches!(intent.purpose, Purpose::Bump | Purpose::Allowance) {
            // It pays nobody.
            return Ok(Allowed::Now(()));
        }
        if let Some((limit, most)) = room.limits.exceeded_by(value) {
            let reason =
                format!("a payment of {value:.2} USD is above the limit of {limit}, {most} USD");
            self.hold_payout(tx, order, "payout_limit", &Hold::for_review(&reason)).await?;
            return Ok(Allowed::No);
        }
        if let Some(full) = room.windows.iter().find(|window| value > window.left) {
            let (limit, most, left) = (full.limit, full.most, full.left.max(Decimal::ZERO));
            return Ok(Allowed::Later(format!(
                "a payment of {value:.2} USD, and of the limit of {limit}, {most} USD, {left:.2} are left"
            )));
        }
        for window in &mut room.windows {
            window.left -= value;
        }
        Ok(Allowed::Now(()))
    }
}

/// USD that may still be signed for an order.
pub(super) struct Room {
    windows: Vec<Window>,
    limits: Limits,
}

struct Window {
    limit: Limit,
    most: u64,
    left: Decimal,
}

/// Refuses rows that no limit will ever let pass: they would hold the funded order. Each row is its
/// number and its amount.
pub(super) fn refuse_above_limits(
    rows: impl Iterator<Item = (u32, BaseUnits)>,
    currency: &Currency,
    price_usd: Decimal,
    limits: &Limits,
) -> Result<(), PayoutError> {
    let fault = |(row, amount): (u32, BaseUnits)| {
        let value = limit::value_usd(amount, currency.decimals, price_usd);
        let (limit, most) = limits.exceeded_by(value)?;
        Some(RowFault {
            row,
            column: Column::Amount,
            reason: Reason::AboveLimit { value: format!("{value:.2}"), limit, most },
            value: in_coins(currency, amount),
        })
    };
    let faults: Vec<_> = rows.filter_map(fault).take(FAULTS_MAX).collect();
    if faults.is_empty() { Ok(()) } else { Err(PayoutError::AboveLimit(faults)) }
}

/// The number of rows in each batch of a new order. On bitcoin-like networks one transaction pays a
/// whole batch, so a batch stays within the limits too.
pub(super) fn batch_sizes(
    family: PayoutFamily,
    recipients: &[Recipient],
    currency: &Currency,
    price_usd: Decimal,
    limits: &Limits,
) -> Vec<usize> {
    let amounts: Vec<_> = recipients.iter().map(|recipient| recipient.amount).collect();
    limit::batch_sizes(&amounts, family.batch_rows_max(), |sum| match family {
        PayoutFamily::Evm => true,
        PayoutFamily::Utxo => {
            limits.exceeded_by(limit::value_usd(sum, currency.decimals, price_usd)).is_none()
        }
    })
}
