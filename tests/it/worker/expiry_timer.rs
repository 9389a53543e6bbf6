//! Deadlines: an invoice paid in time never expires, and no invoice waits for ever.

use std::collections::HashSet;

use chrono::TimeDelta;
use gateway::{
    app::deposit::follow_chain::Follower,
    asset::Network,
    broker::{
        envelope::{InvoiceRef, decode},
        route::WorkQueue,
    },
    config::{ChainSettings, ChainSourceKind},
    invoice::{
        Status,
        lifecycle::{Hold, Verdict},
    },
    merchant::settings::Settings,
};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::fired::fired,
    node::scripted_chain::ScriptedChain,
    shop::{Shop, unconfirmed, with_configured_shop, with_shop},
};

use super::chain_watcher::{NETWORK, payment};

const BEHIND: Verdict = Verdict::Held(Hold::WatcherBehind);
const CONFIRMING: Verdict = Verdict::Held(Hold::PaymentConfirming);

/// The watcher has not looked for eleven minutes.
const AWAY: &str =
    "update chain_cursor set watched_through = now() - interval '11 minutes', looked_at = null";

async fn decide(shop: &Shop, id: &str) -> Verdict {
    let row = shop.row_id(id).await;
    shop.stack.gateway.expire_invoice(row).await.unwrap()
}

/// Returns true if the invoice still has a timer, due in the future.
async fn will_be_looked_at_again(shop: &Shop, id: &str) -> bool {
    shop.sql("update timer set due_at = due_at where ref = $1 and due_at > now()", id).await == 1
}

#[tokio::test(flavor = "multi_thread")]
async fn no_invoice_paid_in_time_expires_because_the_watcher_was_stopped_for_ten_minutes() {
    with_shop(|shop| async move {
        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        shop.look(Network::Polygon).await;
        shop.pay(&paid, "100").await;
        // The watcher has not looked for eleven minutes; the payment was mined ten and a half ago,
        // the windows ended ten ago.
        shop.run(AWAY).await;
        shop.run("update sim_block set mined_at = now() - interval '630 seconds'").await;
        for id in [&paid, &unpaid] {
            shop.end_window(id, 600).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
            assert!(will_be_looked_at_again(&shop, id).await);
        }
        shop.look(Network::Polygon).await;
        assert_eq!(decide(&shop, &unpaid).await, Verdict::Moved);
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.status(&unpaid).await, Status::Expired);
        assert_eq!(shop.events(&paid).await, ["finished"]);
    })
    .await;
}

async fn lag(shop: &Shop) -> i64 {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let lags = shop.stack.gateway.lags(&mut connection).await.unwrap();
    lags.iter().find(|lag| lag.network == NETWORK).unwrap().seconds
}

/// A chain whose blocks say how old they are, and a follower that believes no head of five minutes.
fn young_chain(shop: &Shop) -> (ScriptedChain, Follower<ScriptedChain>) {
    let chain = ScriptedChain::new(NETWORK, 100);
    let settings = ChainSettings {
        source: ChainSourceKind::Node,
        head_age_max: Some(TimeDelta::minutes(5)),
        ..shop.stack.gateway.config.chain(NETWORK)
    };
    (chain.clone(), Follower::new(chain, settings))
}

/// The node has lost its peers and continues to report the last block that it got.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_an_old_head_expires_no_invoice_and_counts_as_lagging() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        let (chain, mut follower) = young_chain(&shop);
        let now = shop.number("select extract(epoch from now())::bigint").await;
        let mine = |age_seconds, transfers| chain.script().mine_at(now - age_seconds, transfers);
        mine(0, Vec::new());
        while !follower.look(gateway).await.unwrap().complete {}
        assert!(lag(&shop).await < 60);

        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        shop.run(AWAY).await;
        mine(660, Vec::new());
        for blocks in [1, 0] {
            let look = follower.look(gateway).await.unwrap();
            assert_eq!((look.blocks, look.complete), (blocks, false));
            fired(1);
        }
        assert!(lag(&shop).await >= 660);
        for id in [&paid, &unpaid] {
            shop.end_window(id, 600).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
            assert!(will_be_looked_at_again(&shop, id).await);
        }

        // It has found its peers again: a payment had been made.
        mine(630, vec![payment(&shop, &paid, "0xa").await]);
        (0..16).for_each(|_| mine(0, Vec::new()));
        while !follower.look(gateway).await.unwrap().complete {}
        assert!(lag(&shop).await < 60);
        assert_eq!(decide(&shop, &unpaid).await, Verdict::Moved);
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.status(&unpaid).await, Status::Expired);
    })
    .await;
}

