//! Sending: stored bytes, for the first time or again.

use uuid::Uuid;

use super::{errors::AdvanceError, follow::wanted};
use crate::{
    app::Gateway,
    chain::{
        ChainError,
        pay::{Payer, Sent},
    },
    fail_point::fail_point,
    payout::{
        batch::{ItemState, Seen},
        payment::PaymentState,
    },
    storage::{
        StorageError, alerts,
        payouts::{
            self, PayoutOrder, items,
            payments::{self, OpenPayment, Version},
        },
    },
};

impl Gateway {
    /// Sends signed payments that no node ever took.
    pub(super) async fn send_signed(
        &self,
        order_id: Uuid,
        payer: &Payer,
    ) -> Result<bool, AdvanceError> {
        let mut connection = self.db.connection().await?;
        let open = payments::open(&mut connection, order_id).await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        drop(connection);
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        let signed: Vec<_> =
            open.iter().filter(|payment| payment.state == PaymentState::Signed).collect();
        if signed.is_empty() || self.send(&order, &signed, payer).await?.is_empty() {
            return Ok(false);
        }
        payer.after_sending(self.required_of(&order)).await?;
        Ok(true)
    }

    /// Hands stored bytes in, in the order of the nonces, and returns those that were taken. A
    /// node's answer decides nothing but whether it has them.
    pub(super) async fn send(
        &self,
        order: &PayoutOrder,
        open: &[&OpenPayment],
        payer: &Payer,
    ) -> Result<Vec<Uuid>, AdvanceError> {
        let (mut taken, mut refused, mut failure) = (Vec::new(), Vec::new(), None);
        for payment in open {
            let Some(version) = payment.versions.last() else { continue };
            fail_point("payout.sending");
            match self.hand_in(order, payment, version, payer).await {
                Ok(None) => taken.push(payment.id),
                Ok(Some(reason)) => refused.push((payment.id, version.tx_hash.clone(), reason)),
                // The answer is lost, the payment perhaps not. The results before it are noted all
                // the same.
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        fail_point("payout.sent");
        let mut tx = self.db.begin().await?;
        payments::mark_sent(&mut tx, &taken).await?;
        items::follow_payments(&mut tx, &taken, ItemState::Sent, None).await?;
        for (id, hash, reason) in refused {
            // It may be in the chain for all we know: from now on it is looked for.
            payments::mark_sent(&mut tx, &[id]).await?;
            alerts::raise(&mut tx, "payout_refused", &hash, &reason).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(taken),
        }
    }

    /// Hands one payment in. `None` if the network has it, else the node's objection.
    ///
    /// Of bytes that stand in the chain, as they may after a crash, nodes say that their nonce is
    /// used or their coins are spent. Nothing is wrong then, and no alert is raised.
    async fn hand_in(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
        version: &Version,
        payer: &Payer,
    ) -> Result<Option<String>, ChainError> {
        let Sent::Refused(reason) = payer.send(&version.raw, &version.tx_hash).await? else {
            return Ok(None);
        };
        let required = self.required_of(order);
        let standings = payer.standings(&[wanted(payment)], required).await?;
        let is_there = standings.iter().any(|standing| match standing.seen {
            Seen::Waiting | Seen::Mined { .. } | Seen::Unexplained { .. } => true,
            Seen::Nowhere | Seen::Displaced => false,
        });
        if is_there {
            return Ok(None);
        }
        let (id, hash) = (&order.order_id, &version.tx_hash);
        tracing::warn!(order.id = id, tx.hash = hash, reason, "a node refuses a payment");
        Ok(Some(reason))
    }
}
