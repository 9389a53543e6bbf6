//! Pending payments: seen, mined during a look, and withdrawn only when they are gone.

use std::sync::atomic::{AtomicBool, Ordering};

use gateway::{
    app::{
        Gateway,
        deposit::follow_chain::{FollowError, Follower, follower_of},
        sandbox::simulate::Deposit,
    },
    asset::Network,
    chain::{Agreement, Block, BlockRef, ChainError, ChainSource, Source, Waiting},
    config::{ChainSettings, ChainSourceKind},
    invoice::Status,
    money::BaseUnits,
};
use support::{
    fault::fired::fired,
    node::scripted_chain::ScriptedChain,
    shop::{unconfirmed, with_shop},
};

use super::chain_watcher::{NETWORK, over, payment, under_way};

/// Change right before one of the calls of a look.
enum Meanwhile {
    BlockBeforeMempool,
    BlockBeforeHead,
    /// A payment arrives before the chain tip is requested, and another watcher sees it.
    SeenByAnother(Deposit),
}

/// A chain with that change.
struct MovesDuringALook {
    source: Source,
    gateway: std::sync::Arc<Gateway>,
    meanwhile: Meanwhile,
    moved: AtomicBool,
}

impl MovesDuringALook {
    fn over(gateway: &std::sync::Arc<Gateway>, meanwhile: Meanwhile) -> Follower<Self> {
        let source = Source::simulated(NETWORK, gateway.db.clone());
        let (gateway, moved) = (gateway.clone(), AtomicBool::new(false));
        let settings = gateway.config.chain(NETWORK);
        Follower::new(Self { source, gateway, meanwhile, moved }, settings)
    }

    async fn move_once(&self, at_mempool: bool) {
        let is_now = matches!(self.meanwhile, Meanwhile::BlockBeforeMempool) == at_mempool;
        if !is_now || self.moved.swap(true, Ordering::SeqCst) {
            return;
        }
        match &self.meanwhile {
            Meanwhile::BlockBeforeMempool | Meanwhile::BlockBeforeHead => {
                self.gateway.simulate_mine(NETWORK, 1).await.unwrap();
            }
            Meanwhile::SeenByAnother(deposit) => {
                self.gateway.simulate_deposit(deposit).await.unwrap();
                let settings = self.gateway.config.chain(NETWORK);
                let mut another = follower_of(&self.gateway, settings).unwrap().unwrap();
                another.look(&self.gateway).await.unwrap();
            }
        }
    }
}

impl ChainSource for MovesDuringALook {
    fn network(&self) -> Network {
        NETWORK
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        self.move_once(false).await;
        self.source.head().await
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        self.source.header(height).await
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        self.source.block(height).await
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        self.move_once(true).await;
        self.source.mempool().await
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        self.source.native_balances(at, addresses).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_mined_while_the_mempool_is_read_is_not_reported_as_vanished() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        for meanwhile in [Meanwhile::BlockBeforeMempool, Meanwhile::BlockBeforeHead] {
            let id = shop.invoice().await;
            shop.send(&unconfirmed(&id, "100")).await;
            shop.look(NETWORK).await;
            let look = MovesDuringALook::over(gateway, meanwhile).look(gateway).await.unwrap();
            assert!(look.complete && look.blocks == 1, "{look:?}");
            assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(1)));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_still_listed_in_the_mempool_delays_the_expiry_without_being_read_again() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        over(gateway, &chain).look(gateway).await.unwrap();
        let id = shop.invoice().await;
        chain.script().waiting = vec![payment(&shop, &id, "0xa").await];
        over(gateway, &chain).look(gateway).await.unwrap();
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
        // A watcher that starts reads only a limited part of a full mempool, and another
        // transaction comes first.
        chain.script().waiting.clear();
        chain.script().unread = vec!["0xa".to_owned()];
        let mut follower = over(gateway, &chain);
        for _ in 0..2 {
            assert!(follower.look(gateway).await.unwrap().complete);
            assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
        }
        chain.script().unread.clear();
        follower.look(gateway).await.unwrap();
        assert_eq!(under_way(&shop, &id).await, (0, None));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_was_overtaken_withdraws_nothing_that_the_other_saw() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let id = shop.invoice().await;
        shop.look(NETWORK).await;
        let meanwhile = Meanwhile::SeenByAnother(unconfirmed(&id, "100"));
        MovesDuringALook::over(gateway, meanwhile).look(gateway).await.unwrap();
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_a_block_known_to_one_node_alone_is_not_reported_as_vanished() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let nodes = [ScriptedChain::new(NETWORK, 100), ScriptedChain::new(NETWORK, 100)];
        let [first, witness] = &nodes;
        let settings =
            ChainSettings { source: ChainSourceKind::Node, ..gateway.config.chain(NETWORK) };
        let agreement = Agreement::new(first.clone(), vec![witness.clone()]);
        let mut follower = Follower::new(agreement, settings);
        follower.look(gateway).await.unwrap();
        let id = shop.invoice().await;
        let paid = payment(&shop, &id, "0xa").await;
        nodes.iter().for_each(|node| node.script().waiting = vec![paid.clone()]);
        follower.look(gateway).await.unwrap();
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
        // The first node has one block more, so that its mempool lacks the transaction that the
        // other's still holds.
        first.script().waiting.clear();
        first.script().mine(0, vec![paid.clone()]);
        assert!(follower.look(gateway).await.unwrap().complete);
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
        witness.script().waiting.clear();
        witness.script().mine(0, vec![paid]);
        follower.look(gateway).await.unwrap();
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(1)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_refuses_its_mempool_has_its_blocks_credited_and_its_deadlines_kept() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let watched =
            "select (extract(epoch from watched_through) * 1000000)::bigint from chain_cursor";
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        while !follower.look(gateway).await.unwrap().complete {}
        let before = shop.number(watched).await;
        let (id, waits) = (shop.invoice().await, shop.invoice().await);
        chain.script().waiting = vec![payment(&shop, &waits, "0xb").await];
        // A new follower records its first complete look at once.
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        let after = shop.number(watched).await;
        assert!(before < after);

        chain.script().hides_mempool = true;
        let mined = payment(&shop, &id, "0xa").await;
        chain.script().mine(0, vec![mined]);
        (0..15).for_each(|_| chain.script().mine(0, Vec::new()));
        let mut follower = over(gateway, &chain);
        for _ in 0..2 {
            let refused = follower.look(gateway).await.unwrap_err();
            assert!(matches!(refused, FollowError::Chain(ChainError::RateLimited { .. })));
            fired(1);
        }
        gateway.match_deposits(shop.deposit_of(&id).await).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Paid);
        // A missing mempool does not mean that its transactions vanished, and nothing counts as
        // completely seen.
        assert_eq!(under_way(&shop, &waits).await, (100_000_000, Some(0)));
        assert_eq!(shop.number(watched).await, after);
        chain.script().hides_mempool = false;
        assert!(follower.look(gateway).await.unwrap().complete);
        assert!(after < shop.number(watched).await);
    })
    .await;
}
