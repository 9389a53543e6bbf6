//! Log lines of the programs while they work: no key, no secret, no password, no text of a
//! merchant.

use std::time::Duration;

use http::Method;
use serde_json::json;
use support::{
    client::exchange::Exchange,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::{BrokerAccess, Installation, MASTER_KEY},
        processes::within,
    },
    shop::{receiver::Receiver, trade::Shop},
};

const LIMIT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn programs_at_log_level_trace_print_no_secret() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let access = BrokerAccess::from(&*broker);
        let talkative = [("RUST_LOG", "debug")];
        let installation = Installation::new(&database.url, &access, &talkative);
        let (api, workers) = installation.start().await;
        let shop = Shop::open(&installation, 2).await;
        let merchant = shop.merchant();
        let receiver = Receiver::answering(200).await;
        // A failing delivery produces the most log lines.
        receiver.answer_first(&[500]);
        let order = json!({
            "price_amount": 10, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "talk",
            "order_description": "BODY-CANARY",
            "ipn_callback_url": format!("{}?token=CALLBACK-CANARY", receiver.url),
        });
        let key = merchant.api_key.reveal();
        let ordering = Exchange::post("/v1/payment", key, order.to_string());
        let answer = ordering.once(installation.api).await.unwrap();
        let order = Shop::order(&answer, "talk".to_owned(), 0);
        shop.pay(&installation, &[order]).await;
        let refused = Exchange { method: Method::DELETE, ..ordering };
        refused.once(installation.api).await.unwrap();
        let (log, _) = within(LIMIT, "the IPN is told of in the log", async || {
            let log = format!("{}{}", api.process.output(), workers.process.output());
            let told = ["ipn attempt: retry_later", "ipn attempt: delivered", "answered"];
            let missing: Vec<_> = told.into_iter().filter(|line| !log.contains(line)).collect();
            if missing.is_empty() { Ok(log) } else { Err(format!("no {missing:?}")) }
        })
        .await;
        let password = |url: &str| url::Url::parse(url).unwrap().password().map(ToOwned::to_owned);
        let secrets = [
            Some(key.to_owned()),
            Some(merchant.webhook_secret.reveal().to_owned()),
            Some(MASTER_KEY.to_owned()),
            password(&access.amqp_url),
            password(&database.url),
            Some("BODY-CANARY".to_owned()),
            Some("CALLBACK-CANARY".to_owned()),
        ];
        for secret in secrets.into_iter().flatten() {
            let line = log.lines().find(|line| line.contains(&secret));
            assert_eq!(line, None, "a secret is in a program's log");
        }
        database.remove().await;
    })
    .await;
}
