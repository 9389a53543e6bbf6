//! A total that is a little short: an invoice's merchant decides whether it pays, and when.

use gateway::{
    invoice::{
        Status,
        lifecycle::{Hold, Verdict},
    },
    merchant::settings::{Settings, Underpay, UnderpayWhen},
    money::Bps,
};
use support::shop::{Shop, unconfirmed, with_shop, with_shop_of};

fn one_percent(when: UnderpayWhen) -> Settings {
    let underpay = Underpay { tolerance: Bps::new(100), when };
    Settings { underpay, ..Settings::default() }
}

async fn ends(shop: &Shop, id: &str, status: Status, ipn: &str) {
    shop.becomes(id, status).await;
    let told = shop.webhook_about(id, 1).await;
    assert_eq!(told["payment_status"], ipn, "{told}");
    assert_eq!(shop.events(id).await, [ipn]);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_a_unit_too_little_expires() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.pay(&id, "99.999999").await;
        shop.becomes(&id, Status::Partial).await;
        shop.end_window(&id, 1).await;
        ends(&shop, &id, Status::Expired, "expired").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_once_an_invoice_is_paid_as_soon_as_the_tolerance_is_reached() {
    with_shop_of(one_percent(UnderpayWhen::AtOnce), |shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        shop.pay(&id, "98.999999").await;
        shop.becomes(&id, Status::Partial).await;
        shop.pay(&id, "0.000001").await;
        ends(&shop, &id, Status::Paid, "finished").await;
        let ipn = shop.webhook_about(&id, 1).await;
        assert_eq!(
            (&*ipn["actually_paid"].to_string(), &*ipn["pay_amount"].to_string()),
            ("99", "100")
        );
        let finished = "select count(*) from invoice_finish";
        assert_eq!(shop.number(finished).await, 1);
        // Only what came was booked, and nothing of it is an excess.
        let booked: Vec<_> =
            shop.books(&id).await.into_iter().map(|it| (it.kind, it.amount)).collect();
        assert_eq!(booked, [("deposit".to_owned(), 98_999_999), ("deposit".to_owned(), 1)]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_deadline_it_is_paid_only_once_nothing_more_can_come() {
    with_shop_of(one_percent(UnderpayWhen::Deadline), |shop| async move {
        shop.stack.start_all();
        let (short, whole, less) =
            (shop.invoice().await, shop.invoice().await, shop.invoice().await);
        for (id, amount) in [(&short, "99"), (&whole, "99.5"), (&less, "98.999999")] {
            shop.pay(id, amount).await;
            shop.becomes(id, Status::Partial).await;
        }
        // The rest may come within the window as ever.
        shop.pay(&whole, "0.5").await;
        ends(&shop, &whole, Status::Paid, "finished").await;
        shop.end_window(&short, 1).await;
        shop.end_window(&less, 1).await;
        ends(&shop, &short, Status::Paid, "finished").await;
        ends(&shop, &less, Status::Expired, "expired").await;
        let finished = "select count(*) from invoice_finish";
        assert_eq!(shop.number(finished).await, 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_waits_for_a_payment_that_would_reach_the_tolerance() {
    with_shop_of(one_percent(UnderpayWhen::Deadline), |shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        let waiting = shop.send(&unconfirmed(&id, "99.2")).await;
        support::server::broker::eventually("it is seen", async || {
            let status = shop.stack.gateway.buyer_status(&id).await.unwrap().unwrap();
            (!status.happened.is_empty()).then_some(())
        })
        .await;
        // Now: a second ago it had not been seen yet.
        shop.end_window(&id, 0).await;
        let row = shop.row_id(&id).await;
        support::server::broker::eventually(
            "the deadline waits for this payment alone",
            async || {
                let verdict = shop.stack.gateway.expire_invoice(row).await.unwrap();
                assert_ne!(verdict, Verdict::Moved);
                (verdict == Verdict::Held(Hold::PaymentConfirming)).then_some(())
            },
        )
        .await;
        shop.stack.gateway.simulate_confirm(&waiting.txid).await.unwrap();
        ends(&shop, &id, Status::Paid, "finished").await;
    })
    .await;
}

/// Changed since: an open invoice keeps what its merchant had when it was created.
#[tokio::test(flavor = "multi_thread")]
async fn the_tolerance_is_that_of_the_invoice_s_creation() {
    with_shop_of(one_percent(UnderpayWhen::AtOnce), |shop| async move {
        shop.stack.start_all();
        let open = shop.invoice().await;
        shop.run("update merchant set underpay_bps = 0").await;
        let next = shop.invoice().await;
        shop.pay(&open, "99").await;
        shop.becomes(&open, Status::Paid).await;
        shop.pay(&next, "99").await;
        shop.becomes(&next, Status::Partial).await;
    })
    .await;
}
