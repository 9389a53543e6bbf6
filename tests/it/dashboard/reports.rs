//! Closed months and exports: the same files as the API's, for whoever reads the merchant's books.

use chrono::{Datelike, Months};
use gateway::account::Role;
use support::books;

use super::{Desk, with_desk};

/// Entries of the month before, for every merchant: a deposit and its reversal.
pub const HISTORY: &str = "
    with aged as (
        update merchant set created_at = date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - interval '1 day'
        returning id
    )
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select kind, gen_random_uuid(), 'usdtmatic@polygon', case when way then custody else own end,
           case when way then own else custody end, amount,
           date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - age
    from aged
    cross join lateral (select 'merchant:' || aged.id as own, 'custody:polygon' as custody) as account
    cross join (values ('deposit', true, 7000001, interval '2 hours'), ('reversal', false, 2500000, interval '1 hour'))
        as e (kind, way, amount, age)";

pub fn last_month() -> String {
    let first = books::now().date_naive().with_day(1).unwrap();
    (first - Months::new(1)).format("%Y-%m").to_string()
}

/// Makes the reports that are due.
pub async fn close_months(desk: &Desk) {
    let batch = desk.gateway.build_due_reports(100).await.unwrap();
    assert_eq!(batch.failed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_month_is_read_printed_and_downloaded_as_the_api_gives_it() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let mut reader = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        assert!(reader.get("/reports").await.body.contains("No month is closed yet."));
        desk.stack.sql(HISTORY).await;
        close_months(&desk).await;
        let month = last_month();
        assert!(reader.get("/reports").await.body.contains(&format!("/reports/{month}\"")));
        let page = reader.get(&format!("/reports/{month}")).await.body;
        for text in ["USDTMATIC", "4.500001", "reversal", "-2.5", "available"] {
            assert!(page.contains(text), "{text} in {page}");
        }
        for (file, format) in [("report.csv", "csv"), ("report.json", "json")] {
            let ours = reader.get(&format!("/reports/{month}/{file}")).await;
            let path = format!("/v1/export/reports/{month}?format={format}");
            let of_api = merchant.client.get(&path).await;
            assert_eq!((ours.status, &ours.body), (200, &of_api.body), "{file}");
            assert!(ours.header("content-disposition").unwrap().starts_with("attachment"));
            assert_eq!(ours.header("x-gateway-sha256"), of_api.header("x-gateway-sha256"));
        }
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&other)).await;
        assert!(stranger.get(&format!("/reports/{month}")).await.body.contains("4.500001"));
        for none in ["/reports/2019-01", "/reports/latest", "/reports/2019-01/report.csv"] {
            assert_eq!(reader.get(none).await.status, 404, "{none}");
        }
        assert_eq!(reader.get(&format!("/reports/{month}/report.exe")).await.status, 404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_has_both_days_and_a_wrong_range_is_refused_in_words() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        super::payment(&merchant, "A-1").await;
        let mut finance = desk.signed_in("f@example.com", Role::Finance, Some(&merchant)).await;
        let today = books::now().date_naive();
        let path = format!("/reports/export?export=invoices&format=csv&from={today}&to={today}");
        let file = finance.get(&path).await;
        assert_eq!(file.status, 200, "{}", file.body);
        assert!(file.body.starts_with("payment_id,") && file.body.contains("A-1"), "{}", file.body);
        for (query, words) in [
            ("export=fees&format=koinly&from=2026-01-01&to=2026-01-31", "cannot be written"),
            ("export=ledger&from=&to=", "first and the last day"),
            ("export=ledger&from=2026-02-01&to=2026-01-01", "before"),
            ("export=ledger&from=2024-01-01&to=2026-01-01", "366"),
            ("export=x&from=2026-01-01&to=2026-01-31", "Choose"),
        ] {
            let refused = finance.get(&format!("/reports/export?{query}")).await;
            assert!(refused.body.contains(words), "{query}: {}", refused.body);
            assert_eq!(refused.status, 422, "{query}");
        }
        assert_eq!(finance.get("/reports/export").await.status, 200);
    })
    .await;
}
