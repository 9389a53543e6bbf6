//! Deposits after the end: always reported, never a status change.

use gateway::invoice::Status;
use serde_json::json;
use support::{
    fault::fired::fired,
    shop::{Shop, with_shop},
};

/// Pays twice after the end: each deposit gives one notice, counts as paid, and changes nothing
/// else.
async fn late_twice(shop: &Shop, id: &str, status: Status, paid_before: u32) {
    shop.becomes(id, status).await;
    let told = shop.events(id).await.len();
    for n in 1..=2_u32 {
        let sent = shop.pay(id, "7").await;
        let ipn = shop.webhook_about(id, told + usize::try_from(n).unwrap()).await;
        assert_eq!(ipn["payment_status"], status.for_merchant());
        assert_eq!(ipn["actually_paid"], json!(paid_before + 7 * n));
        let notice = &ipn["_gateway"]["notice"];
        assert_eq!(notice["type"], "late_deposit_received");
        fired(1);
        assert_eq!(notice["tx_hash"], sent.txid.as_str());
        assert_eq!(notice["amount"], "7");
        assert_eq!(notice["currency"], "usdtmatic");
        assert_eq!(notice["network"], "polygon");
        assert_eq!(shop.status(id).await, status);
        assert_eq!(shop.payment(id).await["actually_paid"], json!(paid_before + 7 * n));
    }
    let books = shop.books(id).await;
    let late: Vec<_> = books.iter().filter(|entry| entry.kind == "late_deposit").collect();
    assert_eq!(late.len(), 2);
    assert!(late.iter().all(|entry| entry.credit == shop.account("late")), "{late:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_deposit_is_counted_with_one_notice_and_changes_no_status() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let paid = shop.invoice().await;
        shop.pay(&paid, "100").await;
        late_twice(&shop, &paid, Status::Paid, 100).await;
        let expired = shop.invoice().await;
        shop.end_window(&expired, 1).await;
        late_twice(&shop, &expired, Status::Expired, 0).await;
        let cancelled = shop.invoice().await;
        shop.stack.gateway.cancel_invoice(&cancelled).await.unwrap();
        late_twice(&shop, &cancelled, Status::Cancelled, 0).await;
        let overpaid = shop.invoice().await;
        shop.pay(&overpaid, "200").await;
        late_twice(&shop, &overpaid, Status::Overpaid, 200).await;
    })
    .await;
}
