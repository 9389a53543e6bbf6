//! `gatewayctl merchant`, `currency` and `addresses`: rows in, rows out.

use serde_json::{Value, json};

use super::with_database;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_new_merchants_key_and_secret_are_shown_this_once() {
    with_database(|ctl, _| async move {
        let accept = "btc,usdtmatic,ETH@base";
        let arguments = ["merchant", "create", "--name", "Shop", "--accept", accept];
        let new = ctl.json(&[&arguments[..], &["--payment-window", "1"]].concat()).await;
        assert_eq!(keys(&new), ["api_key", "merchant_id", "webhook_secret"]);
        let id = new["merchant_id"].as_str().unwrap();
        let shown = ctl.json(&["merchant", "show", id]).await;
        let key = new["api_key"].as_str().unwrap();
        assert_eq!((key.len(), &key[60..]), (64, shown["api_key_preview"].as_str().unwrap()));
        assert_eq!(shown["accept"], json!(["btc@bitcoin", "usdtmatic@polygon", "eth@base"]));
        assert_eq!(shown["overpay_bps"], 500);
        assert_eq!(shown["payment_window_seconds"], 1);
        assert_eq!(shown["selection_window_seconds"], 3600);
        assert_eq!(shown["max_open_invoices"], 500);
        for text in [shown.to_string(), ctl.json(&["merchant", "list"]).await.to_string()] {
            assert!(!text.contains(key) && !text.contains(new["webhook_secret"].as_str().unwrap()));
        }
    })
    .await;
}

#[tokio::test]
async fn rotating_gives_a_new_key_and_a_new_secret() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let key = ctl.json(&["merchant", "rotate-key", id]).await;
        assert_eq!(key["api_key"].as_str().unwrap().len(), 64);
        assert_ne!(key["api_key"], new["api_key"]);
        let secret = ctl.json(&["merchant", "rotate-secret", id]).await;
        assert_ne!(secret["webhook_secret"], new["webhook_secret"]);
    })
    .await;
}

#[tokio::test]
async fn suspending_and_resuming_can_be_repeated() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        for (command, suspended) in
            [("suspend", true), ("suspend", true), ("resume", false), ("resume", false)]
        {
            assert_eq!(ctl.json(&["merchant", command, id]).await["suspended"], suspended);
        }
        let list = ctl.run(&["merchant", "list"]).await.expect_ok().stdout;
        assert!(list.contains(id) && list.contains("active") && !list.contains('\u{1b}'), "{list}");
    })
    .await;
}

#[tokio::test]
async fn a_merchant_that_does_not_exist_is_a_failure() {
    with_database(|ctl, _| async move {
        let id = "0192f0c1-2a3b-7c4d-8e5f-0123456789ab";
        for command in ["rotate-key", "rotate-secret", "suspend", "resume", "show"] {
            ctl.run(&["merchant", command, id]).await.expect_failure("no merchant has the id");
        }
    })
    .await;
}

#[tokio::test]
async fn windows_are_short_in_the_sandbox_only() {
    with_database(|ctl, _| async move {
        let create = ["merchant", "create", "--name", "Shop", "--selection-window", "0"];
        ctl.run(&create).await.expect_failure("a window must last 1 to");
    })
    .await;
}

#[tokio::test]
async fn an_operators_minimums_and_switches_show_in_the_list() {
    with_database(|ctl, _| async move {
        let find = async |id: &str| {
            let list = ctl.json(&["currency", "list"]).await;
            list.as_array().unwrap().iter().find(|entry| entry["token_id"] == id).unwrap().clone()
        };
        assert_eq!(find("btc@bitcoin").await["min_usd"], 250);
        let changed = ctl.json(&["currency", "set-min", "btc", "12.50"]).await;
        assert_eq!(changed["min_usd"].to_string(), "12.5");
        assert_eq!(changed, find("btc@bitcoin").await);
        assert_eq!(changed["default_min_usd"], 250);
        assert_eq!(ctl.json(&["currency", "disable", "eth@base"]).await["enabled"], false);
        assert_eq!(find("eth@base").await["enabled"], false);
        assert_eq!(find("eth@ethereum").await["enabled"], true);
        assert_eq!(ctl.json(&["currency", "enable", "eth@base"]).await["enabled"], true);
        let polygon = ctl.json(&["currency", "list", "--network", "polygon"]).await;
        let polygon = polygon.as_array().unwrap();
        assert!(!polygon.is_empty() && polygon.iter().all(|entry| entry["network"] == "polygon"));
    })
    .await;
}

#[tokio::test]
async fn pools_are_filled_only_where_addresses_cannot_be_derived() {
    with_database(|ctl, _| async move {
        for network in ["solana", "near"] {
            let fill = ["addresses", "fill", "--network", network, "--count", "3"];
            assert_eq!(ctl.json(&fill).await, json!({ "network": network, "added": 3, "free": 3 }));
            assert_eq!(ctl.json(&fill).await["free"], 6);
        }
        let fill = ["addresses", "fill", "--network", "tron", "--count", "3"];
        ctl.run(&fill).await.expect_failure("it needs no pool");
    })
    .await;
}
