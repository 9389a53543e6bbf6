//! The takings of a day: the till's own, over all its devices, in its own time zone.

use gateway::{invoice::Status, locale::Language};
use http::Method;
use serde_json::json;
use support::shop::{Shop, with_shop};

use super::{Device, noon_zone, till};

/// Charges, pays and turns to the next customer.
async fn sold(shop: &Shop, device: &mut Device, amount: &str) -> String {
    let payment = device.charge(amount).await;
    let due = shop.payment(&payment).await["pay_amount"].to_string();
    shop.pay(&payment, &due).await;
    shop.becomes(&payment, Status::Paid).await;
    device.look().await;
    assert_eq!(device.post("/next", &[]).await.status, 303);
    device.look().await;
    payment
}

#[tokio::test(flavor = "multi_thread")]
async fn the_day_s_takings_are_those_of_all_devices_and_of_no_other_till() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let merchant = &shop.merchant.client;
        let zone = noon_zone(&shop.stack).await;
        let accepted = json!({ "accepted": ["usdtmatic@polygon"], "time_zone": zone });
        let (id, other) = (till(merchant, accepted.clone()).await, till(merchant, accepted).await);
        let mut one = Device::enrolled(&shop.stack, merchant, &id, "One").await;
        let mut two = Device::enrolled(&shop.stack, merchant, &id, "Two").await;
        let mut elsewhere = Device::enrolled(&shop.stack, merchant, &other, "Elsewhere").await;
        let first = sold(&shop, &mut one, "12.50").await;
        let second = sold(&shop, &mut two, "7.50").await;
        let third = sold(&shop, &mut elsewhere, "100").await;
        let open = one.charge("3").await;
        let day = one.send(Method::GET, "/day", "").await.body;
        assert!(day.contains("EUR\u{a0}20.00") && day.contains("Payments: 2"), "{day}");
        for known in [&first, &second, &open] {
            assert!(day.contains(known.as_str()), "{known}: {day}");
        }
        assert!(!day.contains(&third) && !day.contains("EUR\u{a0}100.00"), "{day}");
        assert!(day.contains("<bdi>One</bdi>") && day.contains("<bdi>Two</bdi>"), "{day}");
        // Yesterday's are not today's.
        shop.run("update invoice_finish set finished_at = finished_at - interval '1 day'").await;
        shop.run("update invoice set created_at = created_at - interval '1 day'").await;
        let day = one.send(Method::GET, "/day", "").await.body;
        assert!(day.contains("Nothing was paid on this day yet"), "{day}");
        assert!(!day.contains(&first), "{day}");
    })
    .await;
}

/// A payment in the first minute of a till's day belongs to that day, wherever the server is.
#[tokio::test(flavor = "multi_thread")]
async fn a_day_begins_at_midnight_of_the_till_s_time_zone() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let merchant = &shop.merchant.client;
        let changes =
            json!({ "accepted": ["usdtmatic@polygon"], "time_zone": "Pacific/Kiritimati" });
        let id = till(merchant, changes).await;
        let mut device = Device::enrolled(&shop.stack, merchant, &id, "Counter").await;
        sold(&shop, &mut device, "10").await;
        let zone = "date_trunc('day', now(), 'Pacific/Kiritimati')";
        for (at, amount) in [
            (format!("{zone} + interval '1 second'"), true),
            (format!("{zone} - interval '1 second'"), false),
        ] {
            let mut connection = shop.stack.database.connect().await;
            for statement in [
                format!("update invoice_finish set finished_at = {at}"),
                format!("update invoice set created_at = {at}"),
            ] {
                sqlx::query(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
            }
            let date: String = sqlx::query_scalar(
                "select to_char(now() at time zone 'Pacific/Kiritimati', 'YYYY-MM-DD')",
            )
            .fetch_one(&mut connection)
            .await
            .unwrap();
            let day = device.send(Method::GET, "/day", "").await.body;
            assert_eq!(day.contains("EUR\u{a0}10.00"), amount, "{at}: {day}");
            assert!(day.contains(&Language::English.local(&date)), "{date}: {day}");
        }
    })
    .await;
}
