//! The process that bumps a stuck payment with a child (CPFP) is killed before the child is stored,
//! before and after it is sent, when both end, and at random moments.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bitcoin::{OutPoint, Transaction, consensus::encode};
use gateway::{
    app::{Gateway, payout::OperateError},
    asset::Network,
    payout::payment::PaymentState,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::json;
use sqlx::Connection;
use support::{
    fault::fired::fired_as,
    node::regtest::{Kind, Regtest},
    seed::seed,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        processes::{Signal, within},
    },
};

use super::{
    chain::{address, paid_since, script, unspent},
    killed::{AMOUNT, CONFIRMATIONS, Place, confirmed_order, environment, in_process},
};

const NETWORK: Network = Network::Litecoin;
/// One unit per virtual byte more than payments offer by default.
const DEAR: &[&str] = &["-blockmintxfee=0.00011"];
const RECIPIENTS: u32 = 5;
const REFUND: u32 = 70_000;
const SURPLUS: u64 = 60_000;
const KILLS: usize = 6;

/// State of the child at the moment of the kill: the number stored, and if the node has it.
struct Moment {
    name: &'static str,
    children: usize,
    is_sent: bool,
}

const MOMENTS: [Moment; 4] = [
    Moment { name: "payout.signing", children: 0, is_sent: false },
    Moment { name: "payout.signed", children: 1, is_sent: false },
    Moment { name: "payout.sending", children: 1, is_sent: false },
    Moment { name: "payout.sent", children: 1, is_sent: true },
];

/// An order whose payments wait for a child.
struct Stuck<'a> {
    place: &'a Place<'a>,
    gateway: &'a Gateway,
    id: String,
}

