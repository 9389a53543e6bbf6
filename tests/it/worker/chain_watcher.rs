//! Following a chain: reorgs that reverse or move transactions, and a watcher that was down.

use std::{collections::HashMap, sync::Arc};

use chrono::TimeDelta;
use gateway::{
    app::{
        Gateway,
        deposit::follow_chain::{FollowError, Follower, follower_of},
        sandbox::simulate::Deposit,
    },
    asset::Network,
    chain::{ChainSource, Transfer, TransferAmount, TransferAsset},
    config::{ChainSettings, ChainSourceKind},
    invoice::Status,
    money::BaseUnits,
    storage::simulation,
};
use gateway_workers::Role;
use serde_json::json;
use sqlx::Connection;
use support::{
    fault::fired::fired,
    node::scripted_chain::{Script, ScriptedChain, Turn},
    shop::{Shop, deposit, unconfirmed, with_shop},
};

pub(super) const NETWORK: Network = Network::Polygon;

/// Unconfirmed amount in the buyer's view, and its confirmations.
pub(super) async fn under_way(shop: &Shop, id: &str) -> (u128, Option<u64>) {
    let status = shop.stack.gateway.buyer_status(id).await.unwrap().unwrap();
    let asset = status.asset.unwrap();
    assert_eq!(asset.required_confirmations, 16);
    (asset.unconfirmed.get(), asset.confirmations)
}

async fn match_first(shop: &Shop, id: &str) {
    let deposit = shop.deposit_of(id).await;
    shop.stack.gateway.match_deposits(deposit).await.unwrap();
}

async fn alerts(shop: &Shop) -> i64 {
    shop.number("select count(*) from operator_alert").await
}

