//! `gatewayctl config`, and names that are no setting.

use std::{collections::BTreeMap, fs::Permissions, os::unix::fs::PermissionsExt};

use gateway::{
    asset::{
        Family,
        address::{Account, Realm},
    },
    merchant::secret::SEED_BYTES,
};
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

/// A folder of secrets.
fn folder(scratch: &Scratch, files: &[(&str, &str, u32)]) -> String {
    let path = scratch.fresh("secrets");
    std::fs::create_dir(&path).unwrap();
    for (name, text, mode) in files {
        let file = path.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(*mode)).unwrap();
    }
    path.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn secrets_in_files_win_over_the_settings_file_and_the_environment_over_both() {
    let scratch = Scratch::new();
    let path =
        file(&scratch, "mail.password = \"a\"\nmail.user = \"b\"\namqp_url = \"amqp://a\"\n");
    let folder = folder(
        &scratch,
        &[
            ("DATABASE_URL", "postgres://file", 0o600),
            ("AMQP_URL", "amqp://file", 0o400),
            ("GATEWAY_MAIL__PASSWORD", CANARY, 0o440),
            ("GATEWAY_RATES__PROVIDERS", "kraken,coinbase\n", 0o600),
            ("GATEWAY_MASTER_KEY", "", 0o600),
            ("payouts.seed", "nothing of ours", 0o644),
        ],
    );
    let ctl = Ctl::default()
        .with("GATEWAY_CONFIG", &path)
        .with("GATEWAY_SECRETS_DIR", &folder)
        .with("GATEWAY_DATABASE_URL", "postgres://environment");
    let ran = ctl.run(&["--json", "config", "show"]).await.expect_ok();
    assert!(!ran.stdout.contains(CANARY), "{ran:?}");
    let shown = ran.json();
    let settings = settings(&shown);
    for (key, from) in [
        ("database_url", "GATEWAY_DATABASE_URL".to_owned()),
        ("amqp_url", format!("{folder}/AMQP_URL")),
        ("mail.password", format!("{folder}/GATEWAY_MAIL__PASSWORD")),
        ("rates.providers", format!("{folder}/GATEWAY_RATES__PROVIDERS")),
        ("mail.user", path),
    ] {
        assert_eq!(settings[key]["at"], from, "{key}");
    }
    assert_eq!(settings["rates.providers"]["value"], json!(["kraken", "coinbase"]));
    assert_eq!(settings["master_key"]["set"], false);
}

