//! What keeps a settlement unsigned, whom it keeps waiting, and for how long.

use gateway::{
    app::x402::GasWallet,
    asset::{Fiat, Network, catalogue::Catalogue},
    x402::{authorization::Authorization, call, check::Signer},
};
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};
use support::server::stack::Merchant;

use super::scene::{CENT, Payer, Scene, USDC, body, domain, with_scene, with_scene_set};

const LIMIT_ALERTS: &str = "select count(*) from operator_alert where kind = 'x402_gas_limit'";
const UNSIGNED: &str = "select count(*) from x402_settlement where sender is null";
const SIGNED: &str = "select count(*) from x402_settlement where sender is not null";

fn of_nonce(nonce: u8, what: &str) -> String {
    format!(
        "select count(*) from x402_settlement where nonce = decode('{nonce:064x}', 'hex') and {what}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_limit_of_an_hour_nothing_is_signed_and_an_alert_says_so() {
    with_scene_set(&[("gas_hour_usd_max = 10000", "gas_hour_usd_max = 0")], |scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let waits = scene.settle(&request).await;
        assert_eq!(waits["errorReason"], "unexpected_settle_error", "{waits}");
        scene.until("an alert is raised", LIMIT_ALERTS, 1).await;
        assert_eq!(scene.number(UNSIGNED).await, 1);
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
        // Nobody waits for ever: after ten minutes it has failed, though it is valid for longer.
        scene.stack.sql("update x402_settlement set created_at = now() - interval '9 minutes'").await;
        assert_eq!(scene.number(&of_nonce(1, "state = 'verified'")).await, 1);
        scene.stack.sql("update x402_settlement set created_at = now() - interval '10 minutes'").await;
        let told = "state = 'failed' and reason = 'unexpected_settle_error' and message like '%ten minutes%'";
        scene.until("it has failed", &of_nonce(1, told), 1).await;
        let failed = scene.settle(&request).await;
        assert_eq!((&failed["success"], &failed["transaction"]), (&json!(false), &json!("")));
        assert_eq!(scene.tokens(&payer.address).await, CENT);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_wallet_alerts_and_goes_on_when_it_is_filled() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        scene.anvil.set_coins(&scene.gas, 0).await.unwrap();
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        let waits = scene.settle(&request).await;
        assert_eq!(waits["errorReason"], "unexpected_settle_error", "{waits}");
        let alerts = "select count(*) from operator_alert where kind = 'x402_gas_empty' and subject = 'polygon'";
        scene.until("an alert is raised", alerts, 1).await;
        assert_eq!(scene.number(UNSIGNED).await, 1);
        scene.anvil.set_coins(&scene.gas, 10_u128.pow(18)).await.unwrap();
        assert_eq!(scene.settle(&request).await["success"], true);
        assert_eq!(scene.number(alerts).await, 0);
    })
    .await;
}

/// Another seller's resource for a cent.
async fn resource_of(merchant: &Merchant) -> Value {
    let body = json!({
        "url": "https://api.example/news", "description": "News", "price_amount": "0.01",
        "networks": ["polygon"],
    });
    let created = merchant.client.post("/v1/x402/resources", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()
}

/// His first payment is said to have cost half of the hour's limit, which is 10,000 USD.
#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_who_has_used_his_half_keeps_no_other_waiting() {
    with_scene(|scene| async move {
        let (own, other) = (scene.resource().await, scene.stack.merchant().await);
        let others = resource_of(&other).await;
        let payer = scene.payer(7, 9 * CENT).await;
        let first = scene.request(&payer, &own["accepts"][0], 1).await;
        assert_eq!(scene.settle(&first).await["success"], true);
        scene.stack.sql("update x402_settlement set gas_usd = 5000").await;
        // More than there is room for at a time.
        for nonce in 2..=19_u8 {
            let request =
                scene.request(&Payer::new(nonce + 20), &own["accepts"][0], nonce.into()).await;
            scene.give(&Payer::new(nonce + 20).address, CENT).await;
            scene.hand_in(&scene.merchant, &request).await;
        }
        let request = scene.request(&payer, &others["accepts"][0], 20).await;
        scene.hand_in(&other, &request).await;
        let is_signed = of_nonce(20, "sender is not null");
        scene.until("the other's is signed", &is_signed, 1).await;
        assert_eq!((scene.number(SIGNED).await, scene.number(LIMIT_ALERTS).await), (2, 1));
        scene.stack.sql("update x402_settlement set gas_usd = 0.01 where gas_usd = 5000").await;
        scene.until("all are signed", UNSIGNED, 0).await;
    })
    .await;
}

