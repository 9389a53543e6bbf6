//! With all roles running, every work queue has a consumer, and no other queue has.

use std::{collections::BTreeMap, time::Duration};

use gateway::broker::{
    management::Management,
    route::{Route, WorkQueue},
    topology::Topology,
};
use http::Method;
use support::server::{
    broker::with_broker, database::TestDatabase, installation::Installation, processes::within,
};

/// While mails are off nobody reads their queue, in which nothing is put.
const MAILS_ON: [(&str, &str); 4] = [
    ("GATEWAY_MAIL__ENABLED", "true"),
    ("GATEWAY_MAIL__SERVER", "127.0.0.1:25"),
    ("GATEWAY_MAIL__SECURITY", "none"),
    ("GATEWAY_MAIL__FROM", "Shop <receipts@shop.example>"),
];

/// Consumers by queue name, hint queues left out.
async fn readers(management: &Management, topology: &Topology) -> BTreeMap<String, usize> {
    let path = ["consumers", management.vhost()];
    let consumers = management.call(Method::GET, &path, None).await.unwrap().unwrap();
    let mut readers = BTreeMap::new();
    for consumer in consumers.as_array().unwrap() {
        let queue = consumer["queue"]["name"].as_str().unwrap().to_owned();
        let ours = queue.starts_with(&format!("{}.", topology.prefix()));
        if ours && !queue.starts_with(&topology.hint_queue_prefix()) {
            *readers.entry(queue).or_default() += 1;
        }
    }
    readers
}

#[tokio::test(flavor = "multi_thread")]
async fn every_work_queue_is_read_and_every_route_ends_in_a_queue() {
    let database = TestDatabase::create().await;
    with_broker(|broker| async move {
        let installation = Installation::new(&database.url, &(&*broker).into(), &MAILS_ON);
        let (_api, first) = installation.start().await;
        let second = installation.start_workers(&["all"]).await;
        second.ready().await;
        let (management, topology) = (&broker.management, &broker.topology);
        for copies in [2, 1] {
            let work = WorkQueue::ALL.map(|queue| (topology.work_queue(queue), copies));
            let expected = BTreeMap::from(work);
            within(Duration::from_secs(90), "every work queue has its readers", async || {
                let found = readers(management, topology).await;
                if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
            })
            .await;
            // The second round is without the first process.
            if copies == 2 {
                first.process.signal(support::server::processes::Signal::Terminate);
                first.process.ended(Duration::from_secs(30)).await;
            }
        }
        let bindings = topology.bindings();
        for route in Route::ALL.into_iter().filter(|route| route.mandatory()) {
            let address = topology.address(route);
            let leads = |pattern: &str| match pattern.strip_suffix("#") {
                Some(start) => address.key.starts_with(start),
                None => address.key == pattern,
            };
            let bound = bindings
                .iter()
                .any(|binding| binding.source == address.exchange && leads(&binding.key));
            assert!(bound, "{route} leads nowhere");
        }
        database.remove().await;
    })
    .await;
}
