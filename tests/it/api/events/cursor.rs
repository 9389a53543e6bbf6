//! The cursor of the feed: nothing skipped, nothing twice, nothing of others, at any size.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use gateway::{
    broker::route::Route,
    storage::events::{self, NewEvent},
    webhook::event::EventKind,
};
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use support::{
    client::Client,
    seed::seed,
    server::stack::{Stack, with_stack},
    shop::with_shop,
};
use uuid::Uuid;

use super::{page, texts};
use crate::api::order;

const WRITERS: usize = 100;
/// Transactions of each writer.
const EACH: usize = 4;
/// Open at once: the tests share one server.
const OPEN: usize = 20;
const READERS: usize = 20;
const LIMIT: Duration = Duration::from_secs(90);

/// The events one reader has seen. They outlive the reader, which is killed and begins again behind
/// them.
type Seen = Arc<Mutex<Vec<String>>>;

/// Reads pages behind what was seen, until `done` and then to the end.
async fn read(client: Client, seen: Seen, done: Arc<AtomicBool>) {
    loop {
        let is_last_look = done.load(Ordering::SeqCst);
        let after = seen.lock().unwrap().last().map(|id| format!("&after={id}"));
        let page = page(&client, &format!("?limit=7{}", after.unwrap_or_default())).await;
        seen.lock().unwrap().extend(texts(&page, "event_id"));
        if is_last_look && page["has_more"] == false {
            return;
        }
    }
}

/// Kills the reader in the middle of whatever it does, several times, and lets the last one finish.
async fn read_and_die(client: Client, seen: Seen, done: Arc<AtomicBool>, lives: Vec<Duration>) {
    for life in lives {
        let reader = read(client.clone(), seen.clone(), done.clone());
        if tokio::time::timeout(life, reader).await.is_ok() {
            return;
        }
    }
    tokio::time::timeout(LIMIT, read(client, seen, done)).await.unwrap();
}

fn any_event(merchant_id: Uuid) -> NewEvent {
    NewEvent {
        event_id: format!("evt_{}", Uuid::now_v7().simple()),
        kind: EventKind::InvoicePartial,
        merchant_id,
        payment_id: "pzi_any".to_owned(),
        subject: None,
        payload: "{}".to_owned(),
        delivery: None,
    }
}

