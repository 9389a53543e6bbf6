//! `gatewayctl doctor` over healthy and broken stacks.

use gateway::{
    asset::{
        Family,
        address::{Account, Realm},
    },
    merchant::secret::SEED_BYTES,
};
use serde_json::Value;
use support::{
    client::ctl::Ctl,
    server::{broker::eventually, stack::with_stack},
};

use super::with_database;

fn state<'a>(report: &'a Value, check: &str) -> &'a str {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["check"] == check);
    found.unwrap_or_else(|| panic!("no {check} in {report}"))["state"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_reports_a_running_stack_as_healthy() {
    with_stack(|stack| async move {
        stack.start_all();
        let ctl = Ctl::of(&stack);
        for network in ["solana", "near"] {
            ctl.json(&["addresses", "fill", "--network", network, "--count", "200"]).await;
        }
        let report = eventually("all well", async || {
            let ran = ctl.run(&["--json", "doctor"]).await;
            (ran.code == 0).then(|| ran.expect_ok().json())
        })
        .await;
        assert_eq!(report["ok"], true);
        let checks = [
            "database",
            "schema",
            "rates",
            "network polygon",
            "pool solana",
            "outbox",
            "dead letters",
            "alerts",
            "topology",
            "amqp",
            "first addresses",
            "database roles",
            "payout accounts",
        ];
        for check in checks {
            assert_eq!(state(&report, check), "ok", "{report}");
        }
        // The tests' one user does everything, which is named, and nothing to complain of in a
        // sandbox.
        let all = report["checks"].as_array().unwrap();
        let roles = all.iter().find(|check| check["check"] == "database roles").unwrap();
        assert_eq!(roles["missing"], serde_json::json!([]));
        assert_eq!(roles["users_with_both"].as_array().map(Vec::len), Some(1), "{roles}");
        let one = ctl.json(&["doctor", "--network", "polygon"]).await;
        let names: Vec<_> =
            one["checks"].as_array().unwrap().iter().map(|check| &check["check"]).collect();
        assert_eq!(names, ["database", "schema", "rates", "network polygon"]);
        let watcher = &one["checks"][3];
        assert!(watcher["height"].is_u64() && watcher["watched_through"].is_string(), "{watcher}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_reports_missing_watchers_and_pools_when_no_worker_runs() {
    with_stack(|stack| async move {
        stack.sql("delete from address_pool").await;
        let ran = Ctl::of(&stack).run(&["--json", "doctor"]).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
        let report = ran.json();
        assert_eq!(state(&report, "network polygon"), "broken");
        assert_eq!(state(&report, "pool near"), "broken");
        assert_eq!(state(&report, "topology"), "ok");
        let text = Ctl::of(&stack).run(&["doctor"]).await;
        assert!(text.stdout.contains("is a worker with the role chain-watcher running?"));
    })
    .await;
}

#[tokio::test]
async fn an_unreachable_broker_does_not_hide_the_rest() {
    with_database(|ctl, _| async move {
        let ctl = ctl
            .with("AMQP_URL", "amqp://a:b@127.0.0.1:1/c")
            .with("GATEWAY_BROKER__MANAGEMENT_URL", "http://a:b@127.0.0.1:1");
        let ran = ctl.run(&["--json", "doctor"]).await;
        assert_eq!(ran.code, 1, "{ran:?}");
        let report = ran.json();
        for (check, wanted) in [
            ("database", "ok"),
            ("schema", "ok"),
            ("rates", "broken"),
            ("topology", "broken"),
            ("amqp", "broken"),
        ] {
            assert_eq!(state(&report, check), wanted, "{report}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_empty_database_is_reported_with_the_advice_to_migrate() {
    super::over(support::server::database::TestDatabase::empty().await, |ctl, _| async move {
        let report = ctl.run(&["--json", "doctor", "--network", "polygon"]).await.json();
        assert_eq!((state(&report, "database"), state(&report, "schema")), ("ok", "broken"));
    })
    .await;
}

#[tokio::test]
async fn a_production_without_an_address_key_is_told_that_nothing_is_on_sale() {
    let ctl = Ctl::over("postgres://app:e6a1f0c2@127.0.0.1:1/gateway")
        .with("GATEWAY_PROFILE", "production")
        .with("GATEWAY_RATES__PROVIDERS", "kraken");
    let found = async |ctl: &Ctl, arguments: &[&str]| {
        let arguments: Vec<_> = ["--json", "doctor"].iter().chain(arguments).copied().collect();
        let report = ctl.run(&arguments).await.json();
        let checks = report["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["check"] == "first addresses").cloned();
        found.map(|found| (found["state"].clone(), found["detail"].clone()))
    };
    let nothing: (Value, Value) = ("broken".into(), "no address key: nothing is on sale".into());
    assert_eq!(found(&ctl, &[]).await, Some(nothing));
    // Of one network it cannot be said that nothing is: another family may have a key.
    let xpub = Account::Invoices.xpub(&[7; SEED_BYTES], Family::Bitcoin, Realm::Main).unwrap();
    let bitcoin = ctl.clone().with("GATEWAY_ADDRESSES__BITCOIN", &xpub);
    let polygon: (Value, Value) =
        ("broken".into(), "no address key: polygon is not on sale".into());
    for ctl in [&ctl, &bitcoin] {
        assert_eq!(found(ctl, &["--network", "polygon"]).await, Some(polygon.clone()));
    }
    // Its addresses come from a pool, which has a check of its own.
    assert_eq!(found(&ctl, &["--network", "solana"]).await, None);
    let signer = "a4b2856bfec510abab89753fac1ac0e1112364e7d250545963f135f2a33188ed";
    let pools = ctl.with("GATEWAY_ADDRESSES__POOL_SIGNER", signer);
    let (state, detail) = found(&pools, &[]).await.unwrap();
    assert_eq!(state, "doubtful");
    assert!(detail.as_str().unwrap().contains("only networks with an address pool"), "{detail}");
}
