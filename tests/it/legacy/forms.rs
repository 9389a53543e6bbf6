//! Hosted forms, status pages and QR codes. Their visitors have no key.

use gateway::merchant::settings::Settings;
use http::Method;
use support::{
    client::{Answer, Client},
    server::stack::{Merchant, Stack, with_stack},
    shop::with_shop,
};
use url::form_urlencoded;

use super::{Legacy, order};

/// A plugin's button of twelve dollars and a half.
fn button(merchant: &str, fields: &[(&str, &str)]) -> String {
    let usual = [("cmd", "_pay_auto"), ("reset", "1"), ("currency", "USD"), ("amountf", "12.50")];
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(usual).append_pair("merchant", merchant).extend_pairs(fields).finish()
}

async fn sent(visitor: &Client, form: &str) -> Answer {
    visitor.get(&format!("/legacy/index.php?{form}")).await
}

#[track_caller]
fn payment_id(answer: &Answer) -> String {
    assert_eq!(answer.status, 302, "{}", answer.body);
    answer.header("location").unwrap().rsplit('/').next().unwrap().to_owned()
}

async fn with_keys(stack: &Stack, settings: Settings) -> (Merchant, Legacy, String) {
    let merchant = stack.merchant_with(settings).await;
    let legacy = Legacy::of(stack, &merchant).await;
    let id = merchant.new.id.simple().to_string();
    (merchant, legacy, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_leads_to_a_draft_and_its_price_is_told_as_it_was_paid() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let _legacy = Legacy::of(&shop.stack, &shop.merchant).await;
        let merchant = shop.merchant.new.id.simple().to_string();
        let url = shop.receiver.url.clone();
        let fields = [
            ("ipn_url", url.as_str()),
            ("item_name", "Tea"),
            ("invoice", "A-1"),
            ("custom", "wc-7"),
            ("quantity", "2"),
            ("shippingf", "3"),
            ("first_name", "Ada"),
            ("email", "ada@example.com"),
        ];
        let visitor = Client::new(shop.stack.api);
        // A visitor edited the price: the form is not signed, so the IPN has to tell.
        let form = button(&merchant, &fields).replace("12.50", "0.25");
        let answer = visitor.send(Method::POST, "/legacy/index.php", &form).await;
        let payment = payment_id(&answer);
        let draft = shop.payment(&payment).await;
        assert_eq!(draft["price_amount"].to_string(), "3.5");
        assert!(draft["pay_address"].is_null(), "{draft}");
        let choice = serde_json::json!({ "token_id": "usdtmatic@polygon" });
        let chosen = shop.stack.buyer().post(&format!("/api/pay/{payment}/select"), &choice).await;
        assert_eq!(chosen.status, 200, "{}", chosen.body);
        shop.pay(&payment, "3.5").await;
        let received = shop.receiver.wait_for(1).await;
        let told: std::collections::BTreeMap<_, _> =
            form_urlencoded::parse(&received[0].body).into_owned().collect();
        for (name, value) in [
            ("ipn_type", "button"),
            ("status", "100"),
            ("currency1", "USD"),
            ("amount1", "3.5"),
            ("item_amount", "0.25"),
            ("subtotal", "0.5"),
            ("shipping", "3"),
            ("quantity", "2"),
            ("invoice", "A-1"),
            ("custom", "wc-7"),
            ("first_name", "Ada"),
        ] {
            assert_eq!(told[name], value, "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forms_without_an_amount_ask_for_it_and_others_are_refused() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let (merchant, _, id) = with_keys(&stack, Settings::default()).await;
        let visitor = Client::new(stack.api);
        let open = button(&id, &[("item_name", "\"><script>")]).replace("12.50", "");
        let donation = open.replace("_pay_auto", "_donate");
        let asked = sent(&visitor, &donation).await;
        assert_eq!(asked.status, 200);
        assert!(asked.body.contains("name=\"amountf\""), "{}", asked.body);
        assert!(!asked.body.contains("<script"), "{}", asked.body);
        let paid = donation.replace("amountf=", "amountf=5");
        payment_id(&sent(&visitor, &paid).await);
        for (form, status) in [
            (open, 400),
            (button("00", &[]), 404),
            (button(&"0".repeat(32), &[]), 404),
            (button(&id, &[("cmd", "_cart")]), 400),
            (button(&id, &[("currency", "QQQ")]), 400),
            (button(&id, &[("quantity", "0")]), 400),
            (button(&id, &[("amountf", "0.0001")]), 400),
        ] {
            assert_eq!(sent(&visitor, &form).await.status, status, "{form}");
        }
        // Without keys there are no forms.
        stack.gateway.revoke_legacy_keys(merchant.new.id).await.unwrap();
        assert_eq!(sent(&visitor, &button(&id, &[])).await.status, 404);
    })
    .await;
}

/// Attack: visitors must not use up the quota that the merchant's own shop needs.
#[tokio::test(flavor = "multi_thread")]
async fn visitors_fill_half_of_a_merchant_s_quota_at_most() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let settings = Settings { open_invoices_max: 4, ..Settings::default() };
        let (_, legacy, id) = with_keys(&stack, settings).await;
        let visitor = Client::new(stack.api);
        for _ in 0..2 {
            payment_id(&sent(&visitor, &button(&id, &[])).await);
        }
        assert_eq!(sent(&visitor, &button(&id, &[])).await.status, 429);
        for _ in 0..2 {
            legacy.result("create_transaction", &order(&[])).await;
        }
        let said = "Too many open transactions, try again when some have ended!";
        legacy.refusal("create_transaction", &order(&[]), said).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn status_page_and_qr_code_open_with_the_transaction_s_key_alone() {
    with_stack(|stack| async move {
        let (_, legacy, _) = with_keys(&stack, Settings::default()).await;
        let made = legacy.result("create_transaction", &order(&[])).await;
        let visitor = Client::new(stack.api);
        let path = |name: &str| {
            let url = url::Url::parse(made[name].as_str().unwrap()).unwrap();
            format!("{}?{}", url.path(), url.query().unwrap())
        };
        let (status, qr) = (path("status_url"), path("qrcode_url"));
        let payment = payment_id(&visitor.get(&status).await);
        assert!(made["checkout_url"].as_str().unwrap().ends_with(&payment));
        let picture = visitor.get(&qr).await;
        assert_eq!(picture.header("content-type"), Some("image/svg+xml"));
        assert!(picture.body.starts_with("<svg xmlns="), "{}", picture.body);
        for path in [status, qr] {
            let (open, _) = path.rsplit_once('=').unwrap();
            for key in ["", "00", &"0".repeat(32)] {
                assert_eq!(visitor.get(&format!("{open}={key}")).await.status, 404);
            }
        }
    })
    .await;
}
