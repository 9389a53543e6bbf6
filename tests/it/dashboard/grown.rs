//! Pages of a merchant with many payments: no page reads a grown table whole, and none is slow.
//!
//! `GATEWAY_TEST_ROWS` sets the number of invoices, `GATEWAY_TEST_DELIVERIES` that of the webhooks
//! of each. With a million invoices each page must stay within [`LIMIT`]; with fewer only the
//! indices are checked, since a busy machine decides the time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use gateway::{account::Role, storage::merchant_hours};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};
use support::{client::ctl::Ctl, server::stack::Stack};

use super::{payment, visitor::Visitor, with_desk};

const ROWS: i64 = 20_000;
const MANY: i64 = 1_000_000;
/// The p95 of any page with a million invoices.
const LIMIT: Duration = Duration::from_millis(150);
const ROUNDS: usize = 20;
const FILL: &str = include_str!("grown.sql");
/// Without the ledger: a balance is the sum of all entries of its merchant, and a table that holds
/// little else is rightly read whole.
const SCANS: &str = "
    select relname::text, coalesce(seq_scan, 0)
    from pg_stat_user_tables
    where relname in ('invoice', 'deposit', 'deposit_address', 'delivery', 'delivery_attempt', 'event', 'x402_settlement')";

fn given(name: &str, default: i64) -> i64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

fn rows() -> i64 {
    given("GATEWAY_TEST_ROWS", ROWS)
}

async fn fill(hand: &mut PgConnection, ours: &str, theirs: &str) {
    hand.execute("set synchronous_commit = off").await.unwrap();
    for statement in FILL.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        let statement = statement
            .replace("$1", &format!("'{ours}'"))
            .replace("$2", &format!("'{theirs}'"))
            .replace("$3", &rows().to_string())
            .replace("$4", &given("GATEWAY_TEST_DELIVERIES", 2).to_string());
        hand.execute(AssertSqlSafe(statement)).await.unwrap();
    }
    hand.execute("vacuum analyze").await.unwrap();
}

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
async fn too_slow(visitor: &mut Visitor, paths: &[String]) -> Vec<String> {
    let mut slow = Vec::new();
    for path in paths {
        let (median, p95) = measure(visitor, path).await;
        println!("{median:>10.1?} {p95:>10.1?}  {path}");
        if rows() >= MANY && p95 > LIMIT {
            slow.push(format!("{path}: {p95:?}"));
        }
    }
    slow
}

const OPERATORS_PAGES: [&str; 9] = [
    "/operator",
    "/operator/merchants",
    "/operator/dead-letters",
    "/operator/deposits",
    "/operator/payouts",
    "/operator/currencies",
    "/operator/networks",
    "/operator/x402",
    "/operator/audit",
];

fn owners_pages(id: &str, hash: &str, address: &str, event: &str, resource: &str) -> Vec<String> {
    vec![
        "/".to_owned(),
        "/payments".to_owned(),
        "/payments?status=cancelled".to_owned(),
        "/payments?status=paid".to_owned(),
        "/payments?status=overpaid".to_owned(),
        "/payments?network=bsc".to_owned(),
        "/payments?network=polygon&status=expired".to_owned(),
        "/payments?currency=usdtbsc@bsc&status=cancelled".to_owned(),
        "/payments?from=2001-01-01&to=2001-02-01".to_owned(),
        format!("/payments?q={id}"),
        "/payments?q=grown-12".to_owned(),
        format!("/payments?q={hash}"),
        format!("/payments?q={address}"),
        "/payments?q=buyer50%40example.com".to_owned(),
        "/payments?q=120".to_owned(),
        "/payments?q=nothing+of+this".to_owned(),
        format!("/payments/{id}"),
        "/events".to_owned(),
        "/events?state=dead".to_owned(),
        "/events?state=pending".to_owned(),
        "/events?type=wrong_token_received".to_owned(),
        "/events?type=invoice.expired&state=dead".to_owned(),
        "/events/resend".to_owned(),
        format!("/events/{event}"),
        "/balance".to_owned(),
        "/balance?currency=usdtbsc@bsc".to_owned(),
        "/balance?currency=eth@ethereum".to_owned(),
        "/developers".to_owned(),
        "/x402".to_owned(),
        format!("/x402/{resource}"),
        "/x402/settlements".to_owned(),
        "/x402/settlements?state=failed".to_owned(),
    ]
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
        let id = payment(&ours, "newest").await;
        let mut hand = desk.stack.database.connect().await;
        let merchant = ours.new.id.to_string();
        fill(&mut hand, &ours.new.id.to_string(), &theirs.new.id.to_string()).await;
        while merchant_hours::sum_next(&mut hand).await.unwrap() {}
        let text = async |hand: &mut PgConnection, query: &'static str| -> String {
            sqlx::query_scalar(query).fetch_one(hand).await.unwrap()
        };
        let hash = text(&mut hand, "select tx_hash from deposit order by settled_at limit 1").await;
        let address =
            text(&mut hand, "select pay_address from invoice where order_id = 'grown-7'").await;
        let event =
            "select event_id from delivery where state = 'dead' order by created_at limit 1";
        let event = text(&mut hand, event).await;
        let resource =
            "select resource_id from x402_resource r join merchant m on m.id = r.merchant_id
             where deleted_at is null order by m.created_at limit 1";
        let resource = text(&mut hand, resource).await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&ours)).await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        hand.close().await.unwrap();
        // Idle sessions report their reads within ten seconds.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let mut hand = desk.stack.database.connect().await;
        let before = scans(&mut hand).await;
        let paths = owners_pages(&id, &hash, &address, &event, &resource);
        let mut slow = too_slow(&mut owner, &paths).await;
        slow.extend(too_slow(&mut admin, &OPERATORS_PAGES.map(str::to_owned)).await);
        operators_search(&desk.stack, &merchant, &[&id, "grown-12", &hash, &address, &event]).await;
        desk.gateway.db.close().await;
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(before, scans(&mut hand).await, "a grown table was read whole");
        assert_eq!(slow, Vec::<String>::new(), "of {} invoices", rows());
    })
    .await;
}
