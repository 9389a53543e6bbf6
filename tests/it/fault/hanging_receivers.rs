//! A thousand merchants whose receivers hang, beside some whose receivers answer (F40).

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
        stack::{Stack, with_stack},
    },
    shop::announced::{any_invoice, new_event},
};
use uuid::Uuid;

const HANGING: usize = 1_000;
const HEALTHY: usize = 10;
const HEALTHY_EVENTS: usize = 400;
/// Events of one healthy merchant at once, beside the others.
const BURST: usize = 200;
const EVERY: Duration = Duration::from_millis(25);
/// An attempt at a hanging receiver lasts for ten seconds, and a delivery that waited for its slot
/// would take as long. On a quiet machine this is some milliseconds.
const P99_MAX: Duration = Duration::from_secs(5);
/// A socket at each end of a hanging attempt, and the test's other files.
const FILES: u64 = 4_096;

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
async fn a_thousand_hanging_receivers_delay_no_other_receiver() {
    with_stack(|stack| async move {
        assert!(allow_open_files() >= FILES, "this test opens {FILES} files");
        let hanging = Hostile::everywhere(Act::SayAndHang(Vec::new())).await;
        let healthy = Hostile::everywhere(Act::answer("200 OK", "")).await;
        let bad = merchants(&stack, &hanging, 2, HANGING).await;
        let good = merchants(&stack, &healthy, 3, HEALTHY).await;
        stack.start(&[Role::IpnDelivery]);
        announce(&stack, &bad).await;
        for number in 0..HEALTHY_EVENTS {
            if number == HEALTHY_EVENTS / 2 {
                // Receivers that hang are known by now.
                announce(&stack, &bad).await;
            }
            announce(&stack, &good[number % HEALTHY..=number % HEALTHY]).await;
            tokio::time::sleep(EVERY).await;
        }
        let burst: Vec<_> = std::iter::repeat_n(&good[0], BURST).collect();
        announce(&stack, burst).await;
        eventually("everything healthy is delivered", async || {
            (delivered(&stack).await == HEALTHY_EVENTS + BURST).then_some(())
        })
        .await;
        assert_eq!(healthy.request_count(), HEALTHY_EVENTS + BURST);
        let hung = hanging.request_count();
        assert!(hung >= HANGING, "{hung} hung");
        fired(hung);
        let (p50, p99) = waited(&stack).await;
        println!(
            "{hung} attempts hung; healthy ones arrived after {p50} ms, 99 of 100 after {p99} ms"
        );
        assert!(p99 <= P99_MAX.as_secs_f64() * 1000.0, "p99 {p99} ms");
    })
    .await;
}

async fn delivered(stack: &Stack) -> usize {
    let query = "select count(*) from delivery where state = 'delivered'";
    let mut connection = stack.database.connect().await;
    let count: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
    usize::try_from(count).unwrap()
}

/// Milliseconds from the commit of an event to its response: the median and the 99th percentile of
/// delivered events.
async fn waited(stack: &Stack) -> (f64, f64) {
    let query = "
        with took as (
            select extract(epoch from a.started_at - d.created_at)::float8 * 1000 + a.duration_ms as ms
            from delivery d join delivery_attempt a on a.delivery_id = d.id
            where d.state = 'delivered')
        select percentile_cont(0.5) within group (order by ms), percentile_cont(0.99) within group (order by ms) from took";
    let mut connection = stack.database.connect().await;
    sqlx::query_as(query).fetch_one(&mut connection).await.unwrap()
}
