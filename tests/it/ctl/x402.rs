//! `gatewayctl x402`: a stop switch of payments of programs alone, and a look at what waits.

use serde_json::json;
use sqlx::Connection;

use super::with_database;

#[tokio::test]
async fn payments_of_programs_are_stopped_alone_and_payouts_go_on() {
    with_database(|ctl, database| async move {
        let ada = ctl.clone().with("GATEWAY_OPERATOR", "ada");
        let stop = ["x402", "stop", "--reason", "a token is paused"];
        assert_eq!(ada.json(&stop).await, json!({ "stopped": "a token is paused" }));
        let text = ada.run(&stop).await.expect_ok().stdout;
        assert!(text.contains("gatewayctl x402 resume"), "{text}");
        // The switch of payouts knows nothing of it.
        let payouts = ctl.json(&["payouts", "resume"]).await;
        assert_eq!(payouts, json!({ "network": "*", "resumed": false, "stopped": null }));
        assert_eq!(ctl.json(&["x402", "status"]).await["stopped"], "a token is paused");
        let noted = ctl.json(&["audit"]).await;
        assert_eq!((&noted[0]["operator"], &noted[0]["subject"]), (&json!("ada"), &json!("x402")));
        assert_eq!(noted[0]["subject_kind"], "payout_stop");

        ctl.json(&["payouts", "stop", "--reason", "key ceremony"]).await;
        let one = ctl.json(&["x402", "resume"]).await;
        assert_eq!(one, json!({ "resumed": true, "stopped": "key ceremony" }));
        let text = ctl.run(&["x402", "resume"]).await.expect_ok().stdout;
        assert!(text.starts_with("Signing is still stopped everywhere (key ceremony)."), "{text}");
        ctl.json(&["payouts", "resume"]).await;
        let none = ctl.run(&["x402", "resume"]).await.expect_ok().stdout;
        assert_eq!(none, "Payments of programs were not stopped.\n");
        ctl.json(&stop).await;
        let again = ctl.run(&["x402", "resume"]).await.expect_ok().stdout;
        assert_eq!(again, "Payments of programs are signed again.\n");
        ctl.run(&["x402", "stop"]).await.expect_wrong_usage("--reason <TEXT>");
        let mut connection = database.connect().await;
        let left: i64 = sqlx::query_scalar("select count(*) from payout_stop")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(left, 0);
        connection.close().await.unwrap();
    })
    .await;
}

/// A node that does not answer takes nothing but the balance away.
#[tokio::test]
async fn the_status_tells_networks_wallet_and_stops() {
    with_database(|ctl, _| async move {
        let nothing = ctl.run(&["x402", "status"]).await.expect_ok().stdout;
        assert!(nothing.contains("Programs can pay on no network"), "{nothing}");
        let on = ctl
            .with("GATEWAY_X402__ENABLED", "true")
            .with("GATEWAY_CHAINS__POLYGON__SOURCE", "node")
            .with("GATEWAY_CHAINS__POLYGON__RPC_URL", "http://127.0.0.1:1");
        on.json(&["payouts", "stop", "--network", "polygon", "--reason", "node trouble"]).await;
        let standing = on.json(&["x402", "status"]).await;
        let wallet = standing["gas_wallet"].as_str().unwrap();
        assert!(wallet.starts_with("0x") && wallet.len() == 42, "{standing}");
        assert_eq!(standing["stopped"], json!(null));
        assert_eq!(
            standing["networks"],
            json!([{
                "network": "polygon", "offered": true, "stopped": "node trouble", "verified": 0, "submitted": 0, "in_block": 0,
                "waits_seconds": 0, "gas_raw": null,
            }])
        );
        let text = on.run(&["x402", "status"]).await.expect_ok().stdout;
        assert!(text.contains(wallet) && text.contains("node trouble"), "{text}");
    })
    .await;
}
