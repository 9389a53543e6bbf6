//! The process that pays on a real node is killed at every step of a payment and at random moments,
//! while blocks are mined.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{
        Gateway,
        payout::{Confirmation, NewOrder},
    },
    asset::{Catalogue, Network, Realm, address},
    config::Config,
    payout::{
        FeeMode, PayoutFamily,
        recipients::{Amount, Row},
    },
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use secrecy::ExposeSecret;
use sqlx::Connection;
use support::{
    fault::fired::died_at,
    node::regtest::Regtest,
    seed::seed,
    server::{
        broker::{TestBroker, with_broker},
        database::TestDatabase,
        installation::{Installation, MASTER_KEY, Program},
        processes::{Signal, within},
    },
    shop::{payout_events, payouts::told},
};

use super::{
    chain::{address, paid_since, script},
    scene::{kind_of, settings},
};
use crate::payout::killed::MOMENTS;

/// Three batches.
const RECIPIENTS: u32 = 450;
const KILLS: usize = 4;
pub const AMOUNT: u128 = 10_000;
pub const CONFIRMATIONS: u64 = 2;

fn order(network: Network, recipients: u32, refund: Option<&str>) -> NewOrder {
    let row = |number| Row {
        number,
        address: address(network, &script(network, number)),
        amount: Amount::Units(AMOUNT.to_string()),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    };
    NewOrder {
        family: PayoutFamily::Utxo,
        network: network.name().into(),
        currency: Catalogue::get().native(network).code.into(),
        rows: (1..=recipients).map(row).collect(),
        fee_mode: FeeMode::Sender,
        refund_address: refund.map(str::to_owned),
        label: None,
        metadata: None,
        callback_url: None,
        idempotency: None,
        withdrawal: None,
    }
}

/// The test's own gateway, with the processes' chain.
pub fn in_process(
    database: &TestDatabase,
    broker: &TestBroker,
    (network, node, genesis): (Network, &Regtest, &str),
) -> Gateway {
    let toml = format!(
        "database_url = {:?}\namqp_url = {:?}\nmaster_key = {MASTER_KEY:?}\nbroker.prefix = {:?}\n\
         database_connections_max = 4\n{}",
        database.url,
        broker.url.expose_secret(),
        broker.topology.prefix(),
        settings(network, node, genesis)
    );
    Gateway::new(Config::from_toml(&toml).unwrap()).unwrap()
}

/// Environment of the processes for the same chain.
pub fn environment(network: Network, node: &Regtest, genesis: &str) -> Vec<(String, String)> {
    let settings = [
        ("SOURCE", "node"),
        ("RPC_URL", node.url()),
        ("GENESIS", genesis),
        ("CONFIRMATIONS", "2"),
        ("LARGE_CONFIRMATIONS", "2"),
        ("POLL_MS", "50"),
        ("FEE_RATE", "10"),
    ];
    let network = network.name().to_uppercase();
    let named = |(name, value)| (format!("GATEWAY_CHAINS__{network}__{name}"), String::from(value));
    settings.map(named).to_vec()
}

/// Setting in which payers are killed, and checks of the chain meanwhile.
pub struct Place<'a> {
    pub installation: Installation,
    pub database: &'a TestDatabase,
    pub node: &'a Regtest,
    pub network: Network,
    pub recipients: u32,
    /// The chain's height before anything was paid.
    pub began_at: u64,
}

