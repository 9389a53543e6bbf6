//! Replicas of every program over a cluster of three brokers, one of which is killed under load.

use std::time::Duration;

use gateway::broker::route::WorkQueue;
use http::Method;
use serde_json::Value;
use support::{
    fault::fired::fired,
    server::{
        balancer::Balancer,
        database::TestDatabase,
        installation::{BrokerAccess, Installation},
        private_rabbitmq::{PrivateRabbitmq, private_cluster},
        processes::within,
    },
    shop::trade::{Order, Shop},
};

/// Orders that each replica takes, one after another without a pause.
const ORDERS: usize = 90;
/// Number of orders with a delivered event when the node is killed.
const TOLD_BEFORE: usize = 20;
const ORDERS_AFTERWARDS: usize = 6;
const CONVERGE_LIMIT: Duration = Duration::from_secs(120);
const JOIN_LIMIT: Duration = Duration::from_secs(120);

/// The same broker behind balancers, as every node of the cluster offers it.
async fn balanced(
    cluster: &[PrivateRabbitmq; 3],
    access: &BrokerAccess,
) -> (BrokerAccess, [Balancer; 2]) {
    let addresses = |which: usize| cluster.iter().map(|node| node.addresses()[which]).collect();
    let balancers = [Balancer::before(addresses(0)).await, Balancer::before(addresses(1)).await];
    let mut access = access.clone();
    let [amqp, management] = cluster[0].addresses().map(|address| address.to_string());
    access.amqp_url = access.amqp_url.replace(&amqp, &balancers[0].address.to_string());
    access.management_url =
        access.management_url.replace(&management, &balancers[1].address.to_string());
    (access, balancers)
}

/// A queue as a node reports it.
async fn queue(
    node: &PrivateRabbitmq,
    access: &BrokerAccess,
    queue: WorkQueue,
) -> Result<Value, String> {
    let queue = access.topology.work_queue(queue);
    let told = node.management().call(Method::GET, &["queues", &access.vhost, &queue], None).await;
    Ok(told.map_err(|error| error.to_string())?.unwrap_or_default())
}

/// Waits until every work queue has three members, of which `wanted` run.
async fn until_online(node: &PrivateRabbitmq, access: &BrokerAccess, wanted: usize) {
    within(JOIN_LIMIT, &format!("{wanted} of three members run"), async || {
        for each in WorkQueue::ALL {
            let told = queue(node, access, each).await?;
            let count = |field: &str| told[field].as_array().map_or(0, Vec::<Value>::len);
            if (count("members"), count("online")) != (3, wanted) {
                return Err(format!("{each:?}: {} of {}", told["online"], told["members"]));
            }
        }
        Ok(())
    })
    .await;
}

/// Waits until `node` reports a leader of every work queue, and `right` holds for them.
async fn until_led(
    node: &PrivateRabbitmq,
    access: &BrokerAccess,
    right: impl Fn(&[String]) -> bool,
) {
    within(JOIN_LIMIT, "every queue has the right leader", async || {
        let mut leaders = Vec::new();
        for each in WorkQueue::ALL {
            let told = queue(node, access, each).await?;
            let leader = told["leader"].as_str().ok_or(format!("{each:?} has no leader"))?;
            leaders.push(leader.to_owned());
        }
        right(&leaders).then_some(()).ok_or(format!("led by {leaders:?}"))
    })
    .await;
}

async fn name(node: &PrivateRabbitmq) -> String {
    let overview = node.management().call(Method::GET, &["overview"], None).await.unwrap();
    overview.unwrap()["node"].as_str().unwrap().to_owned()
}

/// Takes orders and has each paid.
async fn trade(shop: &Shop, replica: &Installation, count: usize) -> Vec<Order> {
    let mut orders = Vec::new();
    for _ in 0..count {
        let made = shop.create(replica, 1).await;
        shop.pay(replica, &made).await;
        orders.extend(made);
    }
    orders
}

/// Kills the node once merchants get events; returns the number of orders with one by then.
async fn kill_under_load(node: &mut PrivateRabbitmq, shop: &Shop) -> usize {
    let (told, _) = within(CONVERGE_LIMIT, "merchants are being told", async || {
        match shop.receiver.received().len() {
            told if told >= TOLD_BEFORE => Ok(told),
            told => Err(format!("{told} are")),
        }
    })
    .await;
    node.kill().await;
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_of_three_loses_nothing_for_any_replica() {
    let mut cluster = private_cluster().await;
    let database = TestDatabase::create().await;
    let direct = cluster[0].access().await;
    let (access, _balancers) = balanced(&cluster, &direct).await;
    until_online(&cluster[1], &access, 3).await;
    // The queues were declared at the first node, so it leads them, except for those that moved
    // since, and is the one to lose.
    let lost = name(&cluster[0]).await;
    until_led(&cluster[1], &access, |leaders| leaders.contains(&lost)).await;
    let replicas = [(); 2].map(|()| Installation::new(&database.url, &access, &[]));
    let mut programs = Vec::new();
    for replica in &replicas {
        programs.push(replica.start().await);
    }
    let shop = Shop::open(&replicas[0], 2 * ORDERS + ORDERS_AFTERWARDS).await;

    let (mut orders, more, told) = tokio::join!(
        trade(&shop, &replicas[0], ORDERS),
        trade(&shop, &replicas[1], ORDERS),
        kill_under_load(&mut cluster[0], &shop),
    );
    orders.extend(more);
    assert!(told < orders.len(), "it was killed after all orders were told of");
    until_online(&cluster[1], &access, 2).await;
    until_led(&cluster[1], &access, |leaders| !leaders.contains(&lost)).await;
    fired(1);
    let outcome = shop.converge(&replicas[1], &orders, CONVERGE_LIMIT).await;
    println!("{} orders, {told} of them told of before the leader died: {outcome:?}", orders.len());

    // The lost node comes back and holds its part of every queue again.
    cluster[0].start().await;
    until_online(&cluster[0], &access, 3).await;
    for (api, workers) in &programs {
        api.ready().await;
        workers.ready().await;
    }
    orders.extend(trade(&shop, &replicas[1], ORDERS_AFTERWARDS).await);
    shop.converge(&replicas[0], &orders, CONVERGE_LIMIT).await;
    database.remove().await;
}
