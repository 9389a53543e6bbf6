//! Attacks through the deliverer: reading internal addresses, injecting headers, flooding a third
//! party.

use std::time::Duration;

use gateway::{broker::route::Route, storage::events};
use gateway_workers::Role;
use serde_json::json;
use support::{
    fault::{
        fired::fired,
        hostile::{Act, Hostile},
    },
    server::{
        broker::eventually,
        stack::{Stack, with_stack},
    },
    shop::{
        announced::{any_invoice, new_event},
        with_shop,
    },
};

/// Maximum length of a response's excerpt that a person sees.
const EXCERPT_CHARS_MAX: usize = 300;
const SECOND: Duration = Duration::from_secs(1);
/// Duration of an attempt whose receiver sends nothing.
const HANGS: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn of_a_receivers_answer_only_a_short_printable_start_is_kept_and_no_merchant_reads_it() {
    with_shop(|shop| async move {
        let secret = "INTERNAL-SECRET";
        let answer = format!("\x1b[2J\0{}{secret}", "a\u{7}".repeat(EXCERPT_CHARS_MAX));
        let receiver = Hostile::always(Act::answer("500 Oops", &answer)).await;
        shop.stack.start(&[Role::IpnDelivery]);
        let id = shop.expired(json!({ "ipn_callback_url": receiver.url("/ipn") })).await;
        eventually("an attempt", async || {
            let (_, attempts) = shop.delivery(&id).await;
            (!attempts.is_empty()).then_some(())
        })
        .await;
        let (_, attempts) = shop.delivery(&id).await;
        let kept = attempts[0].excerpt.as_deref().unwrap();
        assert_eq!(kept.chars().count(), EXCERPT_CHARS_MAX);
        assert!(!kept.contains(secret) && !kept.chars().any(char::is_control), "{kept:?}");
        let read = shop.merchant.client.get(&format!("/v1/payment/{id}")).await.body;
        let listed = shop.merchant.client.get("/v1/payment").await.body;
        assert!(!read.contains("aaaa") && !listed.contains("aaaa"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn line_breaks_in_a_url_or_a_field_never_become_a_header() {
    with_shop(|shop| async move {
        let receiver = Hostile::always(Act::answer("200 OK", "")).await;
        let evil = "x\r\nX-Evil: 1\r\n\r\nPOST /second HTTP/1.1";
        for path in ["/ipn\r\nX-Evil: 1", "/ipn HTTP/1.1\r\nX-Evil: 1", "/ipn?a=\nX-Evil: 1", "/ipn#\r\nX-Evil: 1"] {
            let body = json!({
                "price_amount": 100, "price_currency": "usd", "pay_currency": "all", "order_id": evil,
                "order_description": evil, "ipn_callback_url": receiver.url(path),
            });
            let created = shop.merchant.client.post("/v1/payment", &body).await;
            if created.status == 400 {
                continue;
            }
            assert_eq!(created.status, 201, "{}", created.body);
        }
        let encoded = receiver.url("/ipn?a=%0d%0aX-Evil:%201");
        shop.stack.start(&[Role::IpnDelivery]);
        shop.expired(json!({
            "ipn_callback_url": encoded, "order_id": evil, "order_description": evil,
        }))
        .await;
        eventually("the webhook", async || (receiver.request_count() > 0).then_some(())).await;
        for request in receiver.requests() {
            let request = String::from_utf8(request).unwrap();
            let (head, body) = request.split_once("\r\n\r\n").unwrap();
            let names: Vec<_> = head
                .lines()
                .skip(1)
                .filter_map(|line| line.split(':').next())
                .map(str::to_ascii_lowercase)
                .collect();
            assert!(!names.iter().any(|name| name.contains("evil")), "{head}");
            assert!(head.starts_with("POST /ipn"), "{head}");
            assert!(!body.contains('\r') && !body.contains('\n'), "{body}");
        }
        assert!(receiver.requests().iter().all(|request| !request.starts_with(b"POST /second")));
    })
    .await;
}

const MERCHANTS: usize = 8;
const PER_MERCHANT: usize = 30;

/// Hundreds of simultaneous events of several merchants that all point at one third-party host.
async fn announce_to(stack: &Stack, victim: &Hostile) {
    let mut connection = stack.database.connect().await;
    let mut tx = stack.gateway.db.begin().await.unwrap();
    for _ in 0..MERCHANTS {
        let merchant = stack.merchant().await.new.id;
        let invoice = any_invoice(&mut connection, merchant).await;
        for _ in 0..PER_MERCHANT {
            let new = new_event(merchant, invoice, &victim.url("/ipn"));
            events::tell(&mut tx, &[new], Route::Ipn.as_str()).await.unwrap();
        }
    }
    tx.commit().await.unwrap();
    stack.gateway.relay_wake.notify_one();
}

/// Number of requests in each second of `time`.
async fn arrivals(victim: &Hostile, time: Duration) -> Vec<usize> {
    let (mut seconds, mut before) = (Vec::new(), 0);
    let mut clock = tokio::time::interval(SECOND);
    clock.tick().await;
    for _ in 0..time.as_secs() {
        clock.tick().await;
        let now = victim.request_count();
        seconds.push(now - before);
        before = now;
    }
    seconds
}

#[tokio::test(flavor = "multi_thread")]
async fn many_invoices_with_one_callback_host_send_it_few_requests_at_a_time() {
    // Limit of `app::delivery` for one host over both lanes; the merchants' own shares would allow
    // 104.
    const AT_A_TIME: usize = 50 + 10;
    with_stack(|stack| async move {
        let victim = Hostile::always(Act::SayAndHang(Vec::new())).await;
        announce_to(&stack, &victim).await;
        stack.start(&[Role::IpnDelivery]);
        let seconds = arrivals(&victim, 3 * HANGS).await;
        println!("a victim that hangs got, each second: {seconds:?}");
        // All slots at once; and each again when its attempt has timed out.
        let rush = usize::try_from(HANGS.as_secs()).unwrap() - 1;
        assert_eq!(seconds[..rush].iter().sum::<usize>(), AT_A_TIME);
        for window in seconds.windows(rush) {
            assert!(window.iter().sum::<usize>() <= AT_A_TIME, "{window:?}");
        }
        fired(MERCHANTS * PER_MERCHANT);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_refuses_gets_five_requests_per_event_and_then_none() {
    const EVENTS: usize = MERCHANTS * PER_MERCHANT;
    const ATTEMPTS: usize = 5;
    with_stack(|stack| async move {
        let victim = Hostile::always(Act::answer("404 Not Found", "")).await;
        announce_to(&stack, &victim).await;
        stack.start(&[Role::IpnDelivery]);
        eventually("every event was given up", async || {
            let query = "select count(*) from delivery where state = 'dead'";
            let mut connection = stack.database.connect().await;
            let dead: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
            (dead == i64::try_from(EVENTS).unwrap()).then_some(())
        })
        .await;
        let later = arrivals(&victim, 3 * SECOND).await;
        assert_eq!(later, [EVENTS * ATTEMPTS, 0, 0]);
        fired(EVENTS * ATTEMPTS);
    })
    .await;
}
