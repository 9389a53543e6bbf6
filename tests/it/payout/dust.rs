//! Dust sent by third parties to an order's address in any number: none of it hides the order's own
//! funding.

use gateway::{
    app::payout::{Story, Wallet},
    asset::Network,
};
use support::{
    lanes::Lane,
    server::stack::only,
    shop::payouts::{Orders, evm_address, fund_from_nowhere, new_order, row},
};
use uuid::Uuid;

use super::node::USDT;

/// In seconds.
const HOLD: u32 = 86_400;

struct Scene {
    lane: Lane,
    wallet: Wallet,
    id: String,
    row: Uuid,
}

/// A confirmed order of dollar tokens, on a network without a watcher.
async fn confirmed() -> Scene {
    let toml = only(Network::Polygon)
        + &format!(
            "chains.polygon.watch_grace_seconds = 0\nchains.polygon.confirm_hold_seconds = {HOLD}\n"
        );
    let lane = Lane::open(&toml).await;
    let wallet = Wallet::open(&lane.gateway).unwrap();
    let orders = Orders::open(&lane.gateway).await;
    let wanted = new_order(Network::Polygon, "usdtmatic", vec![row(1, evm_address(1), 10_000_000)]);
    let order = orders.confirmed(&lane.gateway, &wanted).await;
    let id = order["id"].as_str().unwrap().to_owned();
    let row = lane.gateway.explain_payout(&id).await.unwrap().order.id;
    Scene { lane, wallet, id, row }
}

impl Scene {
    /// Inserts `count` deposits of one unit of `token`, an hour ago.
    async fn dust(&mut self, count: i32, token: Option<&str>, state: &str) {
        let statement = "insert into deposit (id, network, deposit_key, tx_hash, address_id, payout_order_id, token_id, \
                 contract, amount, amount_text, height, block_hash, mined_at, first_seen_at, state, min_confirmations) \
             select gen_random_uuid(), o.network, $4 || n, $4 || n, a.id, o.id, $2, $5, 1, '1', 1, 'x', \
                 now() - interval '1 hour', now() - interval '1 hour', $4, 1 \
             from payout_order o join deposit_address a on a.payout_order_id = o.id, generate_series(1, $3) n \
             where o.order_id = $1";
        let contract = token.map_or("0x00000000000000000000000000000000000000ee", |_| USDT);
        let query = sqlx::query(statement).bind(&self.id).bind(token).bind(count);
        query.bind(state).bind(contract).execute(&mut self.lane.connection).await.unwrap();
    }

    async fn run(&mut self, statement: &'static str) {
        sqlx::query(statement).execute(&mut self.lane.connection).await.unwrap();
    }

    async fn look(&self) -> Story {
        self.lane.gateway.advance_payout(self.row, &self.wallet).await.unwrap();
        self.lane.gateway.explain_payout(&self.id).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_behind_a_thousand_others_funds_its_order() {
    let mut scene = confirmed().await;
    scene.dust(600, Some("usdt@polygon"), "seen").await;
    scene.dust(450, None, "final").await;
    fund_from_nowhere(&mut scene.lane.connection, &scene.id, Some(USDT)).await;
    let mut story = scene.look().await;
    for _ in 0..5 {
        story = scene.look().await;
    }
    let order = story.order;
    assert_eq!((order.books.credited, order.state.as_str()), (order.total_to_send, "completed"));
    // Each is booked or assigned to an operator, and none of them twice.
    let open = "select count(*) from deposit where state = 'final'";
    let open: i64 = sqlx::query_scalar(open).fetch_one(&mut scene.lane.connection).await.unwrap();
    assert_eq!(open, 0);
    scene.lane.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unconfirmed_deposit_after_a_thousand_others_still_delays_the_expiry() {
    let mut scene = confirmed().await;
    scene.dust(1_050, Some("usdt@polygon"), "seen").await;
    fund_from_nowhere(&mut scene.lane.connection, &scene.id, Some(USDT)).await;
    scene.run("update deposit set state = 'seen' where state = 'final'").await;
    scene.run("update payout_order set expires_at = now()").await;
    let story = scene.look().await;
    assert_eq!(story.order.state.as_str(), "pending_deposit");
    // Without it no order waits for the dust.
    let gone = "update deposit set state = 'withdrawn', updated_at = now() - interval '1 hour'
                where amount > 1";
    scene.run(gone).await;
    assert_eq!(scene.look().await.order.state.as_str(), "expired");
    scene.lane.close().await;
}
