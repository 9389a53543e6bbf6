//! Attempts, doubts and dead letters.

use gateway::broker::{
    route::{DeadLetterQueue, WorkQueue},
    topology,
};
use serde_json::json;
use support::{
    server::{
        broker::{eventually, move_messages},
        smtp::Answer,
    },
    shop::Shop,
};

use super::{donated, donations, hurry, mails_become, with_mailing_shop};

async fn attempts(shop: &Shop) -> i64 {
    shop.number("select count(*) from mail_attempt").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greylisted_mail_is_tried_again_after_a_minute_and_sent_once() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::Recipient(451)]);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        mails_become(&shop, "retry_wait", Some("the relay answered 451"), 1).await;
        let pause = "select extract(epoch from next_attempt_at - updated_at)::bigint from mail";
        assert_eq!(shop.number(pause).await, 60);
        assert!(server.taken().is_empty());
        hurry(&shop).await;
        mails_become(&shop, "delivered", None, 1).await;
        assert_eq!((server.taken().len(), attempts(&shop).await), (1, 2));
        // The server's words, which repeat the address, are kept nowhere.
        let kept =
            "select count(*) from mail_attempt a, mail m where a::text || m::text like '%ada@%'";
        assert_eq!(shop.number(kept).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_lost_answer_the_mail_comes_again_under_the_same_id() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::TakenAndCut]);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        server.wait_for(1).await;
        eventually("it waits", async || {
            let waits =
                "select count(*) from mail where state = 'retry_wait' and leased_until is null";
            (shop.number(waits).await == 1).then_some(())
        })
        .await;
        hurry(&shop).await;
        let taken = server.wait_for(2).await;
        assert_eq!(taken[0].header("message-id"), taken[1].header("message-id"));
        mails_become(&shop, "delivered", None, 1).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_was_refused_for_good_twice_gets_no_more_mail() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::Recipient(550), Answer::Recipient(550)]);
        let link_id = donations(&shop).await;
        for count in 1..=2 {
            donated(&shop, &link_id, "ada@example.com").await;
            mails_become(
                &shop,
                "dropped",
                Some("the relay answered 550, there is no such mailbox"),
                count,
            )
            .await;
        }
        donated(&shop, &link_id, "ada@example.com").await;
        mails_become(&shop, "dropped", Some("bounced"), 1).await;
        donated(&shop, &link_id, "bob@example.com").await;
        server.wait_for(1).await;
        assert_eq!((server.taken().len(), attempts(&shop).await), (1, 3));
    })
    .await;
}

/// A relay that does not know the sender answers 550 as well: the fault is the operator's to mend,
/// and the address is not to blame.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_names_no_mailbox_is_a_dead_letter_and_counts_against_no_address() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::Data(550), Answer::Data(550), Answer::Data(553)]);
        let link_id = donations(&shop).await;
        for _ in 0..3 {
            donated(&shop, &link_id, "ada@example.com").await;
        }
        mails_become(&shop, "dead", Some("the relay answered 550"), 2).await;
        mails_become(&shop, "dead", Some("the relay answered 553"), 1).await;
        donated(&shop, &link_id, "ada@example.com").await;
        mails_become(&shop, "delivered", None, 1).await;
        assert_eq!(server.taken().len(), 1);
    })
    .await;
}

