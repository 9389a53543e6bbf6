//! Keys, and the order of the checks of a request.

use std::sync::Arc;

use gateway::{
    app::Gateway,
    config::Config,
    merchant::secret::{KeyRing, MasterKey},
};
use http::Method;
use serde_json::json;
use support::server::stack::{MASTER_KEY, with_stack};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Legacy, expect_refusal, hmac, order, send_signed};

#[tokio::test(flavor = "multi_thread")]
async fn each_check_has_its_text_and_its_place() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let legacy = Legacy::of(&stack, &merchant).await;
        let (path, form) = ("/legacy/api.php", legacy.form("get_basic_info", &[]));
        for path in [path, "/legacy", "/legacy/", "/api.php"] {
            let answer = legacy.send(path, &form).await;
            assert_eq!((answer.status, &answer.json()["error"]), (200, &json!("ok")), "{path}");
        }
        // The version comes first, then the key, then the signature.
        let old = form.replace("version=1", "version=2").replace("key=", "key=00");
        expect_refusal(&legacy.send(path, &old).await, "Invalid version");
        let stranger = form.replace(&legacy.keys.public_key, &"0".repeat(64));
        expect_refusal(&legacy.send(path, &stranger).await, "Invalid public key passed");
        let malformed = form.replace(&legacy.keys.public_key, "your_api_public_key");
        expect_refusal(&legacy.send(path, &malformed).await, "Invalid public key passed");
        let unsigned = legacy.client.send(Method::POST, path, &form).await;
        expect_refusal(&unsigned, "No HMAC signature sent");
        for signature in ["", "zz", &hmac("other", form.as_bytes())] {
            let refused = send_signed(&legacy.client, path, &form, signature).await;
            expect_refusal(&refused, "HMAC signature does not match");
        }
        let upper = hmac(legacy.keys.private_key.reveal(), form.as_bytes()).to_uppercase();
        let answer = send_signed(&legacy.client, path, &form, &upper).await;
        assert_eq!(answer.json()["error"], "ok");
        // One changed byte of a signed body.
        let signature = hmac(legacy.keys.private_key.reveal(), form.as_bytes());
        let changed = format!("{form}&x=1");
        let refused = send_signed(&legacy.client, path, &changed, &signature).await;
        expect_refusal(&refused, "HMAC signature does not match");
        legacy.refusal("no_such_command", &[], "Invalid command specified!").await;
        let permission = "This API Key does not have permission to use that command!";
        for cmd in ["create_transfer", "convert", "get_pbn_info", "claim_pbn_coupon"] {
            legacy.refusal(cmd, &[], permission).await;
        }
        // A suspended merchant is told so by every command, also by one that does not exist.
        stack.gateway.set_suspended(merchant.new.id, true).await.unwrap();
        legacy.refusal("no_such_command", &[], "This merchant account is suspended!").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_may_be_xml() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        let answer = legacy.answer("get_basic_info", &[("format", "xml")]).await;
        assert_eq!(answer.header("content-type"), Some("text/xml; charset=utf-8"));
        assert!(answer.body.contains("<error>ok</error><result>"), "{}", answer.body);
        assert!(answer.body.contains("<username>Test shop</username>"), "{}", answer.body);
        let refused = legacy.answer("none", &[("format", "xml")]).await;
        let said = "<error>Invalid command specified!</error><result></result>";
        assert!(refused.body.contains(said), "{}", refused.body);
    })
    .await;
}

/// Attack: whoever has read a public key must not use up its merchant's requests.
#[tokio::test(flavor = "multi_thread")]
async fn the_budget_is_shared_with_v1_and_strangers_take_none_of_it() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let legacy = Legacy::of(&stack, &merchant).await;
        let form = legacy.form("get_basic_info", &[]);
        for _ in 0..70 {
            let refused = send_signed(&legacy.client, "/legacy", &form, &"0".repeat(128)).await;
            expect_refusal(&refused, "HMAC signature does not match");
        }
        for _ in 0..30 {
            legacy.result("get_basic_info", &[]).await;
            assert_eq!(merchant.client.get("/v1/payment").await.status, 200);
        }
        let exhausted = legacy.answer("get_basic_info", &[]).await;
        assert_eq!(exhausted.status, 429);
        assert_eq!(exhausted.header("retry-after"), Some("60"));
        assert_eq!(exhausted.header("x-ratelimit-limit"), Some("60"));
        assert_eq!(exhausted.json()["result"], json!([]));
        merchant.client.get("/v1/payment").await.expect_error(429, "RATE_LIMIT_EXCEEDED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_replace_the_old_ones_and_revoked_ones_are_unknown() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let old = Legacy::of(&stack, &merchant).await;
        let new = Legacy::of(&stack, &merchant).await;
        old.refusal("get_basic_info", &[], "Invalid public key passed").await;
        let account = new.result("get_basic_info", &[]).await;
        assert_eq!(account["merchant_id"], merchant.new.id.simple().to_string());
        assert_eq!(account["public_name"], "Test shop");
        assert!(stack.gateway.revoke_legacy_keys(merchant.new.id).await.unwrap());
        assert!(!stack.gateway.revoke_legacy_keys(merchant.new.id).await.unwrap());
        new.refusal("get_basic_info", &[], "Invalid public key passed").await;
        assert!(stack.gateway.issue_legacy_keys(Uuid::from_u128(7), true).await.is_err());
    })
    .await;
}

