//! One merchant in the dashboard, from an operator's first click to a paid file of recipients.

use std::{net::SocketAddr, sync::Arc};

use gateway::{
    account::{Role, totp::TotpSecret},
    app::Gateway,
    invoice::Status,
};
use serde_json::{Value, json};
use support::{
    client::{
        Client,
        browser::{Browser, Tab},
    },
    server::broker::eventually,
    shop::{
        Shop, deposit,
        payouts::{evm_address, fund},
        with_shop,
    },
};

use crate::dashboard::{PASSWORD, code_now, unbase32};

const OWNER: &str = "owner@baker.example";
const OPERATOR: &str = "operator@example.com";

/// A gateway at work, with two people in front of its dashboard.
struct Scene {
    shop: Shop,
    gateway: Arc<Gateway>,
    api: SocketAddr,
    operator: Tab,
    owner: Tab,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_is_created_gets_in_is_paid_mends_its_endpoint_and_pays_out() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        shop.stack.start_all();
        let (gateway, _) = shop.stack.dashboard("").await;
        let browser = Browser::start().await;
        let (operator, owner) = (browser.desktop().await, browser.desktop().await);
        let api = shop.stack.api;
        let scene = Scene { shop, gateway, api, operator, owner };
        let (merchant_id, first_key) = scene.operator_creates_a_merchant().await;
        scene.owner_gets_in(&merchant_id).await;
        let client = scene.owner_replaces_the_key(&first_key).await;
        scene.owner_narrows_the_allowlist(&client).await;
        scene.a_payment_is_seen(&client).await;
        scene.a_dead_letter_is_put_back(&client).await;
        scene.a_file_is_paid_out(&client).await;
        for tab in [&scene.operator, &scene.owner] {
            assert_eq!(tab.complaints().await, Vec::<String>::new());
        }
    })
    .await;
}

async fn fill(tab: &Tab, selector: &str, text: &str) {
    let (selector, text) = (json!(selector), json!(text));
    tab.eval(&format!("document.querySelector({selector}).value = {text}")).await;
}

/// Waits until the page says something: by itself where it renews itself, else opened again.
async fn says(tab: &Tab, path: &str, words: &str) {
    let words = json!(words);
    eventually(&format!("{path} says {words}"), async || {
        let shown = format!("document.body.innerText.includes({words})");
        if tab.eval(&shown).await == json!(true) {
            return Some(());
        }
        if !tab.has("[data-live]").await {
            tab.open(path).await;
        }
        None
    })
    .await;
}

impl Scene {
    fn at(&self, path: &str) -> String {
        format!("{}{path}", self.gateway.config.dashboard_url)
    }

    async fn operator_creates_a_merchant(&self) -> (String, String) {
        self.gateway.create_account(OPERATOR, Role::Admin, None).await.unwrap();
        let tab = &self.operator;
        tab.open(&self.gateway.create_sign_in_link(OPERATOR).await.unwrap()).await;
        tab.click("form[data-action=\"session.open\"] button").await;
        tab.shows("location.pathname === '/operator'").await;
        tab.open(&self.at("/operator/merchants")).await;
        fill(tab, "#name", "The Baker").await;
        tab.click("form[data-action=\"merchant.create\"] button").await;
        tab.shows("document.querySelectorAll('code.once').length === 2").await;
        let id = tab.text("dl code").await;
        (id, tab.text("code.once").await)
    }

    /// The owner accepts the operator's invitation, and adds an authenticator app.
    async fn owner_gets_in(&self, merchant_id: &str) {
        let operator = &self.operator;
        operator.open(&self.at(&format!("/operator/merchants/{merchant_id}"))).await;
        fill(operator, "#email", OWNER).await;
        operator.click("form[data-action=\"merchant.invite\"] button").await;
        operator.shows("document.querySelectorAll('code.once').length === 1").await;
        let invitation = operator.text("code.once").await;
        let tab = &self.owner;
        tab.open(&invitation).await;
        fill(tab, "#password", PASSWORD).await;
        tab.click("form[data-action=\"session.open\"] button").await;
        tab.shows("location.pathname === '/account'").await;
        tab.click("form[data-action=\"totp.begin\"] button").await;
        tab.shows("location.pathname === '/account/codes'").await;
        let key = tab.text("code.once").await.replace(' ', "");
        let secret = TotpSecret::from_bytes(unbase32(&key));
        fill(tab, "#code", &code_now(&secret, 0)).await;
        tab.click("form[data-action=\"totp.confirm\"] button").await;
        tab.shows("document.querySelectorAll('.codes code').length === 10").await;
    }

