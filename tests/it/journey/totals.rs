//! Every way a received total can compare with the amount (spec, "Transitions").

use gateway::{
    app::sandbox::simulate::Deposit, invoice::Status, merchant::settings::Settings, money::Bps,
};
use serde_json::Value;
use support::{
    fault::fired::fired,
    server::broker::eventually,
    shop::{Shop, deposit, unconfirmed, with_shop, with_shop_of},
};

/// Base units of one USDT on Polygon.
const UNIT: u128 = 1_000_000;

/// Pays 100 USDT in parts and waits for the status after each.
async fn pays(shop: &Shop, parts: &[(&str, Status)]) -> String {
    let id = shop.invoice().await;
    for (amount, status) in parts {
        shop.pay(&id, amount).await;
        shop.becomes(&id, *status).await;
    }
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_total_is_partial_paid_or_overpaid_by_the_tolerance_to_the_unit() {
    use Status::{Overpaid, Paid, Partial};
    with_shop(|shop| async move {
        shop.stack.start_all();
        for (parts, total) in [
            (vec![("100", Paid)], "100"),
            (vec![("100.000001", Paid)], "100.000001"),
            (vec![("105", Paid)], "105"),
            (vec![("105.000001", Overpaid)], "105.000001"),
            (vec![("1000000000", Overpaid)], "1000000000"),
            (vec![("99.999999", Partial), ("0.000001", Paid)], "100"),
            (vec![("60", Partial), ("20", Partial), ("20", Paid)], "100"),
            (vec![("60", Partial), ("45", Paid)], "105"),
            (vec![("60", Partial), ("45.000001", Overpaid)], "105.000001"),
        ] {
            let id = pays(&shop, &parts).await;
            let ipn = shop.webhook_about(&id, 1).await;
            assert_eq!(ipn["payment_status"], "finished", "{parts:?}");
            assert_eq!(ipn["actually_paid"].to_string(), total, "{parts:?}");
            assert_eq!(ipn["amount_received"].to_string(), total, "{parts:?}");
            assert_eq!(ipn["pay_amount"].to_string(), "100", "{parts:?}");
            assert!(!ipn.to_string().contains("overpaid"), "{ipn}");
            assert_eq!(ipn.get("_gateway"), None::<&Value>);
            assert_eq!(shop.events(&id).await, ["finished"], "{parts:?}");
            assert_eq!(shop.payment(&id).await["payment_status"], "finished");
        }
    })
    .await;
}

/// The tolerance is the merchant's own, and the one of the invoice's creation.
#[tokio::test(flavor = "multi_thread")]
async fn another_tolerance_than_five_percent_decides_to_the_unit_and_stays_with_its_invoices() {
    use Status::{Overpaid, Paid};
    for (bps, edge, beyond) in [
        (0, "100", "100.000001"),
        (1, "100.01", "100.010001"),
        (250, "102.5", "102.500001"),
        (100_000, "1100", "1100.000001"),
    ] {
        let settings = Settings { overpay_tolerance: Bps::new(bps), ..Settings::default() };
        with_shop_of(settings, |shop| async move {
            shop.stack.start_all();
            let open = shop.invoice().await;
            for (amount, status) in [(edge, Paid), (beyond, Overpaid)] {
                let id = pays(&shop, &[(amount, status)]).await;
                let ipn = shop.webhook_about(&id, 1).await;
                assert_eq!(ipn["payment_status"], "finished", "{bps} {amount}");
                assert_eq!(ipn["actually_paid"].to_string(), amount, "{bps}");
                let excess = shop.books(&id).await.into_iter().find(|entry| entry.kind == "excess");
                assert_eq!(excess.is_some(), status == Overpaid, "{bps} {amount}");
            }
            // Changed since: an open invoice keeps its own, the next one has the new one.
            shop.run("update merchant set overpay_bps = 700").await;
            shop.pay(&open, beyond).await;
            shop.becomes(&open, Overpaid).await;
            pays(&shop, &[("107", Paid)]).await;
            pays(&shop, &[("107.000001", Overpaid)]).await;
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_excess_beyond_the_tolerance_goes_to_the_treasury_and_the_books_balance() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let within = pays(&shop, &[("105", Status::Paid)]).await;
        let beyond = pays(&shop, &[("60", Status::Partial), ("47", Status::Overpaid)]).await;
        let entry = |entry: support::shop::Booked| {
            assert_eq!(entry.asset, "usdtmatic@polygon");
            (entry.kind, entry.debit, entry.credit, entry.amount)
        };
        let (custody, treasury) = ("custody:polygon".to_owned(), "treasury".to_owned());
        let merchant = shop.account("merchant");
        let paid_in = |amount| ("deposit".to_owned(), custody.clone(), merchant.clone(), amount);
        let books: Vec<_> = shop.books(&within).await.into_iter().map(entry).collect();
        assert_eq!(books, [paid_in(105 * UNIT)]);
        let books: Vec<_> = shop.books(&beyond).await.into_iter().map(entry).collect();
        let excess = ("excess".to_owned(), merchant.clone(), treasury, 7 * UNIT);
        assert_eq!(books, [paid_in(60 * UNIT), paid_in(47 * UNIT), excess]);
        let merchants_own = "select (sum(amount) filter (where credit like 'merchant:%')
            - sum(amount) filter (where debit like 'merchant:%'))::bigint from ledger_entry";
        assert_eq!(shop.number(merchants_own).await, 205_000_000);
        let custody =
            "select sum(amount)::bigint from ledger_entry where debit = 'custody:polygon'";
        let credited = "select sum(credited)::bigint from invoice";
        assert_eq!(shop.number(custody).await, shop.number(credited).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_ipn_is_sent_for_a_partial_payment() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = pays(&shop, &[("99.999999", Status::Partial)]).await;
        let payment = shop.payment(&id).await;
        assert_eq!(payment["payment_status"], "partially_paid");
        assert_eq!(payment["actually_paid"].to_string(), "99.999999");
        assert!(shop.events(&id).await.is_empty());
        assert!(shop.receiver.received().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deposits_in_one_block_are_both_counted() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let gateway = &shop.stack.gateway;
        let id = shop.invoice().await;
        shop.send(&unconfirmed(&id, "60")).await;
        let second = shop.send(&unconfirmed(&id, "40")).await;
        gateway.simulate_mine(second.network.parse().unwrap(), 16).await.unwrap();
        let ipn = shop.webhook(1).await;
        assert_eq!(ipn["actually_paid"].to_string(), "100");
        let heights = "select count(distinct height) from deposit";
        assert_eq!(shop.number(heights).await, 1);
        fired(1);
        assert_eq!(shop.status(&id).await, Status::Paid);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_transaction_seen_six_times_is_credited_once() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        let seen = Deposit { txid: Some("0xfeed".to_owned()), ..deposit(&id, "60") };
        for n in 0..6 {
            assert_eq!(shop.send(&seen).await.new, n == 0);
        }
        shop.becomes(&id, Status::Partial).await;
        // Another deposit proves that the chain was read beyond the repetitions.
        shop.pay(&id, "1").await;
        eventually("61 USDT", async || {
            let paid = shop.payment(&id).await["actually_paid"].to_string();
            (paid == "61").then_some(())
        })
        .await;
        assert_eq!(shop.books(&id).await.len(), 2);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_merchants_open_invoice_is_still_paid_and_sends_its_webhook() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let id = shop.invoice().await;
        let merchant = shop.merchant.new.id;
        shop.stack.gateway.set_suspended(merchant, true).await.unwrap();
        shop.pay(&id, "100").await;
        assert_eq!(shop.webhook(1).await["payment_status"], "finished");
        assert_eq!(shop.status(&id).await, Status::Paid);
    })
    .await;
}
