//! Monthly reports: made when a month is over, the same bytes ever after.

use chrono::{Datelike, Days, Months, NaiveDate};
use gateway_workers::Role;
use serde_json::{Value, json};
use support::{
    books,
    client::ctl::Ctl,
    server::{
        broker::eventually,
        stack::{Stack, with_stack},
    },
};

use super::outcome;

/// Entries of two months for the only merchant: a deposit, its reversal in the next month, and
/// another deposit there.
const HISTORY: &str = "
    with aged as (
        update merchant set created_at = date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - interval '70 days'
        returning id
    )
    insert into ledger_entry (kind, source, asset, debit, credit, amount, created_at)
    select kind, gen_random_uuid(), 'usdtmatic@polygon', case when way then custody else own end,
           case when way then own else custody end, amount,
           date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - age
    from aged
    cross join lateral (select 'merchant:' || aged.id as own, 'custody:polygon' as custody) as account
    cross join (values ('deposit', true, 2500000, interval '40 days'), ('reversal', false, 2500000, interval '2 days'),
                       ('deposit', true, 7000001, interval '1 microsecond')) as e (kind, way, amount, age)";
const REPORTS: &str = "select count(*) from monthly_report";

fn month(before: u32) -> String {
    let first = books::now().date_naive().with_day(1).unwrap();
    (first - Months::new(before)).format("%Y-%m").to_string()
}