impl Place<'_> {
    /// Number of paid recipients, after checking that none was paid twice.
    pub async fn paid_once(&self) -> usize {
        let chain = paid_since(self.node.url(), self.began_at).await;
        let mut recipients = 0;
        for number in 1..=self.recipients {
            if let Some(found) = chain.get(&script(self.network, number)) {
                assert_eq!(*found, (1, AMOUNT), "recipient {number}");
                recipients += 1;
            }
        }
        recipients
    }

    /// The merchant got the same events as without a crash.
    pub async fn is_told(&self, id: &str) {
        let mut connection = self.database.connect().await;
        payout_events::are_legal(&mut connection, id, "killed").await;
        connection.close().await.unwrap();
    }

    /// Ends the lease of a dead worker instead of waiting for it, and makes bytes due to be sent
    /// again at once.
    pub async fn forget_lease(&self) {
        let mut connection = self.database.connect().await;
        for statement in [
            "update payout_order set leased_until = null",
            "update timer set due_at = now() where kind = 'payout'",
        ] {
            sqlx::query(statement).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
    }

    /// A payer is killed at the named moment.
    pub async fn kill_at(&self, moment: &str) {
        self.forget_lease().await;
        let fail_point = [("FAIL_POINT", moment)];
        let victim = self.installation.launch("gateway-worker", &["payout-batch"], &fail_point);
        victim.process.ended(Duration::from_secs(60)).await;
        let said = victim.process.said();
        assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
        died_at(moment);
        self.paid_once().await;
    }

    async fn kill_at_every_moment(&self) {
        for moment in MOMENTS {
            self.kill_at(moment).await;
        }
    }

    /// Payers are killed at random moments; the last one lives. Returns the number killed before
    /// every recipient was paid.
    async fn kill_anywhere(&self, random: &mut StdRng) -> (Program, usize) {
        let mut interrupted = 0;
        self.forget_lease().await;
        let mut signer = self.installation.begin_workers(&["payout-batch"]).await;
        for _ in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(random.random_range(20..600))).await;
            signer.process.signal(Signal::Kill);
            interrupted += usize::from(self.paid_once().await < self.recipients as usize);
            self.forget_lease().await;
            signer = self.installation.begin_workers(&["payout-batch"]).await;
        }
        (signer, interrupted)
    }
}

/// A confirmed order of this many recipients: its id, its address, and its amount due.
pub async fn confirmed_order(
    gateway: &Gateway,
    network: Network,
    recipients: u32,
    refund: Option<&str>,
) -> (String, String, u64) {
    let merchant = gateway.create_merchant("Killed", told()).await.unwrap();
    gateway.note_network_fee(network).await.unwrap();
    let wanted = order(network, recipients, refund);
    let (created, _) = within(Duration::from_secs(90), "rates are there", async || {
        gateway.create_payout(merchant.id, &wanted).await.map_err(|error| error.to_string())
    })
    .await;
    let object: serde_json::Value = serde_json::from_str(&created.body).unwrap();
    let id = object["id"].as_str().unwrap();
    let confirmed = gateway.confirm_payout(merchant.id, id, &Confirmation::default()).await;
    let object: serde_json::Value = serde_json::from_str(&confirmed.unwrap()).unwrap();
    let due = object["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    let to = object["depositAddress"].as_str().unwrap().to_owned();
    assert!(address::validate_in(Realm::Regtest, network, &to).is_ok(), "{to}");
    (id.to_owned(), to, due)
}

async fn pays_everybody_once(network: Network) {
    let mut random = StdRng::seed_from_u64(seed());
    let node = Arc::new(Regtest::start(kind_of(network)).await.unwrap());
    let genesis = node.genesis().await.unwrap();
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let more = environment(network, &node, &genesis);
        let more: Vec<_> = more.iter().map(|(name, value)| (&**name, &**value)).collect();
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &in_process(&database, &broker, (network, &node, &genesis));
        let (id, to, due) = confirmed_order(gateway, network, RECIPIENTS, None).await;
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
        let (database, node, recipients) = (&database, &*node, RECIPIENTS);
        let place = Place { installation, database, node, network, recipients, began_at };
        place.kill_at_every_moment().await;
        let (_signer, interrupted) = place.kill_anywhere(&mut random).await;
        within(Duration::from_secs(180), "everybody is paid", async || {
            let story = gateway.explain_payout(&id).await.map_err(|error| error.to_string())?;
            let state = story.order.state.as_str();
            if state == "completed" {
                Ok(())
            } else {
                Err(format!("{state}, {:?}", story.order.books))
            }
        })
        .await;
        mining.abort();
        assert_eq!(place.paid_once().await, RECIPIENTS as usize);
        let books = gateway.explain_payout(&id).await.unwrap().order.books;
        assert_eq!(books.paid.get(), u128::from(RECIPIENTS) * AMOUNT);
        assert_eq!(books.paid.get() + books.kept.get(), u128::from(due));
        place.is_told(&id).await;
        println!("{KILLS} kills, {interrupted} of them in the middle of the payments");
        database.remove().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_killed_at_any_step_pays_every_bitcoin_recipient_once() {
    pays_everybody_once(Network::Bitcoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_killed_at_any_step_pays_every_litecoin_recipient_once() {
    pays_everybody_once(Network::Litecoin).await;
}
