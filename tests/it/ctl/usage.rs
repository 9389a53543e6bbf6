//! Exit codes: 1 for failures, 2 for arguments that can never work. And no secret in any message.

use support::client::ctl::Ctl;

use super::with_database;

#[tokio::test]
async fn wrong_usage_is_reported_before_anything_changes() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: gatewayctl"),
        (&["merchants"], "unrecognized subcommand 'merchants'"),
        (&["merchant", "create"], "--name <NAME>"),
        (&["merchant", "create", "--name", "a", "--overpay-bps", "x"], "--overpay-bps <BPS>"),
        (&["merchant", "create", "--name", "a", "--payout-webhook-url", "ftp://a"], "http://"),
        (&["merchant", "show", "17"], "invalid value '17' for '<ID>'"),
        (&["simulate", "deposit", "--amount", "1"], "--payment-id <ID>"),
        (&["simulate", "deposit", "--amount", "1", "--address", "0x0"], "--network <NET>"),
        (&["simulate", "deposit", "--payment-id", "pzi_0"], "--amount <DECIMAL>"),
        (&["simulate", "confirm", "--txid", "xyz"], "1 to 128 hex digits"),
        (&["simulate", "mine", "--network", "morn"], "[possible values: bitcoin, litecoin"),
        (&["addresses", "fill", "--network", "near", "--count", "-1"], "-1"),
        (
            &["dead-letters", "list", "--queue", "attic"],
            "[possible values: ipn-delivery, payout-webhook-delivery, mail-delivery]",
        ),
        (&["dead-letters", "requeue"], "--event-id <E>"),
        (
            &["dead-letters", "requeue", "--event-id", "e", "--queue", "ipn-delivery"],
            "cannot be used",
        ),
        (
            &["dead-letters", "requeue", "--queue", "ipn-delivery", "--since", "noon"],
            "2026-01-31T12",
        ),
        (&["currency", "set-min", "btc", "ten"], "invalid value 'ten' for '<USD>'"),
        (&["doctor", "--network", "morn"], "[possible values: bitcoin"),
        (&["--json", "demo"], "it has no JSON"),
    ];
    for (arguments, words) in cases {
        Ctl::default().run(arguments).await.expect_wrong_usage(words);
    }
}

#[tokio::test]
async fn a_currency_that_several_networks_share_must_name_its_network() {
    with_database(|ctl, _| async move {
        let four = "eth@ethereum, eth@arbitrum, eth@optimism, eth@base; say which";
        ctl.run(&["currency", "disable", "eth"]).await.expect_wrong_usage(four);
        ctl.run(&["currency", "set-min", "ETH", "5"]).await.expect_wrong_usage(four);
        let create = ["merchant", "create", "--name", "a", "--accept", "btc,eth"];
        ctl.run(&create).await.expect_wrong_usage(four);
        ctl.run(&["currency", "enable", "usdt"]).await.expect_wrong_usage("usdtmatic@polygon");
        ctl.run(&["currency", "enable", "xyz"]).await.expect_wrong_usage("xyz is no currency");
        ctl.run(&["currency", "set-min", "btc", "0.1234567"]).await.expect_wrong_usage("decimals");
    })
    .await;
}

#[tokio::test]
async fn a_missing_setting_is_named_with_an_example() {
    let nothing = Ctl::default();
    nothing.run(&["migrate"]).await.expect_failure("DATABASE_URL is not set (postgres://");
    let failed = nothing.run(&["merchant", "list"]).await;
    let failed = failed.expect_failure("GATEWAY_MASTER_KEY: the master key is not 64 hex");
    assert!(failed.stderr.contains("DATABASE_URL is not set"), "{failed:?}");
    nothing.run(&["topology", "check"]).await.expect_failure("GATEWAY_BROKER__MANAGEMENT_URL");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named_without_its_password() {
    let ctl = Ctl::over("postgres://someone:hunter2@127.0.0.1:1/db")
        .with("AMQP_URL", "amqp://someone:hunter2@127.0.0.1:1/vhost")
        .with("GATEWAY_BROKER__MANAGEMENT_URL", "http://someone:hunter2@127.0.0.1:1");
    for json in [false, true] {
        for arguments in [
            ["merchant", "list"],
            ["topology", "check"],
            ["topology", "apply"],
            ["currency", "list"],
        ] {
            let json = if json { vec!["--json"] } else { vec![] };
            let arguments: Vec<_> = json.into_iter().chain(arguments).collect();
            let failed = ctl.run(&arguments).await.expect_failure("is ");
            assert!(failed.stderr.contains("127.0.0.1:1"), "{failed:?}");
            assert!(failed.stderr.contains("hint: is "), "{failed:?}");
            assert!(!failed.stderr.contains("hunter2"), "{failed:?}");
        }
    }
    let broken = ctl.run(&["doctor"]).await;
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(!broken.stdout.contains("hunter2") && broken.stderr.is_empty(), "{broken:?}");
}

#[tokio::test]
async fn a_database_without_a_schema_asks_for_migrate() {
    super::over(support::server::database::TestDatabase::empty().await, |ctl, _| async move {
        let failed = ctl.run(&["merchant", "list"]).await;
        failed.expect_failure(
            "hint: the schema is missing or older than this program: gatewayctl migrate",
        );
    })
    .await;
}