/// Another branch from the block of `txid` on, one block longer, with it `later` blocks later.
async fn move_transaction(shop: &Shop, txid: &str, later: i64) {
    let mut tx = shop.stack.gateway.db.begin().await.unwrap();
    simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
    let (_, height) = simulation::find(&mut tx, txid).await.unwrap().unwrap();
    simulation::fork_from(&mut tx, NETWORK, height.unwrap()).await.unwrap();
    simulation::mine(&mut tx, NETWORK).await.unwrap();
    sqlx::query("update sim_transfer set height = height + $2 where txid = $1")
        .bind(txid)
        .bind(later)
        .execute(&mut *tx)
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_watcher_stopped_a_deposit_changes_nothing() {
    with_shop(|shop| async move {
        use Role::{DepositMatching, ExpiryTimer, IpnDelivery, Sweeper};
        shop.stack.start(&[DepositMatching, ExpiryTimer, IpnDelivery, Sweeper]);
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        // Everything else works meanwhile, and the deadline timer of the paid one fires.
        shop.end_window(&id, 0).await;
        let draft = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        shop.end_window(&draft, 1).await;
        shop.webhook_about(&draft, 1).await;
        assert_eq!(shop.number("select count(*) from deposit").await, 0);
        assert_eq!(shop.status(&id).await, Status::Pending);
        shop.run("update sim_block set mined_at = mined_at - interval '1 hour'").await;
        shop.stack.start(&[Role::ChainWatcher]);
        shop.becomes(&id, Status::Paid).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_buyer_sees_confirmations_grow_and_only_the_last_one_pays() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.look(NETWORK).await;
        assert_eq!(under_way(&shop, &id).await, (0, None));
        shop.send(&unconfirmed(&id, "100")).await;
        shop.look(NETWORK).await;
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(0)));
        for (blocks, confirmations) in [(1, 1), (4, 5), (10, 15)] {
            shop.stack.gateway.simulate_mine(NETWORK, blocks).await.unwrap();
            assert_eq!(shop.look(NETWORK).await.finalized, 0);
            assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(confirmations)));
            match_first(&shop, &id).await;
            assert_eq!(shop.status(&id).await, Status::Pending);
        }
        shop.stack.gateway.simulate_mine(NETWORK, 1).await.unwrap();
        assert_eq!(shop.look(NETWORK).await.finalized, 1);
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Paid);
        assert_eq!(under_way(&shop, &id).await, (0, Some(16)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_orphaned_before_its_confirmations_is_withdrawn() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let txid = shop.send(&unconfirmed(&id, "100")).await.txid;
        shop.stack.gateway.simulate_mine(NETWORK, 5).await.unwrap();
        shop.look(NETWORK).await;
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(5)));
        shop.stack.gateway.simulate_orphan(&txid).await.unwrap();
        let look = shop.look(NETWORK).await;
        assert_eq!(look.rewound, 1);
        fired(look.rewound);
        assert_eq!(under_way(&shop, &id).await, (0, None));
        let row = shop.row_id(&id).await;
        shop.end_window(&id, 0).await;
        shop.look(NETWORK).await;
        // A while later, for it may be mined all the same.
        shop.run("update deposit set updated_at = updated_at - interval '1 hour'").await;
        shop.stack.gateway.expire_invoice(row).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Expired);
        assert_eq!(alerts(&shop).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_orphaned_after_its_credit_is_reversed_with_one_alert() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let sent = Deposit { txid: Some("0xbad".to_owned()), ..deposit(&id, "100") };
        shop.send(&sent).await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        fired(shop.look(NETWORK).await.rewound);
        let reversed = async || {
            assert_eq!(shop.status(&id).await, Status::Paid);
            let payment = shop.payment(&id).await;
            assert_eq!(payment["actually_paid"].to_string(), "100");
            let books = shop.books(&id).await;
            let kinds: Vec<_> = books.iter().map(|entry| entry.kind.as_str()).collect();
            assert_eq!(kinds, ["deposit", "reversal"]);
            assert_eq!((&books[1].debit, &books[1].credit), (&books[0].credit, &books[0].debit));
            assert_eq!(books[1].amount, books[0].amount);
            assert_eq!(shop.events(&id).await, ["finished"]);
        };
        reversed().await;
        assert_eq!(alerts(&shop).await, 1);
        shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
        shop.look(NETWORK).await;
        reversed().await;
        assert_eq!(alerts(&shop).await, 1);
        // The same transaction once more: an operator decides, nothing is booked twice.
        shop.send(&sent).await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        reversed().await;
        let returned =
            "select count(*) from operator_alert where kind = 'reversed_deposit_returned'";
        assert_eq!(shop.number(returned).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_takes_its_over_payment_back_from_the_treasury() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.send(&Deposit { txid: Some("0xbad".to_owned()), ..deposit(&id, "150") }).await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Overpaid);
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        shop.look(NETWORK).await;
        let books = shop.books(&id).await;
        let kinds: Vec<_> = books.iter().map(|entry| entry.kind.as_str()).collect();
        assert_eq!(kinds, ["deposit", "excess", "reversal", "excess_reversal"]);
        for (booked, undone) in [(0, 2), (1, 3)] {
            let (booked, undone) = (&books[booked], &books[undone]);
            assert_eq!((&booked.debit, &booked.credit), (&undone.credit, &undone.debit));
            assert_eq!(booked.amount, undone.amount);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorg_that_includes_the_transaction_elsewhere_credits_it_once() {
    with_shop(|shop| async move {
        let (before, after) = (shop.invoice().await, shop.invoice().await);
        // Moved while it has its confirmations but is not credited, and moved after the credit.
        for (id, credited) in [(before, false), (after, true)] {
            let sent = shop.pay(&id, "100").await;
            shop.look(NETWORK).await;
            if credited {
                match_first(&shop, &id).await;
            }
            move_transaction(&shop, &sent.txid, 3).await;
            let look = shop.look(NETWORK).await;
            assert_eq!(look.rewound, 1);
            fired(look.rewound);
            shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
            shop.look(NETWORK).await;
            match_first(&shop, &id).await;
            assert_eq!(shop.status(&id).await, Status::Paid);
            assert_eq!(shop.books(&id).await.len(), 1);
            assert_eq!(shop.events(&id).await, ["finished"]);
        }
        let lost =
            "select count(*) from deposit where orphaned_height is not null or state <> 'settled'";
        assert_eq!(shop.number(lost).await, 0);
        assert_eq!(alerts(&shop).await, 0);
    })
    .await;
}

/// The transaction is in another block and pays another amount there, as one of a contract may.
async fn change_transaction(shop: &Shop, txid: &str, amount: i64) {
    move_transaction(shop, txid, 1).await;
    let mut connection = shop.stack.database.connect().await;
    sqlx::query("update sim_transfer set amount = $2 where txid = $1")
        .bind(txid)
        .bind(amount)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    assert_eq!(shop.look(NETWORK).await.rewound, 1);
    shop.stack.gateway.simulate_mine(NETWORK, 20).await.unwrap();
    shop.look(NETWORK).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_changes_in_a_reorg_counts_with_its_new_effect() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let sent = shop.send(&unconfirmed(&id, "100")).await;
        shop.stack.gateway.simulate_mine(NETWORK, 5).await.unwrap();
        shop.look(NETWORK).await;
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(5)));
        change_transaction(&shop, &sent.txid, 1_000_000).await;
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Partial);
        let books = shop.books(&id).await;
        assert_eq!((books.len(), books[0].amount), (1, 1_000_000));
        assert_eq!(alerts(&shop).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counted_transaction_that_changes_in_a_reorg_is_reversed_with_an_alert() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        change_transaction(&shop, &sent.txid, 1_000_000).await;
        let kinds: Vec<_> =
            shop.books(&id).await.iter().map(|entry| entry.kind.as_str().to_owned()).collect();
        assert_eq!(kinds, ["deposit", "reversal"]);
        let told = "select count(distinct kind) from operator_alert
                    where kind in ('deposit_changed', 'deposit_reversed')";
        assert_eq!(shop.number(told).await, 2);
        assert_eq!(alerts(&shop).await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_payment_counts_as_its_replacement() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let first = shop.send(&unconfirmed(&id, "100")).await.txid;
        shop.look(NETWORK).await;
        shop.stack.gateway.simulate_orphan(&first).await.unwrap();
        let second = shop.send(&unconfirmed(&id, "60")).await.txid;
        shop.look(NETWORK).await;
        let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
        let asset = status.asset.unwrap();
        assert_eq!((asset.unconfirmed.get(), asset.tx_hashes), (60_000_000, vec![second]));
        shop.stack.gateway.simulate_mine(NETWORK, 16).await.unwrap();
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Partial);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_watchers_of_one_network_at_once_record_everything_once() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let id = shop.invoice().await;
        shop.look(NETWORK).await;
        for _ in 0..5 {
            shop.pay(&id, "1").await;
        }
        let look = async || {
            let settings = gateway.config.chain(NETWORK);
            let mut follower = follower_of(gateway, settings).unwrap().unwrap();
            match follower.look(gateway).await {
                Ok(_) | Err(FollowError::CursorMoved) => {}
                Err(error) => panic!("{error}"),
            }
        };
        tokio::join!(look(), look(), look());
        shop.look(NETWORK).await;
        assert_eq!(shop.number("select count(*) from deposit where state = 'final'").await, 5);
        match_first(&shop, &id).await;
        assert_eq!(shop.payment(&id).await["actually_paid"].to_string(), "5");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_watcher_takes_over_when_the_first_one_stops() {
    with_shop(|shop| async move {
        let (first, _) = shop.stack.start(&[Role::ChainWatcher]);
        shop.stack.start(&[Role::ChainWatcher, Role::DepositMatching]);
        let id = shop.invoice().await;
        shop.pay(&id, "60").await;
        shop.becomes(&id, Status::Partial).await;
        first.cancel();
        shop.pay(&id, "40").await;
        shop.becomes(&id, Status::Paid).await;
        assert_eq!(shop.books(&id).await.len(), 2);
    })
    .await;
}

/// A follower of a scripted chain of NEAR's kind, where some heights have no block.
pub(super) fn over(gateway: &Gateway, chain: &ScriptedChain) -> Follower<ScriptedChain> {
    let settings = ChainSettings {
        source: ChainSourceKind::Node,
        // Its tests choose the dates of its blocks.
        head_age_max: None,
        ..gateway.config.chain(chain.network())
    };
    Follower::new(chain.clone(), settings)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reorganisation_across_skipped_heights_finds_the_last_common_block() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(Network::Near, 100);
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        for skipped in [0, 3, 2, 0] {
            chain.script().mine(skipped, Vec::new());
        }
        assert!(follower.look(gateway).await.unwrap().complete);
        // 100 101 105 108 109 becomes 100 101 104 110.
        chain.script().roll_back(3);
        chain.script().mine(2, Vec::new());
        chain.script().mine(5, Vec::new());
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.rewound, look.blocks), (1, 2));
        fired(look.rewound);
        assert!(follower.look(gateway).await.unwrap().complete);
        let query = "select string_agg(height::text, ' ' order by height) from chain_block where network = 'near'";
        let mut connection = shop.stack.database.connect().await;
        let read: String = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
        assert_eq!(read, "100 101 104 110");
        assert_eq!(alerts(&shop).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_reports_an_older_head_first_causes_no_rollback() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(Network::Near, 100);
        let mut follower = over(gateway, &chain);
        chain.script().mine(0, Vec::new());
        follower.look(gateway).await.unwrap();
        for _ in 0..2 {
            chain.script().mine(0, Vec::new());
        }
        // The mempool and the chain tip are requested first; then the chain reorganises.
        let reorganise = |script: &mut Script| {
            script.roll_back(2);
            (0..3).for_each(|_| script.mine(0, Vec::new()));
        };
        chain.script().turn = Some((2, Turn::Change(Box::new(reorganise))));
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.complete, look.rewound), (false, 0), "{look:?}");
        fired(usize::from(chain.script().turn.is_none()));
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.complete, look.rewound), (true, 0), "{look:?}");
    })
    .await;
}