/// The whole network stood still, as some have for hours: what was paid just before is confirmed
/// only afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_a_block_does_not_expire_because_its_network_stood_still() {
    let bounds = "chains.polygon.confirm_hold_seconds = 300\n";
    with_configured_shop(bounds, Settings::default(), |shop| async move {
        let gateway = &shop.stack.gateway;
        let (chain, mut follower) = young_chain(&shop);
        let now = shop.number("select extract(epoch from now())::bigint").await;
        let mine = |age_seconds, transfers| chain.script().mine_at(now - age_seconds, transfers);
        mine(10_900, Vec::new());
        follower.look(gateway).await.unwrap();
        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        mine(10_860, vec![payment(&shop, &paid, "0xa").await]);
        follower.look(gateway).await.unwrap();
        for id in [&paid, &unpaid] {
            shop.end_window(id, 10_800).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
        }
        // Its first block in three hours: one of sixteen confirmations more.
        mine(0, Vec::new());
        while !follower.look(gateway).await.unwrap().complete {}
        fired(1);
        assert_eq!(decide(&shop, &paid).await, CONFIRMING);
        assert_eq!(decide(&shop, &unpaid).await, Verdict::Moved);
        (0..16).for_each(|_| mine(0, Vec::new()));
        while !follower.look(gateway).await.unwrap().complete {}
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.status(&unpaid).await, Status::Expired);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_in_time_delays_the_expiry_until_it_confirms_or_vanishes() {
    with_shop(|shop| async move {
        let (confirms, vanishes) = (shop.invoice().await, shop.invoice().await);
        let confirming = shop.send(&unconfirmed(&confirms, "100")).await.txid;
        let vanishing = shop.send(&unconfirmed(&vanishes, "100")).await.txid;
        shop.look(Network::Polygon).await;
        for id in [&confirms, &vanishes] {
            shop.end_window(id, 0).await;
        }
        shop.look(Network::Polygon).await;
        for id in [&confirms, &vanishes] {
            assert_eq!(decide(&shop, id).await, CONFIRMING);
            assert!(will_be_looked_at_again(&shop, id).await);
        }
        shop.stack.gateway.simulate_confirm(&confirming).await.unwrap();
        shop.stack.gateway.simulate_orphan(&vanishing).await.unwrap();
        shop.look(Network::Polygon).await;
        decide(&shop, &confirms).await;
        // It stays in sight for some minutes.
        assert_eq!(decide(&shop, &vanishes).await, CONFIRMING);
        shop.run("update deposit set updated_at = updated_at - interval '1 hour'").await;
        decide(&shop, &vanishes).await;
        assert_eq!(shop.status(&confirms).await, Status::Paid);
        assert_eq!(shop.status(&vanishes).await, Status::Expired);
        assert_eq!(shop.events(&vanishes).await, ["expired"]);
    })
    .await;
}

/// Strangers send what they like to any address.
#[tokio::test(flavor = "multi_thread")]
async fn an_unmatched_deposit_after_a_thousand_others_still_delays_the_expiry() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let dust = "insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract,
                 amount, amount_text, height, block_hash, mined_at, first_seen_at, state, min_confirmations)
             select gen_random_uuid(), 'polygon', 'dust' || n, 'dust' || n, a.id, i.id,
                 case when n % 2 = 0 then i.token_id end, 'dust', 1, '1', 1, 'x', now() - interval '1 hour',
                 now() - interval '1 hour', 'seen', 1000
             from invoice i join deposit_address a on a.invoice_id = i.id, generate_series(1, 2100) n where i.id = $1";
        assert_eq!(shop.sql(dust, &id).await, 2_100);
        shop.send(&unconfirmed(&id, "100")).await;
        shop.look(Network::Polygon).await;
        shop.end_window(&id, 0).await;
        shop.look(Network::Polygon).await;
        assert_eq!(decide(&shop, &id).await, CONFIRMING);
        // Without it no deadline waits for the dust.
        shop.run("update deposit set amount = 1 where amount > 1").await;
        assert_eq!(decide(&shop, &id).await, Verdict::Moved);
        fired(1);
    })
    .await;
}

