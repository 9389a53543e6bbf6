//! A gateway that pays out on one node, and the sums on which its books and the chain must agree.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::payout::Story,
    asset::{Catalogue, Network},
    payout::payment::PaymentState,
};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    node::regtest::{Kind, Regtest},
    server::{
        broker::eventually,
        stack::{Stack, only, with_configured_stack},
    },
    shop::payouts::Payer,
};

use super::chain::{address, paid_since, script, script_of, unspent};
use crate::payout::UTXO;

pub const CONFIRMATIONS: u64 = 2;
pub const AMOUNT: u32 = 10_000;

pub struct Scene {
    pub stack: Arc<Stack>,
    pub node: Arc<Regtest>,
    pub network: Network,
    pub payer: Payer,
    /// The chain's height before anything was paid.
    pub began_at: u64,
}

pub fn kind_of(network: Network) -> Kind {
    if network == Network::Bitcoin { Kind::Bitcoin } else { Kind::Litecoin }
}

pub fn settings(network: Network, node: &Regtest, genesis: &str) -> String {
    let chain = format!("chains.{network}");
    only(network)
        + &format!(
            "{chain}.source = \"node\"\n{chain}.rpc_url = {:?}\n{chain}.genesis = {genesis:?}\n\
             {chain}.confirmations = {CONFIRMATIONS}\n{chain}.large_confirmations = {CONFIRMATIONS}\n\
             {chain}.poll_ms = 50\n{chain}.fee_rate = 10\n",
            node.url()
        )
}

/// Runs `test` over a node started with `arguments` and a gateway that follows only it.
pub async fn with_node<F: Future<Output = ()>>(
    network: Network,
    arguments: &'static [&'static str],
    test: impl FnOnce(Arc<Scene>) -> F,
) {
    let node = Arc::new(Regtest::start_with(kind_of(network), arguments).await.unwrap());
    let genesis = node.genesis().await.unwrap();
    let mut toml = settings(network, &node, &genesis);
    if network == Network::Dogecoin {
        toml = toml.replace("fee_rate = 10\n", "fee_rate = 1000\n");
    }
    with_scene(network, node, &toml, test).await;
}

/// Runs `test` over that node, with `toml` as the gateway's settings.
pub async fn with_scene<F: Future<Output = ()>>(
    network: Network,
    node: Arc<Regtest>,
    toml: &str,
    test: impl FnOnce(Arc<Scene>) -> F,
) {
    with_configured_stack(toml, |stack| async move {
        stack.start_all();
        stack.gateway.note_network_fee(network).await.unwrap();
        let payer = Payer::open(&stack).await;
        let began_at = node.height().await.unwrap();
        let scene = Scene { stack, node, network, payer, began_at };
        scene.until_watched().await;
        test(Arc::new(scene)).await;
    })
    .await;
}

impl Scene {
    async fn until_watched(&self) {
        eventually("the watcher's first look", async || {
            let mut connection = self.stack.database.connect().await;
            let query = "select 1 from chain_cursor where watched_through is not null";
            let found: Option<i32> =
                sqlx::query_scalar(query).fetch_optional(&mut connection).await.unwrap();
            connection.close().await.unwrap();
            found
        })
        .await;
    }

    /// One recipient's address.
    pub fn recipient(&self, number: u32) -> String {
        address(self.network, &script(self.network, number))
    }

    /// Amount of every recipient of [`Self::rows`]: above every dust limit.
    pub fn amount(&self, number: u32) -> u64 {
        let least = if self.network == Network::Dogecoin { 1_000_000 } else { AMOUNT };
        u64::from(least + number)
    }

    pub fn rows(&self, numbers: std::ops::RangeInclusive<u32>) -> Vec<Value> {
        let row =
            |n| json!({ "address": self.recipient(n), "amountRaw": self.amount(n).to_string() });
        numbers.map(row).collect()
    }

    /// A confirmed order: its id, its address, and its amount due.
    pub async fn order(&self, items: Vec<Value>, refund: Option<&str>) -> (String, String, u64) {
        let currency = Catalogue::get().native(self.network).code;
        let fields = json!({
            "network": self.network.name(), "currency": currency, "items": items,
            "refundAddress": refund,
        });
        let id = self.payer.draft(UTXO, fields).await["id"].as_str().unwrap().to_owned();
        let order = self.payer.confirm(UTXO, &id).await;
        let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        (id, order["depositAddress"].as_str().unwrap().to_owned(), due)
    }

    /// Pays `units` to an order's address and confirms it.
    pub async fn fund(&self, to: &str, units: u64) {
        let (txid, _) = self.node.pay(&[(to.to_owned(), units)]).await.unwrap();
        // Mined explicitly: the node may not mine a transaction with this fee by itself.
        self.node.mine_exactly(&[txid]).await.unwrap();
        self.node.mine(CONFIRMATIONS - 1).await.unwrap();
    }

    /// Mines until an order owes nothing.
    pub async fn mine_until_settled(&self, id: &str) -> Story {
        for _ in 0..600 {
            let story = self.payer.story(id).await;
            let books = story.order.books;
            if story.order.state.is_terminal() && books.left().is_zero() && books.reserved.is_zero()
            {
                return story;
            }
            if story.payments.iter().any(|payment| payment.state == PaymentState::Sent) {
                self.node.mine(1).await.unwrap();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it is not settled: {}", self.payer.story(id).await.object);
    }

    /// Waits until `count` payments of an order are with the node.
    pub async fn until_sent(&self, id: &str, count: usize) -> Story {
        eventually(&format!("{count} payments are sent"), async || {
            let story = self.payer.story(id).await;
            let sent =
                story.payments.iter().filter(|payment| payment.state == PaymentState::Sent).count();
            (sent == count).then_some(story)
        })
        .await
    }

    /// Makes every transaction look as if it had been pending for hours.
    pub async fn wait_long(&self) {
        self.stack
            .sql("update payout_payment set sent_at = now() - interval '3 hours' where state = 'sent'")
            .await;
    }

    /// Every recipient was paid once and exactly; the received amount equals the amounts paid, the
    /// network fees and the rest, in the books and on the chain.
    pub async fn adds_up(
        &self,
        story: &Story,
        received: u64,
        numbers: impl IntoIterator<Item = u32>,
        refund: Option<&str>,
    ) {
        let chain = paid_since(self.node.url(), self.began_at).await;
        let mut paid = 0;
        for number in numbers {
            let amount = u128::from(self.amount(number));
            let found = chain.get(&script(self.network, number)).copied();
            assert_eq!(found, Some((1, amount)), "recipient {number}");
            paid += amount;
        }
        let books = story.order.books;
        assert_eq!(books.paid.get(), paid);
        let total = books.paid.get() + books.returned.get() + books.kept.get();
        assert_eq!(total, u128::from(received), "{books:?}");
        let refunded = refund.map(|to| chain.get(&script_of(self.network, to)).map_or(0, |p| p.1));
        assert_eq!(refunded.unwrap_or(0), books.returned.get());
        let fees = self.network_fees().await;
        assert!(fees > 0 && fees <= books.kept.get());
        let place = story.order.deposit.as_ref().unwrap();
        let left = unspent(self.node.url(), &place.address).await;
        assert_eq!(paid + books.returned.get() + fees + left, u128::from(received));
    }

    async fn network_fees(&self) -> u128 {
        let mut connection = self.stack.database.connect().await;
        let query =
            "select coalesce(sum(amount), 0)::text from ledger_entry where kind = 'network_fee'";
        let fees: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        fees.parse().unwrap()
    }
}
