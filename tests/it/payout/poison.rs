//! Messages about payouts that can never be processed are dead-lettered, and do not block the
//! others (A63, F27).

use gateway::{
    asset::Network,
    broker::{
        envelope::{DeliveryRef, DepositRef, InvoiceRef, PayoutRef, Turn, encode},
        route::WorkQueue,
    },
};
use support::{
    fault::fired::fired,
    server::stack::{only, with_configured_stack},
    shop::payouts::Payer,
};
use uuid::Uuid;

use super::{EVM, two_rows};

const QUEUES: [WorkQueue; 3] =
    [WorkQueue::Payout, WorkQueue::PayoutWebhook, WorkQueue::PayoutWebhookSlow];

#[tokio::test(flavor = "multi_thread")]
async fn poison_messages_on_payout_queues_delay_no_order() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (broker, unknown) = (&stack.broker, Uuid::now_v7());
        let turn = Turn { cycle: 1, attempt: 1 };
        let mut bodies =
            ["", "{", "null", "[]", "\u{0}", "{\"v\":2}", "{\"v\":1}"].map(str::to_owned).to_vec();
        bodies.extend([
            encode(&PayoutRef { order_id: unknown }),
            encode(&DeliveryRef::new(unknown, "pzwe_unknown", turn)),
            encode(&DepositRef { deposit_id: unknown }),
            encode(&InvoiceRef { invoice_id: unknown }),
        ]);
        for queue in QUEUES.map(|queue| broker.topology.work_queue(queue)) {
            for body in &bodies {
                broker.publish_by_hand(&queue, body).await;
            }
        }
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        payer.becomes(&id, "completed").await;
        assert_eq!(payer.event_names(5).await.last().unwrap(), "completed");
        for (queue, copies) in [(WorkQueue::Payout, 1), (WorkQueue::PayoutWebhook, 2)] {
            let dead = broker.topology.dead_letter_queue(queue.dead_letters());
            for _ in 0..bodies.len() * copies {
                broker.arrival(&dead).await;
                fired(1);
            }
            assert!(broker.take(&dead).await.is_none(), "{dead}");
        }
    })
    .await;
}
