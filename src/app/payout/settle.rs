//! Settlement by an operator: of a payment whose place another transaction took, or that moved
//! something else than was signed for.
//!
//! An operator's word alone never ends a payment. The transaction that is named must be final and
//! must have used the payment's nonce, or all outputs that it spends: then our bytes can never be
//! mined. Its recipients are read from the transaction itself, and must agree with the operator's
//! statement.

use uuid::Uuid;

use super::{
    booking::{booked_sum, keep},
    decide::look_soon,
    errors::{AdvanceError, OperateError},
    follow::wanted,
    order::locked,
};
use crate::{
    app::Gateway,
    chain::pay::{Conflicting, Did, Named},
    deposit,
    money::BaseUnits,
    payout::{hold::Hold, payment::Purpose},
    storage::{
        PgConnection, StorageError, audit,
        deposits::of_order,
        payouts::{
            self, PayoutOrder, coins, items,
            payments::{self, Ended, OpenPayment, Version},
        },
    },
};

const TOOK_ITS_PLACE: &str = "a conflicting transaction took its place and paid no recipient";
const MOVED_NOTHING: &str = "the token accepted the call and moved nothing";

/// The end of a payment, as the operator states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Paid,
    NobodyPaid,
}

impl Outcome {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::NobodyPaid => "nobody_paid",
        }
    }
}

/// The operator's statement, with his name and his reason.
#[derive(Debug, Clone)]
pub struct Settling {
    /// The transaction that took the payment's place.
    pub named: Named,
    pub outcome: Outcome,
    pub by: String,
    pub reason: String,
}

/// A payment that is settled.
#[derive(Debug, Clone)]
pub struct Settled {
    pub purpose: Purpose,
    pub nonce: i64,
    pub rows: usize,
    pub height: u64,
    /// Why the order is still held, if it is.
    pub held: Option<Hold>,
}

impl Gateway {
    /// Ends a payment of an order by the transaction that took its place. A hold stays until people
    /// release it.
    pub async fn settle_payment(
        &self,
        order_id: &str,
        settling: &Settling,
    ) -> Result<Settled, OperateError> {
        let order = self.known_payout(order_id).await?;
        let network = order.currency.network;
        let required = self.required_of(&order);
        let payers = self.payers_of(network)?;
        let mut connection = self.db.connection().await?;
        let open = payments::open(&mut connection, order.id).await?;
        drop(connection);
        let asked: Vec<_> = open.iter().map(wanted).collect();
        let told = payers.conflicting(&asked, &settling.named, required).await;
        let hash = settling.named.hash.clone();
        let told = told.map_err(AdvanceError::from)?;
        let conflicting = told.ok_or(OperateError::TookNoPlace { hash, required })?;
        let payment = &open[conflicting.at];
        agreed(payment, &conflicting, settling.outcome)?;
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, order.id).await?;
        // It may have ended since it was read.
        let still = payments::open(&mut tx, order.id).await?;
        let payment = still.into_iter().find(|one| one.id == payment.id);
        let payment = payment.ok_or(OperateError::EndedMeanwhile)?;
        let ended = ended(&mut tx, &mut order, &payment, &conflicting, settling.outcome).await?;
        let rows = items::of_payment(&mut tx, payment.id).await?.len();
        self.end_payment(&mut tx, &mut order, &payment, &ended).await?;
        self.end_children(&mut tx, &mut order, &payment, &ended).await?;
        payouts::update_standing(&mut tx, &order).await?;
        self.note_settled(&mut tx, &order, &payment, settling).await?;
        look_soon(&mut tx, order.id).await?;
        let held = self.held_now(&mut tx, order.id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        let (purpose, nonce, height) = (payment.purpose, payment.nonce, ended.height);
        Ok(Settled { purpose, nonce, rows, height, held })
    }