/// Attack: who can write rows of mails makes the operator's relay send nobody to another site.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_leads_elsewhere_or_hides_its_recipient_is_not_sent() {
    with_mailing_shop("", |shop, server| async move {
        let others: Vec<_> = gateway_workers::Role::ALL
            .into_iter()
            .filter(|role| *role != gateway_workers::Role::MailDelivery)
            .collect();
        shop.stack.start(&others);
        let link_id = donations(&shop).await;
        for address in ["ada@example.com", "bob@example.com"] {
            donated(&shop, &link_id, address).await;
        }
        mails_become(&shop, "pending", None, 2).await;
        let elsewhere =
            "update mail set contents = replace(contents, 'http://', 'http://evil.example/')
             where address = 'ada@example.com'";
        let hidden =
            "update mail set address = 'eve@example.com' where address = 'bob@example.com'";
        shop.stack.sql(elsewhere).await;
        shop.stack.sql(hidden).await;
        shop.stack.start(&[gateway_workers::Role::MailDelivery]);
        mails_become(&shop, "dead", Some("it cannot be written as a message"), 2).await;
        assert!(server.taken().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_is_moved_back_many_times_is_sent_once() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::Data(554)]);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        mails_become(&shop, "dead", Some("the relay answered 554"), 1).await;
        let broker = &shop.stack.broker;
        let operator = broker.management_as(topology::Role::Operator).await;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Mail);
        let work = broker.topology.work_queue(WorkQueue::Mail);
        let why = broker.why_dead(&dead).await;
        assert_eq!(why, (Some("the relay answered 554".into()), Some("554".into())));
        move_messages(&operator, &dead, &work).await;
        mails_become(&shop, "delivered", None, 1).await;
        let mut connection = shop.stack.database.connect().await;
        let id: uuid::Uuid =
            sqlx::query_scalar("select id from mail").fetch_one(&mut connection).await.unwrap();
        for body in [
            json!({ "mail_id": id }),
            json!({ "mail_id": id, "cycle": 1, "attempt": 1 }),
            json!({ "mail_id": id, "cycle": 2, "attempt": 1 }),
            json!({ "mail_id": id, "cycle": 3, "attempt": 1 }),
        ] {
            broker.publish_by_hand(&work, &body.to_string()).await;
        }
        // Behind them in the queue: another mail, whose arrival proves that they were read.
        donated(&shop, &link_id, "bob@example.com").await;
        mails_become(&shop, "delivered", None, 2).await;
        assert_eq!((server.taken().len(), attempts(&shop).await), (2, 3));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_message_and_a_dead_process_cost_time_and_no_mail() {
    with_mailing_shop("", |shop, server| async move {
        let others: Vec<_> = gateway_workers::Role::ALL
            .into_iter()
            .filter(|role| *role != gateway_workers::Role::MailDelivery)
            .collect();
        shop.stack.start(&others);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        let work = shop.stack.broker.topology.work_queue(WorkQueue::Mail);
        shop.stack.broker.arrival(&work).await;
        shop.stack.broker.purge(&work).await;
        // As an attempt that died left it.
        shop.run(
            "update mail set leased_until = now() - interval '1 second', next_attempt_at = now()",
        )
        .await;
        shop.stack.start(&[gateway_workers::Role::MailDelivery]);
        server.wait_for(1).await;
        mails_become(&shop, "delivered", None, 1).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_requeues_dead_mails_and_a_receipt_has_its_time_again() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        server.answer_first(&[Answer::Data(554), Answer::Data(554)]);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        mails_become(&shop, "dead", Some("the relay answered 554"), 1).await;
        // Days later: the mail has expired, and a person wants it sent.
        shop.run("update mail set expires_at = now() - interval '1 day'").await;
        let gateway = &shop.stack.gateway;
        let dead = gateway.dead_mails(Some(shop.merchant.new.id)).await.unwrap();
        assert_eq!((dead.len(), dead[0].last_code), (1, Some(554)));
        assert!(gateway.dead_mails(Some(uuid::Uuid::now_v7())).await.unwrap().is_empty());
        let requeued = gateway.requeue_dead_mails(None, None).await.unwrap();
        assert_eq!(requeued, [dead[0].id]);
        eventually("the second cycle dies too", async || {
            let dead = gateway.dead_mails(None).await.unwrap();
            dead.first().is_some_and(|mail| mail.cycle == 2).then_some(())
        })
        .await;
        gateway.requeue_dead_mails(None, None).await.unwrap();
        gateway.requeue_dead_mails(None, None).await.unwrap();
        mails_become(&shop, "delivered", None, 1).await;
        assert_eq!((server.taken().len(), attempts(&shop).await), (1, 3));
    })
    .await;
}
