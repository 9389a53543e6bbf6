//! Dead letters by group: previewed, sent again once, and followed to their outcome.

use gateway::{
    account::Role,
    invoice::Status,
    storage::operator::{
        dead_letters::{DeadGroupKey, Grouping},
        requeue_runs::RequeueRun,
    },
    webhook::{Channel, retry::DeliveryState},
};
use support::{
    client::Answer,
    server::broker::eventually,
    shop::{Shop, with_shop},
};
use uuid::Uuid;

use super::{Desk, between};

/// A shop with some payments whose webhooks were given up, and its desk.
async fn with_dead_letters<F: Future<Output = ()>>(
    count: usize,
    test: impl FnOnce(Desk, Shop, Vec<String>) -> F,
) {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        shop.receiver.answer(500);
        let mut ids = Vec::new();
        for _ in 0..count {
            ids.push(shop.invoice().await);
        }
        for id in &ids {
            shop.pay(id, "100").await;
        }
        for id in &ids {
            shop.becomes(id, Status::Paid).await;
            shop.delivery_becomes(id, "dead").await;
        }
        test(Desk { stack: shop.stack.clone(), gateway, address }, shop, ids).await;
    })
    .await;
}

/// The key of everything that this shop's receiver did not take.
fn key(shop: &Shop) -> DeadGroupKey {
    DeadGroupKey {
        merchant_id: Some(shop.merchant.new.id),
        channel: Some(Channel::Ipn),
        ..DeadGroupKey::default()
    }
}

async fn run(desk: &Desk, id: Uuid) -> RequeueRun {
    desk.gateway.requeue_run(id).await.unwrap().unwrap().run
}

/// The value of a tile of the page.
fn tile(page: &Answer, name: &str) -> String {
    between(&page.body, &format!("<dt>{name}</dt><dd>"), "<").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_previewed_and_its_press_counts_what_became_of_it() {
    with_dead_letters(3, |desk, shop, ids| async move {
        let mut finance = desk.signed_in("f@example.com", Role::OperatorFinance, None).await;
        for (by, parts) in [
            ("all", &["the receiver answered 500", "127.0.0.1"][..]),
            ("cause", &["the receiver answered 500"]),
            ("receiver", &["127.0.0.1"]),
            ("day", &["20"]),
        ] {
            let page = finance.get(&format!("/operator/dead-letters?by={by}")).await.body;
            assert!(page.contains("Send 3 again"), "{by}: {page}");
            for part in parts {
                assert!(page.contains(part), "{by} {part}: {page}");
            }
        }
        let page = finance.get("/operator/dead-letters?by=day").await.body;
        let link = between(&page, "/operator/dead-letters/group?", "\"").replace("&#38;", "&");
        let preview = finance.get(&format!("/operator/dead-letters/group?{link}")).await;
        assert_eq!(preview.status, 200, "{}", preview.body);
        for id in &ids {
            assert!(preview.body.contains(id.as_str()), "{id} in {}", preview.body);
        }
        let run_id = between(&preview.body, "name=\"run\" value=\"", "\"").to_owned();
        let since = between(&preview.body, "name=\"since\" value=\"", "\"").to_owned();
        let until = between(&preview.body, "name=\"until\" value=\"", "\"").to_owned();
        // One of them is taken, the others are not.
        shop.receiver.answer_first(&[200]);
        let fields = [
            ("run", run_id.as_str()),
            ("channel", "ipn"),
            ("since", since.as_str()),
            ("until", until.as_str()),
        ];
        let done = finance.post("/operator/dead-letters", &fields).await;
        assert_eq!(done.status, 303, "{}", done.body);
        let path = format!("/operator/dead-letters/runs/{run_id}");
        assert_eq!(done.header("location"), Some(path.as_str()));
        let id = Uuid::try_parse(&run_id).unwrap();
        eventually("the press is over", async || {
            (run(&desk, id).await.waiting() == 0).then_some(())
        })
        .await;
        let page = finance.get(&path).await;
        let tiles = ["Queued", "Delivered", "Failed again", "Still waiting"];
        assert_eq!(tiles.map(|name| tile(&page, name)), ["3", "1", "2", "0"], "{}", page.body);
        let audit = desk.gateway.audit(Some(&run_id), None).await.unwrap();
        assert_eq!(audit.len(), 1, "{audit:?}");
        assert_eq!(
            (audit[0].operator.as_str(), audit[0].act.as_str()),
            ("f@example.com", "requeue")
        );
        assert!(audit[0].address.is_some());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn presses_at_once_and_a_form_sent_twice_begin_one_fresh_cycle_each() {
    with_dead_letters(2, |desk, shop, ids| async move {
        let groups = desk.gateway.dead_letter_groups().await.unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].count, groups[0].on_the_way), (2, 0));
        shop.receiver.forget();
        shop.receiver.answer(200);
        let (one, two) = (Uuid::now_v7(), Uuid::now_v7());
        let (key, by) = (key(&shop), ("a@example.com", "all of it"));
        let press = |id| desk.gateway.requeue_group(id, &key, by);
        let (first, second, twice) = tokio::join!(press(one), press(two), press(one));
        let queued = [first.unwrap(), second.unwrap(), twice.unwrap()];
        assert_eq!(queued.iter().sum::<i64>(), 4, "a form that was sent twice queues once");
        for id in &ids {
            let (row, attempts) = shop.delivery_becomes(id, "delivered").await;
            assert_eq!((row.state, row.cycle, row.attempts), (DeliveryState::Delivered, 2, 1));
            assert_eq!(attempts.len(), 6, "five of the first cycle and one of the second");
        }
        let received = shop.receiver.wait_for(2).await;
        let mut events: Vec<_> =
            received.iter().map(|one| one.json()["event_id"].clone()).collect();
        events.sort_by_key(ToString::to_string);
        events.dedup();
        assert_eq!((received.len(), events.len()), (2, 2));
        for id in [one, two] {
            let run = run(&desk, id).await;
            assert_eq!((run.queued, run.delivered, run.failed), (2, 2, 0));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_needs_a_group_and_support_has_no_button() {
    with_dead_letters(1, |desk, shop, _| async move {
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        let page = support.get("/operator/dead-letters").await.body;
        assert!(!page.contains("data-action=\"dead-letter.requeue\""), "{page}");
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        admin.get("/operator/dead-letters").await;
        let run = Uuid::now_v7().to_string();
        let merchant = shop.merchant.new.id.to_string();
        for fields in [
            &[("run", run.as_str())][..],
            &[("run", run.as_str()), ("channel", "ipn")],
            &[("run", run.as_str()), ("channel", "ipn"), ("merchant", merchant.as_str())],
            &[("run", "x"), ("channel", "ipn"), ("cause", "status 500")],
            &[("run", run.as_str()), ("channel", "mail"), ("cause", "status 500")],
            &[("run", run.as_str()), ("channel", "ipn"), ("since", "yesterday")],
        ] {
            let answer = admin.post("/operator/dead-letters", fields).await;
            assert_eq!(answer.status, 404, "{fields:?}");
        }
        let all = Grouping { by_cause: false, by_receiver: false, by_day: false };
        let groups = desk.gateway.dead_letters_by(all, &key(&shop)).await.unwrap();
        assert_eq!((groups[0].count, groups[0].on_the_way), (1, 0));
    })
    .await;
}
