//! The chain over the ledger: each entry is sealed once, and a seal that is gone is missed.

use chrono::TimeDelta;
use futures_util::future::join_all;
use support::{
    books,
    server::stack::{Stack, with_stack},
};

const ENTRIES: &str = "
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select 'late_deposit', gen_random_uuid(), 'usdtmatic@polygon', 'custody:polygon', 'late:' || m.id, n,
           now() - interval '1 hour'
    from merchant m, generate_series(1, 100) as n";

/// The faults of the chain alone: the entries have no deposits behind them.
async fn faults(stack: &Stack) -> Vec<String> {
    let as_of = books::now() + TimeDelta::days(1);
    let verdict = stack.gateway.verify_ledger(Some(as_of)).await.unwrap();
    assert_eq!(verdict.sealed, 100);
    verdict.told
}

#[tokio::test(flavor = "multi_thread")]
async fn sealers_at_once_seal_each_entry_once_and_a_seal_that_is_gone_is_a_fault() {
    with_stack(|stack| async move {
        stack.merchant().await;
        stack.sql(ENTRIES).await;
        let sealed = join_all((0..4).map(|_| stack.gateway.seal_ledger())).await;
        assert_eq!(sealed.into_iter().map(Result::unwrap).sum::<usize>(), 100);
        assert_eq!(faults(&stack).await, [""; 0]);
        stack.sql("alter table ledger_seal disable trigger ledger_seal_is_kept").await;
        stack.sql("delete from ledger_seal where account like 'late:%'").await;
        let told = faults(&stack).await;
        assert!(told.len() == 1 && told[0].contains("no seal"), "{told:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_balance_is_the_same_before_and_after_its_entries_are_sealed() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        stack.sql(ENTRIES).await;
        let before = merchant.get("/v1/balance").await.body;
        assert!(before.contains("0.00505"), "{before}");
        assert_eq!(stack.gateway.seal_ledger().await.unwrap(), 100);
        assert_eq!(merchant.get("/v1/balance").await.body, before);
        // What is booked behind the seal counts too, in an asset of its own as well.
        for more in [
            "insert into ledger_entry (kind, source, asset, debit, credit, amount)
             select 'late_deposit', gen_random_uuid(), 'usdtmatic@polygon', 'custody:polygon', 'late:' || id, 1000000
             from merchant",
            "insert into ledger_entry (kind, source, asset, debit, credit, amount)
             select 'late_deposit', gen_random_uuid(), 'btc@bitcoin', 'custody:bitcoin', 'late:' || id, 7 from merchant",
        ] {
            stack.sql(more).await;
        }
        let after = merchant.get("/v1/balance").await.body;
        assert!(after.contains("1.00505") && after.contains("0.00000007"), "{after}");
        let verdict = stack.gateway.verify_ledger(None).await.unwrap();
        let told = verdict.told.join(" ");
        assert!(!told.contains("subtotal"), "{told}");
        stack.sql("update ledger_subtotal set units = units + 1 where account like 'late:%'").await;
        let told = stack.gateway.verify_ledger(None).await.unwrap().told.join(" ");
        assert!(told.contains("the subtotal of late:"), "{told}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_seal_and_no_report_is_truncated() {
    with_stack(|stack| async move {
        let mut connection = stack.database.connect().await;
        for (statement, constraint) in [
            ("truncate ledger_seal", "ledger_seal_is_kept"),
            ("truncate ledger_seal_batch", "ledger_seal_is_kept"),
            ("truncate monthly_report", "report_is_kept"),
            ("truncate report_chunk", "report_is_kept"),
        ] {
            let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
            let found = refused.as_database_error().unwrap().constraint();
            assert_eq!(found, Some(constraint), "{statement}");
        }
    })
    .await;
}
