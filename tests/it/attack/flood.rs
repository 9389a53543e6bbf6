//! Many requests at once must not become expensive for us, or for clients that make ordinary
//! requests (A50).

use std::time::{Duration, Instant};

use gateway::serve::Limits;
use gateway_api::endpoints;
use http::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use support::{
    client::Client,
    fault::fired::fired,
    server::{
        broker::eventually,
        stack::{Stack, with_stack},
    },
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Several times the number of our database connections.
const FLOODERS: usize = 32;
const FLOOD: Duration = Duration::from_secs(1);
const ORDERS_MIN: usize = 5;
/// Minimum responses to each of the flooders.
const ANSWERS_MIN: usize = 2;
/// Generous for a machine that runs other tests too, and for QR codes that an unoptimised build
/// draws.
const USUAL_MAX: Duration = Duration::from_secs(5);
/// Concurrent requests of one merchant, many times the number of our database connections.
const RUSH: usize = 400;
/// So many that the rush does not make the server hurry its clients.
const CONNECTIONS: usize = 4 * RUSH;
/// Those of them that may wait in the database.
const ADMITTED_TOGETHER: i64 = 2;

const ALL: &str = "all of them";

/// A request and the client that sends it.
type Question = (Client, String);

fn an_order() -> Value {
    json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" })
}

/// Every read-only endpoint, each with the most expensive request possible.
async fn questions(stack: &Stack) -> Vec<Question> {
    let flooder = stack.merchant().await.client;
    let made = flooder.post("/v1/payment", &an_order()).await.json();
    let id = made["payment_id"].as_str().unwrap();
    let asking = |path: &str| match path {
        "/v1/estimate" => "?amount=1000&currency_from=usd&currency_to=btc",
        "/v1/min-amount" => "?currency_to=eth",
        "/v1/payment" => "?page=999999999&limit=100",
        "/v1/x402/discovery" | "/v1/x402/discovery/resources" => "?limit=100&offset=100000",
        "/v1/x402/discovery/search" => "?query=a&limit=100&offset=100000",
        "/v1/export/{export}" => "?from=2026-01-01&to=2027-01-02&format=json",
        _ => "",
    };
    let told = endpoints().into_iter().filter(|endpoint| endpoint.method == Method::GET);
    let told = told.map(|endpoint| {
        (
            flooder.clone(),
            endpoint.path.replace("{id}", id).replace("{export}", "ledger") + asking(endpoint.path),
        )
    });
    // Two QR codes are drawn for each page, and each wrong key is looked up.
    let page = (stack.buyer(), format!("/pay/{id}"));
    let stranger = stack.anybody().with_key(&"x".repeat(40));
    told.chain([page, (flooder.clone(), "/docs".into()), (stranger, "/v1/payment".into())])
        .collect()
}

/// Sends `questions` in turns from many clients until `stop`; returns the number of responses.
fn flood(questions: &[Question], stop: &CancellationToken) -> JoinSet<usize> {
    let mut flooders = JoinSet::new();
    for first in 0..FLOODERS {
        let (questions, stop) = (questions.to_vec(), stop.clone());
        flooders.spawn(async move {
            let mut answered = 0;
            while answered < ANSWERS_MIN || !stop.is_cancelled() {
                let (client, path) = &questions[(first + answered) % questions.len()];
                let answer = client.get(path).await;
                assert!(answer.status < 500, "{path}: {}", answer.body);
                answered += 1;
            }
            answered
        });
    }
    flooders
}

/// Creates orders one after the other beside the flood, and returns their durations, shortest
/// first.
async fn order_beside(questions: &[Question], shop: &Client) -> (usize, Vec<Duration>) {
    let stop = CancellationToken::new();
    let flooders = flood(questions, &stop);
    let (began, mut took) = (Instant::now(), Vec::new());
    while began.elapsed() < FLOOD || took.len() < ORDERS_MIN {
        let asked = Instant::now();
        let created = shop.post("/v1/payment", &an_order()).await;
        assert_eq!(created.status, 201, "{}", created.body);
        took.push(asked.elapsed());
    }
    stop.cancel();
    took.sort_unstable();
    (flooders.join_all().await.into_iter().sum(), took)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_public_requests_leaves_capacity_for_creating_an_invoice() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let questions = questions(&stack).await;
        assert!(questions.len() >= 10, "only {} questions", questions.len());
        // Each alone, so that the expensive ones do not hide among the cheap, then all of them.
        let mut floods: Vec<&[Question]> = questions.chunks(1).collect();
        floods.push(&questions);
        let mut total = 0;
        for asked in floods {
            // A merchant of its own for each: on a fast machine one would reach its quota of open
            // invoices.
            let shop = stack.merchant().await.client;
            let (answered, took) = order_beside(asked, &shop).await;
            let (p50, slowest) = (took[took.len() / 2], took[took.len() - 1]);
            let asked = if asked.len() == 1 { asked[0].1.as_str() } else { ALL };
            println!(
                "{answered} times {asked}; {} orders: p50 {p50:?}, slowest {slowest:?}",
                took.len()
            );
            assert!(p50 < USUAL_MAX, "{asked}: p50 {p50:?}, slowest {slowest:?}");
            total += answered;
        }
        fired(total);
    })
    .await;
}

/// Concurrent requests for one merchant's row of the rate limits wait outside of the database. The
/// test holds that row, so that a rush that waited inside would keep every connection until the
/// other merchant has ordered.
#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_with_hundreds_of_parallel_requests_delays_no_other_merchant() {
    with_stack(|stack| async move {
        let limits = Limits { connections_max: CONNECTIONS, ..Limits::default() };
        let api = stack.replica_within(limits, "").await;
        let (rusher, shop) = (stack.merchant().await, stack.merchant().await);
        let [rushing, shop] =
            [&rusher, &shop].map(|of| Client::new(api).with_key(of.new.api_key.reveal()));
        assert_eq!(rushing.post("/v1/payment", &an_order()).await.status, 201);
        let (mut connection, mut watching) =
            (stack.database.connect().await, stack.database.connect().await);
        let mut row = connection.begin().await.unwrap();
        let hold = "update request_window set last_at = last_at where key = 'merchant:' || $1";
        let held = sqlx::query(hold).bind(rusher.new.id.to_string()).execute(&mut *row).await;
        assert_eq!(held.unwrap().rows_affected(), 1);
        let mut rush = JoinSet::new();
        for _ in 0..RUSH {
            let client = rushing.clone();
            rush.spawn(async move { client.post("/v1/payment", &an_order()).await.status });
        }
        eventually("the rush waits for its row", async || {
            (waiting_sessions(&mut watching).await >= ADMITTED_TOGETHER).then_some(())
        })
        .await;
        let created = shop.post("/v1/payment", &an_order()).await;
        assert_eq!(created.status, 201, "{}", created.body);
        assert!(waiting_sessions(&mut watching).await <= ADMITTED_TOGETHER);
        row.commit().await.unwrap();
        // On a busy machine some may have waited for the row for longer than a statement may.
        let answers = rush.join_all().await;
        let refused = answers.iter().filter(|status| **status == 429).count();
        println!("{refused} of {RUSH} requests refused");
        assert!(refused > 0, "the rush was within the rate limit");
    })
    .await;
}

/// Database sessions that wait for a row.
async fn waiting_sessions(connection: &mut PgConnection) -> i64 {
    let query = "select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'";
    sqlx::query_scalar(query).fetch_one(connection).await.unwrap()
}