/// An invoice books some final deposits at a time. Those behind them are final as well, so no bound
/// on unconfirmed payments ends their wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_final_payment_behind_others_holds_its_deadline_beyond_the_limit_of_unconfirmed_ones() {
    let bounds = "chains.polygon.confirm_hold_seconds = 300\n";
    with_configured_shop(bounds, Settings::default(), |shop| async move {
        let id = shop.invoice().await;
        let last = shop.send(&unconfirmed(&id, "100")).await.txid;
        shop.look(Network::Polygon).await;
        let dust = "insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract,
                 amount, amount_text, height, block_hash, mined_at, first_seen_at, state, min_confirmations)
             select gen_random_uuid(), 'polygon', 'dust' || n, 'dust' || n, a.id, i.id, i.token_id, null,
                 1, '1', 1, 'x', now() - interval '2 hours', now() - interval '2 hours', 'final', 1
             from invoice i join deposit_address a on a.invoice_id = i.id, generate_series(1, 30) n where i.id = $1";
        assert_eq!(shop.sql(dust, &id).await, 30);
        shop.stack.gateway.simulate_confirm(&last).await.unwrap();
        shop.look(Network::Polygon).await;
        shop.run("update deposit set first_seen_at = now() - interval '1 hour' where amount > 1").await;
        shop.end_window(&id, 600).await;
        shop.look(Network::Polygon).await;
        // Five of the dust and the payment are left.
        assert_eq!(decide(&shop, &id).await, CONFIRMING);
        fired(1);
        assert_eq!(shop.number("select count(*) from deposit where state = 'final'").await, 6);
        decide(&shop, &id).await;
        assert_eq!(shop.status(&id).await, Status::Paid);
    })
    .await;
}