/// Attack: a recorded request is sent again. Where it has a nonce it does nothing, and costs
/// nothing of the budget.
#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_is_taken_once_and_only_rises() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let legacy = Legacy::of(&stack, &merchant).await;
        let said =
            "Invalid nonce: it must be a whole number, and higher than in every request before!";
        let recorded = legacy.form("create_transaction", &order(&[("nonce", "7")]));
        let first = legacy.send("/legacy", &recorded).await;
        assert_eq!(first.json()["error"], "ok", "{}", first.body);
        for _ in 0..70 {
            expect_refusal(&legacy.send("/legacy", &recorded).await, said);
        }
        for nonce in ["7", "6", "0", "-1", "x", "1.5", "99999999999999999999"] {
            legacy.refusal("get_basic_info", &[("nonce", nonce)], said).await;
        }
        for nonce in ["8", "1764090000123"] {
            legacy.result("get_basic_info", &[("nonce", nonce)]).await;
        }
        // It is no duty: of requests without one nothing is known.
        legacy.result("get_basic_info", &[]).await;
        let mut connection = stack.database.connect().await;
        let made: i64 = sqlx::query_scalar("select count(*) from invoice")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(made, 1);
        // A wrong signature takes no nonce.
        let ahead = legacy.form("get_basic_info", &[("nonce", "9000000000000000000")]);
        let refused = send_signed(&legacy.client, "/legacy", &ahead, &"0".repeat(128)).await;
        expect_refusal(&refused, "HMAC signature does not match");
        legacy.result("get_basic_info", &[("nonce", "1764090000124")]).await;
        // New keys begin anew.
        let anew = Legacy::of(&stack, &merchant).await;
        anew.result("get_basic_info", &[("nonce", "1")]).await;
    })
    .await;
}

/// Attack: two copies of a recorded request race each other.
#[tokio::test(flavor = "multi_thread")]
async fn of_requests_with_one_nonce_at_once_one_is_carried_out() {
    const COPIES: usize = 8;
    with_stack(|stack| async move {
        let legacy = Arc::new(Legacy::of(&stack, &stack.merchant().await).await);
        let form = legacy.form("create_transaction", &order(&[("nonce", "7")]));
        let mut racing = JoinSet::new();
        for _ in 0..COPIES {
            let (legacy, form) = (legacy.clone(), form.clone());
            racing.spawn(async move { legacy.send("/legacy", &form).await.json() });
        }
        let answers = racing.join_all().await;
        let done = answers.iter().filter(|answer| answer["error"] == "ok").count();
        let said =
            "Invalid nonce: it must be a whole number, and higher than in every request before!";
        let refused = answers.iter().filter(|answer| answer["error"] == said).count();
        assert_eq!((done, refused), (1, COPIES - 1), "{answers:?}");
        let mut connection = stack.database.connect().await;
        let made: i64 = sqlx::query_scalar("select count(*) from invoice")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(made, 1);
    })
    .await;
}

/// The documentation says so: a client that sends the same bytes again after a 429 is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_beyond_the_budget_uses_up_its_nonce() {
    with_stack(|stack| async move {
        let legacy = Legacy::of(&stack, &stack.merchant().await).await;
        for _ in 0..60 {
            legacy.result("get_basic_info", &[]).await;
        }
        let beyond = legacy.form("get_basic_info", &[("nonce", "7")]);
        assert_eq!(legacy.send("/legacy", &beyond).await.status, 429);
        stack.sql("delete from request_window").await;
        let said =
            "Invalid nonce: it must be a whole number, and higher than in every request before!";
        expect_refusal(&legacy.send("/legacy", &beyond).await, said);
        legacy.result("get_basic_info", &[("nonce", "8")]).await;
    })
    .await;
}

/// The private key is stored sealed, and a rotation of the master key seals it anew.
#[tokio::test(flavor = "multi_thread")]
async fn private_keys_are_sealed_and_move_to_a_new_master_key() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let legacy = Legacy::of(&stack, &merchant).await;
        let key = legacy.keys.private_key.reveal().to_owned();
        let mut connection = stack.database.connect().await;
        let plain: i64 = sqlx::query_scalar(
            "select count(*) from legacy_key where position($1 in encode(private_key_sealed, 'escape')) > 0
             or legacy_key::text like '%' || $1 || '%'",
        )
        .bind(&key)
        .fetch_one(&mut connection)
        .await
        .unwrap();
        assert_eq!(plain, 0);
        let new_key = "ab".repeat(32);
        let toml = format!(
            "database_url = {:?}\namqp_url = \"amqp://nobody.invalid\"\nmaster_key = {new_key:?}\nmaster_key_old = {MASTER_KEY:?}",
            stack.database.url
        );
        let rotating = Gateway::new(Config::from_toml(&toml).unwrap()).unwrap();
        rotating.rotate_batch(Uuid::nil()).await.unwrap();
        rotating.finish_rotation().await.unwrap();
        let sealed: Vec<u8> = sqlx::query_scalar("select private_key_sealed from legacy_key")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        let ring = KeyRing::new(MasterKey::parse(&new_key).unwrap(), None);
        assert!(ring.open_legacy_key(merchant.new.id, &sealed).is_ok());
    })
    .await;
}
