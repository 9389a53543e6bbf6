//! The operators' pages in a browser: legible, accessible, narrow enough for a phone.

use gateway::{
    account::Role, asset::Network, invoice::Status, storage::operator::dead_letters::DeadGroupKey,
};
use serde_json::json;
use support::{
    client::browser::Browser,
    server::{
        broker::eventually,
        stack::{only, with_configured_stack},
    },
    shop::{Shop, payouts::Payer},
};
use uuid::Uuid;

use super::{
    Desk,
    pages::{inspect, sign_in_by_link},
};
use crate::payout::{EVM, two_rows};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>alert(1)</script>";

/// A payout order that waits for two people.
async fn held_order(desk: &Desk) -> String {
    let payer = Payer::open(&desk.stack).await;
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    let order = payer.confirm(EVM, &id).await;
    let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    payer.fund(&order, due).await;
    eventually("the order is held", async || payer.story(&id).await.order.held).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operators_page_is_legible_accessible_and_fits_a_phone() {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(
        &toml,
        |stack: std::sync::Arc<support::server::stack::Stack>| async move {
            stack.lift_rate_limits().await;
            stack.start_all();
            let (gateway, address) = stack.dashboard("").await;
            let desk = Desk { stack: stack.clone(), gateway, address };
            let shop = Shop::open(&stack, gateway::merchant::settings::Settings::default()).await;
            shop.receiver.answer(500);
            let dead = shop.invoice_of(json!({ "order_id": HOSTILE })).await;
            shop.pay(&dead, "100").await;
            shop.becomes(&dead, Status::Paid).await;
            shop.delivery_becomes(&dead, "dead").await;
            let late = shop.invoice().await;
            shop.end_window(&late, 1).await;
            shop.becomes(&late, Status::Expired).await;
            let sent = shop.pay(&late, "100").await;
            let order = held_order(&desk).await;
            let (run, by) = (Uuid::now_v7(), ("a@example.com", HOSTILE));
            let key =
                DeadGroupKey { cause: Some("no such cause".to_owned()), ..DeadGroupKey::default() };
            desk.gateway.requeue_group(run, &key, by).await.unwrap();
            let said = (HOSTILE, HOSTILE);
            desk.gateway.announce(Uuid::now_v7(), said, Some(3), "a@example.com").await.unwrap();
            desk.gateway.stop_payouts("polygon", HOSTILE).await.unwrap();
            desk.gateway.examine(Some(Network::Polygon), "a@example.com").await.unwrap();
            desk.gateway.create_account("a@example.com", Role::Admin, None).await.unwrap();

            let origin = desk.gateway.config.dashboard_url.clone();
            let browser = Browser::start().await;
            let tab = browser.desktop().await;
            sign_in_by_link(&desk, &tab, "a@example.com", None).await;
            let group = "channel=ipn&cause=the+receiver+answered+500";
            for (name, path) in [
                ("operator-overview", "/operator".to_owned()),
                ("operator-merchant", format!("/operator/merchants/{}", shop.merchant.new.id)),
                ("operator-dead-letters", "/operator/dead-letters?by=cause".to_owned()),
                ("operator-dead-group", format!("/operator/dead-letters/group?{group}")),
                ("operator-dead-run", format!("/operator/dead-letters/runs/{run}")),
                ("operator-currencies", "/operator/currencies?network=polygon".to_owned()),
                (
                    "operator-currency",
                    "/operator/currencies/usdtmatic@polygon?enabled=no&min_usd=30".to_owned(),
                ),
                ("operator-networks", "/operator/networks".to_owned()),
                ("operator-network", "/operator/networks/polygon".to_owned()),
                ("operator-deposits", "/operator/deposits".to_owned()),
                (
                    "operator-explained",
                    format!("/operator/deposits/explain?network=polygon&q={}", sent.txid),
                ),
                ("operator-payouts", "/operator/payouts".to_owned()),
                ("operator-payout", format!("/operator/payouts/{order}")),
                ("operator-announcements", "/operator/announcements".to_owned()),
                ("operator-audit", "/operator/audit?by=a@example.com".to_owned()),
            ] {
                tab.open(&format!("{origin}{path}")).await;
                let heading = tab.eval("document.querySelector('h1').textContent").await;
                assert_ne!(heading.as_str(), Some("Not found"), "{name} {path}");
                inspect(&tab, name).await;
            }
            tab.open(&format!("{origin}/operator/merchants/{}", shop.merchant.new.id)).await;
            tab.click("form[data-action=\"merchant-pages.view\"] button").await;
            tab.shows("location.pathname === '/'").await;
            inspect(&tab, "operator-observing").await;
        },
    )
    .await;
}
