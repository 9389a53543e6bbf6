//! `gatewayctl config`, and names that are no setting.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::{client::ctl::Ctl, server::scratch::Scratch};

/// In every secret of these tests.
const CANARY: &str = "c0ffee5eed";
const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899c0ffee5eed00";

/// A settings file.
fn file(scratch: &Scratch, toml: &str) -> String {
    let path = scratch.fresh("settings");
    std::fs::write(&path, toml).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Settings that production starts with, each with a secret where it has one.
fn sound() -> Ctl {
    Ctl::default()
        .with("GATEWAY_PROFILE", "production")
        .with("DATABASE_URL", &format!("postgres://app:{CANARY}@127.0.0.1:1/gateway"))
        .with("AMQP_URL", &format!("amqp://app:{CANARY}@127.0.0.1:1/gateway"))
        .with("GATEWAY_MASTER_KEY", KEY)
        .with("GATEWAY_RATES__PROVIDERS", "kraken,coinbase")
        .with("GATEWAY_BASE_URL", "https://api.shop.example")
        .with("GATEWAY_CHECKOUT_URL", "https://pay.shop.example")
        .with("GATEWAY_DASHBOARD_URL", "https://dashboard.shop.example")
        .with("GATEWAY_BROKER__MANAGEMENT_URL", &format!("http://a:{CANARY}@127.0.0.1:1"))
}

fn settings(shown: &Value) -> BTreeMap<&str, &Value> {
    let settings = shown["settings"].as_array().unwrap();
    settings.iter().map(|setting| (setting["key"].as_str().unwrap(), setting)).collect()
}

#[tokio::test]
async fn a_name_that_is_no_setting_stops_every_command_that_reads_settings() {
    let scratch = Scratch::new();
    let path = file(&scratch, "[api]\nlistn = \"127.0.0.1:1\"\n");
    let in_file = Ctl::default().with("GATEWAY_CONFIG", &path);
    let in_environment = Ctl::default().with("GATEWAY_BROKER_VHOST", CANARY);
    for arguments in [
        &["migrate"][..],
        &["topology", "check"],
        &["merchant", "list"],
        &["doctor"],
        &["payouts", "accounts"],
    ] {
        let told = format!("api.listn (in {path}) is no setting; the nearest one is api.listen.");
        in_file.run(arguments).await.expect_failure(&told);
        let told = "GATEWAY_BROKER_VHOST (in the environment) is no setting; the nearest one is GATEWAY_BROKER__VHOST.";
        let failed = in_environment.run(arguments).await.expect_failure(told);
        assert!(!failed.stderr.contains(CANARY), "{failed:?}");
    }
    // What is not read cannot be wrong.
    in_environment.run(&["listen", "--help"]).await.expect_ok();
}

#[tokio::test]
async fn every_value_is_shown_with_its_origin_and_no_secret_is_shown() {
    let scratch = Scratch::new();
    let toml = format!(
        "mail.password = \"{CANARY}\"\nmail.user = \"shop\"\napi.connections_max = 7\n\
         [chains.polygon]\nsource = \"node\"\nrpc_url = \"https://node/{CANARY}\"\n\
         rpc_header = \"X-Key: {CANARY}\"\nwitnesses = [\"https://other/{CANARY}\"]\n\
         [chains.near]\npoll_ms = 900\n"
    );
    let path = file(&scratch, &toml);
    let ctl = sound().with("GATEWAY_CONFIG", &path).with("GATEWAY_API__CONNECTIONS_MAX", "8");
    let ran = ctl.run(&["--json", "config", "show"]).await.expect_ok();
    assert!(!ran.stdout.contains(CANARY), "{ran:?}");
    let shown = ran.json();
    let settings = settings(&shown);
    let row =
        |key: &str, value: Value, is_set: bool, secret: bool, from: &str, at: Option<&str>| {
            let expected = json!({
                "key": key, "value": value, "set": is_set, "secret": secret, "from": from, "at": at,
            });
            assert_eq!(*settings[key], expected);
        };
    let variable = "environment";
    row("profile", json!("production"), true, false, variable, Some("GATEWAY_PROFILE"));
    row("database_url", json!(null), true, true, variable, Some("DATABASE_URL"));
    row("master_key", json!(null), true, true, variable, Some("GATEWAY_MASTER_KEY"));
    row("master_key_old", json!(null), false, true, "default", None);
    let most = Some("GATEWAY_API__CONNECTIONS_MAX");
    row("api.connections_max", json!(8), true, false, variable, most);
    row("api.trusted_proxies", json!([]), true, false, "default", None);
    let providers = Some("GATEWAY_RATES__PROVIDERS");
    row("rates.providers", json!(["kraken", "coinbase"]), true, false, variable, providers);
    row("mail.user", json!("shop"), true, false, "file", Some(&path));
    row("mail.password", json!(null), true, true, "file", Some(&path));
    row("payouts.enabled", json!(false), true, false, "default", None);
    row("payouts.seed_key", json!(null), false, true, "default", None);
    row("chains.polygon.source", json!("node"), true, false, "file", Some(&path));
    row("chains.polygon.rpc_url", json!(null), true, true, "file", Some(&path));
    row("chains.polygon.rpc_header", json!(null), true, true, "file", Some(&path));
    row("chains.polygon.witnesses", json!(null), true, true, "file", Some(&path));
    row("chains.polygon.confirmations", json!(16), true, false, "default", None);
    row("chains.near.source", json!("off"), true, false, "default", None);
    row("chains.near.poll_ms", json!(900), true, false, "file", Some(&path));
    assert!(!settings.contains_key("chains.near.confirmations"), "{shown}");
    assert_eq!(shown["unknown"], json!([]));

    let text = ctl.run(&["config", "show"]).await.expect_ok().stdout;
    assert!(!text.contains(CANARY), "{text}");
    let line = |key: &str| {
        let found = text.lines().find(|line| line.split_whitespace().next() == Some(key));
        found.unwrap_or_else(|| panic!("no {key} in {text}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("master_key"), ["master_key", "(secret)", "GATEWAY_MASTER_KEY"]);
    assert_eq!(line("master_key_old"), ["master_key_old", "-", "default"]);
    assert_eq!(line("mail.user"), ["mail.user", "shop", path.as_str()]);

    let misspelt = ctl.with("GATEWAY_MAIL__PASWORD", CANARY);
    let ran = misspelt.run(&["config", "show"]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stdout.contains("the nearest one is GATEWAY_MAIL__PASSWORD."), "{ran:?}");
    assert!(!ran.stdout.contains(CANARY), "{ran:?}");
}

#[tokio::test]
async fn the_check_list_of_production_says_for_each_line_what_to_do() {
    let ran = sound().run(&["--json", "config", "check"]).await.expect_ok();
    let list = ran.json();
    assert_eq!(list["ok"], true, "{list}");
    let sale = "no address key: nothing is on sale; set the public keys of section addresses";
    let lines = list["checks"].as_array().unwrap();
    let of = |subject: &str| lines.iter().find(|line| line["check"] == subject).unwrap();
    assert_eq!(of("on sale")["state"], "doubtful", "{list}");
    assert!(of("on sale")["detail"].as_str().unwrap().starts_with(sale), "{list}");
    assert_eq!(of("passwords")["state"], "ok", "{list}");
    let text = sound().run(&["config", "check"]).await.expect_ok().stdout;
    assert!(text.ends_with("Production starts with these settings. Next: gatewayctl doctor\n"));

    // Faults of all kinds are told together, and no secret with them.
    let wrong = sound()
        .with("GATEWAY_PROFILE", "sandbox")
        .with("GATEWAY_EGRESS__ALLOW_PRIVATE", "true")
        .with("GATEWAY_MAIL__PASWORD", CANARY)
        .with("AMQP_URL", "amqp://guest:guest@127.0.0.1:1");
    let ran = wrong.run(&["--json", "config", "check"]).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(!ran.stdout.contains(CANARY), "{ran:?}");
    let list = ran.json();
    let lines = list["checks"].as_array().unwrap();
    let broken = lines.iter().filter(|line| line["state"] == "broken");
    let subjects: Vec<_> = broken.map(|line| line["check"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["profile", "names", "passwords", "webhooks"], "{list}");
}
