//! Payments that did not simply count: each page says what arrived, where it is and what to do, and
//! the status endpoint says the same.

use gateway::{
    app::sandbox::simulate::{Deposit, PaidIn, Payee},
    asset::Network,
    invoice::Status,
};
use serde_json::{Value, json};
use support::shop::{Shop, deposit, unconfirmed};

use super::{inspect, page, with_browser};

async fn happened(shop: &Shop, id: &str) -> Vec<Value> {
    let status = shop.stack.buyer().get(&format!("/v1/invoices/{id}/status")).await.json();
    status["happened"].as_array().cloned().unwrap_or_default()
}

fn paid_in(id: &str, currency: &str, amount: &str) -> Deposit {
    let currency = Some(currency.to_owned());
    Deposit { paid_in: PaidIn { currency, contract: None }, ..deposit(id, amount) }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_token_and_the_wrong_network_are_named_as_they_arrive() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paying").await;
        let wrong = shop.send(&paid_in(&id, "usdcmatic", "40")).await;
        tab.shows("document.querySelector('[data-kind=wrong_token]') !== null").await;
        let told = tab.text("[data-kind=wrong_token]").await;
        assert!(told.contains("40 USDC arrived instead of USDT. It is not lost"), "{told}");
        assert!(told.contains("Write to Test shop"), "{told}");
        let reference = format!("{id} {}", wrong.txid);
        assert_eq!(tab.text("[data-kind=wrong_token] code").await, reference);
        assert_eq!(tab.text("#amount").await, "100", "it pays nothing of this");

        let address = tab.text("#address").await;
        let elsewhere = Deposit {
            payee: Payee::Address { network: Network::Bsc, address },
            ..paid_in(&id, "usdtbsc", "100")
        };
        shop.send(&elsewhere).await;
        tab.shows("document.querySelector('[data-kind=wrong_network]') !== null").await;
        let told = tab.text("[data-kind=wrong_network]").await;
        assert!(told.contains("100 USDT arrived on the BNB Smart Chain network"), "{told}");
        inspect(&tab, "happened-wrong").await;
        let listed = happened(&shop, &id).await;
        let kinds: Vec<_> = listed.iter().map(|one| one["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["wrong_token", "wrong_network"]);
        for one in &listed {
            assert_eq!(
                (&one["fate"], &one["advice"]),
                (&json!("kept"), &json!("contact_merchant"))
            );
        }
        assert_eq!(listed[0]["reference"], reference);

        // The payment itself goes on, and its end does not forget the rest.
        shop.pay(&id, "100").await;
        tab.phase("paid").await;
        assert!(tab.has("[data-kind=wrong_token]").await);
        inspect(&tab, "happened-paid").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_s_worthless_token_is_not_called_money() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        for number in 1..=4 {
            let contract = Some(format!("0x{number:040x}"));
            let paid_in = PaidIn { currency: None, contract };
            shop.send(&Deposit { paid_in, ..deposit(&id, "1000000") }).await;
        }
        tab.shows("document.querySelector('[data-kind=unknown_token]') !== null").await;
        let told = tab.text("[data-kind=unknown_token]").await;
        assert!(told.contains("may have no value") && !told.contains("1000000"), "{told}");
        // Anybody creates tokens for nothing; two of them fill no page.
        shop.pay(&id, "40").await;
        tab.shows("document.querySelector('#amount')?.textContent === '60'").await;
        assert_eq!(tab.eval("document.querySelectorAll('.told').length").await, json!(2));
        assert_eq!(tab.complaints().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_payment_shows_on_the_open_page_of_an_expired_one() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        shop.end_window(&id, 1).await;
        tab.phase("expired").await;
        shop.pay(&id, "100").await;
        // No reload: a buyer who pays late waits on this page.
        tab.shows("document.querySelector('[data-kind=late]') !== null").await;
        let told = tab.text("[data-kind=late]").await;
        assert!(told.contains("100 USDT arrived after this payment had ended"), "{told}");
        assert_eq!(happened(&shop, &id).await[0]["fate"], "kept");
        // One message: neither the question whether something was sent, nor a second payment.
        assert!(!tab.has(".late").await && !tab.text(".lead").await.contains("start again"));
        inspect(&tab, "happened-late").await;
    })
    .await;
}

/// The sum of the paid page is what came in time, beside the card of what came later.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_after_the_paid_end_is_told_apart_from_what_paid() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        let id = shop.invoice().await;
        shop.pay(&id, "100").await;
        shop.becomes(&id, Status::Paid).await;
        shop.pay(&id, "25").await;
        support::server::broker::eventually("it is booked apart", async || {
            let path = format!("/v1/invoices/{id}/status");
            let status = shop.stack.buyer().get(&path).await.json();
            (status["amount_received"] == "125").then_some(())
        })
        .await;
        tab.open(&page(&shop, &id)).await;
        tab.phase("paid").await;
        assert_eq!(tab.text(".lead").await, "100 USDT arrived. Test shop can see it.");
        let told = tab.text("[data-kind=late]").await;
        assert!(told.contains("25 USDT arrived after this payment had ended"), "{told}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_payment_is_not_called_lost_and_a_reversed_one_is() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        tab.stays().await;
        let id = shop.invoice().await;
        tab.open(&page(&shop, &id)).await;
        let waiting = shop.send(&unconfirmed(&id, "30")).await;
        tab.shows("document.querySelector('#amount')?.textContent === '70'").await;
        let seen = happened(&shop, &id).await;
        assert_eq!(
            (&seen[0]["kind"], &seen[0]["fate"]),
            (&json!("unconfirmed"), &json!("waiting"))
        );
        assert!(!tab.has(".told").await, "the page has a place of its own for it");
        shop.stack.gateway.simulate_orphan(&waiting.txid).await.unwrap();
        tab.shows("document.querySelector('[data-kind=dropped]') !== null").await;
        let told = tab.text("[data-kind=dropped]").await;
        assert!(
            told.contains("It has not arrived here") && told.contains("send the amount below"),
            "{told}"
        );
        assert_eq!(tab.text("#amount").await, "100");
        assert_eq!(happened(&shop, &id).await[0]["advice"], "send_again");
        inspect(&tab, "happened-dropped").await;

        // Enough is seen without it: to send again would be to pay twice. The same when time is up.
        let enough = shop.send(&unconfirmed(&id, "100")).await;
        tab.phase("confirming").await;
        assert!(!tab.text("[data-kind=dropped]").await.contains("send the amount below"));
        assert_eq!(happened(&shop, &id).await[0]["advice"], "wait");
        shop.stack.gateway.simulate_orphan(&enough.txid).await.unwrap();
        tab.phase("paying").await;

        let paid = shop.pay(&id, "100").await;
        tab.phase("paid").await;
        shop.becomes(&id, Status::Paid).await;
        shop.stack.gateway.simulate_orphan(&paid.txid).await.unwrap();
        shop.stack.gateway.simulate_mine(Network::Polygon, 40).await.unwrap();
        support::server::broker::eventually("it is reversed", async || {
            let now = happened(&shop, &id).await;
            now.iter().any(|one| one["kind"] == "reversed").then_some(())
        })
        .await;
        tab.open(&page(&shop, &id)).await;
        let told = tab.text("[data-kind=reversed]").await;
        assert!(told.contains("is not at Test shop any more"), "{told}");
        inspect(&tab, "happened-reversed").await;
    })
    .await;
}
