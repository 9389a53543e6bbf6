//! Crediting: once, even with duplicate, late or concurrent messages.

use gateway::{
    app::{invoice::expire::ExpireError, sandbox::simulate::Deposit},
    asset::Network,
    broker::{
        envelope::{DepositRef, encode},
        route::WorkQueue,
    },
    invoice::{Status, lifecycle::Verdict},
    storage::deposits,
};
use gateway_workers::Role;
use support::{
    fault::fired::fired,
    server::broker::eventually,
    shop::{Shop, deposit, with_shop},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_confirmed_in_time_is_not_expired_while_deposit_matching_is_stopped() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        // Far beyond every grace and hold, so only the final deposit itself can save it.
        let old = "update deposit set first_seen_at = now() - interval '3 days', mined_at = now() - interval '3 days' \
                   where invoice_id = $1";
        shop.sql(old, &id).await;
        shop.end_window(&id, 60 * 60 * 48).await;
        let row = shop.row_id(&id).await;
        shop.stack.gateway.expire_invoice(row).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Paid);
        assert_eq!(shop.events(&id).await, ["finished"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_copies_of_a_message_credit_once() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.pay(&id, "60").await;
        shop.look(Network::Polygon).await;
        let deposit_id = shop.deposit_of(&id).await;
        let queue = shop.stack.broker.topology.work_queue(WorkQueue::Deposit);
        for _ in 0..10 {
            shop.stack.broker.publish_by_hand(&queue, &encode(&DepositRef { deposit_id })).await;
            fired(1);
        }
        shop.stack.start(&[Role::DepositMatching, Role::DepositMatching]);
        shop.becomes(&id, Status::Partial).await;
        shop.pay(&id, "40").await;
        shop.look(Network::Polygon).await;
        shop.becomes(&id, Status::Paid).await;
        assert_eq!(shop.payment(&id).await["actually_paid"].to_string(), "100");
        assert_eq!(shop.books(&id).await.len(), 2);
        assert_eq!(shop.events(&id).await, ["finished"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_is_orphaned_while_it_is_matched_is_not_booked() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        let height = shop.pay(&id, "100").await.height.unwrap();
        shop.look(Network::Polygon).await;
        let gateway = shop.stack.gateway.clone();
        let deposit = shop.deposit_of(&id).await;
        // A watcher in the middle of a reorg has taken the deposit out of its block, but not
        // committed.
        let mut reorg = gateway.db.begin().await.unwrap();
        deposits::orphan_above(&mut reorg, Network::Polygon, height - 1, height).await.unwrap();
        let matching = tokio::spawn({
            let gateway = gateway.clone();
            async move { gateway.match_deposits(deposit).await.unwrap() }
        });
        eventually("matching waits for the reorganisation", async || {
            let waiting = "select count(*) from pg_stat_activity \
                           where datname = current_database() and wait_event_type = 'Lock'";
            (shop.number(waiting).await > 0).then_some(())
        })
        .await;
        reorg.commit().await.unwrap();
        assert_eq!(matching.await.unwrap().deposits, 0);
        assert!(shop.books(&id).await.is_empty());
        assert_eq!(shop.status(&id).await, Status::Pending);
        let states = "select count(*) from deposit where state = 'seen' and booked_as is null";
        assert_eq!(shop.number(states).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_of_an_unknown_invoice_decides_nothing() {
    with_shop(|shop| async move {
        let unknown = shop.stack.gateway.expire_invoice(uuid::Uuid::now_v7()).await;
        assert!(matches!(unknown, Err(ExpireError::UnknownInvoice)), "{unknown:?}");
        let id = shop.invoice().await;
        let row = shop.row_id(&id).await;
        // An early message decides nothing.
        assert_eq!(shop.stack.gateway.expire_invoice(row).await.unwrap(), Verdict::Kept);
        assert_eq!(shop.status(&id).await, Status::Pending);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_takes_its_over_payment_back_from_the_treasury_after_other_bookings() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        // A thousand deposits of a token that was not asked for, each booked, and a thousand parts
        // of an over-payment that went to the treasury and came back.
        let dust = "with dust as (
                 insert into deposit (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract, amount,
                     amount_text, height, block_hash, mined_at, first_seen_at, state, booked_as, settled_at, min_confirmations)
                 select gen_random_uuid(), 'polygon', 'dust' || n, 'dust' || n, a.id, i.id, 'usdcmatic@polygon', 'dust', 1, '1',
                     0, 'x', now(), now(), 'settled', 'foreign', now(), 1
                 from invoice i join deposit_address a on a.invoice_id = i.id, generate_series(1, 1000) n where i.id = $1
                 returning id, invoice_id)
             insert into ledger_entry (kind, source, asset, debit, credit, amount)
             select kind, dust.id, asset, replace(debit, '*', i.merchant_id::text), replace(credit, '*', i.merchant_id::text), 1
             from dust join invoice i on i.id = dust.invoice_id,
                 (values ('foreign_deposit', 'usdcmatic@polygon', 'custody:polygon', 'foreign:*'),
                         ('excess', 'usdtmatic@polygon', 'merchant:*', 'treasury'),
                         ('excess_reversal', 'usdtmatic@polygon', 'treasury', 'merchant:*'))
                 as booked (kind, asset, debit, credit)";
        assert_eq!(shop.sql(dust, &id).await, 3_000);
        shop.send(&Deposit { txid: Some("0xbad".to_owned()), ..deposit(&id, "150") }).await;
        shop.look(Network::Polygon).await;
        match_first_final(&shop).await;
        assert_eq!(shop.status(&id).await, Status::Overpaid);
        shop.stack.gateway.simulate_orphan("0xbad").await.unwrap();
        fired(shop.look(Network::Polygon).await.rewound);
        let routed = "select sum(case kind when 'excess' then amount else -amount end)::bigint
                      from ledger_entry where kind in ('excess', 'excess_reversal')";
        assert_eq!(shop.number(routed).await, 0);
        let kinds = "select count(*) from ledger_entry where kind = 'excess_reversal'";
        assert_eq!(shop.number(kinds).await, 1_001);
    })
    .await;
}

async fn match_first_final(shop: &Shop) {
    let mut connection = shop.stack.gateway.db.connection().await.unwrap();
    let query = sqlx::query_scalar("select id from deposit where state = 'final' limit 1");
    let deposit = query.fetch_one(&mut *connection).await.unwrap();
    drop(connection);
    shop.stack.gateway.match_deposits(deposit).await.unwrap();
}
