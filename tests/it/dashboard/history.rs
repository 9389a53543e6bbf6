//! The sandbox's month of orders agrees with the books, the chain and the balances.

use gateway::{account::Role, asset::Network};
use serde_json::json;
use sqlx::{Executor, Row};
use support::{client::ctl::Ctl, shop::with_shop};

use super::Desk;

/// Each counts rows that contradict another table.
const CONTRADICTIONS: [&str; 6] = [
    "select count(*) from invoice where status in ('draft', 'pending', 'partial')",
    "select count(*) from invoice i where i.credited is distinct from
        (select coalesce(sum(amount), 0) from deposit where invoice_id = i.id and booked_as = 'credit')",
    "select count(*) from invoice i where i.received is distinct from
        (select coalesce(sum(amount), 0) from deposit where invoice_id = i.id)",
    "select count(*) from deposit d where not exists (select from ledger_entry e
        where e.source = d.id and e.amount = d.amount and e.asset = d.token_id and e.debit = 'custody:' || d.network)",
    "select count(*) from deposit d where not exists (select from sim_transfer t join sim_block b using (network, height)
        where t.network = d.network and t.txid = d.tx_hash and t.amount = d.amount and b.hash = d.block_hash)",
    "select count(*) from timer",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_month_of_history_agrees_with_the_books_and_the_chain() {
    with_shop(|shop| async move {
        let ctl = Ctl::of(&shop.stack);
        shop.look(Network::Polygon).await;
        let id = shop.merchant.new.id.to_string();
        let command =
            ["simulate", "history", "--merchant", &id, "--ipn-url", "http://127.0.0.1:9/ipn"];
        let written = ctl.json(&command).await;
        assert!(written["orders"].as_u64().unwrap() > 80, "{written}");
        assert_eq!(ctl.json(&command).await, json!({ "orders": 0 }));

        let mut owner = shop.stack.database.connect().await;
        let mut count =
            async |query: &'static str| owner.fetch_one(query).await.unwrap().get::<i64, _>(0);
        for query in CONTRADICTIONS {
            assert_eq!(count(query).await, 0, "{query}");
        }
        assert_eq!(count("select count(*) from audit_entry where act = 'simulate-history'").await, 1);
        let noted = "select count(*) from audit_entry where subject_kind in ('deposit', 'invoice', 'outbox')";
        assert_eq!(count(noted).await, 0);
        let deposits = count("select count(*) from deposit").await;
        let entries = count("select count(*) from ledger_entry").await;
        let invoices = written["orders"].as_i64().unwrap();
        assert_eq!(count("select count(*) from invoice").await, invoices);
        // The watcher reads the same blocks, and finds nothing that it did not know.
        for _ in 0..3 {
            shop.look(Network::Polygon).await;
            let compared = shop.stack.gateway.reconcile(Network::Polygon).await.unwrap().unwrap();
            assert_eq!(compared.differ, 0);
        }
        assert_eq!(count("select count(*) from deposit").await, deposits);
        assert_eq!(count("select count(*) from ledger_entry").await, entries);
        let settled = "select count(*) from deposit where state = 'settled'";
        assert_eq!(count(settled).await, deposits);
        let today =
            "select count(*) from ledger_entry where created_at > now() - interval '1 hour'";
        assert_eq!(count(today).await, 0);

        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let mut visitor = desk.signed_in("o@example.com", Role::Owner, Some(&shop.merchant)).await;
        for path in ["/", "/payments", "/events?state=dead"] {
            let page = visitor.get(path).await;
            assert_eq!(page.status, 200, "{path}: {}", page.body);
        }
        let payments = visitor.get("/payments").await;
        assert!(payments.body.contains("CR-2") && payments.body.contains("rel=\"next\""));
    })
    .await;
}
