//! Many merchants whose receivers hang, beside some whose receivers answer (F40).
//!
//! `GATEWAY_TEST_HANGING` sets their number; `make test-faults` sets a thousand, which take a place
//! each of the 1,250 that a process has. A smaller number has as many places in proportion: that
//! many attempts that time out in the same moment keep a build without optimisation busy for
//! seconds.

use std::time::Duration;

use gateway::{broker::route::Route, serve::allow_open_files, storage::events};
use gateway_workers::Role;
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    server::{
        broker::eventually,
        stack::{Stack, with_configured_stack},
    },
    shop::announced::{any_invoice, new_event},
};
use uuid::Uuid;

const HANGING: usize = 100;
const HEALTHY: usize = 10;
/// At least so many before the receivers that hang are known, and as many afterwards.
const HEALTHY_EVENTS: usize = 200;
/// Events of one healthy merchant at once, beside the others.
const BURST: usize = 200;
const EVERY: Duration = Duration::from_millis(25);
/// The time of an attempt at a hanging receiver, and of a delivery that waited for its place.
const HUNG_FOR: Duration = Duration::from_secs(10);
/// Of events that come one by one. On a quiet machine this is some milliseconds.
const P99_MAX: Duration = Duration::from_secs(5);
/// A socket at each end of a hanging attempt, and the test's other files.
const FILES: u64 = 4_096;

fn hanging_count() -> usize {
    std::env::var("GATEWAY_TEST_HANGING").map_or(HANGING, |text| text.parse().unwrap())
}

struct Merchant {
    id: Uuid,
    invoice: Uuid,
    url: String,
}

/// Merchants whose receivers have a host each, all at the same port.
async fn merchants(stack: &Stack, receiver: &Hostile, net: u8, count: usize) -> Vec<Merchant> {
    let mut connection = stack.database.connect().await;
    let mut merchants = Vec::with_capacity(count);
    for number in 0..count {
        let id = stack.merchant().await.new.id;
        let invoice = any_invoice(&mut connection, id).await;
        let host = format!("127.{net}.{}.{}", number / 250, number % 250 + 1);
        let url = format!("http://{host}:{}/ipn", receiver.address.port());
        merchants.push(Merchant { id, invoice, url });
    }
    merchants
}

/// Commits one event for each.
async fn announce(stack: &Stack, merchants: impl IntoIterator<Item = &Merchant>) {
    let new = |one: &Merchant| new_event(one.id, one.invoice, &one.url);
    let new: Vec<_> = merchants.into_iter().map(new).collect();
    let mut tx = stack.gateway.db.begin().await.unwrap();
    events::tell(&mut tx, &new, Route::Ipn.as_str()).await.unwrap();
    tx.commit().await.unwrap();
    stack.gateway.relay_wake.notify_one();
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_that_hang_delay_no_other_receiver() {
    let count = hanging_count();
    let places = format!(
        "worker.deliveries_in_flight = {}\nworker.slow_deliveries_in_flight = {}\n",
        count * 5 / 4,
        count / 4
    );
    with_configured_stack(&places, |stack| async move {
        assert!(allow_open_files() >= FILES, "this test opens {FILES} files");
        let hanging = Hostile::everywhere(Act::SayAndHang(Vec::new())).await;
        let healthy = Hostile::everywhere(Act::answer("200 OK", "")).await;
        let bad = merchants(&stack, &hanging, 2, count).await;
        let good = merchants(&stack, &healthy, 3, HEALTHY).await;
        stack.start(&[Role::IpnDelivery]);
        announce(&stack, &bad).await;
        let mut announced = 0;
        while announced < HEALTHY_EVENTS || known(&stack).await < count {
            announced += announce_to_all(&stack, &good).await;
        }
        announce(&stack, &bad).await;
        let before = announced;
        while announced < before + HEALTHY_EVENTS {
            announced += announce_to_all(&stack, &good).await;
        }
        let burst: Vec<_> = std::iter::repeat_n(&good[0], BURST).collect();
        announce(&stack, burst).await;
        eventually("everything healthy is delivered", async || {
            (delivered(&stack).await == announced + BURST).then_some(())
        })
        .await;
        assert_eq!(healthy.request_count(), announced + BURST);
        let hung = hanging.request_count();
        assert!(hung >= count, "{hung} hung");
        fired(hung);
        let steady = waited(&stack, announced, 0).await;
        let of_burst = waited(&stack, BURST, announced).await;
        println!("{hung} attempts hung; seconds that healthy ones took: {steady:?}, in the burst {of_burst:?}");
        assert!(steady.p99 <= P99_MAX.as_secs_f64(), "{steady:?}");
        assert!(of_burst.longest < HUNG_FOR.as_secs_f64(), "{of_burst:?}");
    })
    .await;
}

/// One event for each, at a steady pace; returns their number.
async fn announce_to_all(stack: &Stack, merchants: &[Merchant]) -> usize {
    for one in merchants {
        announce(stack, [one]).await;
        tokio::time::sleep(EVERY).await;
    }
    merchants.len()
}

/// Merchants whose receivers are known to be slow.
async fn known(stack: &Stack) -> usize {
    let query = "select count(*) from merchant where slow_until > now()";
    let mut connection = stack.database.connect().await;
    let count: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    usize::try_from(count).unwrap()
}

async fn delivered(stack: &Stack) -> usize {
    let query = "select count(*) from delivery where state = 'delivered'";
    let mut connection = stack.database.connect().await;
    let count: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    usize::try_from(count).unwrap()
}

/// Seconds from the commits of events to their responses.
#[derive(Debug, sqlx::FromRow)]
struct Waited {
    p99: f64,
    longest: f64,
}

/// Of `count` delivered events, without the first `skipped` of them.
async fn waited(stack: &Stack, count: usize, skipped: usize) -> Waited {
    let query = "
        with took as (
            select extract(epoch from a.started_at - d.created_at)::float8 + a.duration_ms / 1000.0 as seconds
            from delivery d join delivery_attempt a on a.delivery_id = d.id
            where d.state = 'delivered'
            order by d.created_at, d.id
            limit $1 offset $2)
        select percentile_cont(0.99) within group (order by seconds) as p99, max(seconds) as longest
        from took";
    let [count, skipped] = [count, skipped].map(|number| i64::try_from(number).unwrap());
    let mut connection = stack.database.connect().await;
    let query = sqlx::query_as(query).bind(count).bind(skipped);
    query.fetch_one(&mut connection).await.unwrap()
}
