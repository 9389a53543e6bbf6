//! `gatewayctl ledger …`: entries with their reasons, balances at a moment, and a chain that shows
//! every change.

use gateway::invoice::Status;
use serde_json::{Value, json};
use sqlx::Connection;
use support::{
    client::ctl::Ctl,
    shop::{Shop, with_shop},
};

/// Makes everything old enough to be sealed, past the trigger.
const AGE: &str = "alter table ledger_entry disable trigger ledger_append_only; \
                   update ledger_entry set created_at = created_at - interval '11 minutes'";

async fn raw(shop: &Shop, statements: &'static str) {
    let mut connection = shop.stack.database.connect().await;
    sqlx::raw_sql(statements).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn paid(shop: &Shop) -> String {
    let id = shop.invoice_of(json!({ "order_id": "A-7" })).await;
    shop.pay(&id, "110").await;
    shop.becomes(&id, Status::Overpaid).await;
    id
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_an_account_and_a_transaction_lead_to_their_entries() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = paid(&shop).await;
        let (ctl, account) = (Ctl::of(&shop.stack), shop.account("merchant"));
        let entries = ctl.json(&["ledger", "explain", &id]).await;
        let kinds: Vec<_> = entries.as_array().unwrap().iter().map(|e| word(e, "kind")).collect();
        assert_eq!(kinds, ["deposit", "excess"]);
        assert_eq!(word(&entries[0], "credit"), account);
        assert_eq!((word(&entries[0], "amount"), word(&entries[1], "amount")), ("110", "10"));
        assert_eq!((word(&entries[1], "payment_id"), word(&entries[1], "order_id")), (&*id, "A-7"));
        let hash = word(&entries[0], "tx_hash").to_owned();
        assert_eq!(ctl.json(&["ledger", "explain", &account]).await, entries);
        let of_hash = ctl.json(&["ledger", "explain", &hash]).await;
        assert_eq!(of_hash, json!([entries[0]]));
        let text = ctl.run(&["ledger", "explain", &id]).await.expect_ok().stdout;
        assert!(text.contains("above its amount") && text.contains(&hash), "{text}");
        assert_eq!(ctl.json(&["ledger", "explain", "pzi_none"]).await, json!([]));

        let held = ctl.json(&["ledger", "balance", &account]).await;
        let expected = json!([{ "account": account, "currency": "usdtmatic@polygon", "balance": "100", "entries": 2 }]);
        assert_eq!(held, expected);
        let custody = ctl.json(&["ledger", "balance", "custody:polygon"]).await;
        assert_eq!(custody[0]["balance"], "-110");
        let before = ["ledger", "balance", &account, "--as-of", "2026-01-01T00:00:00Z"];
        assert_eq!(ctl.json(&before).await, json!([]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_removed_or_added_entry_breaks_the_chain_and_a_wrong_row_is_told() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        for _ in 0..3 {
            paid(&shop).await;
        }
        let (ctl, gateway) = (Ctl::of(&shop.stack), &shop.stack.gateway);
        // The newest minutes are left for later.
        assert_eq!(gateway.seal_ledger().await.unwrap(), 0);
        let young = ctl.json(&["ledger", "verify"]).await;
        assert_eq!((&young["ok"], &young["entries"], &young["sealed"]), (&json!(true), &json!(6), &json!(0)));
        raw(&shop, AGE).await;
        let mut sealed = gateway.seal_ledger().await.unwrap();
        sealed += gateway.seal_ledger().await.unwrap();
        // A running reporter may have been faster.
        assert!(sealed <= 6);
        let whole = ctl.json(&["ledger", "verify"]).await;
        assert_eq!((&whole["ok"], &whole["sealed"]), (&json!(true), &json!(6)));
        assert_eq!(shop.number("select faults from ledger_check").await, 0);

        for (damage, repair) in [
            ("update ledger_entry set amount = amount + 1 where id = (select min(id) from ledger_entry)",
             "update ledger_entry set amount = amount - 1 where id = (select min(id) from ledger_entry)"),
            ("update ledger_entry set created_at = created_at - interval '1 second' where id = (select max(id) from ledger_entry)",
             "update ledger_entry set created_at = created_at + interval '1 second' where id = (select max(id) from ledger_entry)"),
            ("create table mislaid as select id, kind, source, asset, debit, credit, amount, created_at from ledger_entry order by id limit 1; \
              delete from ledger_entry where id = (select id from mislaid)",
             "insert into ledger_entry (id, kind, source, asset, debit, credit, amount, created_at) overriding system value \
              select id, kind, source, asset, debit, credit, amount, created_at from mislaid"),
            ("update invoice set received = received + 1 where id = (select min(id::text)::uuid from invoice)",
             "update invoice set received = received - 1 where id = (select min(id::text)::uuid from invoice)"),
        ] {
            raw(&shop, damage).await;
            let ran = ctl.run(&["--json", "ledger", "verify"]).await;
            let verdict = ran.json();
            assert_eq!((ran.code, &verdict["ok"]), (1, &json!(false)), "{damage}: {verdict}");
            assert!(shop.number("select faults from ledger_check").await > 0);
            raw(&shop, repair).await;
            let verdict = ctl.json(&["ledger", "verify"]).await;
            assert_eq!(verdict["ok"], true, "{repair}: {verdict}");
        }
        let mut connection = shop.stack.database.connect().await;
        for statement in ["delete from ledger_seal", "update ledger_seal_batch set entries = 1"] {
            let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
            let constraint = refused.as_database_error().unwrap().constraint();
            assert_eq!(constraint, Some("ledger_seal_is_kept"), "{statement}");
        }
    })
    .await;
}
