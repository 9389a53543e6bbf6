//! Texts that people chose, in files that spreadsheets open.

use serde_json::json;
use support::{
    books,
    shop::{Shop, with_shop},
};

/// Texts that spreadsheets would calculate, split or spoil.
const TEXTS: [&str; 13] = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "plain;=1+1",
    "plain;\"=1+1",
    "said \"so\"",
    "two\r\nlines, and a comma",
    "Käse ½ 日本 🙂",
    "＝1",
    "' =1",
];

async fn descriptions(shop: &Shop, format: &str) -> String {
    let range = books::recent();
    let (from, to) = (range.from.date_naive(), range.to.date_naive());
    let path = format!("/v1/export/invoices?from={from}&to={to}&format={format}");
    let answer = shop.merchant.client.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

#[tokio::test(flavor = "multi_thread")]
async fn no_text_becomes_a_formula_or_a_second_cell() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        for text in TEXTS {
            shop.invoice_of(json!({ "order_description": text, "order_id": text })).await;
        }
        let file = descriptions(&shop, "csv").await;
        assert!(!file.starts_with('\u{feff}'));
        let rows = books::rows(&file);
        assert_eq!(rows.len(), TEXTS.len());
        for (row, text) in rows.iter().zip(TEXTS) {
            for column in ["order_description", "order_id"] {
                let cell = &row[column];
                assert_eq!(cell.replace('\'', ""), text.replace('\'', ""));
                assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝']), "{cell:?}");
            }
        }
        // A spreadsheet that separates by semicolons sees no quotes in the middle of a line.
        let mut reader =
            csv::ReaderBuilder::new().delimiter(b';').flexible(true).from_reader(file.as_bytes());
        for record in reader.records() {
            for cell in &record.unwrap() {
                assert!(!cell.starts_with(['=', '+', '@']), "{cell:?}");
            }
        }
        let lines = descriptions(&shop, "ndjson").await;
        for (line, text) in lines.lines().zip(TEXTS) {
            let object: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(object["order_description"], text);
        }
    })
    .await;
}
