//! Messages that can never be processed are dead-lettered, and do not block the others.

use gateway::{
    app::messaging::sweep::SweepMemory,
    asset::Network,
    broker::{
        envelope::{DeliveryRef, DepositRef, InvoiceRef, Turn, encode},
        route::{DeadLetterQueue, WorkQueue},
    },
    invoice::Status,
};
use gateway_workers::Role;
use serde_json::json;
use support::{fault::fired::fired, shop::with_shop};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn poison_messages_become_dead_letters_and_delay_no_other_work() {
    with_shop(|shop| async move {
        let (broker, unknown) = (&shop.stack.broker, Uuid::now_v7());
        let turn = Turn { cycle: 1, attempt: 1 };
        let deposit = encode(&DepositRef { deposit_id: unknown });
        let invoice = encode(&InvoiceRef { invoice_id: unknown });
        let delivery = encode(&DeliveryRef::new(unknown, "evt_unknown", turn));
        let unreadable =
            ["", "{", "null", "[]", "\u{0}", "{\"v\":2}", "{\"v\":1}"].map(str::to_owned);
        let mut poison = 0;
        for (queue, bodies) in [
            (WorkQueue::Deposit, vec![&deposit, &invoice, &delivery]),
            (WorkQueue::Expiry, vec![&invoice, &deposit, &delivery]),
            (WorkQueue::Ipn, vec![&delivery, &invoice, &deposit]),
            (WorkQueue::IpnSlow, vec![&delivery, &invoice, &deposit]),
        ] {
            let name = broker.topology.work_queue(queue);
            for body in bodies.into_iter().chain(&unreadable) {
                broker.publish_by_hand(&name, body).await;
            }
            poison = 3 + unreadable.len();
        }
        // Behind the poison in their queues: a payment, and the end of a window.
        let paid = shop.invoice().await;
        shop.pay(&paid, "100").await;
        shop.look(Network::Polygon).await;
        let expired = shop.invoice_of(json!({ "pay_currency": "all" })).await;
        shop.end_window(&expired, 1).await;
        shop.stack.gateway.ring_timers().await.unwrap();
        shop.stack.start(&[Role::DepositMatching, Role::ExpiryTimer, Role::IpnDelivery]);
        shop.becomes(&paid, Status::Paid).await;
        shop.becomes(&expired, Status::Expired).await;
        shop.receiver.wait_for(2).await;
        for (queue, copies) in
            [(WorkQueue::Deposit, 1), (WorkQueue::Expiry, 1), (WorkQueue::Ipn, 2)]
        {
            let dead = broker.topology.dead_letter_queue(queue.dead_letters());
            for _ in 0..poison * copies {
                broker.arrival(&dead).await;
                fired(1);
            }
            assert!(broker.take(&dead).await.is_none(), "{dead}");
        }
    })
    .await;
}

/// More than a worker takes on at a time.
const DAMAGED: usize = 21;
const ALERTS: &str = "select count(*) from operator_alert where kind = 'row_damaged'";

#[tokio::test(flavor = "multi_thread")]
async fn damaged_rows_become_dead_letters_at_once_and_delay_no_other_work() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let mut damaged = Vec::new();
        for _ in 0..DAMAGED {
            let id = shop.invoice().await;
            shop.pay(&id, "100").await;
            damaged.push(id);
        }
        let sound = shop.invoice().await;
        shop.pay(&sound, "100").await;
        shop.look(Network::Polygon).await;
        for id in &damaged {
            assert_eq!(shop.sql("update invoice set decimals = -1 where id = $1", id).await, 1);
        }
        shop.stack.start(&[Role::DepositMatching]);
        shop.becomes(&sound, Status::Paid).await;
        let broker = &shop.stack.broker;
        let dead = broker.topology.dead_letter_queue(DeadLetterQueue::Deposit);
        for _ in &damaged {
            broker.arrival(&dead).await;
            fired(1);
        }
        assert_eq!(shop.number(ALERTS).await, i64::try_from(DAMAGED).unwrap());

        // The sweep goes on to ask for them, and no second letter comes of it.
        let sweep = async || {
            shop.run(
                "update deposit set updated_at = now() - interval '1 hour' where state = 'final'",
            )
            .await;
            shop.stack.gateway.sweep(None, &mut SweepMemory::default()).await.unwrap()
        };
        assert_eq!(sweep().await.deposits_reminded, DAMAGED as u64);
        let later = shop.invoice().await;
        shop.pay(&later, "100").await;
        shop.look(Network::Polygon).await;
        shop.becomes(&later, Status::Paid).await;
        assert!(broker.take(&dead).await.is_none());

        shop.run("update invoice set decimals = 6 where decimals = -1").await;
        sweep().await;
        for id in &damaged {
            shop.becomes(id, Status::Paid).await;
        }
    })
    .await;
}
