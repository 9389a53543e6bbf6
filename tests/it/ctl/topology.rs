//! `gatewayctl topology` against a real broker.

use gateway::broker::{route::WorkQueue, topology::Role};
use http::Method;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use support::{
    client::ctl::Ctl,
    server::broker::{TestBroker, with_broker},
};

fn ctl(broker: &TestBroker) -> Ctl {
    let timing = broker.topology.timing();
    Ctl::default()
        .with("GATEWAY_BROKER__MANAGEMENT_URL", broker.management_url.expose_secret())
        .with("GATEWAY_BROKER__VHOST", broker.management.vhost())
        .with("GATEWAY_BROKER__PREFIX", broker.topology.prefix())
        .with("GATEWAY_BROKER__IPN_WAIT_MS", &timing.ipn_wait_ms.to_string())
        .with("GATEWAY_BROKER__PAYOUT_WEBHOOK_WAIT_MS", &timing.payout_webhook_wait_ms.to_string())
}

#[tokio::test]
async fn check_lists_what_is_missing_and_apply_puts_it_back() {
    with_broker(|broker| async move {
        let ctl = ctl(&broker);
        assert_eq!(
            ctl.json(&["topology", "check"]).await,
            json!({ "ok": true, "differences": [] })
        );
        let queue = broker.topology.work_queue(WorkQueue::Ipn);
        broker.delete(&["queues", broker.management.vhost(), &queue]).await;
        let check = ctl.run(&["--json", "topology", "check"]).await;
        assert_eq!((check.code, &check.json()["ok"]), (1, &Value::Bool(false)), "{check:?}");
        let missing = format!("queue {queue} is missing");
        assert_eq!(check.json()["differences"][0], missing.as_str());
        let text = ctl.run(&["topology", "check"]).await;
        assert!(text.code == 1 && text.stdout.contains(&missing), "{text:?}");
        assert!(text.stdout.contains("gatewayctl topology apply"), "{text:?}");
        let applied = ctl.json(&["topology", "apply"]).await;
        let outcomes: Vec<_> =
            applied["users"].as_array().unwrap().iter().map(|user| &user["outcome"]).collect();
        assert_eq!(outcomes, ["no_password"; 3]);
        ctl.run(&["topology", "check"]).await.expect_ok();
    })
    .await;
}

#[tokio::test]
async fn apply_gives_the_three_users_their_passwords_and_rights() {
    with_broker(|broker| async move {
        let ctl = ctl(&broker)
            .with("GATEWAY_BROKER__APPLICATION_PASSWORD", "password-a")
            .with("GATEWAY_BROKER__OPERATOR_PASSWORD", "password-b")
            .with("GATEWAY_BROKER__TOPOLOGY_PASSWORD", "password-c");
        let applied = ctl.run(&["--json", "topology", "apply"]).await.expect_ok();
        assert!(!applied.stdout.contains("password-"), "{applied:?}");
        let text = ctl.run(&["topology", "apply"]).await.expect_ok().stdout;
        for role in [Role::Application, Role::Operator, Role::Topology] {
            let user = broker.topology.user(role).name;
            assert!(text.contains(&user), "{text}");
            let path = ["permissions", broker.management.vhost(), &user];
            let rights = broker.management.call(Method::GET, &path, None).await.unwrap().unwrap();
            assert_eq!(rights["configure"], broker.topology.user(role).rights.configure.as_str());
        }
    })
    .await;
}

#[tokio::test]
async fn a_credential_without_an_administrators_rights_still_restores_the_queues() {
    with_broker(|broker| async move {
        let (_, url) = broker.urls_of(Role::Topology).await;
        let ctl = ctl(&broker)
            .with("GATEWAY_BROKER__MANAGEMENT_URL", url.expose_secret())
            .with("GATEWAY_BROKER__OPERATOR_PASSWORD", "password-b");
        let queue = broker.topology.work_queue(WorkQueue::Deposit);
        broker.delete(&["queues", broker.management.vhost(), &queue]).await;
        let applied = ctl.json(&["topology", "apply"]).await;
        assert_eq!(applied["users"][1]["outcome"], "not_allowed", "{applied}");
        ctl.run(&["topology", "check"]).await.expect_ok();
    })
    .await;
}

#[tokio::test]
async fn a_wrong_password_says_which_setting_to_look_at() {
    with_broker(|broker| async move {
        let mut url = url::Url::parse(broker.management_url.expose_secret()).unwrap();
        url.set_password(Some("hunter2")).unwrap();
        let ctl = ctl(&broker).with("GATEWAY_BROKER__MANAGEMENT_URL", url.as_str());
        for command in ["check", "apply"] {
            let failed = ctl.run(&["topology", command]).await.expect_failure("with 401");
            assert!(failed.stderr.contains("hint: the user in GATEWAY_BROKER__MANAGEMENT_URL"));
            assert!(!failed.stderr.contains("hunter2"), "{failed:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_definitions_are_the_committed_file() {
    let ctl = Ctl::default().with("GATEWAY_BROKER__VHOST", "gw");
    let printed = ctl.run(&["topology", "definitions"]).await.expect_ok().stdout;
    assert_eq!(printed, include_str!("../../../rabbitmq/definitions.json"));
    let json = ctl.json(&["topology", "definitions"]).await;
    assert_eq!(json, serde_json::from_str::<Value>(&printed).unwrap());
}
