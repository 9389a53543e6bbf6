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
async fn every_setting_can_be_changed_after_creation_and_alone() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop", "--accept", "btc"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let mut expected = ctl.json(&["merchant", "show", id]).await;
        for (arguments, field, value) in [
            (&["--name", " My shop "][..], "name", json!("My shop")),
            (&["--overpay-bps", "0"], "overpay_bps", json!(0)),
            (&["--underpay-bps", "50"], "underpay_bps", json!(50)),
            (&["--underpay-when", "at_once"], "underpay_when", json!("at_once")),
            (&["--payment-window", "7"], "payment_window_seconds", json!(7)),
            (&["--selection-window", "8"], "selection_window_seconds", json!(8)),
            (&["--max-open-invoices", "9"], "max_open_invoices", json!(9)),
            (
                &["--accept", "eth@base,usdtmatic,ETH@base"],
                "accept",
                json!(["eth@base", "usdtmatic@polygon"]),
            ),
            (&["--accept-all"], "accept", Value::Null),
            (
                &["--payout-webhook-url", "http://shop.example/p"],
                "payout_webhook_url",
                json!("http://shop.example/p"),
            ),
            (&["--no-payout-webhook-url"], "payout_webhook_url", Value::Null),
            (
                &["--ipn-callback-url", "https://shop.example/ipn"],
                "default_ipn_callback_url",
                json!("https://shop.example/ipn"),
            ),
            (&["--no-ipn-callback-url"], "default_ipn_callback_url", Value::Null),
            (
                &["--success-url", "https://shop.example/ok"],
                "default_success_url",
                json!("https://shop.example/ok"),
            ),
            (&["--no-success-url"], "default_success_url", Value::Null),
            (
                &["--cancel-url", "https://shop.example/no"],
                "default_cancel_url",
                json!("https://shop.example/no"),
            ),
            (&["--no-cancel-url"], "default_cancel_url", Value::Null),
            (
                &["--logo-url", "https://shop.example/logo.svg"],
                "logo_url",
                json!("https://shop.example/logo.svg"),
            ),
            (&["--no-logo-url"], "logo_url", Value::Null),
        ] {
            let told = ctl.json(&[&["merchant", "set", id], arguments].concat()).await;
            expected[field] = value;
            assert_eq!(told, expected, "{arguments:?}");
            assert_eq!(ctl.json(&["merchant", "show", id]).await, expected);
        }
        let two = ["merchant", "set", id, "--overpay-bps", "100", "--accept", "btc"];
        let told = ctl.json(&two).await;
        assert_eq!((&told["overpay_bps"], &told["accept"]), (&json!(100), &json!(["btc@bitcoin"])));
    })
    .await;
}

#[tokio::test]
async fn a_refused_setting_changes_nothing() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let before = ctl.json(&["merchant", "show", id]).await;
        for (arguments, reason) in [
            (&["--name", " "][..], "a name is 1 to 200 characters"),
            (&["--payment-window", "0"], "a window must last 1 to"),
            (&["--selection-window", "360000"], "a window must last 1 to"),
            (&["--overpay-bps", "100001"], "at most 100000 basis points"),
            (&["--underpay-bps", "1001"], "at most 1000 basis points"),
            (&["--max-open-invoices", "0"], "at least one open invoice"),
            (
                &["--payout-webhook-url", "ftp://shop.example"],
                "payout webhook URL must begin with http or https",
            ),
            (
                &["--payout-webhook-url", "https://u:p@shop.example"],
                "payout webhook URL must begin with",
            ),
            (&["--ipn-callback-url", "http://169.254.169.254/"], "link-local addresses are not"),
            (&["--success-url", "javascript:alert(1)"], "the success URL must begin with http"),
            (&["--logo-url", "http://shop.example/logo"], "logo URL must begin with https"),
        ] {
            let set = ["merchant", "set", id, "--max-open-invoices", "77"];
            let set = if arguments[0] == "--max-open-invoices" { &set[..3] } else { &set[..] };
            let refused = ctl.run(&[set, arguments].concat()).await;
            refused.expect_failure(reason);
        }
        assert_eq!(ctl.json(&["merchant", "show", id]).await, before);
        for arguments in [
            &[][..],
            &["--accept", "btc", "--accept-all"],
            &["--logo-url", "https://a.example", "--no-logo-url"],
        ] {
            let refused = ctl.run(&[&["merchant", "set", id], arguments].concat()).await;
            refused.expect_wrong_usage("Usage");
        }
    })
    .await;
}

#[tokio::test]
async fn the_audit_log_shows_changed_settings_and_no_secret() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let url = "https://shop.example/payouts";
        let set = ["merchant", "set", id, "--payout-webhook-url", url, "--logo-url", "https://shop.example/l", "--accept", "btc"];
        ctl.json(&set).await;
        ctl.json(&["merchant", "rotate-secret", id]).await;
        let entries = ctl.json(&["audit", id]).await;
        let [secret, changed, ..] = entries.as_array().unwrap().as_slice() else { panic!("{entries}") };
        let expected = json!({
            "payout_webhook_url": url, "logo_url": "https://shop.example/l", "accepted_tokens": ["btc@bitcoin"],
        });
        assert_eq!(changed["change"], expected);
        assert_eq!(secret["change"], json!({ "webhook_secret_sealed": "…" }));
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
async fn keys_of_the_old_api_are_given_replaced_and_revoked() {
    with_database(|ctl, _| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let first = ctl.json(&["merchant", "legacy-keys", id]).await;
        let second = ctl.json(&["merchant", "legacy-keys", id]).await;
        assert_eq!(first["merchant_id"], id.replace('-', ""));
        for name in ["public_key", "private_key"] {
            assert_eq!(first[name].as_str().unwrap().len(), 64);
            assert_ne!(first[name], second[name]);
        }
        let revoke = ["merchant", "legacy-keys", id, "--revoke"];
        assert_eq!(ctl.json(&revoke).await["revoked"], true);
        assert_eq!(ctl.json(&revoke).await["revoked"], false);
        let audit = ctl.json(&["audit", id]).await.to_string();
        assert!(!audit.contains(second["private_key"].as_str().unwrap()), "{audit}");
    })
    .await;
}

#[tokio::test]
async fn keys_of_the_old_api_order_withdrawals_only_where_that_is_asked_for() {
    with_database(|ctl, database| async move {
        let new = ctl.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = new["merchant_id"].as_str().unwrap();
        let give = ["merchant", "legacy-keys", id];
        // New keys take nothing over from those before.
        for expected in [false, true, false] {
            let more: &[&str] = if expected { &["--withdrawals"] } else { &[] };
            ctl.json(&[&give[..], more].concat()).await;
            let may_withdraw: bool = sqlx::query_scalar("select may_withdraw from legacy_key")
                .fetch_one(&mut database.connect().await)
                .await
                .unwrap();
            assert_eq!(may_withdraw, expected);
        }
        let both = [&give[..], &["--revoke", "--withdrawals"]].concat();
        ctl.run(&both).await.expect_wrong_usage("cannot be used with");
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
        for command in ["rotate-key", "rotate-secret", "legacy-keys", "suspend", "resume", "show"] {
            ctl.run(&["merchant", command, id]).await.expect_failure("no merchant has the id");
        }
        let set = ctl.run(&["merchant", "set", id, "--name", "Shop"]).await;
        set.expect_failure("no merchant has the id");
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