#[tokio::test]
async fn a_file_of_a_secret_that_is_misspelt_or_open_stops_every_command() {
    let scratch = Scratch::new();
    for (files, told) in [
        (
            &[("GATEWAY_MASTER_KY", CANARY, 0o600)][..],
            "/GATEWAY_MASTER_KY is no setting; the nearest one is GATEWAY_MASTER_KEY.",
        ),
        (
            &[("DATABASE_URL", CANARY, 0o644)],
            "/DATABASE_URL holds secrets and is open to other users (mode 0644); run: chmod 600 /",
        ),
    ] {
        let ctl = Ctl::default().with("GATEWAY_SECRETS_DIR", &folder(&scratch, files));
        for arguments in [&["migrate"][..], &["merchant", "list"], &["config", "check"]] {
            let ran = ctl.run(arguments).await;
            assert_eq!(ran.code, 1, "{ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(told) && !said.contains(CANARY), "{said}");
        }
    }
}

#[tokio::test]
async fn production_refuses_a_settings_file_with_a_secret_that_others_can_read() {
    let scratch = Scratch::new();
    let open = |toml: &str| {
        let path = file(&scratch, toml);
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        path
    };
    let secret = open(&format!("mail.password = \"{CANARY}\"\n"));
    let ctl = sound().with("GATEWAY_CONFIG", &secret);
    let told = format!("{secret} holds secrets and is open to other users (mode 0644)");
    ctl.run(&["merchant", "list"]).await.expect_failure(&told);
    let (code, lines) = not_fine(&ctl).await;
    let found = lines.iter().any(|[subject, state, text]| {
        subject == "settings file" && state == "broken" && text.contains(&told)
    });
    assert!(code == 1 && found, "{lines:?}");
    // Without a secret, or with one that a file of its own overrides, anybody may read it.
    let overridden = ctl.with("GATEWAY_MAIL__PASSWORD", CANARY);
    let plain = sound().with("GATEWAY_CONFIG", &open("mail.user = \"shop\"\n"));
    for ctl in [overridden, plain] {
        let (code, lines) = not_fine(&ctl).await;
        assert_eq!(code, 0, "{lines:?}");
    }
    std::fs::set_permissions(&secret, Permissions::from_mode(0o600)).unwrap();
    let (code, lines) = not_fine(&sound().with("GATEWAY_CONFIG", &secret)).await;
    assert_eq!(code, 0, "{lines:?}");
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

/// The lines of the check-list that are not fine, as subject, state and text.
async fn not_fine(ctl: &Ctl) -> (i32, Vec<[String; 3]>) {
    let ran = ctl.run(&["--json", "config", "check"]).await;
    let list = ran.json();
    let lines = list["checks"].as_array().unwrap().iter();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    let lines = lines.map(|line| ["check", "state", "detail"].map(|name| text(line, name)));
    (ran.code, lines.filter(|[_, state, _]| state != "ok").collect())
}

#[tokio::test]
async fn the_check_list_has_what_a_start_refuses_later_and_the_start_refuses_the_same() {
    let followed = sound()
        .with("GATEWAY_CHAINS__POLYGON__SOURCE", "node")
        .with("GATEWAY_CHAINS__POLYGON__RPC_URL", "http://127.0.0.1:1");
    let of_invoices = Account::Invoices.xpub(&[8; SEED_BYTES], Family::Evm, Realm::Main).unwrap();
    let keyed = followed.with("GATEWAY_ADDRESSES__EVM", &of_invoices);
    let zero = format!("0x{}", "0".repeat(40));
    for (ctl, faults) in [
        (
            sound().with("GATEWAY_ADDRESSES__EVM", "xpub-of-ours"),
            &["the evm key in section addresses is not an extended public key"][..],
        ),
        (
            keyed.clone().with("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__EVM", &zero),
            &["the first evm address is 0x"],
        ),
        (
            keyed.clone().with("GATEWAY_PAYOUTS__ENABLED", "true"),
            &["payouts.accounts.evm is not set", "payouts.accounts.gas is not set"],
        ),
        (
            keyed
                .clone()
                .with("GATEWAY_X402__ENABLED", "true")
                .with("GATEWAY_X402__ACCOUNT", &of_invoices),
            &["x402.account is the account of invoices too"],
        ),
    ] {
        let (code, lines) = not_fine(&ctl).await;
        let broken: Vec<_> = lines.iter().filter(|[_, state, _]| state == "broken").collect();
        assert_eq!((code, broken.len()), (1, faults.len()), "{lines:?}");
        for ([subject, _, text], fault) in broken.into_iter().zip(faults) {
            assert!(subject == "accounts" && text.starts_with(fault), "{subject}: {text}");
        }
        // The first of them is what a program says that does not start.
        ctl.run(&["merchant", "list"]).await.expect_failure(faults[0]);
    }
}

#[tokio::test]
async fn production_starts_without_an_address_of_the_dashboard_and_the_list_says_so() {
    let (code, lines) = not_fine(&sound().with("GATEWAY_DASHBOARD_URL", "")).await;
    assert_eq!(code, 0, "{lines:?}");
    let [_, state, text] = lines.iter().find(|[subject, ..]| subject == "dashboard").unwrap();
    assert_eq!(state, "doubtful");
    assert!(text.contains("GATEWAY_DASHBOARD_URL is not set"), "{text}");
    let plain = sound().with("GATEWAY_DASHBOARD_URL", "http://dashboard.shop.example");
    let (code, lines) = not_fine(&plain).await;
    assert_eq!(code, 1, "{lines:?}");
}

#[tokio::test]
async fn a_secret_in_the_place_of_another_setting_is_not_repeated() {
    for setting in [
        "GATEWAY_MAIL__SECURITY",
        "GATEWAY_RATES__PROVIDERS",
        "GATEWAY_CHAINS__POLYGON__SOURCE",
        "GATEWAY_X402__NETWORKS",
        "GATEWAY_X402__MINIMUM_USD_DEFAULT",
        "GATEWAY_PAYOUTS__NETWORKS",
        "GATEWAY_API__LISTEN",
        "GATEWAY_API__TRUSTED_PROXIES",
        "GATEWAY_BASE_URL",
        "GATEWAY_ADDRESSES__EVM",
        "GATEWAY_ADDRESSES__POOL_SIGNER",
        "GATEWAY_PAYOUTS__ACCOUNTS__GAS",
        "GATEWAY_X402__ACCOUNT",
        "GATEWAY_COLD_SEED_KEY",
        "GATEWAY_MASTER_KEY",
    ] {
        let ctl = sound().with(setting, CANARY);
        for arguments in [&["config", "check"][..], &["merchant", "list"]] {
            let ran = ctl.run(arguments).await;
            assert_eq!(ran.code, 1, "{setting}: {ran:?}");
            assert!(!format!("{ran:?}").contains(CANARY), "{setting}: {ran:?}");
        }
    }
    let prefix = sound().with("GATEWAY_BROKER__PREFIX", &format!("{CANARY} "));
    let ran = prefix.run(&["config", "check"]).await;
    assert!(!format!("{ran:?}").contains(CANARY), "{ran:?}");
    for (setting, value) in [
        ("GATEWAY_ADDRESSES__EVM", CANARY.to_owned()),
        ("GATEWAY_PAYOUTS__ACCOUNTS__GAS", CANARY.to_owned()),
        ("GATEWAY_MAIL__SERVER", format!("shop:{CANARY}@relay.example:587")),
        ("GATEWAY_TELEMETRY__OTLP_URL", format!("https://otlp.example/{CANARY}")),
    ] {
        let ran = sound().with(setting, &value).run(&["config", "show"]).await.expect_ok();
        assert!(!ran.stdout.contains(CANARY), "{setting}: {ran:?}");
    }
}
