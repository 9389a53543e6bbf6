//! Orders on a private EVM node, which serves as the gateway's Polygon, with the catalogue's dollar
//! token on it.

use std::{sync::Arc, time::Duration};

use gateway::{app::payout::Story, asset::Network, payout::payment::PaymentState};
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    node::anvil::{Anvil, Call, address_word, call_data, word},
    server::{
        broker::eventually,
        stack::{Stack, with_configured_stack},
    },
    shop::payouts::{Payer, evm_address},
};

use super::EVM;

pub const CHAIN_ID: u64 = 313_372;
pub const CONFIRMATIONS: u64 = 2;
/// The contract of USDT in the catalogue.
pub const USDT: &str = "0xc2132d05d31c914a87c6611c10748aeb04b58e8f";
const SUPPLY: &str = "ffffffffffffffff";
pub const COIN: u128 = 10_u128.pow(18);
pub const GWEI: u128 = 10_u128.pow(9);

pub struct Scene {
    pub stack: Arc<Stack>,
    pub payer: Payer,
    pub anvil: Arc<Anvil>,
    /// The gas wallet.
    pub gas: String,
}

/// A node whose dollar token refuses blacklisted recipients.
pub async fn node() -> Arc<Anvil> {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Token").await.unwrap();
    anvil.place_strict_token(&token, USDT, SUPPLY).await.unwrap();
    Arc::new(anvil)
}

/// A node whose dollar token is of USDT's kind, and the address of the contract that pays many.
pub async fn node_with_multisend() -> (Arc<Anvil>, String) {
    let anvil = Anvil::start(CHAIN_ID).await.unwrap();
    let token = anvil.deploy("Tether").await.unwrap();
    anvil.place_token(&token, USDT, SUPPLY).await.unwrap();
    let multisend = anvil.deploy_multisend().await.unwrap();
    (Arc::new(anvil), multisend)
}

/// Settings of a gateway that pays only on that node.
pub fn settings(url: &str) -> String {
    told_by(&format!("rpc_url = {url:?}"))
}

/// Settings of a gateway that pays only on Polygon, with these nodes.
pub fn told_by(nodes: &str) -> String {
    let mut toml = format!(
        "[chains.polygon]\nsource = \"node\"\n{nodes}\nchain_id = {CHAIN_ID}\n\
         confirmations = {CONFIRMATIONS}\npoll_ms = 50\n"
    );
    for network in Network::ALL.map(Network::name).into_iter().filter(|name| *name != "polygon") {
        toml.push_str(&format!("[chains.{network}]\nsource = \"off\"\n"));
    }
    toml
}

/// Runs `test` with all workers running; `more` precedes the sections of the networks.
pub async fn with_node<F: Future<Output = ()>>(more: &str, test: impl FnOnce(Scene) -> F) {
    let anvil = node().await;
    let toml = format!("{more}\n{}", settings(anvil.url()));
    with_scene(anvil, &toml, test).await;
}

/// Runs `test` with all workers running on that node, with `toml` as the gateway's settings.
pub async fn with_scene<F: Future<Output = ()>>(
    anvil: Arc<Anvil>,
    toml: &str,
    test: impl FnOnce(Scene) -> F,
) {
    with_configured_stack(toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let gas = stack.gateway.gas_address().unwrap().to_lowercase();
        let scene = Scene { stack, payer, anvil, gas };
        scene.until_watched().await;
        test(scene).await;
    })
    .await;
}

impl Scene {
    async fn until_watched(&self) {
        eventually("the watcher's first look", async || {
            self.number("select count(*) from chain_cursor where watched_through is not null")
                .await
                .checked_sub(1)
        })
        .await;
        eventually("fees are known", async || {
            self.number("select count(*) from network_fee").await.checked_sub(1)
        })
        .await;
    }

    pub async fn run(&self, statement: &'static str) {
        let mut connection = self.stack.database.connect().await;
        sqlx::query(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    /// One whole number out of the database, at most 128 bits.
    pub async fn number(&self, query: &str) -> u128 {
        let mut connection = self.stack.database.connect().await;
        let text: Option<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("select ({query})::text")))
                .fetch_one(&mut connection)
                .await
                .unwrap();
        connection.close().await.unwrap();
        text.map_or(0, |text| text.parse().unwrap())
    }

    /// As if the process had died after every node accepted its bytes and before that was recorded.
    /// A running worker may be in the way: then nothing is changed this time. Returns the number of
    /// rows changed.
    pub async fn forget_what_was_sent(&self) -> u64 {
        let mut connection = self.stack.database.connect().await;
        let forget = "begin; set local lock_timeout = '200ms';
            update payout_payment set state = 'signed', sent_at = null where state = 'sent' and height is null;
            update payout_item set state = 'pending' where state = 'sent'; commit";
        let forgotten = sqlx::raw_sql(forget).execute(&mut connection).await;
        connection.close().await.unwrap();
        forgotten.map_or(0, |done| done.rows_affected())
    }