/// A wallet that is a contract: it answers yes to every question, after so many rounds of nothing.
/// `PUSH2 rounds; JUMPDEST; PUSH1 1; SWAP1; SUB; DUP1; PUSH1 3; JUMPI`, and the word of EIP-1271.
fn slow_wallet(rounds: u16) -> String {
    format!("0x61{rounds:04x}5b600190038060035750631626ba7e60e01b60005260206000f3")
}

/// Its gas alone costs more than a transaction may; the payment behind it costs less.
#[tokio::test(flavor = "multi_thread")]
async fn one_dear_payment_keeps_no_other_waiting() {
    let changes = [
        ("gas_transaction_usd_max = 1000", "gas_transaction_usd_max = 1"),
        ("poll_ms = 50", "poll_ms = 50\nfee_rate_max = 1000000000000000"),
    ];
    with_scene_set(&changes, |scene| async move {
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let (slow, cheap) = (Payer::new(8), scene.payer(7, 2 * CENT).await);
        scene.give(&slow.address, 2 * CENT).await;
        let code = json!([slow.address, slow_wallet(2_000)]);
        scene.anvil.rpc("anvil_setCode", code).await.unwrap();
        scene.anvil.set_coins(&scene.gas, 10_u128.pow(24)).await.unwrap();
        let of_slow = scene.authorization(&slow, accepts, 1).await;
        let of_cheap = scene.authorization(&cheap, accepts, 2).await;
        let (signature, of_key) = ("07".repeat(70), cheap.sign(&domain(), &of_cheap));
        let dear = scene.gas_of(&of_slow, &signature, Signer::Contract).await;
        let less = scene.gas_of(&of_cheap, &of_key[2..], Signer::Key).await;
        assert!(dear > less + less / 4, "{dear} {less}");
        scene.ask_a_dollar_for((dear + less) / 2).await;

        let request = body(accepts, &of_slow, &format!("0x{signature}"));
        scene.hand_in(&scene.merchant, &request).await;
        scene.until_without_a_block("an alert is raised", LIMIT_ALERTS, 1).await;
        scene.hand_in(&scene.merchant, &body(accepts, &of_cheap, &of_key)).await;
        let is_signed = of_nonce(2, "sender is not null");
        scene.until_without_a_block("the cheap one is signed", &is_signed, 1).await;
        assert_eq!(scene.number(&of_nonce(1, "state = 'verified'")).await, 1);
    })
    .await;
}

impl Scene {
    /// Gas of a settlement, as the role takes it from the node's estimate.
    async fn gas_of(&self, authorization: &Authorization, signature: &str, signer: Signer) -> u128 {
        let bytes = hex::decode(signature).unwrap();
        let data = hex::encode(call::data(authorization, &bytes, signer));
        let ask = json!([{ "from": self.gas, "to": USDC, "data": format!("0x{data}") }]);
        let told = self.anvil.rpc("eth_estimateGas", ask).await.unwrap();
        let digits = told.as_str().unwrap().trim_start_matches("0x");
        u128::from_str_radix(digits, 16).unwrap() * 120 / 100
    }

