//! Networks whose blocks are told late: a deadline waits until everything that may have been paid
//! in time was read.

use chrono::TimeDelta;
use gateway::{
    app::{Gateway, deposit::follow_chain::Follower},
    chain::{Agreement, ChainSource, Reading},
    config::{ChainSettings, ChainSourceKind},
    invoice::{
        Status,
        lifecycle::{Hold, Verdict},
    },
};
use support::{
    fault::fired::fired,
    node::scripted_chain::ScriptedChain,
    shop::{Shop, with_shop},
};

use super::chain_watcher::{NETWORK, payment};

const BEHIND: Verdict = Verdict::Held(Hold::WatcherBehind);
const CONFIRMATIONS: usize = 16;
const THROUGH: &str = "select extract(epoch from watched_through)::bigint from chain_cursor";

/// A network that goes on making blocks.
fn over<S: ChainSource>(gateway: &Gateway, source: S) -> Follower<S> {
    let settings = ChainSettings {
        source: ChainSourceKind::Node,
        head_age_max: Some(TimeDelta::minutes(5)),
        ..gateway.config.chain(NETWORK)
    };
    Follower::new(source, settings)
}

async fn now(shop: &Shop) -> i64 {
    shop.number("select extract(epoch from now())::bigint").await
}

/// Decides as the timer's worker does.
async fn decide(shop: &Shop, id: &str) -> Verdict {
    let (gateway, row) = (&shop.stack.gateway, shop.row_id(id).await);
    gateway.expire_quiet(&[row]).await.unwrap();
    gateway.expire_invoice(row).await.unwrap()
}

/// Reads up to the head with a new follower, which notes its first complete look at once.
async fn read_whole(gateway: &Gateway, chain: &ScriptedChain) {
    let mut follower = over(gateway, chain.clone());
    while !follower.look(gateway).await.unwrap().complete {}
}

/// Ends the window of an invoice at that moment, to within a second.
async fn end_window_at(shop: &Shop, id: &str, unix_seconds: i64) {
    let ago = now(shop).await - unix_seconds;
    shop.end_window(id, ago.try_into().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_mined_in_time_counts_although_its_block_is_reported_a_minute_late() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let start = now(&shop).await;
        chain.script().mine_at(start - 90, Vec::new());
        read_whole(gateway, &chain).await;
        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        // The windows ended half a minute ago. The node shows the chain of a minute ago, and says
        // so.
        chain.script().mine_at(start - 60, Vec::new());
        read_whole(gateway, &chain).await;
        for id in [&paid, &unpaid] {
            end_window_at(&shop, id, start - 30).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
        }
        let paying = payment(&shop, &paid, "0xa").await;
        chain.script().mine_at(start - 40, vec![paying]);
        read_whole(gateway, &chain).await;
        for id in [&paid, &unpaid] {
            assert_eq!(decide(&shop, id).await, BEHIND, "nothing that is dated later was read");
        }
        // The next block that is dated after the deadline is all that they wait for.
        let dated = now(&shop).await;
        chain.script().mine_at(dated, Vec::new());
        read_whole(gateway, &chain).await;
        fired(2);
        decide(&shop, &unpaid).await;
        assert_eq!(shop.status(&unpaid).await, Status::Expired);
        assert_eq!(decide(&shop, &paid).await, Verdict::Held(Hold::PaymentConfirming));
        (1..CONFIRMATIONS).for_each(|_| chain.script().mine(0, Vec::new()));
        read_whole(gateway, &chain).await;
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.events(&paid).await, ["finished"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_dated_in_the_future_proves_nothing_beyond_the_look() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let dated = now(&shop).await + 3_600;
        chain.script().mine_at(dated, Vec::new());
        read_whole(gateway, &chain).await;
        let early = "select count(*) from chain_cursor
                     where watched_through = looked_at and watched_through <= now()";
        assert_eq!(shop.number(early).await, 1);
    })
    .await;
}

/// A mempool that was read whole shows what is mined next, so deadlines need not wait for a block.
#[tokio::test(flavor = "multi_thread")]
async fn a_mempool_read_in_full_proves_all_payments_up_to_that_moment() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let start = now(&shop).await;
        chain.script().mine_at(start - 200, Vec::new());
        for (reading, is_late) in
            [(Reading::Partial, true), (Reading::Loading, true), (Reading::Whole, false)]
        {
            chain.script().reading = reading;
            read_whole(gateway, &chain).await;
            assert_eq!(shop.number(THROUGH).await < start, is_late, "{reading:?}");
        }
    })
    .await;
}

/// Knowledge of a branch says nothing about the branch that replaced it.
#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_takes_back_how_far_payments_are_known() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let start = now(&shop).await;
        chain.script().mine_at(start - 60, Vec::new());
        read_whole(gateway, &chain).await;
        let id = shop.invoice().await;
        chain.script().mine_at(start - 40, Vec::new());
        chain.script().mine_at(start, Vec::new());
        read_whole(gateway, &chain).await;
        end_window_at(&shop, &id, start - 30).await;
        // The other branch was paid in time; the node shows its first block, which is older than
        // that.
        chain.script().roll_back(2);
        chain.script().mine_at(start - 45, Vec::new());
        let shown = chain.script().canonical.clone();
        let paying = payment(&shop, &id, "0xa").await;
        chain.script().mine_at(start - 40, vec![paying]);
        (0..CONFIRMATIONS).for_each(|_| chain.script().mine_at(start, Vec::new()));
        chain.script().shown = Some(shown);
        let look = over(gateway, chain.clone()).look(gateway).await.unwrap();
        assert_eq!(look.rewound, 1, "{look:?}");
        fired(look.rewound);
        read_whole(gateway, &chain).await;
        assert_eq!(decide(&shop, &id).await, BEHIND);
        chain.script().shown = None;
        read_whole(gateway, &chain).await;
        decide(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Paid);
    })
    .await;
}

/// What was mined since does not wait in its mempool, and its own blocks do not show it either.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_mempool_of_a_node_behind_the_others_proves_nothing_beyond_their_newest_block() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let nodes = [(); 3].map(|()| ScriptedChain::new(NETWORK, 100));
        let start = now(&shop).await;
        for node in &nodes {
            let mut script = node.script();
            script.reading = Reading::Whole;
            script.mine_at(start - 200, Vec::new());
            script.mine_at(start - 190, Vec::new());
        }
        let [first, others @ ..] = &nodes;
        let look = async || {
            let agreement = Agreement::new(first.clone(), others.to_vec());
            let mut follower = over(gateway, agreement);
            while !follower.look(gateway).await.unwrap().complete {}
        };
        let mut behind = first.script().canonical.clone();
        behind.pop();
        first.script().shown = Some(behind);
        look().await;
        fired(1);
        assert_eq!(shop.number(THROUGH).await, start - 190);
        first.script().shown = None;
        look().await;
        assert!(shop.number(THROUGH).await >= start);
    })
    .await;
}

/// The release before this one noted the time of the look, whatever the blocks showed.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_release_noted_as_known_is_not_believed() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let start = now(&shop).await;
        chain.script().mine_at(start - 60, Vec::new());
        read_whole(gateway, &chain).await;
        let noted = [
            "update chain_cursor set watched_through = now(), looked_at = null",
            // During an update its watcher may take over from a new one for a while.
            "update chain_cursor set watched_through = now(), looked_at = now() - interval '1 minute'",
        ];
        for noted in noted {
            assert_eq!(shop.run(noted).await, 1);
            read_whole(gateway, &chain).await;
            fired(1);
            assert_eq!(shop.number(THROUGH).await, start - 60, "{noted}");
        }
    })
    .await;
}
