//! Coins and tokens of an EVM network, on a real node.

use serde_json::{Value, json};
use support::{fault::fired::fired, node::anvil::Call};

use super::scene::{Scene, TREASURY, USDC, USDT, in_state, of_another_seed, on_anvil, read};

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
        let stays = scene.paid(5_000, "usdtmatic").await.1;
        let (address, units) = scene.paid(2_500, "usdtmatic").await;
        scene.until_settled(2).await;
        let (planned, _) = scene.plan().await;
        assert_eq!(planned["plan_id"], json!(null));
        let reason = planned["skipped"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("no coins for gas"), "{planned}");

        // A deposit like any other: it is the merchant's, and pays for the gas.
        scene.pay(&address, 10_u128.pow(17), None).await;
        scene.mine(3).await;
        scene.until_settled(3).await;
        // The larger amount, which stays, takes no room in the plan.
        let (planned, _) = scene.plan_with(&["--limit", "1"]).await;
        assert_eq!(planned["transactions"].as_array().map(Vec::len), Some(2), "{planned}");
        scene.ctl.run(&["sweep", "drop", planned["plan_id"].as_str().unwrap()]).await.expect_ok();
        let status = scene.collect().await;
        let confirmed = in_state(&status, "confirmed");
        let assets: Vec<_> = confirmed.iter().map(|one| one["asset"].as_str().unwrap()).collect();
        assert_eq!(assets, [TOKEN, COIN], "{status}");
        assert_eq!(scene.anvil().tokens(USDT, TREASURY).await.unwrap(), units);
        assert_eq!(scene.booked(COLLECTED, TOKEN).await, -i128::try_from(units).unwrap());
        assert_eq!(scene.booked(CUSTODY, TOKEN).await, -i128::try_from(stays).unwrap());
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

