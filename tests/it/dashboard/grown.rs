//! Pages of a merchant with many payments: no page reads a grown table whole, and none is slow.
//!
//! `GATEWAY_TEST_ROWS` sets the number of invoices, `GATEWAY_TEST_DELIVERIES` that of the webhooks
//! of each. With a million invoices each page must stay within [`LIMIT`]; with fewer only the
//! indices are checked, since a busy machine decides the time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use gateway::account::Role;
use sqlx::{Connection, Executor, PgConnection, Row};
use support::{
    client::{ctl::Ctl, visitor::Visitor},
    server::stack::Stack,
    shop::grown::{Grown, OPERATORS_PAGES, Size},
};

use super::{payment, with_desk};

const SIZE: Size = Size { invoices: 20_000, deliveries: 2 };
const MANY: i64 = 1_000_000;
/// The p95 of any page with a million invoices.
const LIMIT: Duration = Duration::from_millis(150);
const ROUNDS: usize = 20;
const SCANS: &str = "
    select relname::text, coalesce(seq_scan, 0)
    from pg_stat_user_tables
    where relname in ('invoice', 'deposit', 'deposit_address', 'delivery', 'delivery_attempt', 'event', 'ledger_entry', 'x402_settlement')";
/// A walk through a whole index is no scan of its table.
const ENTRIES_READ: &str =
    "select idx_tup_fetch + seq_tup_read from pg_stat_user_tables where relname = 'ledger_entry'";
/// On average over all pages. One page that walks through the whole ledger exceeds it.
const ENTRIES_PER_PAGE: i64 = 50;

async fn scans(hand: &mut PgConnection) -> BTreeMap<String, i64> {
    let rows = hand.fetch_all(SCANS).await.unwrap();
    rows.into_iter().map(|row| (row.get(0), row.get(1))).collect()
}

/// The median and the p95 of a page's time.
async fn measure(visitor: &mut Visitor, path: &str) -> (Duration, Duration) {
    let mut took = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let answer = visitor.get(path).await;
        took.push(started.elapsed());
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    took.sort();
    (took[ROUNDS / 2], took[ROUNDS - 2])
}

/// The pages at `paths` whose p95 is above the limit.
async fn too_slow(visitor: &mut Visitor, paths: &[String], size: Size) -> Vec<String> {
    let mut slow = Vec::new();
    for path in paths {
        let (median, p95) = measure(visitor, path).await;
        println!("{median:>10.1?} {p95:>10.1?}  {path}");
        if size.invoices >= MANY && p95 > LIMIT {
            slow.push(format!("{path}: {p95:?}"));
        }
    }
    slow
}

/// `gatewayctl find` and the lists of a merchant, over the same rows. The lists of all merchants
/// look at the newest 20,000, which is the whole table here.
async fn operators_search(stack: &Stack, merchant: &str, named: &[&str]) {
    let ctl = Ctl::of(stack);
    for words in named {
        ctl.run(&["find", words]).await.expect_ok();
    }
    ctl.run(&["find", "buyer50@example.com"]).await.expect_ok();
    assert_eq!(ctl.run(&["find", "nothing of this"]).await.code, 1);
    for list in ["invoice", "deliveries"] {
        ctl.run(&[list, "list", "--merchant", merchant]).await.expect_ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_a_merchant_with_many_payments_reads_a_table_whole() {
    with_desk(|desk| async move {
        let (ours, theirs) = (desk.merchant().await, desk.merchant().await);
        let (id, size) = (payment(&ours, "newest").await, SIZE.or_given());
        let mut hand = desk.stack.database.connect().await;
        let merchants = [ours.new.id, theirs.new.id];
        let grown = Grown::fill(&desk.gateway, &mut hand, merchants, id, size).await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&ours)).await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        hand.close().await.unwrap();
        // Idle sessions report their reads within ten seconds.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let mut hand = desk.stack.database.connect().await;
        let before = scans(&mut hand).await;
        let entries: i64 = sqlx::query_scalar(ENTRIES_READ).fetch_one(&mut hand).await.unwrap();
        let paths = grown.owners_pages();
        let mut slow = too_slow(&mut owner, &paths, size).await;
        slow.extend(too_slow(&mut admin, &OPERATORS_PAGES.map(str::to_owned), size).await);
        operators_search(&desk.stack, &ours.new.id.to_string(), &grown.names()).await;
        desk.gateway.db.close().await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(before, scans(&mut hand).await, "a grown table was read whole");
        let read: i64 = sqlx::query_scalar(ENTRIES_READ).fetch_one(&mut hand).await.unwrap();
        let pages = i64::try_from((paths.len() + OPERATORS_PAGES.len()) * ROUNDS).unwrap();
        let per_page = (read - entries) / pages;
        println!("{per_page} ledger entries per page");
        assert!(per_page <= ENTRIES_PER_PAGE, "{per_page} entries of the ledger per page");
        assert_eq!(slow, Vec::<String>::new(), "of {} invoices", size.invoices);
    })
    .await;
}
