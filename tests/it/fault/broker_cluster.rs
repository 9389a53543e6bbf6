//! Replicas of every program over a cluster of three brokers, one of which is killed under load.

use std::time::Duration;

use gateway::broker::route::WorkQueue;
use http::Method;
use serde_json::Value;
use support::{
    balancer::Balancer,
    database::TestDatabase,
    installation::{BrokerAccess, Installation},
    private_rabbitmq::{PrivateRabbitmq, private_cluster},
    processes::within,
    trade::Shop,
};

const ROUNDS: usize = 9;
const ORDERS_PER_ROUND: usize = 6;
const KILLED_IN_ROUND: usize = 3;
const CONVERGE_LIMIT: Duration = Duration::from_secs(120);
const JOIN_LIMIT: Duration = Duration::from_secs(120);

/// The same broker behind balancers, as every node of the cluster offers it.
async fn balanced(
    cluster: &[PrivateRabbitmq; 3],
    access: &BrokerAccess,
) -> (BrokerAccess, [Balancer; 2]) {
    let doors = |which: usize| cluster.iter().map(|node| node.addresses()[which]).collect();
    let balancers = [Balancer::before(doors(0)).await, Balancer::before(doors(1)).await];
    let mut access = access.clone();
    let [amqp, management] = cluster[0].addresses().map(|address| address.to_string());
    access.amqp_url = access.amqp_url.replace(&amqp, &balancers[0].address.to_string());
    access.management_url =
        access.management_url.replace(&management, &balancers[1].address.to_string());
    (access, balancers)
}

/// (members, members that run) of the queue of deliveries, as a node tells it.
async fn members(node: &PrivateRabbitmq, access: &BrokerAccess) -> Result<(usize, usize), String> {
    let queue = access.topology.work_queue(WorkQueue::Ipn);
    let told = node.management().call(Method::GET, &["queues", &access.vhost, &queue], None).await;
    let told = told.map_err(|error| error.to_string())?.unwrap_or_default();
    let count = |field: &str| told[field].as_array().map_or(0, Vec::<Value>::len);
    Ok((count("members"), count("online")))
}

async fn until_online(node: &PrivateRabbitmq, access: &BrokerAccess, wanted: usize) {
    within(JOIN_LIMIT, &format!("{wanted} of three members run"), async || {
        match members(node, access).await? {
            (3, online) if online == wanted => Ok(()),
            counts => Err(format!("{counts:?}")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_of_three_loses_nothing_for_any_replica() {
    let mut cluster = private_cluster().await;
    let database = TestDatabase::create().await;
    let direct = cluster[0].access().await;
    let (access, _balancers) = balanced(&cluster, &direct).await;
    // The queues were declared at the first node, so it leads them all, and is the one to lose.
    until_online(&cluster[1], &access, 3).await;
    let replicas = [(); 2].map(|()| Installation::new(&database.url, &access, &[]));
    let mut programs = Vec::new();
    for replica in &replicas {
        programs.push(replica.start().await);
    }
    let shop = Shop::open(&replicas[0], ROUNDS * ORDERS_PER_ROUND).await;

    let mut orders = Vec::new();
    for round in 0..ROUNDS {
        if round == KILLED_IN_ROUND {
            assert!(!shop.receiver.received().is_empty(), "it was killed before any load");
            cluster[0].kill().await;
        }
        let made = shop.create(&replicas[round % 2], ORDERS_PER_ROUND).await;
        shop.pay(&replicas[0], &made).await;
        orders.extend(made);
    }
    until_online(&cluster[1], &access, 2).await;
    let outcome = shop.converge(&replicas[1], &orders, CONVERGE_LIMIT).await;
    println!("{} orders over two nodes of three: {outcome:?}", orders.len());

    // The lost node comes back and holds its part of every queue again.
    cluster[0].start().await;
    until_online(&cluster[0], &access, 3).await;
    for (api, workers) in &programs {
        api.ready().await;
        workers.ready().await;
    }
    let more = shop.create(&replicas[1], ORDERS_PER_ROUND).await;
    shop.pay(&replicas[1], &more).await;
    orders.extend(more);
    shop.converge(&replicas[0], &orders, CONVERGE_LIMIT).await;
    database.remove().await;
}
