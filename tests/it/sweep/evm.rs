//! Coins and tokens of an EVM network, on a real node.

use serde_json::json;
use support::fault::fired::fired;

use super::scene::{TREASURY, USDC, USDT, in_state, on_anvil, read};

const COIN: &str = "pol@polygon";
const TOKEN: &str = "usdtmatic@polygon";
const CUSTODY: &str = "custody:polygon";
const COLLECTED: &str = "treasury_custody:polygon";

#[tokio::test(flavor = "multi_thread")]
async fn coins_are_collected_at_the_treasury_and_booked_once() {
    on_anvil(|mut scene| async move {
        let before = scene.anvil().coins(TREASURY).await.unwrap();
        let mut paid = 0;
        for _ in 0..3 {
            paid += scene.paid(2_500, "pol").await.1;
        }
        scene.until_settled(3).await;
        let status = scene.collect().await;
        assert_eq!(in_state(&status, "confirmed").len(), 3, "{status}");
        assert_eq!(status["state"], "collected");

        let arrived = scene.anvil().coins(TREASURY).await.unwrap() - before;
        let signed = |units: u128| i128::try_from(units).unwrap();
        assert_eq!(scene.booked(COLLECTED, COIN).await, -signed(arrived));
        let fees = -scene.booked("treasury", COIN).await;
        assert!(fees > 0, "{fees}");
        // Gas that no transaction needed stays at the addresses.
        let left = -scene.booked(CUSTODY, COIN).await;
        assert_eq!(signed(paid), signed(arrived) + fees + left);
        assert!(left < signed(paid) / 100, "{left} of {paid}");
        scene.is_sound().await;

        // Nothing is left that is worth it, and a repeat changes nothing.
        let (again, _) = scene.plan().await;
        assert_eq!(again["plan_id"], json!(null), "{again}");
        let id = status["plan_id"].as_str().unwrap();
        scene.ctl.run(&["sweep", "send", "--id", id]).await.expect_ok();
        assert_eq!(scene.anvil().coins(TREASURY).await.unwrap() - before, arrived);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_leaves_an_address_once_it_has_gas() {
    on_anvil(|mut scene| async move {
        let (address, units) = scene.paid(2_500, "usdtmatic").await;
        scene.until_settled(1).await;
        let (planned, _) = scene.plan().await;
        assert_eq!(planned["plan_id"], json!(null));
        let reason = planned["skipped"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("no coins for gas"), "{planned}");

        // A deposit like any other: it is the merchant's, and pays for the gas.
        scene.pay(&address, 10_u128.pow(17), None).await;
        scene.mine(3).await;
        scene.until_settled(2).await;
        let status = scene.collect().await;
        let confirmed = in_state(&status, "confirmed");
        let assets: Vec<_> = confirmed.iter().map(|one| one["asset"].as_str().unwrap()).collect();
        assert_eq!(assets, [TOKEN, COIN], "{status}");
        assert_eq!(scene.anvil().tokens(USDT, TREASURY).await.unwrap(), units);
        assert_eq!(scene.booked(COLLECTED, TOKEN).await, -i128::try_from(units).unwrap());
        assert_eq!(scene.booked(CUSTODY, TOKEN).await, 0);
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usdc_leaves_an_address_without_gas_by_an_authorization() {
    on_anvil(|mut scene| async move {
        let gas_payer = scene.with_gas_payer().await;
        let (address, units) = scene.paid(2_500, "usdcmatic").await;
        let mut paid = units + scene.paid(2_500, "usdcmatic").await.1;
        scene.until_settled(2).await;
        let status = scene.collect().await;
        assert_eq!(in_state(&status, "confirmed").len(), 2, "{status}");
        // More of it at the same address leaves like the first.
        scene.pay(&address, units, Some(USDC)).await;
        paid += units;
        scene.mine(3).await;
        scene.until_settled(3).await;
        let status = scene.collect().await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        assert_eq!(scene.anvil().tokens(USDC, TREASURY).await.unwrap(), paid);
        assert_eq!(scene.booked(CUSTODY, "usdcmatic@polygon").await, 0);
        // The gas is the wallet's, to the unit.
        let left = scene.anvil().coins(&gas_payer).await.unwrap();
        let spent = i128::try_from(10_u128.pow(18) - left).unwrap();
        assert!(spent > 0);
        assert_eq!(scene.booked("sweep_gas:polygon", COIN).await, spent);
        assert_eq!(scene.booked(CUSTODY, COIN).await, 0);
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_reverts_costs_its_fee_and_is_planned_again() {
    on_anvil(|mut scene| async move {
        let (address, units) = scene.paid(2_500, "usdtmatic").await;
        scene.pay(&address, 10_u128.pow(17), None).await;
        scene.mine(3).await;
        scene.until_settled(2).await;
        let (planned, plan) = scene.plan().await;
        let signed = scene.sign(&plan).await;
        let code = scene.anvil().rpc("eth_getCode", json!([USDT, "latest"])).await.unwrap();
        // PUSH1 0, PUSH1 0, REVERT.
        scene.anvil().rpc("anvil_setCode", json!([USDT, "0x60006000fd"])).await.unwrap();
        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await;
        let status = scene.until_ended(planned["plan_id"].as_str().unwrap()).await;
        let failed = in_state(&status, "failed");
        assert_eq!((failed.len(), &failed[0]["asset"]), (1, &json!(TOKEN)), "{status}");
        assert_eq!(status["state"], "failed in part");
        assert_eq!(scene.booked(COLLECTED, TOKEN).await, 0);
        let alerts = "select count(*) from operator_alert where kind = 'sweep_failed'";
        assert_eq!(scene.count(alerts).await, 1);
        scene.anvil().rpc("anvil_setCode", json!([USDT, code])).await.unwrap();

        scene.pay(&address, 10_u128.pow(17), None).await;
        scene.mine(3).await;
        scene.until_settled(3).await;
        scene.collect().await;
        assert_eq!(scene.anvil().tokens(USDT, TREASURY).await.unwrap(), units);
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_invoice_keeps_its_coins_and_two_plans_share_none() {
    on_anvil(|mut scene| async move {
        let open = scene.invoice_of(2_500, "pol").await;
        let address = open["pay_address"].as_str().unwrap().to_owned();
        scene.pay(&address, 1_000, None).await;
        scene.mine(3).await;
        let (planned, _) = scene.plan().await;
        assert_eq!(planned["plan_id"], json!(null), "{planned}");
        scene.paid(2_500, "pol").await;
        let (first, file) = scene.plan().await;
        assert_eq!(first["transactions"].as_array().unwrap().len(), 1);
        let (second, _) = scene.plan().await;
        assert_eq!(second["plan_id"], json!(null), "the coins are taken: {second}");

        let id = first["plan_id"].as_str().unwrap();
        scene.ctl.run(&["sweep", "drop", id]).await.expect_ok();
        let (third, _) = scene.plan().await;
        assert_eq!(third["transactions"].as_array().unwrap().len(), 1);
        fired(1);
        // A plan that was given up is sent no more, signed or not.
        let signed = scene.sign(&file).await;
        scene.ctl.run(&["sweep", "send", &signed]).await.expect_failure("was dropped");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_plan_is_signed_to_the_same_bytes() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let (_, plan) = scene.plan().await;
        let [one, two] = [scene.sign(&plan).await, scene.sign(&plan).await];
        assert_eq!(read(&one), read(&two));
        assert!(!read(&plan).contains("junk") && !read(&one).contains("junk"));
    })
    .await;
}
