//! Facts for accounting that cannot be found out later: values, times and senders of deposits, the
//! time of full payment, and the history of rates.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn},
    asset::Network,
    invoice::Status,
};
use gateway_workers::Role;
use serde_json::json;
use sqlx::Row;
use support::{
    server::broker::eventually,
    shop::{Shop, deposit, with_shop},
};

const FINISHED_AT: &str = include_str!("../../../migrations/20261124160100_finished_at.sql");

/// One booked deposit: its booking, and its value as `currency value rate source`.
async fn valued(shop: &Shop, id: &str) -> Vec<(String, String)> {
    let query = "select booked_as, concat_ws(' ', fiat_currency, trim_scale(fiat_value), trim_scale(fiat_rate), fiat_rate_source) \
                 from deposit where invoice_id = $1 and final_at between first_seen_at and settled_at \
                   and (fiat_rate_at is null or fiat_rate_at <= settled_at) order by settled_at";
    let mut connection = shop.stack.database.connect().await;
    let rows =
        sqlx::query(query).bind(shop.row_id(id).await).fetch_all(&mut connection).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

async fn finished_at(shop: &Shop, id: &str) -> Option<chrono::DateTime<chrono::Utc>> {
    let mut connection = shop.stack.database.connect().await;
    let query = "select finished_at from invoice_finish where invoice_id = $1";
    sqlx::query_scalar(query)
        .bind(shop.row_id(id).await)
        .fetch_optional(&mut connection)
        .await
        .unwrap()
}

fn paid_in(id: &str, amount: &str, currency: &str) -> Deposit {
    let paid_in = PaidIn { currency: Some(currency.to_owned()), ..PaidIn::default() };
    Deposit { paid_in, ..deposit(id, amount) }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_booked_deposit_keeps_its_value_at_the_rate_of_its_booking() {
    with_shop(|shop| async move {
        shop.stack.start(&[Role::DepositMatching, Role::ChainWatcher]);
        shop.run(
            "update rate set price = 0.9, source = 'test' where symbol = 'USDT' and fiat = 'eur'",
        )
        .await;
        let own = shop.invoice_of(json!({ "price_currency": "eur", "price_amount": 90 })).await;
        shop.pay(&own, "30.123456").await;
        shop.becomes(&own, Status::Partial).await;
        // The price moves before the rest arrives: each deposit has the rate of its own booking.
        shop.run("update rate set price = 0.8 where symbol = 'USDT' and fiat = 'eur'").await;
        shop.pay(&own, "69.876544").await;
        shop.becomes(&own, Status::Paid).await;
        shop.pay(&own, "5").await;
        let values = eventually("the late deposit is booked", async || {
            Some(valued(&shop, &own).await).filter(|values| values.len() == 3)
        })
        .await;
        let expected = [
            ("credit", "eur 27.1111104 0.9 test"),
            ("credit", "eur 55.9012352 0.8 test"),
            ("late", "eur 4 0.8 test"),
        ];
        assert_eq!(values, expected.map(|(booked, value)| (booked.to_owned(), value.to_owned())));

        // Paid in a coin that was not asked for, and priced in a coin: both have a value in fiat.
        let direct = shop
            .invoice_of(
                json!({ "price_currency": "usdt", "pricing_mode": "direct", "price_amount": 40 }),
            )
            .await;
        shop.run(
            "update rate set price = 0.5, source = 'test' where symbol = 'POL' and fiat = 'usd'",
        )
        .await;
        shop.send(&paid_in(&direct, "3", "pol")).await;
        shop.pay(&direct, "40").await;
        shop.becomes(&direct, Status::Paid).await;
        let mut values = eventually("both deposits are booked", async || {
            Some(valued(&shop, &direct).await).filter(|values| values.len() == 2)
        })
        .await;
        values.sort();
        assert_eq!(values[0], ("credit".to_owned(), "usd 40 1 fixed".to_owned()));
        assert_eq!(values[1], ("foreign".to_owned(), "usd 1.5 0.5 test".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_without_a_rate_is_booked_without_a_value() {
    with_shop(|shop| async move {
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.look(Network::Polygon).await;
        shop.run("delete from rate").await;
        shop.stack.gateway.match_deposits(shop.deposit_of(&id).await).await.unwrap();
        assert_eq!(shop.status(&id).await, Status::Paid);
        assert_eq!(valued(&shop, &id).await, [("credit".to_owned(), String::new())]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_invoice_that_was_paid_in_full_has_a_time_of_that() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let paid = shop.invoice().await;
        shop.pay(&paid, "100").await;
        shop.becomes(&paid, Status::Paid).await;
        let at = finished_at(&shop, &paid).await;
        assert!(at.is_some());
        shop.pay(&paid, "7").await;
        shop.webhook_about(&paid, 2).await;
        assert_eq!(finished_at(&shop, &paid).await, at, "a late deposit does not move it");
        let expired = shop.expired(json!({})).await;
        assert_eq!(finished_at(&shop, &expired).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_invoices_learn_the_time_from_their_event_or_not_at_all() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (told, untold) =
            (shop.invoice().await, shop.invoice_of(json!({ "ipn_callback_url": null })).await);
        for id in [&told, &untold] {
            shop.pay(id, "100").await;
            shop.becomes(id, Status::Paid).await;
        }
        let event = shop.delivery(&told).await.0.created_at;
        shop.run("delete from invoice_finish").await;
        let mut connection = shop.stack.database.connect().await;
        // Twice, as after a kill in the middle.
        for _ in 0..2 {
            sqlx::raw_sql(FINISHED_AT).execute(&mut connection).await.unwrap();
        }
        assert_eq!(finished_at(&shop, &told).await, Some(event));
        assert_eq!(finished_at(&shop, &untold).await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_are_kept_once_a_minute_for_400_days() {
    with_shop(|shop| async move {
        let history = "select count(*) from rate_history where symbol = 'BTC' and fiat = 'usd'";
        shop.run("delete from rate_history").await;
        shop.stack.start(&[Role::RateRefresher]);
        eventually("the refresher writes the history", async || (shop.number(history).await > 0).then_some(())).await;
        let per_minute = "select coalesce(max(n), 0) from (select count(*) n from rate_history group by minute, symbol, fiat) t";
        assert_eq!(shop.number(per_minute).await, 1);
        let old = "insert into rate_history (minute, symbol, fiat, price, source, observed_at) \
                   select now() - age * interval '1 day', 'OLD', 'usd', 1, 'test', now() \
                   from unnest(array[399, 401, 700]) as age";
        shop.run(old).await;
        shop.stack.start(&[Role::Sweeper]);
        eventually("the sweeper deletes what is too old", async || {
            let left = shop.number("select count(*) from rate_history where symbol = 'OLD'").await;
            (left == 1).then_some(())
        })
        .await;
    })
    .await;
}