/// More blocks than are remembered: no block of the node can be compared.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_far_behind_is_no_reorganisation() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 1_000);
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        chain.script().mine(0, Vec::new());
        let behind = chain.script().canonical.clone();
        (0..1_100).for_each(|_| chain.script().mine(0, Vec::new()));
        while !follower.look(gateway).await.unwrap().complete {}
        chain.script().shown = Some(behind);
        let look = follower.look(gateway).await.unwrap();
        assert_eq!((look.complete, look.blocks, look.rewound), (false, 0, 0));
        assert_eq!(alerts(&shop).await, 0);
        chain.script().shown = None;
        assert!(follower.look(gateway).await.unwrap().complete);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credited_deposit_that_stands_beyond_the_confirmations_again_is_not_reversed() {
    with_shop(|shop| async move {
        shop.stack.gateway.simulate_mine(NETWORK, 30).await.unwrap();
        shop.look(NETWORK).await;
        let id = shop.invoice().await;
        let sent = shop.pay(&id, "100").await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        // More blocks are replaced than a deposit needs, and it comes back near their end.
        shop.stack.gateway.simulate_mine(NETWORK, 5).await.unwrap();
        shop.look(NETWORK).await;
        let mut tx = shop.stack.gateway.db.begin().await.unwrap();
        simulation::lock_chain(&mut tx, NETWORK).await.unwrap();
        let (_, height) = simulation::find(&mut tx, &sent.txid).await.unwrap().unwrap();
        simulation::fork_from(&mut tx, NETWORK, height.unwrap() - 25).await.unwrap();
        simulation::mine(&mut tx, NETWORK).await.unwrap();
        tx.commit().await.unwrap();
        let look = shop.look(NETWORK).await;
        assert_eq!(look.rewound, 1);
        fired(look.rewound);
        shop.stack.gateway.simulate_mine(NETWORK, 40).await.unwrap();
        shop.look(NETWORK).await;
        assert_eq!(shop.books(&id).await.len(), 1);
        assert_eq!(alerts(&shop).await, 0);
    })
    .await;
}

