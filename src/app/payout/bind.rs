//! Binding an order: a writer to the database without the master key cannot change any payment.
//!
//! The digest is made where an order is created and made again where its own address, its quote or
//! its refund address is decided, each time only over rows that the digest before it covers: a
//! change by another hand is never bound by accident. It is checked in the transaction that stores
//! a signature (for a replacement at a higher fee, in one just before), and a mismatch holds the
//! order.

use std::collections::HashMap;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{
    decide::look_soon,
    errors::OperateError,
    intent::{Intent, fits},
    order::locked,
};
use crate::{
    app::Gateway,
    asset::address,
    chain::pay::{Output, Unsigned},
    money::BaseUnits,
    payout::{
        binding::{self, BoundRow, PURPOSE, Terms},
        hold::{Hold, HoldCause},
        payment::Purpose,
    },
    storage::{
        PgConnection, StorageError, alerts, audit,
        payouts::{self, DepositPlace, PayoutOrder, items, safety},
    },
};

/// Orders that one step of a rotation of the master key looks at.
const REBIND_BATCH: i64 = 100;
/// The alert of an order whose rows differ from the confirmed ones.
const ALERT: &str = "payout_not_bound";

/// Why an order's rows are not to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    NoDigest,
    Altered,
}

impl Fault {
    fn hold(self, order: &PayoutOrder) -> Hold {
        let then = format!("then: gatewayctl payouts accept {}", order.order_id);
        match self {
            // Its acceptance ends this hold.
            Self::NoDigest => {
                let reason = format!(
                    "an earlier release confirmed it, or another hand than the gateway's wrote it. Compare recipients, \
                     sums and addresses with its merchant, {then}"
                );
                Hold::new(HoldCause::Unbound, &reason)
            }
            Self::Altered => Hold::for_review(&format!(
                "its recipients, sums or addresses in the database are not those that were confirmed, or the master key is \
                 another one. Find out who wrote to the database and compare them with its merchant; if they are right, {then}"
            )),
        }
    }
}

/// A step of a rotation over payout orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rebound {
    /// The id to go on after, if there may be more orders.
    pub next: Option<Uuid>,
    pub seen: usize,
    /// Orders that were bound anew.
    pub rebound: u64,
    /// Orders that neither key bound, or that cannot be read, by their ids: their next signature
    /// holds them.
    pub unbound: Vec<String>,
}

/// The key that bound an order, as a rotation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BoundBy {
    Current,
    /// It is bound under the current key now.
    Old,
    Neither,
}

/// The result of an operator's acceptance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The hold that stays, if one does.
    pub held: Option<Hold>,
    /// How many other people must accept the same content before it is bound.
    pub people_missing: i64,
}

/// An order whose digest was checked. Without one the wallet gives no key.
pub(super) struct Bound {
    place: DepositPlace,
    refund_address: Option<String>,
    rows: HashMap<Uuid, Output>,
}

impl Bound {
    #[cfg(test)]
    pub(super) fn at(place: DepositPlace) -> Self {
        Self { place, refund_address: None, rows: HashMap::new() }
    }

    /// The order's own address and the index of its key.
    pub(super) fn place(&self) -> &DepositPlace {
        &self.place
    }

    /// Returns whether a payment that was prepared before the check pays from the order's address
    /// to recipients that were confirmed.
    pub(super) fn covers(
        &self,
        order: &PayoutOrder,
        payment: &Unsigned,
        (purpose, rows): (Purpose, &[Uuid]),
    ) -> bool {
        let family = order.currency.family();
        let is_place = |text: &str| text == address::match_key(family, &self.place.address);
        let pays = |outputs: &[Output]| match purpose {
            Purpose::Pay => self.outputs(rows).is_some_and(|bound| bound == *outputs),
            Purpose::Refund => matches!(outputs, [one] if self.refunds_to(&one.address)),
            // An allowance goes to the contract that the configuration names.
            Purpose::Bump | Purpose::Allowance => outputs.is_empty(),
            Purpose::Gas => matches!(outputs, [one] if one.address == self.place.address),
            // To the gas wallet, which the configuration names.
            Purpose::GasReturn => true,
        };
        let is_own = purpose == Purpose::Gas || is_place(&payment.sender);
        is_own && pays(&payment.outputs) && fits(&payment.means, purpose)
    }