/// Opens transactions, writes in each, and ends them in another order, one in ten by a rollback.
/// Returns the ids that were committed.
async fn write_a_wave(
    connections: &mut [PgConnection],
    merchant_id: Uuid,
    random: &mut StdRng,
) -> Vec<String> {
    let counts: Vec<_> = connections.iter().map(|_| random.random_range(1..=3)).collect();
    let begun = connections.iter_mut().zip(counts).map(|(connection, count)| async move {
        let mut tx = connection.begin().await.unwrap();
        let new: Vec<_> = (0..count).map(|_| any_event(merchant_id)).collect();
        for event in &new {
            events::tell(&mut tx, std::slice::from_ref(event), Route::Ipn.as_str()).await.unwrap();
        }
        (tx, new)
    });
    let mut open = join_all(begun).await;
    open.shuffle(random);
    let mut committed = Vec::new();
    for (tx, new) in open {
        if random.random_range(0..10) == 0 {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
            committed.extend(new.into_iter().map(|event| event.event_id));
        }
        tokio::task::yield_now().await;
    }
    committed
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_sees_every_event_once_and_in_one_order_whatever_commits_when() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let mut random = StdRng::seed_from_u64(seed());
        let (merchant, other) = (stack.merchant().await, stack.merchant().await);
        let replica = stack.replica("").await;
        let key = merchant.new.api_key.reveal();
        let clients = [merchant.client.clone(), Client::new(replica).with_key(key)];
        let done = Arc::new(AtomicBool::new(false));
        let seen: Vec<Seen> = (0..READERS).map(|_| Seen::default()).collect();
        let mut readers = Vec::new();
        for (number, seen) in seen.iter().enumerate() {
            let deaths = if number % 2 == 0 { 12 } else { 0 };
            let lives =
                (0..deaths).map(|_| Duration::from_millis(random.random_range(1..120))).collect();
            let client = clients[number % 2].clone();
            readers.push(tokio::spawn(read_and_die(client, seen.clone(), done.clone(), lives)));
        }
        let mut connections = Vec::new();
        for _ in 0..OPEN {
            connections.push(stack.database.connect().await);
        }
        let mut committed = Vec::new();
        for wave in 0..WRITERS * EACH / OPEN {
            let whose = if wave % 8 == 7 { other.new.id } else { merchant.new.id };
            let told = write_a_wave(&mut connections, whose, &mut random).await;
            if whose == merchant.new.id {
                committed.extend(told);
            }
        }
        done.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.await.unwrap();
        }
        let first = seen[0].lock().unwrap().clone();
        let once: HashSet<_> = first.iter().cloned().collect();
        assert_eq!(once.len(), first.len(), "an event came twice");
        assert_eq!(once, committed.iter().cloned().collect(), "an event is missing or invented");
        let mut as_written = first.clone();
        as_written.sort();
        assert_ne!(first, as_written, "everything became visible in the order of writing");
        for other in &seen {
            assert_eq!(*other.lock().unwrap(), first);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_commits_late_comes_behind_the_cursor_of_those_who_were_earlier() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let (mut slow, mut quick) =
            (stack.database.connect().await, stack.database.connect().await);
        let (late, early) = (any_event(merchant.new.id), any_event(merchant.new.id));
        let mut tx = slow.begin().await.unwrap();
        let route = Route::Ipn.as_str();
        events::tell(&mut tx, std::slice::from_ref(&late), route).await.unwrap();
        events::tell(&mut quick, std::slice::from_ref(&early), route).await.unwrap();
        let read = page(&merchant.client, "").await;
        assert_eq!(texts(&read, "event_id"), std::slice::from_ref(&early.event_id));
        tx.commit().await.unwrap();
        let read = page(&merchant.client, &format!("?after={}", early.event_id)).await;
        assert_eq!(texts(&read, "event_id"), std::slice::from_ref(&late.event_id));
        // The order is kept: it is the same for a reader who begins now.
        let read = page(&merchant.client, "").await;
        assert_eq!(texts(&read, "event_id"), [early.event_id, late.event_id]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_may_be_the_id_of_a_webhook_that_no_reader_has_seen() {
    with_stack(|stack| async move {
        let client = stack.merchant().await.client;
        for _ in 0..3 {
            client.post("/v1/payment", &order(&json!({}))).await;
        }
        let mut connection = stack.database.connect().await;
        let ids = "select event_id from event order by created_at";
        let ids: Vec<String> = sqlx::query_scalar(ids).fetch_all(&mut connection).await.unwrap();
        let read = page(&client, &format!("?after={}", ids[1])).await;
        assert_eq!(texts(&read, "event_id"), ids[2..]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchant_s_events_look_like_none() {
    with_stack(|stack| async move {
        let (owner, rival) = (stack.merchant().await, stack.merchant().await);
        owner.client.post("/v1/payment", &order(&json!({}))).await;
        let id = page(&owner.client, "").await["data"][0]["event_id"].as_str().unwrap().to_owned();
        let ask = async |id: &str| rival.client.get(&format!("/v1/events?after={id}")).await;
        let (foreign, unknown) = (ask(&id).await, ask("evt_0").await);
        foreign.expect_error(400, "INVALID_REQUEST");
        assert_eq!(foreign.body, unknown.body);
        assert!(foreign.body.contains("90 days"), "{}", foreign.body);
        assert_eq!(page(&rival.client, "").await["data"], json!([]));
        for path in [format!("/v1/events/{id}"), "/v1/events/evt_0".to_owned()] {
            rival.client.get(&path).await.expect_error(404, "EVENT_NOT_FOUND");
            let again = rival.client.post(&format!("{path}/resend"), &json!({})).await;
            again.expect_error(404, "EVENT_NOT_FOUND");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_kept_for_90_days_and_their_deliveries_for_longer() {
    with_shop(|shop| async move {
        let client = &shop.merchant.client;
        for _ in 0..4 {
            shop.expired(json!({})).await;
        }
        let all = texts(&page(client, "").await, "event_id");
        assert_eq!(all.len(), 8);
        let mut connection = shop.stack.database.connect().await;
        let age = "update event set created_at = now() - interval '90 days' - make_interval(mins => $2) \
                   where event_id = any ($1)";
        for (ids, minutes) in [(&all[..3], 1), (&all[3..4], -1)] {
            let aged = sqlx::query(age).bind(ids).bind(minutes).execute(&mut connection).await;
            assert_eq!(aged.unwrap().rows_affected(), ids.len() as u64);
        }
        let mut memory = gateway::app::messaging::sweep::SweepMemory::default();
        shop.stack.gateway.sweep(None, &mut memory).await.unwrap();
        assert_eq!(texts(&page(client, "").await, "event_id"), all[3..]);
        assert_eq!(shop.number("select count(*) from delivery").await, 4);
        let expired = client.get(&format!("/v1/events?after={}", all[0])).await;
        expired.expect_error(400, "INVALID_REQUEST");
        assert!(expired.body.contains("keeps 90 days"), "{}", expired.body);
        // Positions go on where they were, so cursors that are kept stay right.
        shop.run("delete from event").await;
        shop.expired(json!({})).await;
        page(client, "").await;
        assert_eq!(shop.number("select min(position) from event").await, 9);
    })
    .await;
}

/// Time of a page behind a position at the start, in the middle and near the end: of one kind of
/// events or of all, whichever is slower. Of several readings the quickest counts, since other work
/// on the machine only adds to it.
async fn page_costs(stack: &Stack, merchant: Uuid, events: i64) -> [Duration; 3] {
    let mut connection = stack.database.connect().await;
    let mut costs = [Duration::ZERO; 3];
    for (cost, behind) in costs.iter_mut().zip([1, events / 2, events - 200]) {
        let id = "select event_id from event where merchant_id = $1 and position = $2";
        let id: String = sqlx::query_scalar(id)
            .bind(merchant)
            .bind(behind)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        for kind in [None, Some(EventKind::InvoiceCreated)] {
            let mut quickest = Duration::MAX;
            for _ in 0..8 {
                let started = Instant::now();
                let feed = stack.gateway.read_feed(merchant, Some(&id), kind, 100).await.unwrap();
                quickest = quickest.min(started.elapsed());
                assert_eq!((feed.events.len(), feed.has_more), (100, true));
            }
            *cost = quickest.max(*cost);
        }
    }
    costs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_costs_the_same_at_any_depth_of_a_long_feed() {
    const FEW: i64 = 1_000;
    const MANY: i64 = 200_000;
    // A run by hand may ask for more than all tests have time for.
    let many_events =
        std::env::var("GATEWAY_TEST_EVENTS").map_or(MANY, |text| text.parse().unwrap());
    with_stack(|stack| async move {
        let mut merchants = Vec::new();
        let mut connection = stack.database.connect().await;
        for count in [FEW, many_events] {
            let id = stack.merchant().await.new.id;
            let fill = "insert into event (event_id, merchant_id, type, resource_id, payload) \
                        select 'evt_' || $1 || n, $1::uuid, 'invoice.created', 'pzi_' || n, '{}' \
                        from generate_series(1, $2::bigint) as n";
            sqlx::query(fill).bind(id).bind(count).execute(&mut connection).await.unwrap();
            merchants.push((id, count));
        }
        // The first reader of a merchant who never read gets on at once: the work is bounded.
        let (id, count) = merchants[1];
        let feed = stack.gateway.read_feed(id, None, None, 100).await.unwrap();
        assert_eq!((feed.events.len(), feed.has_more), (100, true));
        let placed = "select count(*) from event where merchant_id = $1 and position is not null";
        let placed: i64 =
            sqlx::query_scalar(placed).bind(id).fetch_one(&mut connection).await.unwrap();
        assert_eq!(placed, 1_000);
        // The rest as it would be after many readings.
        let rest = "update event set position = n from \
                    (select event_id as id, 1000 + row_number() over (order by created_at, event_id) as n \
                     from event where merchant_id = $1 and position is null) as o where event_id = o.id";
        sqlx::query(rest).bind(id).execute(&mut connection).await.unwrap();
        // Many readings leave no dead rows of one statement behind.
        sqlx::query("vacuum event").execute(&mut connection).await.unwrap();
        stack.gateway.read_feed(merchants[0].0, None, None, 100).await.unwrap();
        let few = page_costs(&stack, merchants[0].0, FEW).await;
        let many = page_costs(&stack, id, count).await;
        let slowest = few.into_iter().max().unwrap().max(Duration::from_millis(4));
        println!("a page of 100 among {FEW}: {few:?}, among {count}: {many:?}");
        assert!(many.iter().all(|cost| *cost < slowest * 4), "{many:?} beside {few:?}");
    })
    .await;
}