/// 100 USDT, pending or in a block.
pub(super) async fn payment(shop: &Shop, id: &str, tx_hash: &str) -> Transfer {
    let invoice = shop.payment(id).await;
    let text = |field: &str| invoice[field].as_str().unwrap().to_ascii_lowercase();
    Transfer {
        key: format!("{tx_hash}:0"),
        tx_hash: tx_hash.to_owned(),
        to: text("pay_address"),
        from: None,
        asset: TransferAsset::Contract(text("smart_contract")),
        amount: TransferAmount::Units(BaseUnits::new(100_000_000)),
        maturity: 1,
        spends: Arc::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_lost_in_a_reorg_of_an_open_invoice_must_be_paid_again() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let sent = Deposit { txid: Some("0xbad".to_owned()), ..deposit(&id, "60") };
        shop.send(&sent).await;
        shop.look(NETWORK).await;
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Partial);
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        shop.look(NETWORK).await;
        let paid = async || {
            let payment = shop.payment(&id).await;
            (payment["actually_paid"].to_string(), shop.status(&id).await)
        };
        assert_eq!(paid().await, ("0".to_owned(), Status::Partial));
        for (amount, sum, status) in [("40", "40", Status::Partial), ("60", "100", Status::Paid)] {
            shop.pay(&id, amount).await;
            shop.look(NETWORK).await;
            match_first(&shop, &id).await;
            assert_eq!(paid().await, (sum.to_owned(), status));
        }
        let books = shop.books(&id).await;
        let kinds: Vec<_> = books.iter().map(|entry| entry.kind.as_str()).collect();
        assert_eq!(kinds, ["deposit", "reversal", "deposit", "deposit"]);
        assert_eq!(shop.events(&id).await, ["finished"]);
        assert_eq!(alerts(&shop).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversed_coin_that_returns_is_not_credited_by_the_balance() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        chain.script().coins = Some(HashMap::new());
        follower.look(gateway).await.unwrap();
        let id = shop.invoice_of(json!({ "pay_currency": "pol" })).await;
        // The address's initial balance is read at the next chain tip.
        chain.script().mine(0, Vec::new());
        follower.look(gateway).await.unwrap();
        let units = BaseUnits::new(1_000_000_000);
        let to = shop.payment(&id).await["pay_address"].as_str().unwrap().to_ascii_lowercase();
        let paid = Transfer {
            key: "0xa".to_owned(),
            tx_hash: "0xa".to_owned(),
            to: to.clone(),
            from: None,
            asset: TransferAsset::Native,
            amount: TransferAmount::Units(units),
            maturity: 1,
            spends: Arc::default(),
        };
        let arrive = || {
            let mut script = chain.script();
            script.mine(0, vec![paid.clone()]);
            (0..20).for_each(|_| script.mine(0, Vec::new()));
            script.coins = Some(HashMap::from([(to.clone(), units)]));
        };
        arrive();
        follower.look(gateway).await.unwrap();
        match_first(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Partial);
        {
            let mut script = chain.script();
            script.roll_back(21);
            (0..22).for_each(|_| script.mine(0, Vec::new()));
            script.coins = Some(HashMap::new());
        }
        while !follower.look(gateway).await.unwrap().complete {}
        let credited = "select coalesce(sum(credited), 0)::bigint from invoice";
        assert_eq!(shop.number(credited).await, 0);
        // It comes back twice, the second time after another removal from the chain.
        for depth in [0, 21] {
            chain.script().roll_back(depth);
            arrive();
            while !follower.look(gateway).await.unwrap().complete {}
            assert_eq!(shop.number("select count(*) from deposit").await, 1);
            assert_eq!(shop.number(credited).await, 0);
        }
        assert_eq!(alerts(&shop).await, 2);
        // Gone again, it no longer explains the address's balance.
        chain.script().roll_back(21);
        (0..22).for_each(|_| chain.script().mine(0, Vec::new()));
        while !follower.look(gateway).await.unwrap().complete {}
        assert_eq!(shop.number("select count(*) from deposit").await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_made_before_a_network_was_first_read_are_found() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let id = shop.invoice().await;
        // Block 103 was mined ten minutes before the address was assigned: the allowed clock skew.
        let given = "select extract(epoch from min(created_at))::bigint - 703 from deposit_address";
        let chain = ScriptedChain::new(NETWORK, 100);
        chain.script().first_block_after = TimeDelta::seconds(shop.number(given).await);
        for height in 101..=110 {
            let paid = payment(&shop, &id, "0xa").await;
            chain.script().mine(0, if height == 105 { vec![paid] } else { Vec::new() });
        }
        let look = over(gateway, &chain).look(gateway).await.unwrap();
        assert!(look.complete && (6..=12).contains(&look.blocks), "{look:?}");
        assert_eq!(under_way(&shop, &id).await, (100_000_000, Some(6)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_was_never_read_counts_as_lagging() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let height = async || {
            let mut connection = gateway.db.connection().await.unwrap();
            let lags = gateway.lags(&mut connection).await.unwrap();
            let lag = lags.into_iter().find(|lag| lag.network == NETWORK);
            lag.expect("a network that is switched on lags").height
        };
        assert_eq!(height().await, 0);
        gateway.simulate_mine(NETWORK, 3).await.unwrap();
        shop.look(NETWORK).await;
        assert_eq!(height().await, 3);
    })
    .await;
}
