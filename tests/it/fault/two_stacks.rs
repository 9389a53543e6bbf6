//! A sandbox and a production side by side know nothing of each other.

use gateway::broker::topology::{Timing, Topology};
use support::{
    client::Client,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        processes::{Launch, Process, program},
    },
    shop::trade::Shop,
};

/// Production settings that need no node: every network but none is off.
const PRODUCTION: [(&str, &str); 7] = [
    ("GATEWAY_PROFILE", "production"),
    ("GATEWAY_RATES__PROVIDERS", "kraken"),
    ("GATEWAY_EGRESS__ALLOW_PRIVATE", "false"),
    ("GATEWAY_CHAINS__POLYGON__SOURCE", "off"),
    ("GATEWAY_CHAINS__LITECOIN__SOURCE", "off"),
    // It takes no pauses but those of the specification.
    ("GATEWAY_BROKER__IPN_WAIT_MS", "30000"),
    ("GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS", "60000"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_one_stack_is_unknown_to_the_other_and_no_queue_is_shared() {
    let (sandbox_db, production_db) = (TestDatabase::create().await, TestDatabase::create().await);
    with_broker(|broker| async move {
        let access = (&*broker).into();
        let sandbox = Installation::new(&sandbox_db.url, &access, &[]);
        let mut other = access.clone();
        let prefix = format!("{}-p", access.topology.prefix());
        other.topology = Topology::new(&prefix, Timing::default()).unwrap();
        broker.management.apply(&other.topology).await.unwrap();
        // A separate password, though this server requires none.
        let url = with_password(&production_db.url);
        let production = Installation::new(&url, &other, &PRODUCTION);
        let (_a, _b) = sandbox.start().await;
        let (_c, _d) =
            (production.start_api().await, production.start_workers(&["ipn-delivery"]).await);

        let key = |installation| async move {
            let shop = Shop::open(installation, 1).await;
            shop.key().to_owned()
        };
        let (key_of_sandbox, key_of_production) = (key(&sandbox).await, key(&production).await);
        for (installation, own, foreign) in [
            (&sandbox, &key_of_sandbox, &key_of_production),
            (&production, &key_of_production, &key_of_sandbox),
        ] {
            let client = |key: &str| Client::new(installation.api).with_key(key);
            assert_eq!(client(own).get("/v1/payment").await.status, 200);
            client(foreign).get("/v1/payment").await.expect_error(401, "API_KEY_NOT_FOUND");
        }
        let shop = Shop::open(&sandbox, 5).await;
        let orders = shop.create(&sandbox, 5).await;
        shop.pay(&sandbox, &orders).await;
        shop.converge(&sandbox, &orders, std::time::Duration::from_secs(60)).await;
        let counts = broker.management.queue_counts(&other.topology).await.unwrap();
        assert!(counts.values().all(|counts| counts.total == 0), "{counts:?}");
        for database in [sandbox_db, production_db] {
            database.remove().await;
        }
    })
    .await;
}

fn with_password(url: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    if url.password().is_none_or(|password| password == "postgres") {
        url.set_password(Some("3b9c0a71")).unwrap();
    }
    url.to_string()
}

#[tokio::test]
async fn a_production_has_no_simulated_chain_to_pay_on() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let url = with_password(&database.url);
        let installation = Installation::new(&url, &(&*broker).into(), &PRODUCTION);
        let mut environment = installation.settings().to_vec();
        environment.retain(|(name, _)| name != "RUST_LOG");
        let arguments = ["simulate", "mine", "--network", "polygon"];
        let command = Process::start(&Launch {
            name: "gatewayctl".to_owned(),
            program: program("gatewayctl"),
            arguments: arguments.map(ToOwned::to_owned).to_vec(),
            environment,
            owner: None,
        });
        command.ended(std::time::Duration::from_secs(20)).await;
        let said = command.output();
        assert!(said.contains("polygon is not simulated in this stack"), "{said}");
        database.remove().await;
    })
    .await;
}
