//! The paying process is killed, again and again, at random moments.

use std::time::Duration;

use gateway::{
    app::{
        Gateway,
        payout::{Confirmation, NewOrder},
    },
    asset::Network,
    config::Config,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use secrecy::ExposeSecret;
use sqlx::Connection;
use support::{
    fault::fired::died_at,
    node::anvil::{Anvil, Call},
    seed::seed,
    server::{
        broker::{TestBroker, eventually, with_broker},
        database::TestDatabase,
        installation::{Installation, MASTER_KEY},
        processes::{Signal, within},
    },
    shop::{
        payout_events,
        payouts::{Orders, evm_address, fund, new_order, row, told},
    },
};

use super::node;

pub(super) const RECIPIENTS: u32 = 600;
const KILLS: usize = 5;
/// Recipients on a real node, and the amount of its coin for each.
const REPLACED: u32 = 3;
const EACH: u128 = 10_u128.pow(16);
/// Between every two steps of a payment.
pub const MOMENTS: [&str; 6] = [
    "payout.signing",
    "payout.signed",
    "payout.sending",
    "payout.sent",
    "payout.ending",
    "payout.ended",
];

pub(super) fn order() -> NewOrder {
    let rows = (1..=RECIPIENTS).map(|number| row(number, evm_address(number), 1_000_000));
    new_order(Network::Polygon, "usdtmatic", rows.collect())
}

/// Number of paid recipients, after checking that none was paid twice.
pub(super) async fn paid_once(database: &TestDatabase) -> i64 {
    let mut connection = database.connect().await;
    let (recipients, most): (i64, i64) = sqlx::query_as(
        "select count(*), coalesce(max(n), 0) from (select count(*) as n from sim_transfer \
         where address like '0x000000000000000000000000000000aa%' group by address) as paid",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    connection.close().await.unwrap();
    assert!(most <= 1, "somebody was paid {most} times");
    recipients
}

/// The merchant got the same events as without a crash.
pub(super) async fn is_told(database: &TestDatabase, id: &str) {
    let mut connection = database.connect().await;
    payout_events::are_legal(&mut connection, id, "killed").await;
    connection.close().await.unwrap();
}

/// The lease of a dead worker is not waited for in the test.
pub(super) async fn forget_lease(database: &TestDatabase) {
    let mut connection = database.connect().await;
    let free = "update payout_order set leased_until = null";
    sqlx::query(free).execute(&mut connection).await.unwrap();
    let ring = "update timer set due_at = now() where kind = 'payout'";
    sqlx::query(ring).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_killed_at_any_step_pays_every_recipient_once() {
    let mut random = StdRng::seed_from_u64(seed());
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &installation.gateway;
        let merchant = gateway.create_merchant("Killed", told()).await.unwrap();
        let (created, _) = within(Duration::from_secs(90), "rates are there", async || {
            gateway.create_payout(merchant.id, &order()).await.map_err(|error| error.to_string())
        })
        .await;
        let object: serde_json::Value = serde_json::from_str(&created.body).unwrap();
        let id = object["id"].as_str().unwrap();
        let confirmed = gateway.confirm_payout(merchant.id, id, &Confirmation::default()).await;
        let object: serde_json::Value = serde_json::from_str(&confirmed.unwrap()).unwrap();
        fund(gateway, &object).await;
        let mut interrupted = 0;
        // First at every named moment, then wherever it happens to be.
        for moment in MOMENTS {
            forget_lease(&database).await;
            let victim =
                installation.launch("gateway-worker", &["payout-batch"], &[("FAIL_POINT", moment)]);
            victim.process.ended(Duration::from_secs(60)).await;
            let said = victim.process.said();
            assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
            died_at(moment);
            paid_once(&database).await;
        }
        forget_lease(&database).await;
        let mut signer = installation.begin_workers(&["payout-batch"]).await;
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(random.random_range(20..600))).await;
            signer.process.signal(Signal::Kill);
            let paid = paid_once(&database).await;
            interrupted += usize::from((1..i64::from(RECIPIENTS)).contains(&paid));
            forget_lease(&database).await;
            signer = installation.begin_workers(&["payout-batch"]).await;
        }
        within(Duration::from_secs(120), "everybody is paid", async || {
            let story = gateway.explain_payout(id).await.map_err(|error| error.to_string())?;
            let state = story.order.state.as_str();
            if state == "completed" {
                Ok(())
            } else {
                Err(format!("{state}, {:?}", story.order.books))
            }
        })
        .await;
        assert_eq!(paid_once(&database).await, i64::from(RECIPIENTS));
        let books = gateway.explain_payout(id).await.unwrap().order.books;
        assert_eq!(books.paid.get(), u128::from(RECIPIENTS) * 1_000_000);
        let due = object["totalToSendRaw"].as_str().unwrap();
        assert_eq!((books.paid.get() + books.kept.get()).to_string(), due);
        is_told(&database, id).await;
        println!("{KILLS} kills, {interrupted} of them in the middle of the payments");
        database.remove().await;
    })
    .await;
}

