//! An order as its merchant sees it, read in the transaction that needs it.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::order::value_usd;
use crate::{
    app::Gateway,
    payout::{
        order::{OrderView, QuoteView, RefundState, RefundView, snapshot},
        payment::{PaymentState, Purpose},
    },
    storage::{
        PgConnection, StorageError,
        payouts::{PayoutOrder, batches, items, payments},
    },
};

impl Gateway {
    /// The confirmations after which an order's payments are final: as many as a deposit of its
    /// value needs, because a payment that a reorg takes back was already reported to its
    /// recipients.
    pub(super) fn required_of(&self, order: &PayoutOrder) -> u64 {
        let chain = self.config.chain(order.currency.network);
        let value = value_usd(order, order.payout_total);
        if value >= Decimal::from(chain.large_amount_usd) {
            chain.large_confirmations
        } else {
            chain.confirmations
        }
    }

    /// The order's object; `batch` is the one it shows, or the last one at which anything was done.
    pub(super) async fn payout_snapshot(
        &self,
        connection: &mut PgConnection,
        order: &PayoutOrder,
        batch: Option<Uuid>,
    ) -> Result<String, StorageError> {
        Ok(snapshot(&self.payout_view(connection, order, batch).await?))
    }

    pub(super) async fn payout_view(
        &self,
        connection: &mut PgConnection,
        order: &PayoutOrder,
        batch: Option<Uuid>,
    ) -> Result<OrderView, StorageError> {
        let progress = items::tally(connection, order.id).await?;
        let shown = match batch {
            Some(id) => Some(id),
            None => batches::latest(connection, order.id).await?,
        };
        let last_batch = match shown {
            Some(id) => {
                let network = order.currency.network;
                let required = self.required_of(order);
                let only = Some(id);
                batches::views(connection, order.id, network, only, required).await?.pop()
            }
            None => None,
        };
        let refund = refund_of(connection, order).await?;
        let received = order.books.credited.saturating_add(order.books.late);
        Ok(OrderView {
            id: order.order_id.clone(),
            currency: order.currency,
            family: order.family,
            state: order.state,
            funding: order.funding,
            label: order.label.clone(),
            metadata: order.metadata.clone(),
            fee_mode: order.fee_mode,
            item_count: order.item_count,
            batch_count: order.batch_count,
            payout_total: order.payout_total,
            total_to_send: order.total_to_send,
            received,
            paid: order.books.paid,
            failed: order.books.failed,
            deposit_address: order.deposit.as_ref().map(|place| place.address.clone()),
            refund_address: order.refund_address.clone(),
            quote: quote_view(order),
            progress,
            last_batch,
            refund,
            cancelled_by: order.cancelled_by,
            held: order.held.is_some(),
            expires_at: order.expires_at,
            created_at: order.created_at,
            confirmed_at: order.confirmed_at,
            funded_at: order.funded_at,
            finished_at: order.finished_at,
            updated_at: order.updated_at,
        })
    }
}

fn quote_view(order: &PayoutOrder) -> QuoteView {
    let quote = &order.quote;
    QuoteView {
        id: quote.id.clone(),
        created_at: quote.created_at,
        expires_at: quote.expires_at,
        fee_rate: quote.fee_rate,
        native_price_usd: quote.native_price_usd.normalize().to_string(),
        asset_price_usd: quote.asset_price_usd.normalize().to_string(),
        network_fee: quote.network_fee,
        service_fee: quote.service_fee,
    }
}

/// The amount that goes back: a refund that is signed or done, or the rest that an ended order
/// holds and does not owe.
async fn refund_of(
    connection: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<Option<RefundView>, StorageError> {
    if !order.state.is_terminal() {
        return Ok(None);
    }
    let address = order.refund_address.clone();
    let refund = Some(Purpose::Refund);
    if let Some(last) = payments::of_order(connection, order.id, refund).await?.pop() {
        let state = match last.state {
            PaymentState::Signed | PaymentState::Sent => RefundState::Sent,
            PaymentState::Confirmed => RefundState::Confirmed,
            PaymentState::Failed => RefundState::Held,
        };
        let tx_hash = Some(last.tx_hash);
        return Ok(Some(RefundView { state, address, amount: last.amount, tx_hash }));
    }
    let left = order.books.left();
    if left.is_zero() {
        return Ok(None);
    }
    let state = if address.is_none() { RefundState::Held } else { RefundState::Pending };
    Ok(Some(RefundView { state, address, amount: left, tx_hash: None }))
}