    /// Recipients of rows as they were confirmed; `None` if one of the rows is not the order's.
    pub(super) fn outputs(&self, rows: &[Uuid]) -> Option<Vec<Output>> {
        rows.iter().map(|id| self.rows.get(id).cloned()).collect()
    }

    fn refunds_to(&self, address: &str) -> bool {
        self.refund_address.as_deref() == Some(address)
    }
}

impl Gateway {
    /// Binds an order to the present content of `rows` and its own row. The caller holds the row
    /// lock, and knows that both are right.
    pub(super) async fn bind(
        &self,
        tx: &mut PgConnection,
        id: Uuid,
        rows: &[BoundRow],
    ) -> Result<(), StorageError> {
        // As it is stored: prices have fewer places there.
        let order = locked(tx, id).await?;
        let digest =
            self.master_keys.current().digest(PURPOSE, &binding::text(&terms(&order), rows));
        payouts::set_digest(tx, id, &digest).await
    }

    /// The rows of an order that is about to be bound anew. `None` where nothing bound it before:
    /// then nothing may bind it now.
    ///
    /// # Errors
    ///
    /// [`StorageError::Damaged`] if another hand has changed the order; operators are alerted, and
    /// the caller decides nothing.
    pub(super) async fn rows_to_bind(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
    ) -> Result<Option<Vec<BoundRow>>, StorageError> {
        let rows = items::bound(tx, order.id).await?;
        match self.fault(order, &rows) {
            None => Ok(Some(rows)),
            Some(Fault::NoDigest) => Ok(None),
            Some(fault @ Fault::Altered) => {
                // The caller rolls back, and this must stay.
                let mut connection = self.db.connection().await?;
                let hold = fault.hold(order);
                alerts::raise(&mut connection, ALERT, &order.order_id, hold.reason()).await?;
                Err(StorageError::damaged("payout_order", "it is not what was bound"))
            }
        }
    }

    /// The order if it is as confirmed; otherwise it is held, and the caller commits that and signs
    /// nothing.
    pub(super) async fn bound(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
    ) -> Result<Option<Bound>, StorageError> {
        let rows = items::bound(tx, order.id).await?;
        let fault = self.fault(order, &rows);
        let (None, Some(place)) = (fault, order.deposit.clone()) else {
            let hold = fault.unwrap_or(Fault::Altered).hold(order);
            self.hold_payout(tx, order, ALERT, &hold).await?;
            return Ok(None);
        };
        let refund_address = order.refund_address.clone();
        let output =
            |row: BoundRow| (row.id, Output { address: row.address, amount: row.net_amount });
        Ok(Some(Bound { place, refund_address, rows: rows.into_iter().map(output).collect() }))
    }

    /// The same for payments that were prepared before the check, of rows that may have been others
    /// then: the next look prepares such anew.
    pub(super) async fn bound_for(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        ready: &[(Intent, Unsigned)],
    ) -> Result<Option<Bound>, StorageError> {
        let bound = self.bound(tx, order).await?;
        Ok(bound.filter(|bound| {
            let is_covered = |(intent, payment): &(Intent, Unsigned)| {
                bound.covers(order, payment, (intent.purpose, &intent.items))
            };
            ready.iter().all(is_covered)
        }))
    }

