//! Ranges, formats and choices, as the specification bounds them.

use gateway::accounting::{Export, Format};
use sha2::{Digest, Sha256};
use support::server::stack::with_stack;

use super::outcome;

const MONTH: &str = "from=2026-03-01&to=2026-04-01";

#[tokio::test(flavor = "multi_thread")]
async fn a_range_or_a_choice_that_is_none_is_refused_by_its_code() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await.client;
        for (query, status, code) in [
            ("ledger?from=2028-01-01&to=2029-01-01", 200, ""),
            ("ledger?from=2028-01-01&to=2029-01-02", 400, "RANGE_TOO_LARGE"),
            (
                "ledger?from=2026-01-01T00:00:00Z&to=2027-01-02T00:00:00.001Z",
                400,
                "RANGE_TOO_LARGE",
            ),
            ("ledger?from=0001-01-01&to=9999-12-31", 400, "RANGE_TOO_LARGE"),
            ("ledger?from=2028-02-29&to=2028-03-01", 200, ""),
            ("ledger?from=2027-02-29&to=2028-03-01", 400, "INVALID_REQUEST"),
            ("ledger?from=2026-03-01&to=2026-03-01", 400, "INVALID_REQUEST"),
            ("ledger?from=2026-03-02&to=2026-03-01", 400, "INVALID_REQUEST"),
            ("ledger?from=2026-03-01T00:00:00%2B01:00&to=2026-04-01", 400, "INVALID_REQUEST"),
            ("ledger?from=2026-03-01T00:00:00%2B00:00&to=2026-04-01", 200, ""),
            ("ledger?from=2026-03-01", 400, "INVALID_REQUEST"),
            ("ledger?to=2026-03-01", 400, "INVALID_REQUEST"),
            ("ledger", 400, "INVALID_REQUEST"),
            ("everything?from=2026-03-01&to=2026-04-01", 404, "NOT_FOUND"),
            ("ledger?from=2026-03-01&to=2026-04-01&format=xlsx", 400, "INVALID_REQUEST"),
            ("ledger?from=2026-03-01&to=2026-04-01&currency=nocoin", 400, "CURRENCY_NOT_SUPPORTED"),
            ("ledger?from=2026-03-01&to=2026-04-01&currency=usdtmatic", 200, ""),
            ("ledger?from=2026-03-01&to=2026-04-01&currency=eur", 200, ""),
            ("ledger?from=2026-03-01&to=2026-04-01&status=finished", 400, "INVALID_REQUEST"),
            ("invoices?from=2026-03-01&to=2026-04-01&status=finished", 200, ""),
            ("invoices?from=2026-03-01&to=2026-04-01&status=paid", 400, "INVALID_REQUEST"),
            ("payouts?from=2026-03-01&to=2026-04-01&status=confirmed", 200, ""),
            ("ledger/?from=2026-03-01&to=2026-04-01", 200, ""),
        ] {
            let answer = merchant.get(&format!("/v1/export/{query}")).await;
            assert_eq!(outcome(&answer), (status, code.to_owned()), "{query}: {}", answer.body);
        }
        let stranger = stack.anybody().get(&format!("/v1/export/ledger?{MONTH}")).await;
        assert_eq!(outcome(&stranger), (401, "API_KEY_MISSING".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_export_has_its_formats_and_an_empty_month_has_a_heading_alone() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let merchant = stack.merchant().await.client;
        for export in Export::ALL {
            for format in Format::ALL {
                let path = format!("/v1/export/{export}?{MONTH}&format={format}");
                let answer = merchant.get(&path).await;
                if !export.is_written_as(format) {
                    assert_eq!(outcome(&answer), (400, "INVALID_REQUEST".to_owned()), "{path}");
                    continue;
                }
                assert_eq!(answer.status, 200, "{path}: {}", answer.body);
                assert_eq!(answer.header("content-type"), Some(format.content_type()));
                assert_eq!(answer.header("x-gateway-row-count"), Some("0"), "{path}");
                let digest = hex::encode(Sha256::digest(&answer.body));
                assert_eq!(answer.header("x-gateway-sha256"), Some(&*digest), "{path}");
                let length = answer.body.len().to_string();
                assert_eq!(answer.header("content-length"), Some(&*length), "{path}");
                let name = answer.header("content-disposition").unwrap();
                let extension = format.extension();
                assert!(
                    name.starts_with(&format!("attachment; filename=\"gateway-{export}"))
                        && name.ends_with(&format!("-2026-03-01-2026-04-01.{extension}\"")),
                    "{name}"
                );
                match format {
                    Format::Ndjson => assert_eq!(answer.body, "", "{path}"),
                    Format::Json => assert_eq!(answer.json()["data"], serde_json::json!([])),
                    Format::Csv | Format::Koinly | Format::Cointracker | Format::Quickbooks => {
                        assert_eq!(answer.body.lines().count(), 1, "{path}");
                        assert!(answer.body.ends_with("\r\n"), "{path}");
                    }
                }
            }
        }
        let csv = merchant.get(&format!("/v1/export/fees?{MONTH}")).await;
        let name = "attachment; filename=\"gateway-fees-2026-03-01-2026-04-01.csv\"";
        assert_eq!(csv.header("content-disposition"), Some(name));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exports_take_part_in_the_budget_of_requests() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await.client;
        let path = format!("/v1/export/fees?{MONTH}");
        let mut answered = 0;
        for _ in 0..61 {
            answered += usize::from(merchant.get(&path).await.status == 200);
        }
        assert_eq!(answered, 60);
        let limited = merchant.get(&path).await;
        assert_eq!(outcome(&limited), (429, "RATE_LIMIT_EXCEEDED".to_owned()));
        assert_eq!(limited.header("x-ratelimit-limit"), Some("60"));
    })
    .await;
}
