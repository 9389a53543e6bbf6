//! The role is killed between every two steps of a settlement.

use std::time::Duration;

use gateway::asset::Network;
use serde_json::{Value, json};
use sqlx::PgConnection;
use support::{
    client::Client,
    fault::fired::fired,
    node::anvil::{Anvil, Call, address_word, call_data, word},
    server::{
        broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
    },
    shop::payouts::told,
};

use super::scene::{self, CENT, Payer, USDC, body, domain};

const MOMENTS: [&str; 7] = [
    "x402.signing",
    "x402.signed",
    "x402.sending",
    "x402.sent",
    "x402.answered",
    "x402.ending",
    "x402.ended",
];

/// Settings of programs that follow Polygon alone, on that node.
fn settings(url: &str) -> Vec<(String, String)> {
    let mut settings: Vec<_> = [
        ("GATEWAY_X402__ENABLED", "true"),
        ("GATEWAY_X402__SETTLE_WAIT_SECONDS", "4"),
        ("GATEWAY_CHAINS__POLYGON__SOURCE", "node"),
        ("GATEWAY_CHAINS__POLYGON__RPC_URL", url),
        ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", "2"),
        ("GATEWAY_CHAINS__POLYGON__POLL_MS", "50"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let others = Network::ALL.into_iter().filter(|network| *network != Network::Polygon);
    settings.extend(others.map(|network| {
        let name = format!("GATEWAY_CHAINS__{}__SOURCE", network.name().to_uppercase());
        (name, "off".to_owned())
    }));
    settings
}

/// Gives the payer enough for all payments, and the wallet coins for their gas.
async fn fund(anvil: &Anvil, payer: &Payer, gas: &str) {
    anvil.set_coins(gas, 10_u128.pow(18)).await.unwrap();
    let words = [address_word(&payer.address), word(&format!("{:x}", 20 * CENT))];
    let data = call_data("transfer(address,uint256)", &words);
    let call = Call { to: Some(USDC), value: "0x0".into(), data };
    anvil.send(anvil.deployer(), &call).await.unwrap();
    anvil.mine().await.unwrap();
}

/// Starts a role that is killed at `moment`, hands the payment in, and waits for the death.
async fn killed_at(
    moment: &str,
    installation: &Installation,
    anvil: &Anvil,
    (client, request): (&Client, &Value),
) {
    let victim =
        installation.launch("gateway-worker", &["x402-settlement"], &[("FAIL_POINT", moment)]);
    let settling = async {
        let answer = client.post("/v1/x402/settle", request).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    };
    let mining = async {
        // Blocks come all the while, so that the end is reached as well.
        while victim.process.is_alive() {
            anvil.mine().await.unwrap();
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
    };
    let died = async { tokio::join!(settling, mining) };
    tokio::time::timeout(Duration::from_secs(60), died)
        .await
        .unwrap_or_else(|_| panic!("it was not killed at {moment}: {}", victim.process.said()));
    assert!(victim.process.said().contains(&format!("dies at {moment}")));
    fired(1);
}

/// Mines until so many settlements are settled.
async fn until_settled(anvil: &Anvil, connection: &mut PgConnection, count: i64, moment: &str) {
    within(Duration::from_secs(60), "it is settled", async || {
        anvil.mine().await.unwrap();
        let settled: i64 =
            sqlx::query_scalar("select count(*) from x402_settlement where state = 'settled'")
                .fetch_one(&mut *connection)
                .await
                .unwrap();
        if settled == count { Ok(()) } else { Err(format!("{moment}: {settled}")) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_killed_at_any_step_settles_every_payment_once() {
    let anvil = scene::node().await;
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let more = settings(anvil.url());
        let more: Vec<_> =
            more.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let installation = Installation::new(&database.url, &(&*broker).into(), &more);
        let _others = installation
            .start_workers(&["deposit-matching", "chain-watcher", "rate-refresher"])
            .await;
        let _api = installation.start_api().await;
        let merchant = installation.gateway.create_merchant("Killed", told()).await.unwrap();
        let client: Client = installation.client(merchant.api_key.reveal());
        let gas = installation.gateway.x402_gas_address().unwrap();
        let payer = Payer::new(7);
        fund(&anvil, &payer, &gas).await;
        let fields =
            json!({ "url": "https://api.example/a", "price_amount": "0.01", "networks": ["polygon"] });
        let created = client.post("/v1/x402/resources", &fields).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let accepts: Value = created.json()["accepts"][0].clone();

        let mut connection = database.connect().await;
        for (moment, count) in MOMENTS.into_iter().zip(1_u8..) {
            let authorization = authorization(&payer, &accepts, count);
            let request = body(&accepts, &authorization, &payer.sign(&domain(), &authorization));
            killed_at(moment, &installation, &anvil, (&client, &request)).await;
            let role = installation.start_workers(&["x402-settlement"]).await;
            until_settled(&anvil, &mut connection, i64::from(count), moment).await;
            drop(role);
            // Paid once, whatever was sent how often.
            let left = (20 - u128::from(count)) * CENT;
            assert_eq!(anvil.balance_of(USDC, &payer.address).await.unwrap(), left, "{moment}");
            assert_eq!(anvil.nonce(&gas).await.unwrap(), u64::from(count));
        }
        drop(connection);
        database.remove().await;
    })
    .await;
}

fn authorization(
    payer: &Payer,
    accepts: &Value,
    n: u8,
) -> gateway::x402::authorization::Authorization {
    let bytes = |text: &str| gateway::payout::transfer::address_bytes(text).unwrap();
    gateway::x402::authorization::Authorization {
        from: bytes(&payer.address),
        to: bytes(accepts["payTo"].as_str().unwrap()),
        value: CENT.into(),
        valid_after: 0_u64.into(),
        // In 2096.
        valid_before: 4_000_000_000_u64.into(),
        nonce: u128::from(n).into(),
    }
}
