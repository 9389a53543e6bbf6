//! Payouts as their merchant looks at them in the dashboard: listed, one by one, row by row.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::errors::PayoutError;
use crate::{
    app::{
        Gateway,
        invoice::{create::Created, deposits::DepositPage},
    },
    asset::catalogue::Currency,
    invoice::payment_uri::{self, payment_uri, uri_comes_first},
    payout::{
        State,
        batch::ItemState,
        listed::{ListedKind, ListedState},
        order::{BatchView, OrderView},
    },
    storage::{
        self, StorageError,
        deliveries::DeliveryRow,
        delivery_lists::{self, LastAttempt},
        deposits::of_payment,
        payouts::{
            self, PayoutOrder, batches, events,
            items::{self, ItemRow},
            listed::{self, ListedPayout},
        },
    },
};

/// Deposits and webhooks that one look shows.
const SHOWN: usize = 50;

/// Everything that the page of an order shows beside its rows.
pub struct OrderLook {
    pub view: OrderView,
    pub batches: Vec<BatchView>,
    pub deposits: DepositPage,
    /// The newest first, and whether there are more.
    pub webhooks: Vec<(DeliveryRow, Option<LastAttempt>)>,
    pub has_more_webhooks: bool,
    /// The address to fund, as wallets scan it, while money is awaited.
    pub funding_code: Option<String>,
    /// Why nothing was signed when it was last tried.
    pub waits_for: Option<String>,
    /// The database's time.
    pub now: DateTime<Utc>,
}

/// The public id of a payout that was just created, out of its object.
pub fn created_id(created: &Created) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    serde_json::from_str::<Named>(&created.body).ok().map(|named| named.id)
}

impl Gateway {
    /// Payouts of every kind that are older than a place, the newest first.
    pub async fn payouts_before(
        &self,
        merchant_id: Uuid,
        chosen: (Option<ListedKind>, Option<ListedState>),
        place: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<ListedPayout>, StorageError> {
        let mut connection = self.db.connection().await?;
        listed::before(&mut connection, merchant_id, chosen, place, limit).await
    }

    /// The currencies that mass payouts pay out here; none where they are switched off.
    pub async fn payout_currencies(&self) -> Result<Vec<&'static Currency>, StorageError> {
        if !self.config.payouts_enabled() {
            return Ok(Vec::new());
        }
        let market = self.market().await?;
        let offers = market.offers().iter().map(|offer| offer.currency);
        Ok(offers.filter(|currency| self.config.pays_out_on(currency.network)).collect())
    }

    /// An order of this merchant with all that its page shows.
    pub async fn look_at_payout(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<OrderLook, PayoutError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::of_merchant(&mut connection, merchant_id, order_id).await?;
        let order = order.ok_or(PayoutError::NotFound)?;
        let view = self.payout_view(&mut connection, &order, None).await?;
        let (network, required) = (order.currency.network, self.required_of(&order));
        let batches = batches::views(&mut connection, order.id, network, None, required).await?;
        let with_next = i64::try_from(SHOWN + 1).unwrap_or(i64::MAX);
        let rows = of_payment::page_of_order(&mut connection, order.id, with_next).await?;
        let mut webhooks = events::newest_of_payout(&mut connection, order.id, with_next).await?;
        let has_more_webhooks = webhooks.len() > SHOWN;
        webhooks.truncate(SHOWN);
        let webhooks = delivery_lists::with_last_attempts(&mut connection, webhooks).await?;
        Ok(OrderLook {
            view,
            batches,
            deposits: self.deposit_page(rows, SHOWN),
            webhooks,
            has_more_webhooks,
            funding_code: self.funding_code(&order),
            waits_for: order.waits_for,
            now: storage::now(&mut connection).await?,
        })
    }

    /// Rows of an order behind a row number, in one state or in all.
    pub async fn payout_rows_after(
        &self,
        merchant_id: Uuid,
        order_id: &str,
        state: Option<ItemState>,
        after: i32,
        limit: i64,
    ) -> Result<Vec<ItemRow>, PayoutError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::of_merchant(&mut connection, merchant_id, order_id).await?;
        let id = order.ok_or(PayoutError::NotFound)?.id;
        Ok(items::after(&mut connection, id, state, after, limit).await?)
    }

    /// The text that a wallet scans to fund an order: a URI with the missing sum where its wallets
    /// read one well, else the address.
    fn funding_code(&self, order: &PayoutOrder) -> Option<String> {
        let place = order.deposit.as_ref().filter(|_| order.state == State::PendingDeposit)?;
        let (currency, network) = (order.currency, order.currency.network);
        let chain = self.config.chain(network);
        let uri = payment_uri(&payment_uri::Request {
            currency,
            chain_id: chain.chain_id.or(network.evm_chain_id()),
            address: &place.address,
            amount: order.total_to_send.remaining_after(order.books.credited),
        });
        uri.filter(|_| uri_comes_first(network.family())).or_else(|| Some(place.address.clone()))
    }
}
