//! A terminal status never changes (spec, Rules 2).

use gateway::invoice::Status;
use sqlx::Connection;
use support::shop::{Shop, with_shop};

const STATUSES: [&str; 7] =
    ["draft", "pending", "partial", "paid", "overpaid", "expired", "cancelled"];

/// Writes `status` directly and expects the database to refuse.
async fn cannot_become(shop: &Shop, id: &str, status: &str) {
    let row = shop.row_id(id).await;
    let mut connection = shop.stack.database.connect().await;
    let done = sqlx::query("update invoice set status = $2 where id = $1")
        .bind(row)
        .bind(status)
        .execute(&mut connection)
        .await;
    let error = done.unwrap_err();
    let constraint = error.as_database_error().and_then(|error| error.constraint());
    assert_eq!(constraint, Some("invoice_terminal_is_terminal"), "{error}");
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_status_never_changes_not_even_by_hand() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (paid, overpaid) = (shop.invoice().await, shop.invoice().await);
        shop.pay(&paid, "100").await;
        shop.pay(&overpaid, "200").await;
        let (expired, cancelled) = (shop.invoice().await, shop.invoice().await);
        shop.end_window(&expired, 1).await;
        shop.stack.gateway.cancel_invoice(&cancelled).await.unwrap();
        for (id, status) in [
            (paid, Status::Paid),
            (overpaid, Status::Overpaid),
            (expired, Status::Expired),
            (cancelled, Status::Cancelled),
        ] {
            shop.becomes(&id, status).await;
            for other in STATUSES.into_iter().filter(|other| *other != status.as_str()) {
                cannot_become(&shop, &id, other).await;
            }
            // No operation of the gateway itself moves it either.
            let row = shop.row_id(&id).await;
            shop.stack.gateway.expire_invoice(row).await.unwrap();
            assert!(shop.stack.gateway.cancel_invoice(&id).await.is_err());
            let told = shop.events(&id).await.len();
            shop.pay(&id, "1000").await;
            let ipn = shop.webhook_about(&id, told + 1).await;
            assert_eq!(ipn["payment_status"], status.for_merchant());
            assert_eq!(shop.status(&id).await, status);
        }
    })
    .await;
}
