//! One trace from the block that paid an invoice, through RabbitMQ twice, to the merchant's
//! request.

use std::{collections::BTreeMap, time::Duration};

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    merchant::settings::Settings,
};
use serde_json::{Value, json};
use support::{
    fault::hostile::{Act, Hostile},
    server::{
        broker::{eventually, with_broker},
        database::TestDatabase,
        installation::{BrokerAccess, Installation},
    },
    shop::{receiver::Receiver, with_shop},
};

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// All spans that a collector received, by trace.
fn told(collector: &Hostile) -> BTreeMap<String, Vec<Value>> {
    let mut traces = BTreeMap::<String, Vec<Value>>::new();
    for request in collector.requests() {
        let request = String::from_utf8(request).unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        assert!(head.to_lowercase().contains("content-type: application/json"), "{head}");
        let body: Value = serde_json::from_str(body).unwrap();
        for resource in body["resourceSpans"].as_array().unwrap() {
            for span in resource["scopeSpans"][0]["spans"].as_array().unwrap() {
                let id = span["traceId"].as_str().unwrap().to_owned();
                traces.entry(id).or_default().push(span.clone());
            }
        }
    }
    traces
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_crosses_rabbitmq_to_the_merchants_request_and_to_the_collector() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let collector = Hostile::always(Act::answer("200 OK", "{}")).await;
        let url = collector.url("");
        let otlp = [("GATEWAY_TELEMETRY__OTLP_URL", url.as_str())];
        let installation = Installation::new(&database.url, &BrokerAccess::from(&*broker), &otlp);
        let (api, workers) = installation.start().await;
        let shop = installation.gateway.create_merchant("Shop", Settings::default()).await.unwrap();
        let receiver = Receiver::answering(200).await;
        let client = installation.client(shop.api_key.reveal()).with_header("traceparent", CALLER);
        let order = json!({
            "price_amount": 100, "price_currency": "usd", "pay_currency": "usdtmatic",
            "ipn_callback_url": receiver.url,
        });
        let created = eventually("an invoice", async || {
            let answer = client.post("/v1/payment", &order).await;
            (answer.status == 201).then(|| answer.json())
        })
        .await;
        let deposit = Deposit {
            payee: Payee::Invoice(created["payment_id"].as_str().unwrap().to_owned()),
            paid_in: PaidIn::default(),
            amount: "100".into(),
            txid: None,
            unconfirmed: false,
        };
        installation.gateway.simulate_deposit(&deposit).await.unwrap();
        let webhook = receiver.wait_for(1).await.remove(0);
        webhook.verify(shop.webhook_secret.reveal());
        let parts: Vec<_> = webhook.header("traceparent").split('-').map(str::to_owned).collect();
        let [_, trace_id, span_id, _] = &parts[..] else { panic!("{parts:?}") };

        let work = |kind: &str| format!("process {}.{kind}.work", broker.topology.prefix());
        let expected = ["look at polygon", &work("deposit"), &work("ipn"), "POST payment IPN"]
            .map(str::to_owned);
        let spans = eventually("the whole trace is told", async || {
            let spans = told(&collector).remove(trace_id)?;
            let all = expected.iter().all(|name| names(&spans).contains(&name.as_str()));
            all.then_some(spans)
        })
        .await;
        // Each is the child of the one before, and the last is the one sent to the merchant.
        let of = |name: &String| spans.iter().find(|span| span["name"] == name.as_str()).unwrap();
        for pair in expected.windows(2) {
            assert_eq!(of(&pair[1])["parentSpanId"], of(&pair[0])["spanId"], "{pair:?}");
        }
        assert_eq!(of(&expected[0])["parentSpanId"], "");
        assert_eq!(of(&expected[3])["spanId"], span_id.as_str());
        assert!(!spans.iter().any(|span| span.to_string().contains(&receiver.url)));
        // Requests within a merchant's own trace belong to that trace.
        let asked =
            eventually("the order's span", async || told(&collector).remove(&CALLER[3..35])).await;
        assert!(names(&asked).contains(&"POST /v1/payment"), "{asked:?}");
        assert!(asked.iter().any(|span| span["parentSpanId"] == CALLER[36..52]), "{asked:?}");
        drop((api, workers));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_shows_its_trace_beside_its_body() {
    with_shop(|shop| async move {
        let broker = &shop.stack.broker;
        let queue = broker.topology.work_queue(gateway::broker::route::WorkQueue::Deposit);
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.stack.start(&[gateway_workers::Role::ChainWatcher]);
        let seen = async || {
            let message = broker.arrival(&queue).await;
            let body: Value = serde_json::from_slice(&message.delivery.data).unwrap();
            let headers = message.delivery.properties.headers().clone().unwrap_or_default();
            let header =
                headers.inner().get("traceparent").and_then(|v| v.as_long_string().cloned());
            (body, header.map(|text| text.to_string()))
        };
        let (body, header) = tokio::time::timeout(Duration::from_secs(30), seen()).await.unwrap();
        assert_eq!(body["traceparent"].as_str().map(str::to_owned), header);
        assert!(header.is_some_and(|text| text.len() == 55), "{body}");
    })
    .await;
}