async fn number(stack: &Stack, query: &'static str) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_that_is_over_has_a_report_that_equals_its_ledger_and_never_changes() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await.client;
        stack.sql(HISTORY).await;
        stack.start(&[Role::Reporter]);
        // 70 days before a month's first day is in the third month before it.
        eventually("three months are reported", async || (number(&stack, REPORTS).await == 3).then_some(())).await;

        let listed = merchant.get("/v1/export/reports").await.json();
        let months: Vec<_> = listed["data"].as_array().unwrap().iter().map(|one| one["month"].clone()).collect();
        assert_eq!(months, [month(1), month(2), month(3)]);
        let [last, earlier, first] = [0, 1, 2].map(|place| listed["data"][place].clone());
        assert_eq!((&first["rows"], &first["totals"]), (&json!(0), &json!([])));
        assert_eq!(last["formats"], json!(["csv", "json"]));
        assert_eq!(last["rows"], 4);
        let balances = |report: &Value| report["totals"][0]["accounts"][0].clone();
        assert_eq!(
            balances(&earlier),
            json!({ "account": "available", "opening": "0", "closing": "2.5" })
        );
        assert_eq!(
            balances(&last),
            json!({ "account": "available", "opening": "2.5", "closing": "7.000001" })
        );
        // The correction is in the month in which it was made.
        let moved = |kind: &str, amount: &str| json!({ "kind": kind, "count": 1, "amount": amount, "fiat": [] });
        assert_eq!(
            last["totals"][0]["movements"],
            json!([moved("deposit", "7.000001"), moved("reversal", "-2.5")])
        );

        let start = NaiveDate::parse_from_str(&format!("{}-01", month(1)), "%Y-%m-%d").unwrap();
        let end = (start + Days::new(31)).with_day(1).unwrap();
        let slice = merchant.get(&format!("/v1/export/ledger?from={start}&to={end}")).await;
        let path = format!("/v1/export/reports/{}", month(1));
        let file = merchant.get(&path).await;
        assert_eq!(file.body, slice.body, "byte for byte");
        assert_eq!(file.header("x-gateway-sha256"), last["sha256"].as_str());
        assert_eq!(file.header("x-gateway-row-count"), Some("4"));
        let of_month = merchant.get(&format!("{path}?format=json")).await.json();
        assert_eq!(of_month["totals"], last["totals"]);
        assert_eq!(of_month["sha256"], last["sha256"]);

        // Nothing changes it, and what would be changed past the triggers shows.
        let mut connection = stack.database.connect().await;
        for statement in [
            "update monthly_report set totals = '[]'",
            "delete from monthly_report",
            "update report_chunk set content = ''",
            "delete from report_chunk",
        ] {
            let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
            let constraint = refused.as_database_error().unwrap().constraint();
            assert_eq!(constraint, Some("report_is_kept"), "{statement}");
        }
        stack.sql("alter table report_chunk disable trigger report_chunk_is_kept").await;
        stack.sql("update report_chunk set content = content || 'x'::bytea").await;
        let damaged = merchant.get(&path).await;
        assert_eq!(outcome(&damaged), (503, "EXPORT_HISTORY_UNAVAILABLE".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_does_not_exist_is_not_found_whoever_asks() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await;
        stack.sql(HISTORY).await;
        let stranger = stack.merchant().await.client;
        stack.start(&[Role::Reporter]);
        eventually("all is reported", async || (number(&stack, REPORTS).await == 3).then_some(()))
            .await;
        let now = books::now().format("%Y-%m").to_string();
        let last = month(1);
        for (client, month, status) in [
            (&merchant.client, last.as_str(), 200),
            (&stranger, &last, 404),
            (&merchant.client, &now, 404),
            (&merchant.client, "2999-01", 404),
            (&merchant.client, "2019-01", 404),
            (&merchant.client, "2026-13", 404),
            (&merchant.client, "latest", 404),
            (&merchant.client, "%00", 404),
        ] {
            let answer = client.get(&format!("/v1/export/reports/{month}")).await;
            let code = if status == 200 { "" } else { "REPORT_NOT_FOUND" };
            assert_eq!(outcome(&answer), (status, code.to_owned()), "{month}");
        }
        let odd = merchant.client.get(&format!("/v1/export/reports/{last}?format=xlsx")).await;
        assert_eq!(outcome(&odd), (400, "INVALID_REQUEST".to_owned()));
        assert_eq!(stranger.get("/v1/export/reports").await.json(), json!({ "data": [] }));
        // What was asked in vain keeps no place.
        let slots = "select count(*) from export_slot";
        eventually("no place is held", async || (number(&stack, slots).await == 0).then_some(()))
            .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_makes_a_missing_report_once() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        stack.sql(HISTORY).await;
        let (ctl, id) = (Ctl::of(&stack), merchant.new.id.to_string());
        let last = month(1);
        assert_eq!(ctl.json(&["reports", "list"]).await, json!([]));
        let build = ["reports", "build", "--month", &last];
        assert_eq!(ctl.json(&build).await, json!({ "month": last, "made": 1 }));
        let before = ctl.json(&["reports", "list", "--merchant", &id]).await;
        assert_eq!((before.as_array().unwrap().len(), &before[0]["rows"]), (1, &json!(4)));
        let again = [&build[..], &["--merchant", &id]].concat();
        assert_eq!(ctl.json(&again).await["made"], 0);
        assert_eq!(ctl.json(&build).await["made"], 0);
        assert_eq!(ctl.json(&["reports", "list"]).await, before);
        let show = ["reports", "show", "--merchant", &id, "--month", &last];
        let shown = ctl.json(&show).await;
        assert_eq!(shown["totals"][0]["accounts"][0]["closing"], "7.000001");
        let text = ctl.run(&show).await.expect_ok().stdout;
        assert!(text.contains("7.000001") && text.contains("reversal"), "{text}");
        for (month, reason) in [
            (books::now().format("%Y-%m").to_string(), "is not over"),
            ("soon".to_owned(), "no month"),
        ] {
            for of in [&[][..], &["--merchant", &id]] {
                let asked = [&["reports", "build", "--month", &month][..], of].concat();
                let refused = ctl.run(&asked).await;
                assert!(refused.stderr.contains(reason), "{month}: {}", refused.stderr);
            }
        }
        let early = ctl.run(&["reports", "build", "--month", "2019-01", "--merchant", &id]).await;
        assert!(early.stderr.contains("before the merchant"), "{}", early.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_or_slots_that_cannot_be_read_are_a_503() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        let unavailable = (503, "EXPORT_HISTORY_UNAVAILABLE".to_owned());
        stack.sql("alter table monthly_report rename to mislaid_report").await;
        assert_eq!(outcome(&merchant.get("/v1/export/reports").await), unavailable);
        stack.sql("alter table export_slot rename to mislaid_slot").await;
        let range = "from=2026-03-01&to=2026-04-01";
        for path in ["/v1/export/reports/2026-03", &*format!("/v1/export/fees?{range}")] {
            assert_eq!(outcome(&merchant.get(path).await), unavailable, "{path}");
        }
    })
    .await;
}