    /// A confirmed order.
    pub async fn order(&self, currency: &str, items: &[Value]) -> Value {
        let fields = json!({
            "network": "polygon", "currency": currency, "refundAddress": evm_address(900), "items": items,
        });
        let id = self.payer.draft(EVM, fields).await["id"].as_str().unwrap().to_owned();
        self.payer.confirm(EVM, &id).await
    }

    /// Sends `units` of the order's asset to its address, in a transaction that stays pending.
    pub async fn send_deposit(&self, order: &Value, units: u128) {
        let address = order["depositAddress"].as_str().unwrap();
        let call = if order["contractAddress"].is_null() {
            Call { to: Some(address), value: format!("{units:#x}"), data: "0x".into() }
        } else {
            let words = [address_word(address), word(&format!("{units:x}"))];
            let data = call_data("transfer(address,uint256)", &words);
            Call { to: Some(USDT), value: "0x0".into(), data }
        };
        self.anvil.send(self.anvil.deployer(), &call).await.unwrap();
    }

    pub async fn fund(&self, order: &Value, units: u128) {
        self.send_deposit(order, units).await;
        self.mine(CONFIRMATIONS).await;
    }

    pub async fn mine(&self, blocks: u64) {
        for _ in 0..blocks {
            self.anvil.mine().await.unwrap();
        }
    }

    /// Sets the base fee of the next block only.
    pub async fn set_base_fee(&self, wei: u128) {
        let params = json!([format!("{wei:#x}")]);
        self.anvil.rpc("anvil_setNextBlockBaseFeePerGas", params).await.unwrap();
    }

    /// Mines block after block until `done`; calls `each` between them.
    pub async fn mine_until(
        &self,
        id: &str,
        done: impl Fn(&Story) -> bool,
        each: impl AsyncFn(usize, &Story),
    ) -> Story {
        for round in 0..600 {
            self.anvil.mine().await.unwrap();
            tokio::time::sleep(Duration::from_millis(150)).await;
            let story = self.payer.story(id).await;
            if done(&story) {
                return story;
            }
            each(round, &story).await;
        }
        let story = self.payer.story(id).await;
        panic!("it does not end: {} {:?} {:?}", story.object, story.order.held, story.payments);
    }

    /// Gas in the books and on the chain: the fronted amount is at the order's address, spent, or
    /// returned.
    pub async fn gas_adds_up(&self, order: &Value, at_first: u128) {
        let address = order["depositAddress"].as_str().unwrap();
        let sum = async |kind: &str, who: &str| {
            let query = format!(
                "select coalesce(sum(amount), 0) from ledger_entry where kind = '{kind}' and {who} and asset = 'pol@polygon'"
            );
            self.number(&query).await
        };
        let fronted = sum("gas_fronted", "credit = 'gas:polygon'").await;
        let returned = sum("gas_returned", "debit = 'gas:polygon'").await;
        let wallet_fees = sum("network_fee", "credit = 'gas:polygon'").await;
        let order_fees = sum("network_fee", "credit = 'custody:polygon'").await;
        assert!(fronted > 0 && order_fees > 0 && wallet_fees > 0);
        assert_eq!(self.anvil.coins(address).await.unwrap(), fronted - returned - order_fees);
        let left = at_first - fronted - wallet_fees + returned;
        assert_eq!(self.anvil.coins(&self.gas).await.unwrap(), left);
        let nonces = self.number("select count(*) from payout_payment where purpose = 'gas'").await;
        assert_eq!(u128::from(self.anvil.nonce(&self.gas).await.unwrap()), nonces);
    }
}

/// Ended, with nothing left and nothing on its way.
pub fn is_settled(story: &Story) -> bool {
    let books = story.order.books;
    let open = story
        .payments
        .iter()
        .any(|p| p.state == PaymentState::Signed || p.state == PaymentState::Sent);
    // The payments are read a moment after the order, so the order must say it as well.
    let is_empty = books.left().is_zero() && books.reserved.is_zero();
    story.order.state.is_terminal() && is_empty && !open && !story.order.gas_open
}

/// `count` recipients from `first` on, each with a number of cents of a coin or token equal to its
/// own number.
pub fn items(first: u32, count: u32) -> Vec<Value> {
    let item =
        |n| json!({ "address": evm_address(n), "amount": format!("{}.{:02}", n / 100, n % 100) });
    (first..first + count).map(item).collect()
}

pub fn due(order: &Value) -> u128 {
    order["totalToSendRaw"].as_str().unwrap().parse().unwrap()
}
