//! A watcher far behind its chain, with a slow node.

use std::time::{Duration, Instant};

use gateway::{
    app::deposit::follow_chain::{FollowError, Follower},
    asset::Network,
    chain::{ChainError, evm::EvmSource},
    config::{ChainSettings, ChainSourceKind},
};
use secrecy::SecretString;
use support::{
    fault::faulty_line::{Fault, FaultyLine},
    node::{
        anvil::Anvil,
        scripted_chain::{Script, ScriptedChain, Turn},
    },
    shop::{Shop, with_shop},
};

use super::chain_watcher::{NETWORK, over, payment};

const BLOCKS: u32 = 40;
const LATE: Duration = Duration::from_millis(250);

/// Recorded deposits above the first block, the lowest first.
async fn recorded(shop: &Shop) -> String {
    let query =
        "select string_agg(hash, ' ' order by height) from chain_block where network = 'polygon'";
    let mut connection = shop.stack.database.connect().await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

fn told(chain: &ScriptedChain) -> String {
    let hashes: Vec<String> =
        chain.script().canonical.iter().map(|block| block.header.hash.clone()).collect();
    hashes.join(" ")
}

/// A follower of a chain that has made this many blocks since its last look.
async fn behind(shop: &Shop, blocks: u32) -> (ScriptedChain, Follower<ScriptedChain>) {
    let chain = ScriptedChain::new(NETWORK, 100);
    let mut follower = over(&shop.stack.gateway, &chain);
    follower.look(&shop.stack.gateway).await.unwrap();
    (0..blocks).for_each(|_| chain.script().mine(0, Vec::new()));
    (chain, follower)
}

#[tokio::test(flavor = "multi_thread")]
async fn over_a_slow_line_many_blocks_are_caught_up_sooner_than_one_by_one() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let network = Network::Arbitrum;
        let anvil = Anvil::start(network.evm_chain_id().unwrap()).await.unwrap();
        let line = FaultyLine::to(anvil.url()).await.unwrap();
        let source = EvmSource::new(network, &SecretString::from(line.url())).unwrap();
        let settings =
            ChainSettings { source: ChainSourceKind::Node, ..gateway.config.chain(network) };
        let mut follower = Follower::new(source, settings);
        follower.look(gateway).await.unwrap();
        for _ in 0..BLOCKS {
            anvil.mine().await.unwrap();
        }
        line.set(Some(Fault::Late(LATE)));
        let began = Instant::now();
        let look = follower.look(gateway).await.unwrap();
        let took = began.elapsed();
        assert_eq!((look.complete, look.blocks), (true, BLOCKS));
        // One response per block, for they are empty.
        assert!(took < LATE * BLOCKS / 2, "{took:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_long_way_to_the_head_is_read_several_blocks_at_once() {
    with_shop(|shop| async move {
        for (blocks, at_once) in [(16, 1), (17, 8)] {
            let (chain, mut follower) = behind(&shop, blocks).await;
            chain.script().most_asked_for = 0;
            let look = follower.look(&shop.stack.gateway).await.unwrap();
            assert_eq!((look.complete, look.blocks), (true, blocks));
            assert_eq!(chain.script().most_asked_for, at_once);
            shop.run("delete from chain_block where network = 'polygon'").await;
            shop.run("delete from chain_cursor where network = 'polygon'").await;
        }
    })
    .await;
}

/// A reorg at any of the calls: blocks of the two branches are never recorded on top of each other.
#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_among_blocks_that_are_read_at_once_mixes_no_branches() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let (chain, mut follower) = behind(&shop, 0).await;
        let id = shop.invoice().await;
        // The mempool and the chain tip come first.
        for call in 2..14 {
            (0..BLOCKS).for_each(|_| chain.script().mine(0, Vec::new()));
            let paid = payment(&shop, &id, &format!("0xa{call}")).await;
            let reorganise = move |script: &mut Script| {
                script.roll_back(37);
                script.mine(0, vec![paid]);
                (0..37).for_each(|_| script.mine(0, Vec::new()));
            };
            chain.script().turn = Some((call, Turn::Change(Box::new(reorganise))));
            while !follower.look(gateway).await.is_ok_and(|look| look.complete) {}
            assert!(chain.script().turn.is_none());
            assert_eq!(recorded(&shop).await, told(&chain), "at call {call}");
        }
        assert_eq!(chain.script().most_asked_for, 8);
        let standing = "select count(*) from deposit where height is not null";
        assert_eq!(shop.number(standing).await, 12);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_read_below_a_failed_one_are_recorded_and_a_rate_limit_halves_the_next_request() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let (chain, mut follower) = behind(&shop, 60).await;
        // The fifth block of the first eight.
        let limit = |script: &mut Script| script.failing = 1;
        chain.script().turn = Some((2 + 4, Turn::Change(Box::new(limit))));
        let looked = follower.look(gateway).await;
        assert!(
            matches!(looked, Err(FollowError::Chain(ChainError::RateLimited { .. }))),
            "{looked:?}"
        );
        assert_eq!((follower.blocks_read(), chain.script().most_asked_for), (4, 8));
        chain.script().most_asked_for = 0;
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.complete, look.blocks), (true, 56));
        assert_eq!(chain.script().most_asked_for, 4);
        assert_eq!(recorded(&shop).await, told(&chain));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heights_without_a_block_are_read_at_once_as_well() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let (chain, mut follower) = behind(&shop, 0).await;
        for skipped in [0, 3, 9, 0, 1, 20, 0, 0, 2] {
            chain.script().mine(skipped, Vec::new());
        }
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.complete, look.blocks, look.rewound), (true, 9, 0));
        assert_eq!(recorded(&shop).await, told(&chain));
    })
    .await;
}