/// Sends the call of a signed file's only transaction from somebody else's account.
async fn carried_out_by_a_stranger(scene: &mut Scene, signed: &str) {
    let file: Value = serde_json::from_str(&read(signed)).unwrap();
    let raw = hex::decode(file["transactions"][0]["raw"].as_str().unwrap()).unwrap();
    let data = gateway::payout::eip1559::read_signed(&raw).unwrap().transaction.data;
    let data = format!("0x{}", hex::encode(data));
    let stranger = scene.anvil().next_account();
    let call = Call { to: Some(USDC), value: "0x0".to_owned(), data };
    let hash = scene.anvil().send(&stranger, &call).await.unwrap();
    scene.mine(1).await;
    let receipt = scene.anvil().receipt(&hash).await.unwrap();
    assert_eq!(receipt["status"], "0x1", "{receipt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authorization_that_a_stranger_carried_out_has_moved_its_tokens_once() {
    on_anvil(|mut scene| async move {
        let gas_payer = scene.with_gas_payer().await;
        let (_, units) = scene.paid(2_500, "usdcmatic").await;
        scene.until_settled(1).await;
        // The signed file of a plan that was given up, which nobody destroyed.
        let (first, plan) = scene.plan().await;
        let lost = scene.sign(&plan).await;
        scene.ctl.run(&["sweep", "drop", first["plan_id"].as_str().unwrap()]).await.expect_ok();
        let (second, plan) = scene.plan().await;
        let signed = scene.sign(&plan).await;
        carried_out_by_a_stranger(&mut scene, &lost).await;
        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await.expect_ok();
        let status = scene.until_ended(second["plan_id"].as_str().unwrap()).await;
        let confirmed = in_state(&status, "confirmed");
        assert_eq!(confirmed.len(), 1, "{status}");
        let error = confirmed[0]["error"].as_str().unwrap();
        assert!(error.contains("another transaction carried its authorization out: 0x"), "{error}");
        assert_eq!(scene.anvil().tokens(USDC, TREASURY).await.unwrap(), units);
        let booked = scene.booked(COLLECTED, "usdcmatic@polygon").await;
        assert_eq!(booked, -i128::try_from(units).unwrap());
        assert_eq!(scene.booked(CUSTODY, "usdcmatic@polygon").await, 0);
        // Ours was reverted, and has cost its own gas.
        let left = scene.anvil().coins(&gas_payer).await.unwrap();
        let spent = i128::try_from(10_u128.pow(18) - left).unwrap();
        assert!(spent > 0);
        assert_eq!(scene.booked("sweep_gas:polygon", COIN).await, spent);
        scene.is_sound().await;
        let (again, _) = scene.plan().await;
        assert_eq!(again["plan_id"], json!(null), "{again}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_s_transaction_costs_nothing_where_ours_can_never_be_mined() {
    on_anvil(|mut scene| async move {
        let gas_payer = scene.with_gas_payer().await;
        let (address, units) = scene.paid(2_500, "usdcmatic").await;
        scene.until_settled(1).await;
        let (planned, plan) = scene.plan().await;
        let signed = scene.sign(&plan).await;
        carried_out_by_a_stranger(&mut scene, &signed).await;
        // The wallet's nonce went to something else.
        scene.anvil().rpc("anvil_setNonce", json!([gas_payer, "0x1"])).await.unwrap();
        scene.ctl.run(&["sweep", "send", &signed, "--once"]).await;
        let long_ago = "update sweep_transaction set sent_at = now() - interval '1 hour'";
        scene.execute(long_ago).await;
        let status = scene.until_ended(planned["plan_id"].as_str().unwrap()).await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        assert_eq!(scene.booked(CUSTODY, "usdcmatic@polygon").await, 0);
        assert_eq!(scene.booked("sweep_gas:polygon", COIN).await, 0);
        scene.is_sound().await;

        // More of it at that address has the next number.
        scene.pay(&address, units, Some(USDC)).await;
        scene.mine(3).await;
        scene.until_settled(2).await;
        let status = scene.collect().await;
        assert_eq!(in_state(&status, "confirmed").len(), 1, "{status}");
        assert_eq!(scene.anvil().tokens(USDC, TREASURY).await.unwrap(), 2 * units);
        scene.is_sound().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_is_compared_with_sweeps_and_a_false_one_is_found() {
    on_anvil(|mut scene| async move {
        scene.paid(2_500, "pol").await;
        let status = scene.collect().await;
        scene.is_sound().await;
        let hash = status["transactions"][0]["tx_hash"].as_str().unwrap();
        let explained = scene.ctl.json(&["ledger", "explain", hash]).await;
        let kinds: Vec<_> = explained.as_array().unwrap().iter().map(|one| &one["kind"]).collect();
        assert_eq!(kinds, ["sweep", "network_fee"], "{explained}");

        let entry = |kind: &str, source: &str, debit: &str, credit: &str| {
            format!(
                "insert into ledger_entry (kind, source, asset, debit, credit, amount) \
                 values ('{kind}', {source}, 'pol@polygon', '{debit}', '{credit}', 7)"
            )
        };
        let nobody = "gen_random_uuid()";
        let mut faults = 0;
        for (statement, found) in [
            (entry("sweep", nobody, COLLECTED, CUSTODY), 1),
            (entry("network_fee", nobody, "treasury", "sweep_gas:polygon"), 1),
            (entry("excess", nobody, COLLECTED, "treasury"), 1),
            // Of a sweep that is booked: its entries are not what it did.
            ("update sweep_transaction set fee = fee + 1".to_owned(), 1),
        ] {
            scene.execute(&statement).await;
            faults += found;
            let verdict = scene.ctl.run(&["--json", "ledger", "verify"]).await.json();
            assert_eq!(verdict["faults"], json!(faults), "{statement}: {verdict}");
            assert!(verdict["told"].to_string().contains("sweep"), "{verdict}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_another_seed_is_left_out_by_name() {
    on_anvil(|mut scene| async move {
        let (foreign, _) = scene.paid(2_500, "pol").await;
        scene.paid(2_500, "pol").await;
        scene.until_settled(2).await;
        scene.execute(&of_another_seed(&foreign)).await;
        let (planned, plan) = scene.plan().await;
        assert_eq!(planned["transactions"].as_array().unwrap().len(), 1, "{planned}");
        let skipped = &planned["skipped"][0];
        assert_eq!((&skipped["places"], &skipped["named"]), (&json!(1), &json!([foreign])));
        scene.sign(&plan).await;
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
