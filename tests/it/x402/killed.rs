//! The role is killed between every two steps of a settlement.

use std::time::Duration;

use gateway::asset::Network;
use serde_json::{Value, json};
use support::{
    client::Client,
    fault::fired::fired,
    node::anvil::{address_word, call_data, word},
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

#[tokio::test(flavor = "multi_thread")]
async fn a_role_killed_at_any_step_settles_every_payment_once() {
    let anvil = scene::node().await;
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let mut more = vec![
            ("GATEWAY_X402__ENABLED".to_owned(), "true".to_owned()),
            ("GATEWAY_X402__SETTLE_WAIT_SECONDS".to_owned(), "4".to_owned()),
            ("GATEWAY_CHAINS__POLYGON__SOURCE".to_owned(), "node".to_owned()),
            ("GATEWAY_CHAINS__POLYGON__RPC_URL".to_owned(), anvil.url().to_owned()),
            ("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS".to_owned(), "2".to_owned()),
            ("GATEWAY_CHAINS__POLYGON__POLL_MS".to_owned(), "50".to_owned()),
        ];
        for network in Network::ALL.into_iter().filter(|network| *network != Network::Polygon) {
            let name = format!("GATEWAY_CHAINS__{}__SOURCE", network.name().to_uppercase());
            more.push((name, "off".to_owned()));
        }
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
        anvil.set_coins(&gas, 10_u128.pow(18)).await.unwrap();
        let fields =
            json!({ "url": "https://api.example/a", "price_amount": "0.01", "networks": ["polygon"] });
        let created = client.post("/v1/x402/resources", &fields).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let accepts: Value = created.json()["accepts"][0].clone();
        let payer = Payer::new(7);
        let words = [address_word(&payer.address), word(&format!("{:x}", 20 * CENT))];
        let data = call_data("transfer(address,uint256)", &words);
        let call = support::node::anvil::Call { to: Some(USDC), value: "0x0".into(), data };
        anvil.send(anvil.deployer(), &call).await.unwrap();
        anvil.mine().await.unwrap();

        let mut connection = database.connect().await;
        for (n, moment) in MOMENTS.into_iter().enumerate() {
            let authorization = authorization(&payer, &accepts, n);
            let request = body(&accepts, &authorization, &payer.sign(&domain(), &authorization));
            let victim = installation.launch(
                "gateway-worker",
                &["x402-settlement"],
                &[("FAIL_POINT", moment)],
            );
            let settling = async {
                let answer = client.post("/v1/x402/settle", &request).await;
                assert_eq!(answer.status, 200, "{}", answer.body);
            };
            let mining = async {
                // Blocks come all the while, so that the end is reached as well.
                while victim.process.is_alive() {
                    anvil.mine().await.unwrap();
                    tokio::time::sleep(Duration::from_millis(600)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), async { tokio::join!(settling, mining) })
                .await
                .unwrap_or_else(|_| {
                    panic!("it was not killed at {moment}: {}", victim.process.said())
                });
            assert!(victim.process.said().contains(&format!("dies at {moment}")));
            fired(1);
            let role = installation.start_workers(&["x402-settlement"]).await;
            let (settled, _) = within(Duration::from_secs(60), "it is settled", async || {
                anvil.mine().await.unwrap();
                let settled: i64 = sqlx::query_scalar(
                    "select count(*) from x402_settlement where state = 'settled'",
                )
                .fetch_one(&mut connection)
                .await
                .unwrap();
                if settled == i64::try_from(n + 1).unwrap() {
                    Ok(settled)
                } else {
                    Err(format!("{moment}: {settled}"))
                }
            })
            .await;
            assert_eq!(settled, i64::try_from(n + 1).unwrap());
            drop(role);
            // Paid once, whatever was sent how often.
            let left = 20 * CENT - u128::try_from(n + 1).unwrap() * CENT;
            assert_eq!(anvil.tokens(USDC, &payer.address).await.unwrap(), left, "{moment}");
            assert_eq!(anvil.nonce(&gas).await.unwrap(), u64::try_from(n + 1).unwrap());
        }
        drop(connection);
        database.remove().await;
    })
    .await;
}

fn authorization(
    payer: &Payer,
    accepts: &Value,
    n: usize,
) -> gateway::x402::authorization::Authorization {
    let bytes = |text: &str| gateway::payout::transfer::address_bytes(text).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    gateway::x402::authorization::Authorization {
        from: bytes(&payer.address),
        to: bytes(accepts["payTo"].as_str().unwrap()),
        value: CENT.into(),
        valid_after: 0_u64.into(),
        valid_before: (now + 3_000).into(),
        nonce: u128::try_from(n + 1).unwrap().into(),
    }
}
