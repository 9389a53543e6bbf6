//! Many cheap questions at once must not become expensive for us, or for those who ask nothing special.

use std::time::{Duration, Instant};

use serde_json::json;
use support::stack::with_stack;
use tokio_util::sync::CancellationToken;

const FLOODERS: usize = 32;
const FLOOD: Duration = Duration::from_secs(3);
/// Generous for a machine that runs other tests too; without limits on the work per question it is never met.
const PATIENCE: Duration = Duration::from_secs(5);

/// What asks for much: every price, far pages, names that must be looked up.
const QUESTIONS: [&str; 6] = [
    "/v1/currencies",
    "/v1/estimate?amount=1000&currency_from=usd&currency_to=btc",
    "/v1/min-amount?currency_to=eth",
    "/v1/payment?page=999999999&limit=100",
    "/v1/invoices/pzi_00000000000000000000000000/status",
    "/docs",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_public_questions_leaves_room_for_an_order() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        let stop = CancellationToken::new();
        let floods: Vec<_> = (0..FLOODERS)
            .map(|number| {
                let (client, stop) = (merchant.client.clone(), stop.clone());
                tokio::spawn(async move {
                    let mut answered = 0_usize;
                    while !stop.is_cancelled() {
                        let answer =
                            client.get(QUESTIONS[(number + answered) % QUESTIONS.len()]).await;
                        assert!(answer.status < 500, "{}", answer.body);
                        answered += 1;
                    }
                    answered
                })
            })
            .collect();
        let (began, mut slowest) = (Instant::now(), Duration::ZERO);
        while began.elapsed() < FLOOD {
            let asked = Instant::now();
            let body =
                json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" });
            let created = merchant.client.post("/v1/payment", &body).await;
            assert_eq!(created.status, 201, "{}", created.body);
            slowest = slowest.max(asked.elapsed());
        }
        stop.cancel();
        let mut answered = 0;
        for flood in floods {
            answered += flood.await.unwrap();
        }
        println!("{answered} questions answered; the slowest order took {slowest:?}");
        assert!(answered > 100, "there was no flood: {answered}");
        assert!(slowest < PATIENCE, "{slowest:?}");
    })
    .await;
}
