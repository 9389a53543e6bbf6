//! An order's row, and what follows from it alone.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    money::BaseUnits,
    payout::{State, limit},
    storage::{
        PgConnection, StorageError,
        payouts::{self, PayoutOrder, safety},
    },
};

/// Returns whether anything may still have to go back.
pub(super) fn may_owe_refund(order: &PayoutOrder) -> bool {
    order.state.is_terminal() && order.state != State::Draft && !order.books.left().is_zero()
}

/// The order under its row lock, in the transaction of the caller.
pub(super) async fn locked(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<PayoutOrder, StorageError> {
    let order = payouts::lock(connection, id).await?;
    order.ok_or_else(|| StorageError::damaged("payout_order", "it was here a moment ago"))
}

/// The worth of an amount of the order's asset when it was quoted, in USD to the cent and rounded
/// up.
pub(super) fn value_usd(order: &PayoutOrder, amount: BaseUnits) -> Decimal {
    limit::value_usd(amount, order.currency.decimals, order.quote.asset_price_usd)
}

/// Notes why nothing is signed for an order that is not held.
pub(super) async fn waits(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    why: &str,
) -> Result<(), StorageError> {
    tracing::warn!(order.id = order.order_id, why, "a payout order waits");
    safety::note_wait(connection, order.id, Some(why)).await
}