/// Deadlines go on waiting while people bring a node back.
#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_paid_during_a_night_s_node_outage_does_not_expire() {
    with_shop(|shop| async move {
        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        shop.look(Network::Polygon).await;
        shop.pay(&paid, "100").await;
        // The node went away twelve hours ago, and the windows ended two hours later.
        shop.run("update chain_cursor set watched_through = now() - interval '12 hours', looked_at = null").await;
        shop.run("update sim_block set mined_at = now() - interval '11 hours'").await;
        for id in [&paid, &unpaid] {
            shop.end_window(id, 36_000).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
            fired(1);
        }
        assert!(lag(&shop).await >= 43_200);
        shop.look(Network::Polygon).await;
        assert_eq!(decide(&shop, &unpaid).await, Verdict::Moved);
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.status(&unpaid).await, Status::Expired);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unconfirmed_deposits_that_are_too_small_or_too_late_do_not_delay_the_expiry() {
    with_shop(|shop| async move {
        let (little, late) = (shop.invoice().await, shop.invoice().await);
        shop.send(&unconfirmed(&little, "99.999999")).await;
        shop.look(Network::Polygon).await;
        shop.end_window(&little, 0).await;
        shop.end_window(&late, 1).await;
        shop.send(&unconfirmed(&late, "100")).await;
        shop.look(Network::Polygon).await;
        for id in [little, late] {
            assert_eq!(decide(&shop, &id).await, Verdict::Moved);
            assert_eq!(shop.status(&id).await, Status::Expired);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn grace_and_hold_end() {
    let bounds =
        "chains.polygon.watch_grace_seconds = 300\nchains.polygon.confirm_hold_seconds = 300\n";
    with_configured_shop(bounds, Settings::default(), |shop| async move {
        let (unwatched, unconfirmed_for_ever) = (shop.invoice().await, shop.invoice().await);
        shop.end_window(&unwatched, 200).await;
        assert_eq!(decide(&shop, &unwatched).await, BEHIND);
        shop.end_window(&unwatched, 301).await;
        assert_eq!(decide(&shop, &unwatched).await, Verdict::Moved);
        shop.send(&unconfirmed(&unconfirmed_for_ever, "100")).await;
        shop.look(Network::Polygon).await;
        let seen =
            "update deposit set first_seen_at = now() - interval '1 hour' where invoice_id = $1";
        shop.sql(seen, &unconfirmed_for_ever).await;
        shop.end_window(&unconfirmed_for_ever, 200).await;
        assert_eq!(decide(&shop, &unconfirmed_for_ever).await, CONFIRMING);
        shop.end_window(&unconfirmed_for_ever, 301).await;
        assert_eq!(decide(&shop, &unconfirmed_for_ever).await, Verdict::Moved);
    })
    .await;
}

/// The backup may be older than any grace, and what was paid since is on the chain alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_waits_for_the_watcher_however_old_the_backup_is() {
    with_shop(|shop| async move {
        let (paid, unpaid) = (shop.invoice().await, shop.invoice().await);
        shop.look(Network::Polygon).await;
        shop.pay(&paid, "100").await;
        // The backup is of three days ago, and the windows ended an hour after it.
        shop.run("update chain_cursor set watched_through = now() - interval '73 hours', looked_at = null").await;
        shop.run("update sim_block set mined_at = now() - interval '72.5 hours'").await;
        shop.run("update database_identity set returns = returns + 1, updated_at = now()").await;
        let mut ids = Vec::new();
        for id in [&paid, &unpaid] {
            shop.end_window(id, 259_200).await;
            assert_eq!(decide(&shop, id).await, BEHIND);
            ids.push(shop.row_id(id).await);
        }
        // Together, as a storm of deadlines is decided.
        shop.stack.gateway.expire_quiet(&ids).await.unwrap();
        assert_ne!(shop.status(&unpaid).await, Status::Expired);
        // Read, and without the blocks upon it.
        let confirming = shop.invoice().await;
        shop.send(&unconfirmed(&confirming, "100")).await;
        shop.look(Network::Polygon).await;
        let seen =
            "update deposit set first_seen_at = now() - interval '73 hours' where invoice_id = $1";
        shop.sql(seen, &confirming).await;
        shop.end_window(&confirming, 259_200).await;
        assert_eq!(decide(&shop, &confirming).await, CONFIRMING);
        assert_eq!(decide(&shop, &unpaid).await, Verdict::Moved);
        decide(&shop, &paid).await;
        assert_eq!(shop.status(&paid).await, Status::Paid);
        assert_eq!(shop.status(&unpaid).await, Status::Expired);

        // A day after the restore it waits no more.
        let late = shop.invoice().await;
        shop.run("update database_identity set updated_at = now() - interval '25 hours'").await;
        shop.end_window(&late, 90_000).await;
        shop.run("update chain_cursor set watched_through = now() - interval '73 hours', looked_at = null").await;
        assert_eq!(decide(&shop, &late).await, Verdict::Moved);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_timer_scans_claim_each_due_timer_once() {
    with_shop(|shop| async move {
        let mut due = HashSet::new();
        for _ in 0..12 {
            let id = shop.invoice_of(json!({ "pay_currency": "all" })).await;
            shop.end_window(&id, 1).await;
            due.insert(shop.row_id(&id).await);
        }
        let gateway = &shop.stack.gateway;
        let ring = async || gateway.ring_timers().await.unwrap();
        tokio::join!(ring(), ring(), ring(), ring());
        let queue = shop.stack.broker.topology.work_queue(WorkQueue::Expiry);
        let mut rung = Vec::new();
        for _ in 0..due.len() {
            let message = shop.stack.broker.arrival(&queue).await;
            rung.push(decode::<InvoiceRef>(&message.delivery.data).unwrap().invoice_id);
        }
        assert_eq!(rung.iter().copied().collect::<HashSet<_>>(), due);
        // They fire again only after a minute.
        let again = "select count(*) from timer where due_at > now() + interval '50 seconds'";
        assert_eq!(shop.number(again).await, 12);
        let due_at = "select sum(extract(epoch from due_at) * 1000000)::bigint from timer";
        let before = shop.number(due_at).await;
        ring().await;
        assert_eq!(shop.number(due_at).await, before);
        assert!(shop.stack.broker.take(&queue).await.is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_deadlines_of_one_second_give_one_event_each_with_two_workers() {
    with_shop(|shop| async move {
        let id = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        let copies = "with copy as (
                insert into invoice (id, payment_id, merchant_id, status, price_amount, price_currency, pricing_mode,
                    overpay_bps, ipn_callback_url, payment_window_seconds, window_seconds, deadline_at)
                select gen_random_uuid(), 'pzi_copy' || n, merchant_id, status, price_amount, price_currency,
                    pricing_mode, overpay_bps, ipn_callback_url, payment_window_seconds, window_seconds,
                    now() - interval '1 second'
                from invoice, generate_series(1, 100) as n where id = $1
                returning id, deadline_at
            )
            insert into timer (kind, ref, due_at) select 'invoice_deadline', id, deadline_at from copy";
        let due = shop.sql(copies, &id).await;
        assert_eq!(due, 100);
        shop.stack.start(&[Role::ExpiryTimer, Role::ExpiryTimer]);
        support::server::broker::eventually("all expired", async || {
            let expired = "select count(*) from invoice where status = 'expired'";
            (shop.number(expired).await == 100).then_some(())
        })
        .await;
        let events = "select count(*) from delivery where kind = 'expired'";
        assert_eq!(shop.number(events).await, 100);
        assert_eq!(shop.number("select count(*) from timer").await, 1);
        fired(due);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlines_whose_message_was_lost_ring_again_and_expire_once() {
    with_shop(|shop| async move {
        let (gateway, broker) = (&shop.stack.gateway, &shop.stack.broker);
        let (draft, payable) =
            (shop.invoice_of(json!({ "pay_currency": "all" })).await, shop.invoice().await);
        for id in [&draft, &payable] {
            shop.end_window(id, 1).await;
        }
        shop.look(Network::Polygon).await;
        gateway.ring_timers().await.unwrap();
        let queue = broker.topology.work_queue(WorkQueue::Expiry);
        for _ in 0..2 {
            broker.arrival(&queue).await;
            fired(1);
        }
        gateway.ring_timers().await.unwrap();
        shop.stack.start(&[Role::ExpiryTimer, Role::Sweeper, Role::IpnDelivery]);
        // Lost messages stay lost: no timer fires again before the minute is over.
        assert!(broker.take(&queue).await.is_none());
        for id in [&draft, &payable] {
            assert!(!shop.status(id).await.is_terminal(), "{id}");
            assert!(will_be_looked_at_again(&shop, id).await);
        }
        shop.run("update timer set due_at = due_at - interval '60 seconds'").await;
        for id in [&draft, &payable] {
            shop.becomes(id, Status::Expired).await;
            assert_eq!(shop.webhook_about(id, 1).await["payment_status"], "expired");
            assert_eq!(shop.events(id).await, ["expired"]);
        }
        assert_eq!(shop.number("select count(*) from timer").await, 0);
        assert_eq!(shop.receiver.received().len(), 2);
    })
    .await;
}