    /// The same in a transaction of its own, for a signature that is stored by itself.
    pub(super) async fn bound_now(&self, id: Uuid) -> Result<Option<Bound>, StorageError> {
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, id).await?;
        let bound = self.bound(&mut tx, &order).await?;
        tx.commit().await?;
        Ok(bound)
    }

    /// The number of orders that a rotation of the master key walks through.
    pub async fn orders_to_rebind(&self) -> Result<i64, StorageError> {
        payouts::count_bound(&mut *self.db.connection().await?).await
    }

    /// Binds the next orders after `after` under the current master key where the old one bound
    /// them, each in a transaction of its own: without the old key their next signature would hold
    /// them. An order that neither key bound, or that cannot be read, stays as it is and is named.
    pub async fn rebind_batch(&self, after: Uuid) -> Result<Rebound, StorageError> {
        let mut connection = self.db.connection().await?;
        let orders = payouts::bound_after(&mut connection, after, REBIND_BATCH).await?;
        drop(connection);
        let mut batch = Rebound { seen: orders.len(), ..Rebound::default() };
        for (id, order_id) in &orders {
            match self.rebind(*id).await {
                Ok(BoundBy::Current) => {}
                Ok(BoundBy::Old) => batch.rebound += 1,
                Ok(BoundBy::Neither) => batch.unbound.push(order_id.clone()),
                Err(StorageError::Damaged { table, reason }) => {
                    tracing::error!(
                        order.id = order_id,
                        table,
                        reason,
                        "a payout order is not bound anew"
                    );
                    batch.unbound.push(order_id.clone());
                }
                Err(error) => return Err(error),
            }
        }
        let full = i64::try_from(orders.len()).is_ok_and(|seen| seen == REBIND_BATCH);
        batch.next = orders.last().map(|(id, _)| *id).filter(|_| full);
        Ok(batch)
    }

    async fn rebind(&self, id: Uuid) -> Result<BoundBy, StorageError> {
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, id).await?;
        let rows = items::bound(&mut tx, id).await?;
        let text = binding::text(&terms(&order), &rows);
        let digest = order.digest.as_deref().unwrap_or_default();
        if self.master_keys.current().is_digest(PURPOSE, &text, digest) {
            return Ok(BoundBy::Current);
        }
        if !self.master_keys.is_digest(PURPOSE, &text, digest) {
            return Ok(BoundBy::Neither);
        }
        self.bind(&mut tx, id, &rows).await?;
        tx.commit().await?;
        Ok(BoundBy::Old)
    }

    fn fault(&self, order: &PayoutOrder, rows: &[BoundRow]) -> Option<Fault> {
        let Some(digest) = &order.digest else { return Some(Fault::NoDigest) };
        let text = binding::text(&terms(order), rows);
        let fits = self.master_keys.is_digest(PURPOSE, &text, digest);
        (!fits).then_some(Fault::Altered)
    }

    /// Binds an order to the present content of its rows, on an operator's word. For an order above
    /// the limit two operators must accept the same content: it decides who is paid. A hold for
    /// want of a digest ends with it; any other stays.
    pub async fn accept_order(
        &self,
        order_id: &str,
        (by, reason): (&str, &str),
    ) -> Result<Accepted, OperateError> {
        let id = self.known_payout(order_id).await?.id;
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, id).await?;
        let rows = items::bound(&mut tx, id).await?;
        if self.fault(&order, &rows).is_none() {
            return Err(OperateError::BoundAlready);
        }
        // Not the keyed digest: whoever may write to the database could bind the order with that.
        let content = hex::encode(Sha256::digest(binding::text(&terms(&order), &rows)));
        let proposed = ("payout_order", "accept-proposed");
        if self.needs_two_people(&order)
            && !audit::was_said_by_another(&mut tx, proposed, order_id, (by, &content)).await?
        {
            audit::note(&mut tx, proposed, order_id, by, &content).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok(Accepted { held: order.held, people_missing: 1 });
        }
        self.bind(&mut tx, id, &rows).await?;
        let refunds = order.refund_address.as_deref().unwrap_or("nowhere");
        let amounts = rows.iter().map(|row| row.net_amount);
        let sum = amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add);
        let detail = format!(
            "{} rows, {} base units, refunds to {refunds}: {reason}",
            rows.len(),
            sum.get()
        );
        audit::note(&mut tx, ("payout_order", "accept"), order_id, by, &detail).await?;
        if order.held.as_ref().is_some_and(|hold| hold.cause() == HoldCause::Unbound) {
            safety::end_hold(&mut tx, id).await?;
            order.held = None;
        }
        look_soon(&mut tx, id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(Accepted { held: order.held, people_missing: 0 })
    }
}

pub(super) fn terms(order: &PayoutOrder) -> Terms<'_> {
    let quote = &order.quote;
    Terms {
        id: order.id,
        order_id: &order.order_id,
        merchant_id: order.merchant_id,
        token_id: order.currency.token_id(),
        fee_mode: order.fee_mode.as_str(),
        refund_address: order.refund_address.as_deref(),
        deposit: order.deposit.as_ref().map(|d| (d.address.as_str(), d.derivation_index)),
        payout_total: order.payout_total,
        total_to_send: order.total_to_send,
        network_fee: quote.network_fee,
        service_fee: quote.service_fee,
        fee_rate: quote.fee_rate,
        native_price_usd: quote.native_price_usd,
        asset_price_usd: quote.asset_price_usd,
    }
}