    /// Ends the payments that spend the change of bytes that can never be mined: they can never be
    /// mined either. They paid no recipient.
    async fn end_children(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        parent: &OpenPayment,
        ended: &Ended,
    ) -> Result<(), StorageError> {
        let mut gone: Vec<_> = parent.versions.iter().map(|one| one.tx_hash.clone()).collect();
        for child in payments::open(tx, order.id).await? {
            let inputs = coins::inputs_of(tx, child.id).await?;
            let is_gone = |outpoint: &str| gone.iter().any(|hash| outpoint.starts_with(hash));
            if inputs.iter().any(|coin| is_gone(&coin.outpoint)) {
                gone.extend(child.versions.iter().map(|one| one.tx_hash.clone()));
                let ended = Ended { succeeded: false, fee: BaseUnits::ZERO, ..ended.clone() };
                self.end_payment(tx, order, &child, &ended).await?;
            }
        }
        Ok(())
    }

    async fn held_now(
        &self,
        tx: &mut PgConnection,
        id: Uuid,
    ) -> Result<Option<Hold>, StorageError> {
        Ok(locked(tx, id).await?.held)
    }

    async fn note_settled(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        payment: &OpenPayment,
        settling: &Settling,
    ) -> Result<(), StorageError> {
        let (by, hash, outcome) = (&settling.by, &settling.named.hash, settling.outcome.as_str());
        let detail = format!("nonce {}: {outcome} by {hash}: {}", payment.nonce, settling.reason);
        tracing::warn!(order.id = order.order_id, by, detail, "a payment is settled by hand");
        audit::note(tx, ("payout_order", "settle"), &order.order_id, by, &detail).await
    }
}

/// Checks that the operator's statement agrees with the chain.
fn agreed(
    payment: &OpenPayment,
    conflicting: &Conflicting,
    outcome: Outcome,
) -> Result<(), OperateError> {
    let hash = &conflicting.mined.hash;
    let is_own = payment.versions.iter().any(|one| one.tx_hash.eq_ignore_ascii_case(hash));
    let refused = |why: &str| Err(OperateError::SettledOtherwise(why.to_owned()));
    match (conflicting.did, outcome) {
        (Did::PaidAll, Outcome::Paid) if !is_own => Ok(()),
        (Did::PaidNobody | Did::NoLog, Outcome::NobodyPaid) if !is_own => Ok(()),
        // No log proves either. A person has compared the recipients' balances.
        (Did::NoLog, _) if is_own => Ok(()),
        (Did::PaidAll | Did::PaidNobody, _) if is_own => {
            refused("it is the payment itself; the next check settles it")
        }
        (Did::PaidAll, _) => refused("it made the same payments: use --paid"),
        (Did::PaidNobody | Did::NoLog, _) => {
            refused("it paid none of the recipients: use --nobody-paid")
        }
        (Did::MovedOther, Outcome::Paid) if is_own => Ok(()),
        (Did::MovedOther, _) => refused(
            "it moved the token, and not as was signed for: nothing of that is left to send back",
        ),
        (Did::Else(why), _) => refused(why),
    }
}

/// The result of the payment. A transaction that returned anything becomes a version of it, so that
/// this is known: the same payment under another hash, and one that paid only the order itself.
async fn ended(
    tx: &mut PgConnection,
    order: &mut PayoutOrder,
    payment: &OpenPayment,
    conflicting: &Conflicting,
    outcome: Outcome,
) -> Result<Ended, OperateError> {
    let hash = &conflicting.mined.hash;
    let is_own = payment.versions.iter().any(|one| one.tx_hash.eq_ignore_ascii_case(hash));
    let mut ended = Ended {
        succeeded: outcome == Outcome::Paid,
        tx_hash: hash.clone(),
        fee: conflicting.mined.fee,
        gas: None,
        height: conflicting.mined.height,
        why: if is_own { MOVED_NOTHING } else { TOOK_ITS_PLACE },
    };
    let (Some(returned), Some(last)) = (&conflicting.returned, payment.versions.last()) else {
        return Ok(ended);
    };
    let back = back_now(tx, order, &ended.tx_hash, &returned.own).await?;
    // It may have taken more of the order's coins than the payment: they are gone with it.
    let mut taken = coins::spendable(tx, order.id).await?;
    taken.retain(|coin| returned.spends.contains(&coin.outpoint));
    coins::add_inputs(tx, payment.id, order.currency.network, &taken).await?;
    let inputs = coins::inputs_of(tx, payment.id).await?;
    let spent = inputs.iter().map(|coin| coin.amount).try_fold(BaseUnits::ZERO, booked_sum)?;
    let paid = if ended.succeeded { payment.amount } else { BaseUnits::ZERO };
    let rest = spent.remaining_after(paid);
    let change = back.change.map_or(BaseUnits::ZERO, |(_, amount)| amount);
    // Under a hash that was none of ours the watcher took it for a deposit: then it is one, and the
    // amount it brought is a fee again, so that the order has neither more nor less than before.
    // Any amount that a stranger added is his.
    keep(tx, order, Uuid::now_v7(), back.booked.min(rest)).await?;
    ended.fee = rest.remaining_after(change);
    let version = Version {
        version: last.version + 1,
        raw: returned.raw.clone(),
        tx_hash: ended.tx_hash.clone(),
        fee: last.fee,
        taken: Some(ended.fee),
        change: back.change,
    };
    payments::add_version(tx, payment.id, &version).await?;
    Ok(ended)
}

