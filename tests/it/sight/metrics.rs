//! Real processes, a real Prometheus: every metric is exposed, every expression returns a value,
//! and in calm no alert fires.

use std::{collections::BTreeSet, time::Duration};

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    merchant::settings::Settings,
    telemetry::measures::MEASURES,
};
use serde_json::json;
use support::{
    client::Client,
    server::{
        broker::{eventually, with_broker},
        database::TestDatabase,
        installation::{BrokerAccess, Installation, Program},
        processes::within,
    },
    shop::receiver::Receiver,
};

use super::{alerts, dashboards, prometheus::Prometheus};

const PATIENCE: Duration = Duration::from_secs(60);
/// Metrics that appear only with events that do not occur in calm: a failing provider has a name
/// only then, and no mail is sent before an operator names a relay (`it::mail::killed` looks at
/// that one). And nodes, pools and programs that pay belong to networks that these programs do not
/// follow.
const RARE: [&str; 17] = [
    "rate_provider_failures_total",
    "payout_webhook_attempt_seconds",
    "mail_attempt_seconds",
    "payout_gas_transfers",
    "chain_node_calls_total",
    "chain_node_faults_total",
    "address_pool_free",
    "address_pool_low",
    "x402_verified_total",
    "x402_settle_answers_total",
    "x402_settle_seconds",
    "x402_refused_total",
    "x402_ended_total",
    "x402_booked_total",
    "x402_reorged_total",
    "x402_open_settlements",
    "x402_gas_settlements",
];

/// The names that a process exposes, without a histogram's parts.
async fn scrape(program: &Program) -> String {
    Client::new(program.metrics()).get("/metrics").await.body
}

fn names(page: &str) -> BTreeSet<String> {
    let lines = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

async fn finish_an_invoice(installation: &Installation) {
    let shop = installation.gateway.create_merchant("Shop", Settings::default()).await.unwrap();
    let receiver = Receiver::answering(200).await;
    let order = json!({
        "price_amount": 100, "price_currency": "usd", "pay_currency": "usdtmatic",
        "ipn_callback_url": receiver.url,
    });
    let client = installation.client(shop.api_key.reveal());
    // Rates are refreshed by the workers a moment after they start.
    let created = eventually("an invoice", async || {
        let answer = client.post("/v1/payment", &order).await;
        (answer.status == 201).then(|| answer.json())
    })
    .await;
    let payment_id = created["payment_id"].as_str().unwrap().to_owned();
    let deposit = Deposit {
        payee: Payee::Invoice(payment_id),
        paid_in: PaidIn::default(),
        amount: "100".into(),
        txid: None,
        unconfirmed: false,
    };
    installation.gateway.simulate_deposit(&deposit).await.unwrap();
    receiver.wait_for(1).await;
}

/// Expressions of the dashboards without a value, though there is one in calm.
async fn silent_expressions(prometheus: &Prometheus) -> Vec<String> {
    let mut silent = Vec::new();
    for (place, expression) in dashboards::expressions() {
        if RARE.iter().any(|name| expression.contains(name)) {
            continue;
        }
        if prometheus.query(&expression).await.is_empty() {
            silent.push(format!("{place}: {expression}"));
        }
    }
    silent
}

#[tokio::test(flavor = "multi_thread")]
async fn every_metric_is_exposed_every_expression_evaluates_and_an_idle_stack_raises_no_alert() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &BrokerAccess::from(&*broker), &[]);
        let (api, workers) = installation.start().await;
        let prometheus = Prometheus::start(api.metrics(), workers.metrics()).await;
        finish_an_invoice(&installation).await;

        let wanted: BTreeSet<_> = MEASURES
            .iter()
            .map(|(name, ..)| (*name).to_owned())
            .filter(|name| !RARE.contains(&name.as_str()))
            .collect();
        within(PATIENCE, "every measure is exposed", async || {
            let pages = [scrape(&api).await, scrape(&workers).await];
            let exposed: BTreeSet<_> = pages.iter().flat_map(|page| names(page)).collect();
            let unknown: Vec<_> = exposed
                .iter()
                .filter(|name| !MEASURES.iter().any(|(known, ..)| known == name))
                .collect();
            assert!(unknown.is_empty(), "not among the measures: {unknown:?}");
            let missing: Vec<_> = wanted.difference(&exposed).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?}")) }
        })
        .await;
        // Each process exposes the rows that all share, and its own parts.
        for page in [scrape(&api).await, scrape(&workers).await] {
            for line in [
                "outbox_waiting 0",
                "database_up 1",
                "part_ready{part=\"relay\"} 1",
                "chain_lag_seconds{network=\"polygon\"}",
            ] {
                assert!(page.contains(line), "no {line} in {page}");
            }
        }
        let page = scrape(&workers).await;
        for line in [
            "invoice_transitions_total{from=\"pending\",to=\"paid\"} 1",
            "ipn_attempts_total{outcome=\"delivered\"} 1",
            "sweep_hits_total{kind=\"deposits\"} 0",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }

        // A rate needs two scrapes of the same series, which begins when its first event is
        // counted.
        within(PATIENCE, "every expression of the dashboards answers", async || {
            let up = prometheus.query("min(min_over_time(up[5s])) == 1 and count(up) == 2").await;
            let silent = silent_expressions(&prometheus).await;
            if silent.is_empty() && !up.is_empty() { Ok(()) } else { Err(format!("{silent:#?}")) }
        })
        .await;
        let loaded = prometheus.rules().await;
        assert_eq!(loaded.len(), alerts::rules().len());
        let firing: Vec<_> = loaded.iter().filter(|rule| rule["state"] == "firing").collect();
        assert!(firing.is_empty(), "{firing:#?}");
        let unsound: Vec<_> = loaded.iter().filter(|rule| rule["health"] == "err").collect();
        assert!(unsound.is_empty(), "{unsound:#?}");
        drop((api, workers));
    })
    .await;
}
