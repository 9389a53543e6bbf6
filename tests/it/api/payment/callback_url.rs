//! Allowed values of `ipn_callback_url`: refused at creation if it literally points inward.

use secrecy::ExposeSecret;
use serde_json::json;
use support::server::stack::{with_configured_stack, with_stack};
use url::Url;

use crate::api::{order, rows_written};

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_that_point_inward_in_any_spelling_are_refused() {
    with_configured_stack("egress.allow_private = false", |stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for url in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://0/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[64:ff9b::7f00:1]/",
            "http://[2002:7f00:1::]/",
            "http://[fe80::1]/",
            "http://[fe80::1%25eth0]/",
            "http://[fc00::1]/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://shop.localhost/",
            "http://10.0.0.1/",
            "http://172.16.0.1/",
            "http://192.168.0.1/",
            "http://100.64.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://１２７.０.０.１/",
            "http://127。0。0。1/",
            "http://224.0.0.1/",
            "http://255.255.255.255/",
            "https://shop.example:0/",
            "https://user:password@shop.example/",
            "https://shop.example@127.0.0.1/",
            "ftp://shop.example/",
            "gopher://shop.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "shop.example/ipn",
            "/ipn",
            "http:///ipn",
            "https://shop.example/\r\nx: y",
            "https://shop.example/ ",
            " ",
        ] {
            let answer =
                shop.post("/v1/payment", &order(&json!({ "ipn_callback_url": url }))).await;
            assert_eq!(answer.status, 400, "{url:?}: {}", answer.body);
            answer.expect_error(400, "INVALID_REQUEST");
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.contains("ipn_callback_url"), "{message}");
        }
        assert_eq!(rows_written(&stack).await, [0; 4]);
        for url in [
            "https://shop.example/ipn",
            "http://8.8.8.8:8080/ipn?a=b#c",
            "https://[2606:4700::1111]/",
        ] {
            let answer =
                shop.post("/v1/payment", &order(&json!({ "ipn_callback_url": url }))).await;
            assert_eq!(answer.status, 201, "{url}: {}", answer.body);
            assert_eq!(answer.json()["ipn_callback_url"], url);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_database_and_broker_are_refused_even_on_a_developer_s_machine() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let port = |url: &str, default: u16| Url::parse(url).unwrap().port().unwrap_or(default);
        let own = [
            port(&stack.database.url, 5432),
            port(stack.broker.url.expose_secret(), 5672),
            port(stack.broker.management_url.expose_secret(), 15672),
        ];
        for port in own {
            for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433"] {
                let url = format!("http://{host}:{port}/");
                let body = order(&json!({ "ipn_callback_url": url }));
                let answer = shop.post("/v1/payment", &body).await;
                assert_eq!(answer.status, 400, "{url}: {}", answer.body);
                answer.expect_error(400, "INVALID_REQUEST");
            }
        }
        let body = order(&json!({ "ipn_callback_url": "http://127.0.0.1:9999/" }));
        assert_eq!(shop.post("/v1/payment", &body).await.status, 201);
        let body = order(&json!({ "ipn_callback_url": "http://169.254.169.254/" }));
        shop.post("/v1/payment", &body).await.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}
