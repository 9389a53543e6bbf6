//! Two paying processes at one order: one is frozen in the middle of it for so long that the other
//! takes its place, and goes on afterwards.

use std::time::Duration;

use gateway::app::payout::Confirmation;
use serde_json::Value;
use support::{
    fault::fired::fired,
    server::{
        broker::with_broker,
        database::TestDatabase,
        installation::Installation,
        processes::{Signal, within},
    },
    shop::payouts::{fund, told},
};

use super::killed::{RECIPIENTS, forget_lease, is_told, order, paid_once};

const LIMIT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn a_payer_that_was_frozen_and_replaced_pays_nobody_again() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &[]);
        let others = ["deposit-matching", "expiry-timer", "chain-watcher", "rate-refresher"];
        let _others = installation.start_workers(&others).await;
        let gateway = &installation.gateway;
        let merchant = gateway.create_merchant("Two payers", told()).await.unwrap();
        let (created, _) = within(LIMIT, "rates are there", async || {
            gateway.create_payout(merchant.id, &order()).await.map_err(|error| error.to_string())
        })
        .await;
        let object: Value = serde_json::from_str(&created.body).unwrap();
        let id = object["id"].as_str().unwrap();
        let [first, second] =
            [(); 2].map(|()| installation.launch("gateway-worker", &["payout-batch"], &[]));
        first.ready().await;
        second.ready().await;
        second.process.signal(Signal::Stop);
        let confirmed = gateway.confirm_payout(merchant.id, id, &Confirmation::default()).await;
        fund(gateway, &serde_json::from_str(&confirmed.unwrap()).unwrap()).await;

        let pays = async |more_than: i64| {
            within(LIMIT, "it pays", async || match paid_once(&database).await {
                paid if paid > more_than => Ok(()),
                paid => Err(format!("{paid} paid")),
            })
            .await;
        };
        pays(0).await;
        first.process.signal(Signal::Stop);
        let paid = paid_once(&database).await;
        assert!(paid < i64::from(RECIPIENTS), "it was frozen at the end of its work");
        // As after the time that its lease lasts.
        forget_lease(&database).await;
        second.process.signal(Signal::Continue);
        pays(paid).await;
        // It wakes where it was: now both are at work.
        first.process.signal(Signal::Continue);
        fired(1);
        within(LIMIT, "everybody is paid", async || {
            let story = gateway.explain_payout(id).await.map_err(|error| error.to_string())?;
            let state = story.order.state.as_str();
            if state == "completed" {
                Ok(())
            } else {
                Err(format!("{state}, {:?}", story.order.held))
            }
        })
        .await;
        assert_eq!(paid_once(&database).await, i64::from(RECIPIENTS));
        let books = gateway.explain_payout(id).await.unwrap().order.books;
        assert_eq!(books.paid.get(), u128::from(RECIPIENTS) * 1_000_000);
        is_told(&database, id).await;
        database.remove().await;
    })
    .await;
}