    /// Makes so much gas cost about a dollar, until the next block.
    async fn ask_a_dollar_for(&self, gas: u128) {
        let market = self.stack.gateway.market().await.unwrap();
        let coin = Catalogue::get().native(Network::Polygon);
        let price = market.fresh_rate(coin.symbol, Fiat::Usd).unwrap().price;
        let dollar = (rust_decimal::Decimal::from(10_u64.pow(18)) / price).to_u128().unwrap();
        // Twice the base fee is offered, and an empty block lowers it by an eighth.
        let base = dollar / gas / 2 * 8 / 7;
        let base = json!([format!("{base:#x}")]);
        self.anvil.rpc("anvil_setNextBlockBaseFeePerGas", base).await.unwrap();
        self.anvil.mine().await.unwrap();
    }
}

/// A settlement that waits for a block, as one that nothing was heard of for long, and the first
/// one, whose gas is said to have cost all of the hour's limit.
async fn stuck(scene: &Scene) {
    let resource = scene.resource().await;
    let payer = scene.payer(7, 2 * CENT).await;
    let first = scene.request(&payer, &resource["accepts"][0], 1).await;
    assert_eq!(scene.settle(&first).await["success"], true);
    scene.until("it is final", &of_nonce(1, "state = 'settled'"), 1).await;
    let second = scene.request(&payer, &resource["accepts"][0], 2).await;
    scene.hand_in(&scene.merchant, &second).await;
    let is_sent = of_nonce(2, "sent_at is not null");
    scene.until_without_a_block("it is sent", &is_sent, 1).await;
}

const LONG_AGO: &str =
    "update x402_settlement set sent_at = now() - interval '1 hour' where state = 'submitted'";

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_offered_beyond_a_limit() {
    with_scene(|scene| async move {
        stuck(&scene).await;
        let of_first = "update x402_settlement set gas_usd = 10000 where state = 'settled'";
        scene.stack.sql(of_first).await;
        scene.stack.sql(LONG_AGO).await;
        let alert = "select count(*) from operator_alert where kind = 'x402_gas_limit' and subject = \
             (select id::text from x402_settlement where state = 'submitted')";
        scene.until_without_a_block("an alert is raised", alert, 1).await;
        let versions = "select count(*) from x402_version v join x402_settlement s on s.id = v.settlement_id \
             where s.state = 'submitted'";
        assert_eq!(scene.number(versions).await, 1);
        let there_is_room = "update x402_settlement set gas_usd = 0.01 where state = 'settled'";
        scene.stack.sql(there_is_room).await;
        scene.until_without_a_block("it offers more", versions, 2).await;
        assert_eq!(scene.number(LIMIT_ALERTS).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_offered_while_the_switch_is_thrown() {
    with_scene(|scene| async move {
        stuck(&scene).await;
        scene.stack.sql("insert into payout_stop (network, reason) values ('x402', 'a test')").await;
        scene.stack.sql(LONG_AGO).await;
        // Another process of the role, which has looked at nothing yet.
        let role = scene.stack.sibling("");
        let wallet = GasWallet::open(&role).unwrap();
        let versions = "select count(*) from x402_version v join x402_settlement s on s.id = v.settlement_id \
             where s.state = 'submitted'";
        role.step_x402(Network::Polygon, &wallet).await.unwrap();
        assert_eq!(scene.number(versions).await, 1);
        scene.stack.sql("delete from payout_stop where network = 'x402'").await;
        scene.until_without_a_block("it offers more", versions, 2).await;
        role.db.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_signed_for_a_suspended_merchant() {
    with_scene(|scene| async move {
        let resource = scene.resource().await;
        let payer = scene.payer(7, CENT).await;
        scene
            .stack
            .sql("insert into payout_stop (network, reason) values ('x402', 'a test')")
            .await;
        let request = scene.request(&payer, &resource["accepts"][0], 1).await;
        scene.hand_in(&scene.merchant, &request).await;
        scene.stack.sql("update merchant set suspended_at = now()").await;
        scene.stack.sql("delete from payout_stop where network = 'x402'").await;
        let told = "state = 'failed' and sender is null and message = 'the seller is suspended'";
        scene.until("it has failed", &of_nonce(1, told), 1).await;
        assert_eq!(scene.anvil.nonce(&scene.gas).await.unwrap(), 0);
        assert_eq!(scene.tokens(&payer.address).await, CENT);
    })
    .await;
}
