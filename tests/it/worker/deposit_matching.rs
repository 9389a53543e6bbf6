//! Crediting: once, whatever comes twice, late or at the same moment.

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use gateway::{
    app::expire_invoice::ExpireError,
    asset::Network,
    broker::{
        envelope::{DepositRef, encode},
        route::WorkQueue,
    },
    invoice::{Status, lifecycle::Verdict},
    storage::deposits,
};
use gateway_workers::Role;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use support::{
    broker::eventually,
    fired::fired,
    shop::{Shop, with_shop},
};

const ROUNDS: usize = 24;
/// Races at once, each about an invoice of its own.
const TOGETHER: usize = 8;
/// So many times that. Rates are good for five minutes, and ten thousand rounds take longer.
const ROUNDS_PER_PRICE: usize = 25;

/// An invoice with a final deposit nobody has matched, first seen and mined `early_us` before its deadline. No timer
/// rings for it and no message is left.
async fn undecided(shop: &Shop, early_us: i64) -> String {
    let id = shop.invoice().await;
    shop.pay(&id, "100").await;
    shop.look(Network::Polygon).await;
    move_deadline(shop, &id, early_us).await;
    id
}

async fn move_deadline(shop: &Shop, id: &str, early_us: i64) {
    let row = shop.row_id(id).await;
    let mut connection = shop.stack.database.connect().await;
    let at_the_deadline = "with seen as (update deposit set mined_at = first_seen_at \
                           where invoice_id = $1 returning first_seen_at) \
                           update invoice set deadline_at = first_seen_at + $2 * interval '1 microsecond' \
                           from seen where id = $1";
    let update = sqlx::query(at_the_deadline).bind(row).bind(early_us);
    update.execute(&mut connection).await.unwrap();
}

/// How often; from the environment for `make test-faults`.
fn rounds() -> usize {
    std::env::var("GATEWAY_TEST_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap())
}

/// One deposit at the very deadline, or one microsecond after it.
#[derive(Debug, Clone, Copy)]
struct Race {
    on_time: bool,
    deposit_first: bool,
    /// Expiry looks at many invoices at once before it looks at this one, as its role does.
    in_bulk: bool,
    /// From one to the other.
    apart: Duration,
}

async fn run(shop: &Shop, id: &str, race: Race) {
    let (gateway, row) = (shop.stack.gateway.clone(), shop.row_id(id).await);
    let deposit = shop.deposit_of(id).await;
    let matching = {
        let gateway = gateway.clone();
        async move { gateway.match_deposits(deposit).await.map(|_| ()).unwrap() }
    };
    let expiring = async move {
        let is_decided = race.in_bulk && gateway.expire_quiet(&[row]).await.unwrap().contains(&row);
        if !is_decided {
            gateway.expire_invoice(row).await.unwrap();
        }
    };
    let (first, second): (BoxFuture<'static, ()>, BoxFuture<'static, ()>) = if race.deposit_first {
        (matching.boxed(), expiring.boxed())
    } else {
        (expiring.boxed(), matching.boxed())
    };
    let first = tokio::spawn(first);
    let second = tokio::spawn(async move {
        tokio::time::sleep(race.apart).await;
        second.await;
    });
    first.await.unwrap();
    second.await.unwrap();
    let mut events = shop.events(id).await;
    events.sort();
    let books = shop.books(id).await;
    assert_eq!(books.len(), 1, "{race:?}: {books:?}");
    if race.on_time {
        assert_eq!(shop.status(id).await, Status::Paid, "{race:?}");
        assert_eq!((events, books[0].kind.as_str()), (vec!["finished".to_owned()], "deposit"));
    } else {
        assert_eq!(shop.status(id).await, Status::Expired, "{race:?}");
        assert_eq!(events, ["expired", "late_deposit_received"]);
        assert_eq!(books[0].kind, "late_deposit");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_and_the_deadline_at_the_same_instant_have_one_outcome() {
    let given = std::env::var("GATEWAY_TEST_SEED").ok();
    let seed = given.map_or_else(rand::random, |text| text.parse().unwrap());
    println!("GATEWAY_TEST_SEED={seed}, {} rounds", rounds());
    let mut random = StdRng::seed_from_u64(seed);
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let (mut left, mut since_rates) = (rounds(), 0);
        while left > 0 {
            since_rates += 1;
            if since_rates == ROUNDS_PER_PRICE {
                since_rates = 0;
                shop.stack.refresh_rates().await;
            }
            let mut races = Vec::new();
            for _ in 0..left.min(TOGETHER) {
                let race = Race {
                    on_time: random.random(),
                    deposit_first: random.random(),
                    in_bulk: random.random(),
                    apart: Duration::from_millis(random.random_range(0..3)),
                };
                let id = shop.invoice().await;
                shop.pay(&id, "100").await;
                races.push((id, race));
            }
            left -= races.len();
            shop.look(Network::Polygon).await;
            for (id, race) in &races {
                move_deadline(&shop, id, if race.on_time { 0 } else { -1 }).await;
            }
            // The watcher has looked beyond the deadlines, so expiry may decide.
            shop.look(Network::Polygon).await;
            join_all(races.iter().map(|(id, race)| run(&shop, id, *race))).await;
            fired(races.len());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_payment_in_time_is_not_expired_because_its_matcher_stands_still() {
    with_shop(|shop| async move {
        let id = undecided(&shop, 0).await;
        // Far beyond every grace and hold, so only the final deposit itself can save it.
        let old = "update deposit set first_seen_at = now() - interval '1 day', mined_at = now() - interval '1 day' \
                   where invoice_id = $1";
        shop.sql(old, &id).await;
        shop.end_window(&id, 60 * 60 * 12).await;
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
        // A watcher in the middle of a reorganisation has taken the deposit out of its block, but not committed.
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
async fn an_invoice_nobody_knows_is_not_decided() {
    with_shop(|shop| async move {
        let unknown = shop.stack.gateway.expire_invoice(uuid::Uuid::now_v7()).await;
        assert!(matches!(unknown, Err(ExpireError::UnknownInvoice)), "{unknown:?}");
        let id = shop.invoice().await;
        let row = shop.row_id(&id).await;
        // A message before the time decides nothing.
        assert_eq!(shop.stack.gateway.expire_invoice(row).await.unwrap(), Verdict::Kept);
        assert_eq!(shop.status(&id).await, Status::Pending);
    })
    .await;
}
