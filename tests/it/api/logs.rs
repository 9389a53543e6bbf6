//! Log lines of the API at the most verbose level: no key, no secret, no password.

use std::{
    cell::Cell,
    io,
    sync::{Arc, Mutex},
};

use secrecy::ExposeSecret;
use serde_json::json;
use support::server::stack::with_stack;
use tracing_subscriber::{
    Layer, filter::dynamic_filter_fn, fmt, fmt::MakeWriter, layer::SubscriberExt,
};

use super::order;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

thread_local! {
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// Captures this thread alone. The subscriber is that of the whole process, because one of a single
/// thread misses the callsites that other tests met first.
fn listen() -> Log {
    let log = Log::default();
    let heard = dynamic_filter_fn(|_, _| LISTENING.get());
    let layer = fmt::layer().with_ansi(false).with_writer(log.clone()).with_filter(heard);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).expect("no other test listens");
    LISTENING.set(true);
    log
}

/// On one thread, so that it captures the whole gateway.
#[tokio::test]
async fn logs_never_contain_a_key_a_secret_or_a_password() {
    let heard = listen();
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let shop = &merchant.client;
        let callback = "http://127.0.0.1:9/ipn?token=CALLBACK-CANARY";
        let body =
            order(&json!({"ipn_callback_url": callback, "order_description": "BODY-CANARY"}));
        let created = shop
            .clone()
            .with_header("idempotency-key", "k")
            .with_header("x-request-id", "ID-CANARY")
            .post("/v1/payment", &body)
            .await;
        assert_eq!(created.status, 201, "{}", created.body);
        let rotated = stack.gateway.rotate_key(merchant.new.id).await.unwrap();
        let secret = stack.gateway.rotate_secret(merchant.new.id).await.unwrap();
        shop.get("/v1/payment").await.expect_error(401, "API_KEY_NOT_FOUND");
        let again = stack.anybody().with_key(rotated.reveal());
        assert_eq!(again.get("/v1/payment").await.status, 200);
        stack.anybody().get(&format!("/v1/payment?x-api-key={}", rotated.reveal())).await;
        stack.sql("drop table idempotency").await;
        let failed = again.with_header("idempotency-key", "k").post("/v1/payment", &body).await;
        failed.expect_error(500, "INTERNAL_ERROR");

        let text = String::from_utf8_lossy(&heard.0.lock().unwrap()).into_owned();
        let failed_id = failed.header("x-request-id").unwrap();
        let named = |line: &str| line.contains("the database failed") && line.contains(failed_id);
        assert!(text.lines().any(named), "no line of the failure names {failed_id}");
        assert!(text.lines().any(|line| line.contains("answered") && line.contains("ID-CANARY")));
        for expected in ["answered", "the database failed a request"] {
            assert!(text.contains(expected), "the log is not listened to: no {expected:?}");
        }
        let password = |url: &str| url::Url::parse(url).unwrap().password().map(ToOwned::to_owned);
        let secrets = [
            Some(merchant.new.api_key.reveal().to_owned()),
            Some(rotated.reveal().to_owned()),
            Some(merchant.new.webhook_secret.reveal().to_owned()),
            Some(secret.reveal().to_owned()),
            password(stack.broker.url.expose_secret()),
            password(&stack.database.url),
            Some("BODY-CANARY".to_owned()),
            Some("CALLBACK-CANARY".to_owned()),
        ];
        for secret in secrets.into_iter().flatten() {
            let line = text.lines().find(|line| line.contains(&secret));
            assert_eq!(line, None, "a secret is in the log");
        }
    })
    .await;
}
