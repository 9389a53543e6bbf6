//! The public catalogue while a node does not answer: anybody may look at it, so looking must not
//! cost the node a question each.

use axum::http::StatusCode;
use serde_json::json;
use support::{
    node::stub_node::{Answer, Ask, Node, StubNode},
    server::stack::with_configured_stack,
};

use super::scene::settings;

/// A node that is broken, and counts who asks.
struct Broken(std::sync::atomic::AtomicUsize);

impl Node for Broken {
    fn answer(&self, _: &Ask) -> Answer {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Answer::Status(StatusCode::BAD_GATEWAY, json!({}))
    }
}

const RESOURCES: &str = "
    with a as (
        insert into deposit_address (id, family, address, match_key, derivation_index, network)
        select gen_random_uuid(), 'evm', '0x' || lpad(to_hex(n), 40, '0'), '0x' || lpad(to_hex(n), 40, '0'), 1000000 + n, 'polygon'
        from generate_series(1, 50) as n
        returning id, derivation_index
    )
    insert into x402_resource (id, resource_id, merchant_id, address_id, url, description, mime_type, price, networks,
        timeout_seconds, listed)
    select gen_random_uuid(), 'pzx_' || a.derivation_index, m.id, a.id, 'https://api.example/a', '', 'application/json', 0.01,
           array['polygon'], 60, true
    from a, merchant m";

#[tokio::test(flavor = "multi_thread")]
async fn looking_at_the_catalogue_asks_a_broken_node_once_however_much_is_sold() {
    let node = StubNode::start(Broken(Default::default())).await.unwrap();
    with_configured_stack(&settings(node.url()), |stack| async move {
        stack.merchant().await;
        stack.sql(RESOURCES).await;
        let before = node.node().0.load(std::sync::atomic::Ordering::Relaxed);
        let looks = (0..10).map(|_| async {
            let found = stack.anybody().get("/v1/x402/discovery/resources?limit=50").await;
            assert_eq!(found.status, 200, "{}", found.body);
            assert_eq!(found.json()["items"][0]["accepts"], json!([]));
            assert_eq!(found.json()["pagination"]["total"], 50);
        });
        futures_util::future::join_all(looks).await;
        let asked = node.node().0.load(std::sync::atomic::Ordering::Relaxed) - before;
        // One question, which the client of the node may repeat.
        assert!((1..=3).contains(&asked), "{asked}");
    })
    .await;
}