    async fn owner_replaces_the_key(&self, first_key: &str) -> Client {
        let tab = &self.owner;
        tab.open(&self.at("/developers")).await;
        tab.click("form[data-action=\"key.rotate\"] button").await;
        tab.shows("document.querySelectorAll('code.once').length === 1").await;
        let client = Client::new(self.api).with_key(&tab.text("code.once").await);
        assert_eq!(client.get("/v1/payment").await.status, 200);
        let old = Client::new(self.api).with_key(first_key).get("/v1/payment").await;
        assert_eq!(old.status, 401, "{}", old.body);
        client
    }

    async fn owner_narrows_the_allowlist(&self, client: &Client) {
        let tab = &self.owner;
        tab.open(&self.at("/settings")).await;
        fill(tab, "#payout_webhook_url", &self.shop.receiver.url).await;
        let choose = "document.querySelector('[name=accept_all]').checked = false; \
                      for (const each of document.querySelectorAll('[name=accept]')) \
                      each.checked = each.value === 'usdtmatic@polygon'";
        tab.eval(choose).await;
        tab.click("form[data-action=\"settings.change\"] button").await;
        tab.shows("location.search === '?done=saved'").await;
        let coins = client.get("/v1/merchant/coins").await.body.to_lowercase();
        assert!(coins.contains("usdtmatic") && !coins.contains("usdtbsc"), "{coins}");
    }

    async fn payment(&self, client: &Client) -> String {
        let body = json!({
            "price_amount": 100, "price_currency": "usd", "pay_currency": "usdtmatic",
            "ipn_callback_url": self.shop.receiver.url,
        });
        let created = client.post("/v1/payment", &body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        created.json()["payment_id"].as_str().unwrap().to_owned()
    }

    async fn a_payment_is_seen(&self, client: &Client) {
        let id = self.payment(client).await;
        let path = self.at(&format!("/payments/{id}"));
        self.owner.open(&path).await;
        self.shop.send(&deposit(&id, "100")).await;
        says(&self.owner, &path, "answered 200").await;
        self.owner.shows("document.querySelector('.state.paid') !== null").await;
    }

    /// The receiver breaks; the owner sees it, the operator sends the webhook again.
    async fn a_dead_letter_is_put_back(&self, client: &Client) {
        self.shop.receiver.answer(500);
        let id = self.payment(client).await;
        self.shop.send(&deposit(&id, "100")).await;
        self.shop.becomes(&id, Status::Paid).await;
        self.shop.delivery_becomes(&id, "dead").await;
        let path = self.at("/events?state=dead");
        self.owner.open(&path).await;
        self.owner.shows("document.querySelector('.state.dead') !== null").await;
        self.shop.receiver.answer(200);
        self.operator.open(&self.at("/operator/dead-letters")).await;
        self.operator.click("form[data-action=\"dead-letter.requeue\"] button").await;
        self.shop.delivery_becomes(&id, "delivered").await;
    }

    /// A file with a fault is mended in the page, priced, confirmed, funded and paid.
    async fn a_file_is_paid_out(&self, client: &Client) {
        let tab = &self.owner;
        tab.open(&self.at("/payouts/new")).await;
        self.check(&format!("{},10\nnobody,2.5\n", evm_address(1))).await;
        tab.shows("document.querySelector('#faulty') !== null").await;
        assert!(!tab.has("form[data-action=\"payout.create\"]").await);
        self.check(&format!("{},10\n{},2.5\n", evm_address(1), evm_address(2))).await;
        tab.click("form[data-action=\"payout.create\"] button").await;
        tab.click("form[data-action=\"payout.confirm\"] button").await;
        tab.shows("document.querySelector('.fund') !== null").await;
        let id = tab.text("h1 code").await;
        let order: Value = client.get(&format!("/v1/evm-mass-payout/{id}")).await.json();
        fund(&self.shop.stack.gateway, &order["data"]).await;
        let path = self.at(&format!("/payouts/{id}"));
        says(tab, &path, "2 of 2 paid").await;
        says(tab, &path, "mass_payout.completed").await;
        assert!(tab.has(&format!("a[href='/payouts/{id}/report.csv']")).await);
    }

    async fn check(&self, rows: &str) {
        fill(&self.owner, "#currency", "usdtmatic@polygon").await;
        fill(&self.owner, "#refund_address", &evm_address(900)).await;
        fill(&self.owner, "#recipients", &format!("address,amount\n{rows}")).await;
        self.owner.click("form[data-action=\"payout.preview\"] button").await;
    }
}