/// The test's own gateway on the same database, with the processes' node.
fn in_process(database: &TestDatabase, broker: &TestBroker, node: &Anvil) -> Gateway {
    let toml = format!(
        "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\nbroker.prefix = {:?}\n\
         database_connections_max = 4\n{}",
        database.url,
        broker.url.expose_secret(),
        broker.topology.prefix(),
        node::settings(node.url())
    );
    Gateway::new(Config::from_toml(&toml).unwrap()).unwrap()
}

/// An order of the node's own coin with its money at its address; returns its id.
async fn funded_order(gateway: &Gateway, node: &Anvil) -> String {
    let orders = Orders::open(gateway).await;
    gateway.note_network_fee(Network::Polygon).await.unwrap();
    let rows = (1..=REPLACED).map(|number| row(number, evm_address(number), EACH)).collect();
    let order = orders.confirmed(gateway, &new_order(Network::Polygon, "pol", rows)).await;
    let to = order["depositAddress"].as_str();
    let call = Call { to, value: format!("{:#x}", node::due(&order)), data: "0x".into() };
    node.send(node.deployer(), &call).await.unwrap();
    for _ in 0..node::CONFIRMATIONS {
        node.mine().await.unwrap();
    }
    order["id"].as_str().unwrap().to_owned()
}

/// Waits until a query for the stored payments returns true.
async fn until_stored(database: &TestDatabase, what: &'static str, query: &'static str) {
    eventually(what, async || {
        let mut connection = database.connect().await;
        let found: bool = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found.then_some(())
    })
    .await;
}

/// The database has one version more than any node has seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_killed_between_storing_and_sending_a_higher_fee_pays_every_recipient_once() {
    let node = node::node().await;
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let more = [
            ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off"),
            ("GATEWAY_CHAINS__POLYGON__SOURCE", "node"),
            ("GATEWAY_CHAINS__POLYGON__RPC_URL", node.url()),
            ("GATEWAY_CHAINS__POLYGON__CHAIN_ID", &node::CHAIN_ID.to_string()),
            ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", &node::CONFIRMATIONS.to_string()),
            ("GATEWAY_CHAINS__POLYGON__POLL_MS", "50"),
        ];
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &in_process(&database, &broker, &node);
        let is_watched = "select exists (select from chain_cursor where watched_through is not null)";
        until_stored(&database, "the watcher's first look", is_watched).await;
        let has_rates = "select exists (select from rate)";
        until_stored(&database, "rates are there", has_rates).await;
        let id = funded_order(gateway, &node).await;
        let signer = installation.start_workers(&["payout-batch"]).await;
        let are_sent = "select count(*) = 3 from payout_payment where state = 'sent'";
        until_stored(&database, "they are sent", are_sent).await;
        signer.process.signal(Signal::Kill);
        assert_eq!(gateway.bump_order(&id).await.unwrap(), u64::from(REPLACED));
        forget_lease(&database).await;
        let fail_point = [("FAIL_POINT", "payout.replaced")];
        let victim = installation.launch("gateway-worker", &["payout-batch"], &fail_point);
        victim.process.ended(Duration::from_secs(60)).await;
        let said = victim.process.said();
        assert!(said.contains("dies at payout.replaced"), "{said}");
        let is_unsent = "select count(*) = 1 from payout_payment p where state = 'signed' and sent_at is null \
             and 2 = (select count(*) from payout_version v where v.payment_id = p.id)";
        until_stored(&database, "one version was stored and not sent", is_unsent).await;

        forget_lease(&database).await;
        let _signer = installation.start_workers(&["payout-batch"]).await;
        let are_sent_anew = "select count(*) = 3 from payout_payment p where state = 'sent' \
             and 2 <= (select count(*) from payout_version v where v.payment_id = p.id)";
        until_stored(&database, "they are sent at a higher fee", are_sent_anew).await;
        within(Duration::from_secs(60), "everybody is paid", async || {
            node.mine().await.unwrap();
            let story = gateway.explain_payout(&id).await.map_err(|error| error.to_string())?;
            let state = story.order.state.as_str();
            if state == "completed" { Ok(()) } else { Err(format!("{state}: {}", story.object)) }
        })
        .await;
        for number in 1..=REPLACED {
            assert_eq!(node.coins(&evm_address(number)).await.unwrap(), EACH, "{number}");
        }
        let story = gateway.explain_payout(&id).await.unwrap();
        let place = story.order.deposit.unwrap();
        assert_eq!(node.nonce(&place.address).await.unwrap(), u64::from(REPLACED));
        is_told(&database, &id).await;
        database.remove().await;
    })
    .await;
}
