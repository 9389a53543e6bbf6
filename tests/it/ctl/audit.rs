//! `gatewayctl audit`: every manual change is recorded with its operator, and the record stays.

use serde_json::Value;
use sqlx::Connection;
use support::{client::ctl::Ctl, server::stack::with_stack};

use super::with_database;

fn changes(noted: &Value) -> Vec<String> {
    let entries = noted.as_array().unwrap().iter();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let mut changes: Vec<_> = entries
        .map(|entry| {
            let columns: Vec<_> = entry["change"].as_object().unwrap().keys().cloned().collect();
            let (act, kind) = (text(entry, "act"), text(entry, "subject_kind"));
            format!("{} {act} {kind}: {}", text(entry, "operator"), columns.join(" "))
        })
        .collect();
    changes.reverse();
    changes
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_by_hand_is_noted_with_its_author_and_without_secrets() {
    with_database(|ctl, database| async move {
        let ada = ctl.clone().with("GATEWAY_OPERATOR", "ada");
        let odd = ctl.clone().with("GATEWAY_OPERATOR", "bob -c x=y; drop\n");
        assert_eq!(
            ada.run(&["audit"]).await.expect_ok().stdout,
            "No manual changes are recorded.\n"
        );
        let made = ada.json(&["merchant", "create", "--name", "Shop"]).await;
        let id = made["merchant_id"].as_str().unwrap();
        odd.json(&["merchant", "suspend", id]).await;
        ada.json(&["currency", "set-min", "usdtmatic", "3.5"]).await;
        odd.json(&["currency", "disable", "usdtmatic"]).await;

        let noted = ctl.json(&["audit"]).await;
        let changed = changes(&noted);
        assert!(changed[0].starts_with("ada insert merchant: "), "{changed:?}");
        assert!(changed[0].contains("webhook_secret_sealed"), "{changed:?}");
        assert_eq!(
            changed[1..],
            [
                "bob-cxydrop update merchant: suspended_at",
                "ada insert currency_setting: min_usd token_id",
                "bob-cxydrop update currency_setting: enabled",
            ]
        );
        assert_eq!(noted[1]["change"]["min_usd"].to_string(), "3.500000");
        let first = &noted[3]["change"];
        for secret in ["webhook_secret_sealed", "api_key_sha256"] {
            assert_eq!(first[secret], "…");
        }
        assert_eq!(first["name"], "Shop");
        let of_one = ctl.json(&["audit", id]).await;
        assert_eq!(changes(&of_one), changed[..2]);
        let text = ctl.run(&["audit"]).await.expect_ok().stdout;
        assert!(
            text.contains("min_usd=3.5") && !text.contains(&*hex_of_the_secret(&made)),
            "{text}"
        );

        let mut connection = database.connect().await;
        for statement in ["delete from audit_entry", "update audit_entry set operator = 'nobody'"] {
            let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
            let constraint =
                refused.as_database_error().unwrap().constraint().map(ToOwned::to_owned);
            assert_eq!(constraint.as_deref(), Some("audit_is_kept"), "{statement}");
        }
        connection.close().await.unwrap();
    })
    .await;
}

/// The secret as hex, in which it would show in a column of bytes.
fn hex_of_the_secret(made: &Value) -> String {
    hex::encode(made["webhook_secret"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_by_programs_are_not_in_the_audit_log() {
    with_stack(|stack| async move {
        stack.start_all();
        let shop = stack.merchant().await;
        let body = serde_json::json!({
            "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
        });
        assert_eq!(shop.client.post("/v1/payment", &body).await.status, 201);
        assert_eq!(Ctl::of(&stack).json(&["audit"]).await, serde_json::json!([]));
    })
    .await;
}