impl Stuck<'_> {
    async fn waiting(&self) -> Vec<String> {
        let listed = self.place.node.rpc("getrawmempool", json!([])).await.unwrap();
        listed.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    }

    /// Transactions ever stored for payments with this purpose.
    async fn stored(&self, purpose: &str) -> Vec<Transaction> {
        let mut connection = self.place.database.connect().await;
        let query = "select v.raw from payout_version v join payout_payment p on p.id = v.payment_id \
                     where p.purpose = $1 order by p.nonce, v.version";
        let rows: Vec<Vec<u8>> =
            sqlx::query_scalar(query).bind(purpose).fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        rows.iter().map(|raw| encode::deserialize(raw).unwrap()).collect()
    }

    /// Children ever stored. Each spends the change of a stored payment, and no two spend the same.
    async fn children(&self) -> Vec<Transaction> {
        let children = self.stored("bump").await;
        let mut parents = BTreeSet::new();
        for purpose in ["pay", "refund", "bump"] {
            let stored = self.stored(purpose).await;
            parents.extend(stored.iter().map(|transaction| transaction.compute_txid()));
        }
        let inputs = children.iter().flat_map(|child| &child.input);
        let spent: Vec<OutPoint> = inputs.map(|input| input.previous_output).collect();
        assert!(spent.iter().all(|coin| parents.contains(&coin.txid)), "{spent:?}");
        let different: BTreeSet<_> = spent.iter().collect();
        assert_eq!(different.len(), spent.len(), "two children of one parent: {spent:?}");
        children
    }

    /// Makes payments look as if they had been pending for long, if there are any.
    async fn hurry(&self) {
        match self.gateway.bump_order(&self.id).await {
            Ok(_) | Err(OperateError::NothingToBump) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The payer is killed around the first child, which is needed and of which there is never a
    /// second one.
    async fn kill_around_the_child(&self, parent: &str) {
        for moment in MOMENTS {
            self.hurry().await;
            self.place.kill_at(moment.name).await;
            self.place.node.mine(1).await.unwrap();
            let children = self.children().await;
            assert_eq!(children.len(), moment.children, "{}", moment.name);
            let waiting = self.waiting().await;
            if moment.is_sent {
                assert!(waiting.is_empty(), "both are mined: {waiting:?}");
            } else {
                assert_eq!(waiting, [parent], "{}: nobody mines it", moment.name);
            }
        }
        // It was priced out until the child paid for both.
        fired_as(&[55], self.children().await.len());
        self.place.node.mine(CONFIRMATIONS).await.unwrap();
        for moment in ["payout.ending", "payout.ended"] {
            self.place.kill_at(moment).await;
            assert_eq!(self.children().await.len(), 1, "{moment}");
        }
    }

    /// The rest is refunded at the same fee, so it needs a child as well; its payer is killed at
    /// random moments.
    async fn kill_around_the_refund(&self, random: &mut StdRng) {
        for _ in 0..KILLS {
            self.hurry().await;
            self.place.forget_lease().await;
            let payer = self.place.installation.begin_workers(&["payout-batch"]).await;
            tokio::time::sleep(Duration::from_millis(random.random_range(20..600))).await;
            payer.process.signal(Signal::Kill);
            payer.process.ended(Duration::from_secs(60)).await;
            self.place.paid_once().await;
            self.children().await;
            self.place.node.mine(1).await.unwrap();
        }
    }

    async fn settle(&self) {
        self.place.forget_lease().await;
        let _payer = self.place.installation.start_workers(&["payout-batch"]).await;
        within(Duration::from_secs(120), "what is left went back", async || {
            let story = self.gateway.explain_payout(&self.id).await.unwrap();
            let (state, books) = (story.order.state, story.order.books);
            if state.is_terminal() && books.left().is_zero() && books.reserved.is_zero() {
                return Ok(());
            }
            self.hurry().await;
            self.place.node.mine(1).await.unwrap();
            Err(format!("{state:?}, {books:?}, {:?}", story.payments))
        })
        .await;
    }

    /// Every recipient was paid once, and the received amount equals the amounts paid, the network
    /// fees and the rest, to the unit.
    async fn adds_up(&self, received: u64) {
        assert_eq!(self.place.paid_once().await, RECIPIENTS as usize);
        let story = self.gateway.explain_payout(&self.id).await.unwrap();
        let (state, books) = (story.order.state.as_str(), story.order.books);
        assert_eq!((state, story.order.held), ("completed", None));
        let paid = u128::from(RECIPIENTS) * AMOUNT;
        assert_eq!(books.paid.get(), paid);
        assert_eq!(paid + books.returned.get() + books.kept.get(), u128::from(received));
        let chain = paid_since(self.place.node.url(), self.place.began_at).await;
        let refund = script(NETWORK, REFUND);
        assert_eq!(chain.get(&refund), Some(&(1, books.returned.get())));
        let mut connection = self.place.database.connect().await;
        let fees = "select sum(fee)::text from payout_payment where state = 'confirmed'";
        let fees: String = sqlx::query_scalar(fees).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        let to = story.order.deposit.unwrap().address;
        let left = unspent(self.place.node.url(), &to).await;
        let fees: u128 = fees.parse().unwrap();
        assert_eq!(paid + books.returned.get() + fees + left, u128::from(received));
        self.place.is_told(&self.id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_killed_during_cpfp_pays_every_litecoin_recipient_once() {
    let mut random = StdRng::seed_from_u64(seed());
    let node = Arc::new(Regtest::start_with(Kind::Litecoin, DEAR).await.unwrap());
    let genesis = node.genesis().await.unwrap();
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let more = environment(NETWORK, &node, &genesis);
        let more: Vec<_> = more.iter().map(|(name, value)| (&**name, &**value)).collect();
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &in_process(&database, &broker, (NETWORK, &node, &genesis));
        let refund = address(NETWORK, &script(NETWORK, REFUND));
        let (id, to, due) = confirmed_order(gateway, NETWORK, RECIPIENTS, Some(&refund)).await;
        let (received, began_at) = (due + SURPLUS, node.height().await.unwrap());
        node.pay(&[(to, received)]).await.unwrap();
        node.mine(CONFIRMATIONS).await.unwrap();
        let (database, node) = (&database, &*node);
        let (network, recipients) = (NETWORK, RECIPIENTS);
        let place = Place { installation, database, node, network, recipients, began_at };
        let stuck = Stuck { place: &place, gateway, id };
        let payer = place.installation.start_workers(&["payout-batch"]).await;
        let (parent, _) = within(Duration::from_secs(60), "they are sent", async || {
            let payments = gateway.explain_payout(&stuck.id).await.unwrap().payments;
            let sent = payments.iter().find(|payment| payment.state == PaymentState::Sent);
            sent.map(|payment| payment.tx_hash.clone()).ok_or(format!("{payments:?}"))
        })
        .await;
        payer.process.signal(Signal::Kill);
        stuck.kill_around_the_child(&parent).await;
        stuck.kill_around_the_refund(&mut random).await;
        stuck.settle().await;
        stuck.adds_up(received).await;
        println!("{} children in the end", stuck.children().await.len());
        database.remove().await;
    })
    .await;
}
