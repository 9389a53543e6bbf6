//! The pages of payouts in a browser, on a phone and on a desk, light and dark.

use gateway::{account::Role, asset::Network};
use serde_json::json;
use support::{
    client::browser::{Browser, Tab},
    server::stack::{only, with_configured_stack},
    shop::payouts::{Payer, evm_address},
};

use super::{
    Desk,
    pages::{fill, inspect, sign_in_by_link},
};

const EMAIL: &str = "o@example.com";

async fn check_rows(tab: &Tab, rows: &str) {
    fill(tab, "#currency", "usdtmatic@polygon").await;
    fill(tab, "#recipients", &format!("address,amount,reference\n{rows}")).await;
    fill(tab, "#refund_address", &evm_address(900)).await;
    fill(tab, "#label", "Salaries <b>June</b>").await;
    tab.click("form[data-action=\"payout.preview\"] button").await;
}

async fn id_of(tab: &Tab) -> String {
    tab.shows("/^\\/payouts\\/[a-z]+_/.test(location.pathname)").await;
    tab.eval("location.pathname.split('/')[2]").await.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_of_a_payout_is_legible_accessible_and_fits_a_phone() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        stack.lift_rate_limits().await;
        stack.start_all();
        let (gateway, address) = stack.dashboard("").await;
        let payer = Payer::open(&stack).await;
        let desk = Desk { stack, gateway, address };
        let merchant = Some(payer.merchant.new.id);
        desk.gateway.create_account(EMAIL, Role::Owner, merchant).await.unwrap();
        let origin = desk.gateway.config.dashboard_url.clone();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        sign_in_by_link(&desk, &tab, EMAIL, None).await;

        tab.open(&format!("{origin}/payouts/new")).await;
        inspect(&tab, "payout-new").await;
        let one = evm_address(1);
        check_rows(&tab, &format!("{one},10,a\nnobody,1,b\n{one},1e3,=SUM(1)\n")).await;
        tab.shows("document.querySelector('#faulty') !== null").await;
        inspect(&tab, "payout-faulty").await;
        check_rows(&tab, &format!("{one},10,a\n{},2.5,b\n", evm_address(2))).await;
        tab.shows("document.querySelector('#price') !== null").await;
        inspect(&tab, "payout-price").await;
        tab.click("form[data-action=\"payout.create\"] button").await;
        let id = id_of(&tab).await;
        inspect(&tab, "payout-draft").await;
        tab.click("form[data-action=\"payout.confirm\"] button").await;
        tab.shows("document.querySelector('.fund') !== null").await;
        inspect(&tab, "payout-fund").await;
        let order = payer.merchant.client.get(&format!("/v1/evm-mass-payout/{id}")).await.json();
        let order = &order["data"];
        assert_eq!(tab.read_qr(".qr svg").await, order["depositAddress"].as_str().unwrap());
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(order, due).await;
        payer.becomes(&id, "completed").await;
        payer.settles(&id).await;
        tab.open(&format!("{origin}/payouts/{id}")).await;
        inspect(&tab, "payout-completed").await;

        let body = json!({
            "network": "polygon", "currency": "pol", "fromAddress": evm_address(900),
            "outputs": [{ "address": evm_address(1), "amountRaw": "1000000", "reference": "inv-1" }],
        });
        let own = payer.merchant.client.post("/v1/nc-payout", &body).await.json();
        let own = own["data"]["id"].as_str().unwrap();
        for (name, path) in [
            ("payouts", "/payouts".to_owned()),
            ("nc-payout-new", "/payouts/new/non-custodial".to_owned()),
            ("nc-payout", format!("/payouts/{own}")),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            inspect(&tab, name).await;
        }
        let elsewhere: Vec<_> =
            tab.requests().into_iter().filter(|url| !url.starts_with(origin.as_str())).collect();
        assert_eq!(elsewhere, Vec::<String>::new());
    })
    .await;
}
