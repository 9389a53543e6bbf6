//! The deadline of an order's deposit, on a network whose blocks are told late.

use chrono::TimeDelta;
use gateway::{
    app::{deposit::follow_chain::Follower, payout::Wallet},
    asset::Network,
    chain::{Transfer, TransferAmount, TransferAsset},
    config::{ChainSettings, ChainSourceKind},
};
use support::{
    fault::fired::fired,
    lanes::Lane,
    node::scripted_chain::ScriptedChain,
    server::stack::only,
    shop::payouts::{Orders, evm_address, new_order, row},
};

use super::node::USDT;

const CONFIRMATIONS: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn an_order_funded_in_time_is_paid_although_the_block_is_reported_a_minute_late() {
    let mut lane = Lane::open(&only(Network::Polygon)).await;
    let wallet = Wallet::open(&lane.gateway).unwrap();
    let orders = Orders::open(&lane.gateway).await;
    let wanted = new_order(Network::Polygon, "usdtmatic", vec![row(1, evm_address(1), 10_000_000)]);
    let now: i64 = sqlx::query_scalar("select extract(epoch from now())::bigint")
        .fetch_one(&mut lane.connection)
        .await
        .unwrap();
    let chain = ScriptedChain::new(Network::Polygon, 100);
    let settings = ChainSettings {
        source: ChainSourceKind::Node,
        head_age_max: Some(TimeDelta::minutes(5)),
        ..lane.gateway.config.chain(Network::Polygon)
    };
    let mut follower = Follower::new(chain.clone(), settings.clone());
    chain.script().mine_at(now - 60, Vec::new());
    follower.look(&lane.gateway).await.unwrap();
    let mut rows = Vec::new();
    for _ in 0..2 {
        let order = orders.confirmed(&lane.gateway, &wanted).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let told = lane.gateway.explain_payout(&id).await.unwrap().order;
        let address = order["depositAddress"].as_str().unwrap().to_ascii_lowercase();
        rows.push((id, told.id, address, told.total_to_send));
    }
    // Both deadlines were half a minute ago; one order was funded before.
    let query = "update payout_order set expires_at = to_timestamp($1)";
    sqlx::query(query)
        .bind(f64::from(i32::try_from(now - 30).unwrap()))
        .execute(&mut lane.connection)
        .await
        .unwrap();
    let state = async |row: usize| {
        let (id, order, ..) = &rows[row];
        lane.gateway.advance_payout(*order, &wallet).await.unwrap();
        lane.gateway.explain_payout(id).await.unwrap().order.state.as_str()
    };
    follower.look(&lane.gateway).await.unwrap();
    for row in 0..2 {
        assert_eq!(state(row).await, "pending_deposit");
        fired(1);
    }
    let (_, _, address, units) = &rows[0];
    let funding = Transfer {
        key: "0xa:0".to_owned(),
        tx_hash: "0xa".to_owned(),
        to: address.clone(),
        from: None,
        asset: TransferAsset::Contract(USDT.to_owned()),
        amount: TransferAmount::Units(*units),
        maturity: 1,
        spends: std::sync::Arc::default(),
    };
    chain.script().mine_at(now - 40, vec![funding]);
    (1..=CONFIRMATIONS).for_each(|_| chain.script().mine_at(now, Vec::new()));
    // A new follower notes its first complete look at once.
    let mut follower = Follower::new(chain.clone(), settings);
    while !follower.look(&lane.gateway).await.unwrap().complete {}
    assert_ne!(state(0).await, "expired");
    assert_eq!(state(1).await, "expired");
    let story = lane.gateway.explain_payout(&rows[0].0).await.unwrap();
    assert_eq!(story.order.books.credited, *units);
    lane.close().await;
}
