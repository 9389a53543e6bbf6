//! Networks with a data fee for a payment's bytes in addition to its gas: it is quoted, fronted,
//! and waited out when it rises.

use gateway::{
    app::payout::{Story, Wallet},
    asset::Network,
    payout::payment::Purpose,
};
use serde_json::json;
use support::{
    lanes::Lane,
    node::anvil::Anvil,
    server::stack::only,
    shop::payouts::{Orders, evm_address, fund_from_nowhere, new_order, row},
};

use super::node::COIN;

const BASE: Network = Network::Base;
const CHAIN_ID: u64 = 313_375;
const USDC: &str = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
/// Address of the fee oracle contract on every network of this kind.
const ORACLE: &str = "0x420000000000000000000000000000000000000F";
const ROWS: u32 = 3;
/// A hundred times the gas cost of a payment.
const DEAR: u128 = 10_u128.pow(16);

struct Scene {
    lane: Lane,
    anvil: Anvil,
    wallet: Wallet,
    orders: Orders,
}

impl Scene {
    async fn open() -> Self {
        let anvil = Anvil::start(CHAIN_ID).await.unwrap();
        let toml = only(BASE)
            + &format!(
                "chains.base.source = \"node\"\nchains.base.rpc_url = {:?}\nchains.base.chain_id = {CHAIN_ID}\n",
                anvil.url()
            );
        let lane = Lane::open(&toml).await;
        let wallet = Wallet::open(&lane.gateway).unwrap();
        let gas = lane.gateway.gas_address().unwrap();
        anvil.set_coins(&gas, 100 * COIN).await.unwrap();
        let orders = Orders::open(&lane.gateway).await;
        Self { lane, anvil, wallet, orders }
    }

    /// From now on the data fee of each transaction is `wei`, and that is recorded.
    async fn charge(&self, wei: u128) {
        // PUSH32 wei, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN.
        let code = format!("0x7f{wei:064x}60005260206000f3");
        self.anvil.rpc("anvil_setCode", json!([ORACLE, code])).await.unwrap();
        self.lane.gateway.note_network_fee(BASE).await.unwrap();
    }

    /// A funded order.
    async fn order(&mut self, currency: &str) -> Story {
        let rows = (1..=ROWS).map(|n| row(n, evm_address(n), 1_000_000)).collect();
        let order =
            self.orders.confirmed(&self.lane.gateway, &new_order(BASE, currency, rows)).await;
        let id = order["id"].as_str().unwrap();
        let contract = (currency == "usdcbase").then_some(USDC);
        fund_from_nowhere(&mut self.lane.connection, id, contract).await;
        let story = self.story(id).await;
        let (place, due) = (story.order.deposit.as_ref().unwrap(), story.order.total_to_send);
        self.anvil.set_coins(&place.address, due.get()).await.unwrap();
        story
    }

    async fn story(&self, id: &str) -> Story {
        self.lane.gateway.explain_payout(id).await.unwrap()
    }

    /// The order after one look at it.
    async fn looked_at(&self, order: &Story) -> Story {
        self.lane.gateway.advance_payout(order.order.id, &self.wallet).await.unwrap();
        self.story(&order.order.order_id).await
    }

    /// Amount that the gas wallet fronts to a token order's address.
    async fn fronted(&mut self) -> u128 {
        let order = self.order("usdcbase").await;
        let story = self.looked_at(&order).await;
        let [gas] = story.payments.as_slice() else { panic!("{:?}", story.payments) };
        assert_eq!(gas.purpose, Purpose::Gas);
        gas.amount.get()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn layer_1_data_fees_are_quoted_covered_by_the_gas_wallet_and_waited_out_when_high() {
    let mut scene = Scene::open().await;
    scene.charge(0).await;
    let cheap = scene.order("eth").await.order.quote;
    let cheap_gas = scene.fronted().await;
    scene.charge(DEAR).await;
    let order = scene.order("eth").await;
    // For every row and the refund, with the headroom of every quote.
    let quoted = order.order.quote.network_fee.get() - cheap.network_fee.get();
    let data = u128::from(ROWS + 1) * DEAR * 3 / 2;
    assert!(quoted >= data && quoted < data + COIN / 1_000_000, "{quoted}");
    assert_eq!(scene.fronted().await - cheap_gas, u128::from(ROWS) * DEAR);

    scene.charge(2 * DEAR).await;
    assert!(scene.looked_at(&order).await.payments.is_empty(), "it pays more than was quoted");
    scene.charge(DEAR).await;
    let paid = scene.looked_at(&order).await.payments;
    assert_eq!(paid.len(), usize::try_from(ROWS).unwrap());
    scene.lane.close().await;
}
