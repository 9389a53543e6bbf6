//! The process that pays on bitcoind is killed at every step of a payment and at moments that nobody chose, while blocks
//! go on.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{
        Gateway,
        payouts::{Confirmation, NewOrder},
    },
    asset::{Network, Realm, address},
    config::Config,
    merchant::settings::Settings,
    payout::{
        FeeMode, PayoutFamily,
        recipients::{Amount, Row},
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use secrecy::ExposeSecret;
use sqlx::Connection;
use support::{
    broker::{TestBroker, with_broker},
    database::TestDatabase,
    installation::{Installation, MASTER_KEY, Program},
    processes::{Signal, within},
    regtest::{Kind, Regtest},
};

use super::{
    chain::{address, paid_since, script},
    scene::settings,
};
use crate::payout::killed::{MOMENTS, seed};

/// Three batches.
const RECIPIENTS: u32 = 450;
const KILLS: usize = 4;
const AMOUNT: u128 = 10_000;
const CONFIRMATIONS: u64 = 2;

fn order() -> NewOrder {
    let row = |number| Row {
        number,
        address: address(Network::Bitcoin, &script(Network::Bitcoin, number)),
        amount: Amount::Units(AMOUNT.to_string()),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    };
    NewOrder {
        family: PayoutFamily::Utxo,
        network: "bitcoin".into(),
        currency: "btc".into(),
        rows: (1..=RECIPIENTS).map(row).collect(),
        fee_mode: FeeMode::Sender,
        refund_address: None,
        label: None,
        metadata: None,
        callback_url: None,
        idempotency: None,
    }
}

/// The test's own hand, which knows the chain as the processes do.
fn in_process(
    database: &TestDatabase,
    broker: &TestBroker,
    node: &Regtest,
    genesis: &str,
) -> Gateway {
    let toml = format!(
        "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\nbroker.prefix = {:?}\n\
         database_connections_max = 4\n{}",
        database.url,
        broker.url.expose_secret(),
        broker.topology.prefix(),
        settings(Network::Bitcoin, node, genesis)
    );
    Gateway::new(Config::from_toml(&toml).unwrap()).unwrap()
}

/// How many were paid, and that nobody was paid twice.
async fn paid_once(node: &Regtest, began_at: u64) -> usize {
    let chain = paid_since(node.url(), began_at).await;
    let mut recipients = 0;
    for number in 1..=RECIPIENTS {
        if let Some(found) = chain.get(&script(Network::Bitcoin, number)) {
            assert_eq!(*found, (1, AMOUNT), "recipient {number}");
            recipients += 1;
        }
    }
    recipients
}

/// The lease of a dead worker is not waited for in the test, and bytes go out again at once.
async fn forget_lease(database: &TestDatabase) {
    let mut connection = database.connect().await;
    for statement in [
        "update payout_order set leased_until = null",
        "update timer set due_at = now() where kind = 'payout'",
    ] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

/// A payer dies at each named moment.
async fn kill_at_every_moment(
    installation: &Installation,
    database: &TestDatabase,
    node: &Regtest,
    began_at: u64,
) {
    for moment in MOMENTS {
        forget_lease(database).await;
        let victim =
            installation.launch("gateway-worker", &["payout-batch"], &[("FAIL_POINT", moment)]);
        victim.process.ended(Duration::from_secs(60)).await;
        let said = victim.process.said();
        assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
        paid_once(node, began_at).await;
    }
}

/// Payers die wherever they happen to be; the last one lives. How many died before everybody was paid?
async fn kill_anywhere(
    installation: &Installation,
    database: &TestDatabase,
    node: &Regtest,
    began_at: u64,
    random: &mut StdRng,
) -> (Program, usize) {
    let mut interrupted = 0;
    forget_lease(database).await;
    let mut signer = installation.start_workers(&["payout-batch"]).await;
    for _ in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(random.random_range(20..600))).await;
        signer.process.signal(Signal::Kill);
        let paid = paid_once(node, began_at).await;
        interrupted += usize::from(paid < RECIPIENTS as usize);
        forget_lease(database).await;
        signer = installation.start_workers(&["payout-batch"]).await;
    }
    (signer, interrupted)
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_killed_pays_everybody_on_bitcoin_once() {
    let mut random = StdRng::seed_from_u64(seed());
    let node = Arc::new(Regtest::start(Kind::Bitcoin).await.unwrap());
    let genesis = node.genesis().await.unwrap();
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let more = [
            ("GATEWAY_CHAINS__BITCOIN__SOURCE", "node"),
            ("GATEWAY_CHAINS__BITCOIN__RPC_URL", node.url()),
            ("GATEWAY_CHAINS__BITCOIN__GENESIS", &genesis),
            ("GATEWAY_CHAINS__BITCOIN__CONFIRMATIONS", "2"),
            ("GATEWAY_CHAINS__BITCOIN__LARGE_CONFIRMATIONS", "2"),
            ("GATEWAY_CHAINS__BITCOIN__POLL_MS", "50"),
            ("GATEWAY_CHAINS__BITCOIN__FEE_RATE", "10"),
        ];
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &in_process(&database, &broker, &node, &genesis);
        let merchant = gateway.create_merchant("Killed", Settings::default()).await.unwrap();
        let caller = gateway.admit_merchant(&merchant.api_key).await.unwrap();
        gateway.note_network_fee(Network::Bitcoin).await.unwrap();
        let (created, _) = within(Duration::from_secs(30), "rates are there", async || {
            gateway.create_payout(&caller, &order()).await.map_err(|error| error.to_string())
        })
        .await;
        let object: serde_json::Value = serde_json::from_str(&created.body).unwrap();
        let id = object["id"].as_str().unwrap();
        let confirmed = gateway.confirm_payout(merchant.id, id, &Confirmation::default()).await;
        let object: serde_json::Value = serde_json::from_str(&confirmed.unwrap()).unwrap();
        let due: u64 = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let to = object["depositAddress"].as_str().unwrap().to_owned();
        assert!(address::validate_in(Realm::Regtest, Network::Bitcoin, &to).is_ok(), "{to}");
        let began_at = node.height().await.unwrap();
        node.pay(&[(to, due)]).await.unwrap();
        node.mine(CONFIRMATIONS).await.unwrap();
        let miner = node.clone();
        let mining = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(700)).await;
                miner.mine(1).await.unwrap();
            }
        });
        kill_at_every_moment(&installation, &database, &node, began_at).await;
        let (_signer, interrupted) =
            kill_anywhere(&installation, &database, &node, began_at, &mut random).await;
        within(Duration::from_secs(180), "everybody is paid", async || {
            let story = gateway.explain_payout(id).await.map_err(|error| error.to_string())?;
            let state = story.order.state.as_str();
            if state == "completed" {
                Ok(())
            } else {
                Err(format!("{state}, {:?}", story.order.books))
            }
        })
        .await;
        mining.abort();
        assert_eq!(paid_once(&node, began_at).await, RECIPIENTS as usize);
        let books = gateway.explain_payout(id).await.unwrap().order.books;
        assert_eq!(books.paid.get(), u128::from(RECIPIENTS) * AMOUNT);
        assert_eq!(books.paid.get() + books.kept.get(), u128::from(due));
        println!("{KILLS} kills, {interrupted} of them in the middle of the payments");
        database.remove().await;
    })
    .await;
}
