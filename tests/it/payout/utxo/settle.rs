//! Conflicting transactions that spent the outputs of a payment on dogecoin, and the records that
//! an operator may make.

use gateway::{
    app::payout::{OperateError, Outcome, Settled, Settling},
    asset::Network,
    chain::pay::Named,
    payout::payment::PaymentState,
};
use uuid::Uuid;

use super::{
    chain::{script, script_of},
    pieces::{REFUND, Scene},
    seeds::CONFIRMATIONS,
};

const ROWS: u32 = 2;
const UNITS: u64 = 300_000_000;
const SURPLUS: u64 = 70_000_000;

struct Sent {
    scene: Scene,
    id: String,
    row: Uuid,
    address: String,
    received: u64,
}

/// An order with a surplus, whose payment is pending.
async fn sent() -> Sent {
    let mut scene = Scene::open().await;
    let (id, address, due) = scene.order(ROWS, UNITS, 1).await;
    scene.fund(&address, SURPLUS, 1).await;
    let row = scene.story(&id).await.order.id;
    scene.lane.gateway.advance_payout(row, &scene.wallet).await.unwrap();
    assert_eq!(scene.story(&id).await.payments[0].state, PaymentState::Sent);
    Sent { scene, id, row, address, received: due + SURPLUS }
}

impl Sent {
    async fn settle(
        &self,
        (hash, height): (&str, u64),
        outcome: Outcome,
    ) -> Result<Settled, OperateError> {
        let named = Named { hash: hash.to_owned(), height: Some(height) };
        let (by, reason) = ("ada".to_owned(), "a drill".to_owned());
        let settling = Settling { named, outcome, by, reason };
        self.scene.lane.gateway.settle_payment(&self.id, &settling).await
    }

    async fn is_refused(&self, place: (&str, u64), outcome: Outcome, words: &str) {
        let refused = self.settle(place, outcome).await.unwrap_err().to_string();
        assert!(refused.contains(words), "no {words:?} in {refused}");
        assert_eq!(self.scene.story(&self.id).await.payments[0].state, PaymentState::Sent);
    }

    /// Its inputs are spent for good, and the reason is unknown.
    async fn is_held_as_displaced(&mut self) {
        for _ in 0..2 {
            self.scene.node.mine(CONFIRMATIONS);
            self.scene.watch().await;
            let aged = "update payout_payment set sent_at = now() - interval '11 minutes' where state = 'sent'";
            sqlx::query(aged).execute(&mut self.scene.lane.connection).await.unwrap();
            self.scene.lane.gateway.advance_payout(self.row, &self.scene.wallet).await.unwrap();
        }
        let held = self.scene.story(&self.id).await.order.held.unwrap().to_string();
        assert!(held.contains("and no block contains it"), "{held}");
    }
}

const TOOK_NO_PLACE: &str = "took the place of an open payment";

/// A miner can re-encode a signature (malleability). The recipients are paid; the change under the
/// other hash is refunded.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_payment_under_another_hash_is_paid_and_its_change_is_not_lost() {
    let mut sent = sent().await;
    let ours = sent.scene.story(&sent.id).await.payments[0].tx_hash.clone();
    let (hash, height) = sent.scene.node.mine_rewritten();
    assert_ne!(hash, ours);
    sent.is_refused((&hash, height), Outcome::Paid, TOOK_NO_PLACE).await;
    sent.is_held_as_displaced().await;
    sent.is_refused((&ours, height), Outcome::Paid, TOOK_NO_PLACE).await;
    sent.is_refused((&hash, height - 1), Outcome::Paid, TOOK_NO_PLACE).await;
    sent.is_refused((&hash, height), Outcome::NobodyPaid, "use --paid").await;

    let settled = sent.settle((&hash, height), Outcome::Paid).await.unwrap();
    assert_eq!((settled.rows, settled.height), (2, height));
    assert!(settled.held.is_some());
    assert_eq!(sent.scene.lane.gateway.release_order(&sent.id, "ada").await.unwrap(), 0);
    let story = sent.scene.work(&sent.id).await;
    assert_eq!(story.order.held, None);
    assert_eq!(story.order.books.returned.get(), u128::from(SURPLUS));
    // The change under a foreign hash was booked as a deposit, and is a fee again.
    let counted = u64::try_from(story.order.books.credited.get()).unwrap();
    assert!(counted > sent.received);
    sent.scene.adds_up(&story, counted, ROWS, UNITS).await;
    sent.scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_whose_inputs_were_double_spent_fails_and_its_order_stays_held() {
    let mut sent = sent().await;
    let own = script_of(Network::Dogecoin, &sent.address);
    let (hash, height) = sent.scene.node.take_all(&own);
    sent.is_refused((&hash, height), Outcome::NobodyPaid, TOOK_NO_PLACE).await;
    sent.is_held_as_displaced().await;
    sent.is_refused((&hash, height), Outcome::Paid, "it paid none of the recipients").await;
    sent.settle((&hash, height), Outcome::NobodyPaid).await.unwrap();
    let gateway = &sent.scene.lane.gateway;
    gateway.advance_payout(sent.row, &sent.scene.wallet).await.unwrap();
    let story = sent.scene.story(&sent.id).await;
    assert_eq!(story.order.state.as_str(), "partial_failed");
    assert_eq!(story.order.books.failed.get(), u128::from(u64::from(ROWS) * UNITS));
    let (held, payments) = (&story.order.held, &story.payments);
    assert!(
        held.is_some() && payments.iter().all(|one| one.state == PaymentState::Failed),
        "{payments:?}"
    );
    sent.scene.lane.close().await;
}

/// A holder of the key spends everything of the order for the order itself: the rows fail, and the
/// rest is refunded, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_conflicting_transaction_that_paid_the_order_itself_counts_as_one_deposit() {
    const FEE: u64 = 1_000_000;
    let mut sent = sent().await;
    let own = script_of(Network::Dogecoin, &sent.address);
    let (hash, height) = sent.scene.node.take_all_for(&own, &own, FEE);
    sent.is_held_as_displaced().await;
    sent.settle((&hash, height), Outcome::NobodyPaid).await.unwrap();
    assert_eq!(sent.scene.lane.gateway.release_order(&sent.id, "ada").await.unwrap(), 0);
    let story = sent.scene.work(&sent.id).await;
    assert_eq!((story.order.state.as_str(), story.order.held), ("partial_failed", None));
    let books = story.order.books;
    assert_eq!(books.failed.get(), u128::from(u64::from(ROWS) * UNITS));
    assert_eq!(books.returned.get(), u128::from(u64::from(ROWS) * UNITS + SURPLUS));
    let back = sent.scene.node.paid(&script(Network::Dogecoin, REFUND)).1;
    assert_eq!(books.returned.get(), u128::from(back));
    // The received amount equals the refunds, the network fees and the rest; in the books too,
    // where it is counted twice.
    let left = sent.scene.node.unspent(&own);
    let fees = "select fee::bigint from payout_payment where purpose = 'refund'";
    let fees: i64 =
        sqlx::query_scalar(fees).fetch_one(&mut sent.scene.lane.connection).await.unwrap();
    assert_eq!(back + left + fees.unsigned_abs() + FEE, sent.received);
    let kept = books.kept.get() - u128::from(sent.received - FEE);
    assert_eq!(books.returned.get() + kept, u128::from(sent.received));
    sent.scene.lane.close().await;
}
