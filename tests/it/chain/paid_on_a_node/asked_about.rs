//! Operators' commands about payments on a real node: the reason why one counted, missed payments,
//! and the comparison of balances.

use gateway::{
    app::{
        deposit::explain::{Place, Standing, TransactionStory, Verdict},
        operator::doctor::Health,
    },
    asset::Network,
    deposit::BookedAs,
};
use serde_json::json;
use support::{
    fault::fired::fired,
    node::anvil::{Call, address_word, call_data, word},
    server::broker::eventually,
};

use super::{CONFIRMATIONS, Scene, USDT, due, with_node};

async fn asked(scene: &Scene, tx_hash: &str) -> TransactionStory {
    let gateway = &scene.stack.gateway;
    gateway.explain_transaction(Network::Polygon, tx_hash, None).await.unwrap()
}

/// The verdict on the only transfer.
async fn verdict(scene: &Scene, tx_hash: &str) -> Verdict {
    let story = asked(scene, tx_hash).await;
    assert_eq!(story.transfers.len(), 1, "{story:?}");
    story.transfers[0].verdict.clone()
}

async fn import(scene: &Scene, tx_hash: &str) -> u32 {
    let gateway = &scene.stack.gateway;
    let done = gateway.import_deposit(Network::Polygon, tx_hash, None, Some("ada")).await;
    done.unwrap().written
}

/// Differences to be examined, in base units.
async fn differences(scene: &Scene) -> Vec<String> {
    let found = scene.stack.gateway.balance_differences(None, 100).await.unwrap();
    found.into_iter().map(|one| one.unexplained).collect()
}

