//! `gatewayctl x402 give-up`: the end of a settlement of which the chain shows neither that it paid
//! nor that it failed.

use serde_json::json;
use support::client::ctl::Ctl;

use super::scene::{CENT, Lie, Scene, with_lying_scene, with_scene};

const OPEN: &str = "select count(*) from x402_settlement where state = 'submitted' and height is not null and answered_hash is null";

fn ctl(scene: &Scene) -> Ctl {
    Ctl::of(&scene.stack)
        .with("GATEWAY_OPERATOR", "ada")
        .with("GATEWAY_X402__ENABLED", "true")
        .with("GATEWAY_CHAINS__POLYGON__SOURCE", "node")
        .with("GATEWAY_CHAINS__POLYGON__RPC_URL", scene.anvil.url())
        .with("GATEWAY_CHAINS__POLYGON__CONFIRMATIONS", "2")
}

async fn settlement(scene: &Scene) -> String {
    let mut connection = scene.stack.database.connect().await;
    let id: uuid::Uuid =
        sqlx::query_scalar("select id from x402_settlement order by created_at desc limit 1")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    id.to_string()
}

/// Settles one payment of a token that lies so, until its block is final. Returns its id.
async fn unexplained(scene: &Scene, how: Lie) -> String {
    let resource = scene.resource().await;
    let payer = scene.payer(7, CENT).await;
    scene.lie(how).await;
    let request = scene.request(&payer, &resource["accepts"][0], 1).await;
    assert_eq!(scene.settle(&request).await["success"], false);
    let alerts = "select count(*) from operator_alert where kind = 'x402_unexplained'";
    scene.until("an alert is raised", alerts, 1).await;
    scene.until("it stays open", OPEN, 1).await;
    let id = settlement(scene).await;
    let told = format!(
        "select count(*) from operator_alert where detail like '%gatewayctl x402 give-up {id}'"
    );
    assert_eq!(scene.number(&told).await, 1);
    id
}

async fn alerts(scene: &Scene) -> Vec<String> {
    let query = sqlx::query_scalar("select kind || ': ' || detail from operator_alert");
    query.fetch_all(&mut scene.stack.database.connect().await).await.unwrap()
}

/// A step of the role has looked before an operator gives the settlement up, and ends afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn no_alert_is_raised_for_what_was_given_up_meanwhile() {
    with_lying_scene(|scene| async move {
        unexplained(&scene, Lie::MovesNothing).await;
        let mut operator = scene.stack.database.connect().await;
        let mut giving_up = sqlx::Connection::begin(&mut operator).await.unwrap();
        for statement in [
            "select from x402_settlement for update",
            "update x402_settlement set state = 'failed', reason = 'invalid_transaction_state', \
             ended_at = now(), fee = 1",
            "delete from operator_alert",
        ] {
            sqlx::query(statement).execute(&mut *giving_up).await.unwrap();
        }
        let waits = "select count(*) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'";
        scene.until("a step waits for the row", waits, 1).await;
        giving_up.commit().await.unwrap();
        scene.until_without_a_block("the step ends", waits, 0).await;
        assert_eq!(alerts(&scene).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_ends_a_settlement_that_used_its_nonce_and_shows_no_payment() {
    with_lying_scene(|scene| async move {
        let before = scene.anvil.coins(&scene.gas).await.unwrap();
        let id = unexplained(&scene, Lie::MovesNothing).await;
        let ctl = ctl(&scene);
        let seen = ctl.json(&["x402", "give-up", &id]).await;
        assert_eq!((&seen["given_up"], &seen["balance_compared"]), (&json!(false), &json!(true)));
        let text = ctl.run(&["x402", "give-up", &id]).await.expect_ok().stdout;
        assert!(text.contains("It would fail; nothing was changed."), "{text}");
        assert!(text.contains("did not grow in that block"), "{text}");
        assert_eq!(scene.number(OPEN).await, 1);
        ctl.run(&["x402", "give-up", &id, "--yes"]).await.expect_wrong_usage("--reason TEXT");

        let sure = ["x402", "give-up", &id, "--yes", "--reason", "two explorers show no log"];
        assert_eq!(ctl.json(&sure).await["given_up"], true);
        let failed = "select count(*) from x402_settlement where state = 'failed' and reason = 'invalid_transaction_state'";
        assert_eq!(scene.number(failed).await, 1);
        let taken = before - scene.anvil.coins(&scene.gas).await.unwrap();
        let booked = "select sum(amount) from ledger_entry where credit = 'x402_gas:polygon'";
        assert_eq!(scene.number(booked).await, taken);
        assert_eq!(alerts(&scene).await, Vec::<String>::new());
        let noted = ctl.json(&["audit", &id]).await;
        let noted = noted.as_array().unwrap().iter().find(|one| one["act"] == "give-up").unwrap();
        assert_eq!(noted["operator"], "ada");
        assert!(noted.to_string().contains("two explorers show no log"), "{noted}");
        ctl.run(&sure).await.expect_failure("has ended");
        let verified = ctl.json(&["ledger", "verify"]).await;
        assert_eq!(verified["ok"], true, "{verified}");
    })
    .await;
}

/// The node shows no log, and the money is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_whose_money_arrived_is_not_given_up() {
    with_lying_scene(|scene| async move {
        let id = unexplained(&scene, Lie::LogsNothing).await;
        let sure = ["x402", "give-up", &id, "--yes", "--reason", "a test"];
        let told = ctl(&scene).run(&sure).await.expect_failure("grew by 10000 base units");
        assert!(told.stderr.contains("gatewayctl deposit import"), "{told:?}");
        assert_eq!(scene.number(OPEN).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_chain_shows_or_may_still_show_is_not_given_up() {
    with_scene(|scene| async move {
        let ctl = ctl(&scene);
        let refused = async |id: &str, why: &str| {
            let sure = ["x402", "give-up", id, "--yes", "--reason", "a test"];
            ctl.run(&sure).await.expect_failure(why);
        };
        refused("0198c5e2-0000-7000-8000-000000000001", "is no settlement").await;
        let resource = scene.resource().await;
        let accepts = &resource["accepts"][0];
        let payer = scene.payer(7, 9 * CENT).await;
        let stop = "insert into payout_stop (network, reason) values ('x402', 'a test')";
        scene.stack.sql(stop).await;
        scene.hand_in(&scene.merchant, &scene.request(&payer, accepts, 1).await).await;
        let id = settlement(&scene).await;
        refused(&id, "nothing is signed").await;
        scene.stack.sql("delete from payout_stop").await;
        let is_sent = "select count(*) from x402_settlement where sent_at is not null";
        scene.until_without_a_block("it is sent", is_sent, 1).await;
        refused(&id, "no block holds").await;
        scene.anvil.mine().await.unwrap();
        refused(&id, "the chain shows the payment").await;
        let settled = "select count(*) from x402_settlement where state = 'settled'";
        scene.until("it is final", settled, 1).await;
        refused(&id, "has ended").await;
    })
    .await;
}