/// The part of a transaction that came back to the order's address.
#[derive(Default)]
struct Back {
    /// Booked as deposits by now.
    booked: BaseUnits,
    /// The output still to be noted as change: its number, and its amount.
    change: Option<(u32, BaseUnits)>,
}

async fn back_now(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    hash: &str,
    own: &[(u32, BaseUnits)],
) -> Result<Back, OperateError> {
    let mut back = Back::default();
    for (n, amount) in own {
        let (network, key) = (order.currency.network, format!("{hash}:{n}"));
        let deposit = of_order::lock_by_key(tx, order.id, network, &key).await?;
        let is_booked = deposit.as_ref().map(|deposit| deposit.state == deposit::State::Settled);
        match (is_booked, back.change) {
            (Some(true), _) => back.booked = booked_sum(back.booked, *amount)?,
            // A version has one change; the watcher will book the others, and then it has none.
            (None, None) => back.change = Some((*n, *amount)),
            (Some(false), _) | (None, Some(_)) => {
                let why =
                    "what it returned is not booked as a deposit yet: ask again in some blocks";
                return Err(OperateError::SettledOtherwise(why.to_owned()));
            }
        }
    }
    Ok(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chain::pay::Mined,
        payout::{fee::Fee, payment::PaymentState},
    };

    const OWN: &str = "0xAA";

    fn payment() -> OpenPayment {
        let version = Version {
            version: 1,
            raw: vec![],
            tx_hash: OWN.to_lowercase(),
            fee: Fee::of(1),
            taken: None,
            change: None,
        };
        OpenPayment {
            id: Uuid::nil(),
            purpose: Purpose::Pay,
            nonce: 0,
            sender: "0x1".into(),
            amount: BaseUnits::ZERO,
            state: PaymentState::Sent,
            tx_hash: OWN.to_lowercase(),
            height: None,
            sent_for_seconds: None,
            versions: vec![version],
        }
    }

    #[test]
    fn settle_refuses_an_operator_s_statement_that_the_chain_contradicts() {
        let is_agreed = |hash: &str, did, outcome| {
            let mined = Mined { hash: hash.to_owned(), height: 7, fee: BaseUnits::ZERO, gas: None };
            let conflicting = Conflicting { at: 0, mined, did, returned: None };
            agreed(&payment(), &conflicting, outcome).is_ok()
        };
        let unclear = Did::Else("it runs a contract");
        let all = [Did::PaidAll, Did::PaidNobody, Did::MovedOther, Did::NoLog, unclear];
        for (hash, good) in [
            (
                "0xbb",
                [
                    (Did::PaidAll, Outcome::Paid),
                    (Did::PaidNobody, Outcome::NobodyPaid),
                    (Did::NoLog, Outcome::NobodyPaid),
                ]
                .as_slice(),
            ),
            // Of its own versions operators settle those that no rule can end: as sent where
            // something moved.
            (
                OWN,
                &[
                    (Did::MovedOther, Outcome::Paid),
                    (Did::NoLog, Outcome::Paid),
                    (Did::NoLog, Outcome::NobodyPaid),
                ],
            ),
        ] {
            for did in all {
                for outcome in [Outcome::Paid, Outcome::NobodyPaid] {
                    let expected = good.contains(&(did, outcome));
                    assert_eq!(
                        is_agreed(hash, did, outcome),
                        expected,
                        "{hash} {did:?} {outcome:?}"
                    );
                }
            }
        }
    }
}