/// Compares balances at two heights.
async fn reconcile(scene: &Scene) {
    for _ in 0..2 {
        scene.mine(1).await;
        scene.until_read().await;
        scene.stack.gateway.reconcile(Network::Polygon).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deposit_explain_shows_a_transaction_from_first_seen_to_booked() {
    with_node(|scene| async move {
        let invoice = scene.invoice("usdtmatic").await;
        let (address, units) = due(&invoice, 6);
        let paid = scene.pay_token(USDT, &address, units).await;
        assert_eq!(asked(&scene, &paid).await.place, Place::Waiting);
        scene.mine(CONFIRMATIONS - 1).await;
        scene.until_read().await;
        let confirming = Verdict::Recorded(Standing::Confirming { have: 1, need: CONFIRMATIONS });
        assert_eq!(verdict(&scene, &paid).await, confirming);
        scene.mine(1).await;
        let ipn = scene.ipns(1).await.remove(0);
        let events = vec![ipn["event_id"].as_str().unwrap().to_owned()];
        let booked = Verdict::Recorded(Standing::Booked { as_what: BookedAs::Credit, events });
        assert_eq!(verdict(&scene, &paid).await, booked);
        assert_eq!(import(&scene, &paid).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_failed_says_so() {
    with_node(|mut scene| async move {
        let invoice = scene.invoice("usdtmatic").await;
        let (address, _) = due(&invoice, 6);
        // More than the sender has.
        let words = [address_word(&address), word("1")];
        let data = call_data("transfer(address,uint256)", &words);
        let from = scene.anvil.next_account();
        let call = Call { to: Some(USDT), value: "0x0".to_owned(), data };
        let failed = scene.anvil.send(&from, &call).await.unwrap();
        scene.mine(1).await;
        scene.until_read().await;
        let story = asked(&scene, &failed).await;
        assert!(matches!(story.place, Place::Mined { failed: true, .. }), "{story:?}");
        assert!(story.transfers.is_empty(), "{story:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_payment_shows_as_a_balance_and_is_imported_once() {
    with_node(|scene| async move {
        let (first, second) = (scene.invoice("usdtmatic").await, scene.invoice("usdtmatic").await);
        let (address, units) = due(&first, 6);
        // Its watcher never records it.
        scene
            .stack
            .sql(
                "create function overlook() returns trigger language plpgsql as 'begin return null; end';
                 create trigger overlook before insert on deposit for each row execute function overlook()",
            )
            .await;
        let missed = scene.pay_token(USDT, &address, units).await;
        scene.mine(CONFIRMATIONS).await;
        scene.until_read().await;
        scene.stack.sql("drop trigger overlook on deposit").await;
        assert_eq!(verdict(&scene, &missed).await, Verdict::Missed);
        reconcile(&scene).await;
        assert_eq!(differences(&scene).await, [units.to_string()]);
        fired(1);

        assert_eq!(import(&scene, &missed).await, 1);
        assert_eq!(import(&scene, &missed).await, 0);
        let ipn = scene.ipns(1).await.remove(0);
        assert_eq!(ipn["payment_id"], first["payment_id"]);
        assert_eq!(ipn["payment_status"], "finished");
        assert_eq!(scene.status(&second).await, "waiting");
        reconcile(&scene).await;
        assert_eq!(differences(&scene).await, [""; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_already_counted_by_balance_is_not_imported_again() {
    with_node(|mut scene| async move {
        let invoice = scene.invoice("pol").await;
        let (address, units) = due(&invoice, 18);
        // Its watcher does not record transfers in blocks, only those in balances.
        scene
            .stack
            .sql(
                "create function overlook() returns trigger language plpgsql as
                 'begin if new.found_by_balance then return new; end if; return null; end';
                 create trigger overlook before insert on deposit for each row execute function overlook()",
            )
            .await;
        let paid = scene.pay_native(&address, units).await;
        scene.mine(CONFIRMATIONS).await;
        scene.until_read().await;
        eventually("its balance is counted", async || {
            scene.mine(1).await;
            (scene.status(&invoice).await == "finished").then_some(())
        })
        .await;
        scene.stack.sql("drop trigger overlook on deposit").await;
        let told = verdict(&scene, &paid).await;
        assert!(matches!(told, Verdict::ByBalance { .. }), "{told:?}");
        assert_eq!(import(&scene, &paid).await, 0);
        assert_eq!(scene.deposits("settled").await, (1, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_that_leave_an_address_are_a_deficit_until_an_operator_explains_them() {
    with_node(|mut scene| async move {
        let invoice = scene.invoice("pol").await;
        let (address, units) = due(&invoice, 18);
        scene.pay_native(&address, units).await;
        scene.mine(CONFIRMATIONS).await;
        scene.ipns(1).await;
        reconcile(&scene).await;
        assert_eq!(differences(&scene).await, [""; 0]);
        scene.anvil.rpc("anvil_setBalance", json!([address, "0x0"])).await.unwrap();
        reconcile(&scene).await;
        assert_eq!(differences(&scene).await, [format!("-{units}")]);
        let gateway = &scene.stack.gateway;
        gateway.explain_balance(Network::Polygon, &address, ("ada", "swept")).await.unwrap();
        reconcile(&scene).await;
        assert_eq!(differences(&scene).await, [""; 0]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_compares_tokens_with_the_catalogue_and_reads_an_address() {
    with_node(|scene| async move {
        let findings = scene.stack.gateway.doctor(Some(Network::Polygon)).await;
        let found = |check: &str| findings.iter().find(|finding| finding.check == check).unwrap();
        // This node has two tokens of the catalogue's, and no contract where it expects the others.
        let tokens = found("tokens of polygon");
        assert_eq!(tokens.health, Health::Broken);
        assert!(
            tokens
                .detail
                .contains("wethmatic@polygon does not exist: no contract is at 0x7ceB23fD"),
            "{tokens:?}"
        );
        assert!(!tokens.detail.contains("usdtmatic@polygon"), "{tokens:?}");
        let address = found("address on polygon");
        assert_eq!(address.health, Health::Ok, "{address:?}");
        assert!(address.detail.contains(" POL at block "), "{address:?}");
        let node = found("node 0 of polygon");
        assert_eq!(node.facts["traces"], true, "{node:?}");
        assert!(node.facts["finalized_height"].is_u64(), "{node:?}");
        assert!(node.detail.contains("; deposits count after "), "{node:?}");

        // A token of 6 decimals where the catalogue has 18.
        let (usdt, dai) = (USDT, "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063");
        let code = scene.anvil.rpc("eth_getCode", json!([usdt, "latest"])).await.unwrap();
        scene.anvil.rpc("anvil_setCode", json!([dai, code])).await.unwrap();
        let findings = scene.stack.gateway.doctor(Some(Network::Polygon)).await;
        let tokens = findings.iter().find(|finding| finding.check == "tokens of polygon").unwrap();
        assert!(tokens.detail.contains("daimatic@polygon has 6 decimals, not 18"), "{tokens:?}");
        fired(1);
    })
    .await;
}
