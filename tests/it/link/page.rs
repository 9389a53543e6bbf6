//! The page of a link: what visitors see, and what they can make of it.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use support::server::stack::{Stack, with_stack};

use super::{created, id, invoices, payment_id, send};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_has_the_checkout_s_headers_no_script_and_of_its_merchant_the_name_alone() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let link = created(
            &shop,
            &json!({
                "order_id": "ORDER-CANARY", "ipn_callback_url": "https://shop.example/CALLBACK-CANARY",
                "success_url": "https://shop.example/SUCCESS-CANARY", "cancel_url": "https://shop.example/CANCEL-CANARY",
            }),
        )
        .await;
        let page = stack.buyer().get(&format!("/l/{}", id(&link))).await;
        assert_eq!(page.status, 200);
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-robots-tag", "noindex"),
            ("content-language", "en"),
        ] {
            assert_eq!(page.header(name), Some(value), "{name}");
        }
        let policy = page.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for forbidden in ["CANARY", "<script", " style=", " onclick", "name=\"amount\""] {
            assert!(!page.body.contains(forbidden), "{forbidden}: {}", page.body);
        }
        assert!(page.body.contains("USD\u{a0}25.00") && page.body.contains("Two cups"), "{}", page.body);
        assert!(page.body.contains("Test shop"), "the buyer sees who is paid");
        let framed = stack
            .buyer()
            .get(&format!("/embed/l/{}?origin=https://shop.example", id(&link)))
            .await;
        let policy = framed.header("content-security-policy").unwrap();
        assert!(policy.ends_with("frame-ancestors https://shop.example"), "{policy}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_get_creates_nothing_and_a_post_creates_a_draft_of_the_link_without_an_address() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let link = created(
            &shop,
            &json!({
                "accepted": ["usdtmatic@polygon", "trx@tron"], "order_id": "A-1",
                "ipn_callback_url": "https://shop.example/ipn", "success_url": "https://shop.example/ok",
            }),
        )
        .await;
        for query in ["", "?amount=7", "?lang=de"] {
            assert_eq!(stack.buyer().get(&format!("/l/{}{query}", id(&link))).await.status, 200);
        }
        assert_eq!(invoices(&stack).await, 0);
        let sent = send(&stack.buyer(), id(&link), &[]).await;
        assert_eq!(sent.header("cache-control"), Some("no-store"));
        let payment = payment_id(&sent);
        let draft = shop.get(&format!("/v1/payment/{payment}")).await.json();
        for (name, value) in [
            ("payment_status", json!("waiting")),
            ("invoice_type", json!("payment")),
            ("pay_address", json!(null)),
            ("price_amount", json!(25)),
            ("price_currency", json!("usd")),
            ("order_id", json!("A-1")),
            ("order_description", json!("Two cups")),
            ("ipn_callback_url", json!("https://shop.example/ipn")),
            ("subscriber_email", json!(null)),
        ] {
            assert_eq!(draft[name], value, "{name}");
        }
        let tokens: Vec<_> = draft["accepted_currencies"].as_array().unwrap().iter().collect();
        let tokens: Vec<_> = tokens.iter().map(|entry| entry["token_id"].as_str().unwrap()).collect();
        assert_eq!(tokens.len(), 2, "{tokens:?}");
        assert!(tokens.contains(&"usdtmatic@polygon") && tokens.contains(&"trx@tron"));
        // The next page offers no currency that the link leaves out, not even as unavailable.
        let pay = stack.buyer().get(&format!("/pay/{payment}")).await.body;
        assert!(pay.contains("usdtmatic@polygon") && !pay.contains("Bitcoin"), "{pay}");
        let chosen = stack
            .buyer()
            .post(&format!("/api/pay/{payment}/select"), &json!({ "token_id": "btc@bitcoin" }))
            .await;
        chosen.expect_error(400, "CURRENCY_NOT_SUPPORTED");
        let feed = shop.get("/v1/events").await.json();
        assert_eq!(feed["data"][0]["type"], "invoice.created");
        assert_eq!(feed["data"][0]["resource_id"], payment);
    })
    .await;
}

/// Attack: the price is the link's, whatever the form says.
#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_cannot_choose_another_price_than_the_link_allows() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let fixed = created(&shop, &json!({})).await;
        for fields in [
            vec![("amount", "0.01")],
            vec![("price_amount", "0.01"), ("price_currency", "gbp"), ("pay_currency", "trx")],
            vec![
                ("order_id", "mine"),
                ("success_url", "https://evil.example"),
                ("ipn_callback_url", "https://evil.example"),
            ],
            vec![
                ("link_id", "pzl_00000000000000000000000000"),
                ("merchant_id", "x"),
                ("invoice_type", "donation"),
            ],
        ] {
            let payment = payment_id(&send(&stack.buyer(), id(&fixed), &fields).await);
            let draft = shop.get(&format!("/v1/payment/{payment}")).await.json();
            assert_eq!(
                (draft["price_amount"].to_string(), &draft["price_currency"]),
                ("25".into(), &json!("usd"))
            );
            assert_eq!(
                (&draft["order_id"], &draft["ipn_callback_url"]),
                (&json!(null), &json!(null))
            );
            assert_eq!(draft["invoice_type"], "payment");
            let status =
                stack.anybody().get(&format!("/v1/invoices/{payment}/status")).await.json();
            assert_eq!(status["redirect_url"], Value::Null);
        }
        let before = invoices(&stack).await;
        let open = json!({ "price_amount": null, "min_amount": 5, "max_amount": 100 });
        let open = created(&shop, &open).await;
        for (typed, words) in [
            ("4.99", "The smallest amount is USD\u{a0}5.00."),
            ("100.01", "The largest amount is USD\u{a0}100.00."),
            ("-10", "Please enter an amount"),
            ("1e2", "Please enter an amount"),
            ("1,000", "Please enter an amount"),
            ("", "Please enter an amount"),
            ("10\0", "10"),
        ] {
            let refused = send(&stack.buyer(), id(&open), &[("amount", typed)]).await;
            if typed == "10\0" {
                payment_id(&refused);
                continue;
            }
            assert_eq!(refused.status, 400, "{typed}: {}", refused.body);
            assert!(refused.body.contains(words), "{typed}: {}", refused.body);
        }
        assert_eq!(invoices(&stack).await, before + 1);
        let typed = payment_id(&send(&stack.buyer(), id(&open), &[("amount", "12,50")]).await);
        let draft = shop.get(&format!("/v1/payment/{typed}")).await.json();
        assert_eq!(draft["price_amount"].to_string(), "12.5");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_which_currencies_an_amount_leaves_and_why_not_the_others() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let link = created(
            &shop,
            &json!({
                "price_amount": null, "suggested_amounts": [4, 700],
                "accepted": ["usdtmatic@polygon", "btc@bitcoin", "trx@tron"],
            }),
        )
        .await;
        let path = format!("/l/{}", id(&link));
        // Polygon and tron begin at 2 USD, bitcoin at 250 (specification, "Limits").
        let page = stack.buyer().get(&path).await.body;
        assert!(page.contains("Ways to pay: 2") && page.contains("Ways to pay: 3"), "{page}");
        let small = stack.buyer().get(&format!("{path}?amount=4")).await.body;
        assert!(small.contains("Not available for this amount (1)"), "{small}");
        assert!(
            small.contains("only from USD\u{a0}250.00") && small.contains("about 4 USDT"),
            "{small}"
        );
        let none = stack.buyer().get(&format!("{path}?amount=1.99")).await.body;
        assert!(none.contains("Not available for this amount (3)"), "{none}");
        let refused = send(&stack.buyer(), id(&link), &[("amount", "1.99")]).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.body.contains("The lowest minimum is USD\u{a0}2.00."), "{}", refused.body);
        assert_eq!(invoices(&stack).await, 0);
        let large = stack.buyer().get(&format!("{path}?amount=700")).await.body;
        assert!(!large.contains("Not available"), "{large}");
    })
    .await;
}

async fn page_of(stack: &Stack, link_id: &str) -> (u16, String) {
    let page = stack.buyer().get(&format!("/l/{link_id}")).await;
    (page.status, page.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_twice_makes_one_draft() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let link = created(&shop, &json!({ "price_amount": null })).await;
        let buyer = stack.buyer();
        let page = page_of(&stack, id(&link)).await.1;
        let (_, rest) = page.split_once("name=\"once\" value=\"").unwrap();
        let once = rest.split('"').next().unwrap();
        let order = async |amount: &str, once: &str| {
            let fields = [("amount", amount), ("once", once)];
            payment_id(&send(&buyer, id(&link), &fields).await)
        };
        let clicks = join_all([order("10", once), order("10", once)]).await;
        assert_eq!(clicks[0], clicks[1]);
        assert_eq!(order("10", once).await, clicks[0]);
        assert_eq!(invoices(&stack).await, 1);
        // Other values are another order each time, and the first one is still known.
        assert_ne!(order("11", once).await, order("11", once).await);
        assert_eq!(order("10", once).await, clicks[0]);
        for unusable in ["", &*"x".repeat(65)] {
            assert_ne!(order("12", unusable).await, order("12", unusable).await);
        }
        assert_eq!(invoices(&stack).await, 7);
        assert!(!page_of(&stack, id(&link)).await.1.contains(once), "each page has its own");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_off_or_unknown_takes_nothing_and_its_open_invoices_go_on() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let shop = &merchant.client;
        let link = created(shop, &json!({ "accepted": ["usdtmatic@polygon"] })).await;
        let open = payment_id(&send(&stack.buyer(), id(&link), &[]).await);
        let set = async |active: bool| {
            let body = json!({ "active": active }).to_string();
            let path = format!("/v1/links/{}", id(&link));
            assert_eq!(shop.send(Method::PATCH, &path, &body).await.status, 200);
        };
        set(false).await;
        let (status, body) = page_of(&stack, id(&link)).await;
        assert!(status == 410 && body.contains("takes no payments"), "{body}");
        let refused = send(&stack.buyer(), id(&link), &[]).await;
        assert!(refused.status == 410 && !refused.body.contains("Two cups"), "{}", refused.body);
        let choice = json!({ "token_id": "usdtmatic@polygon" });
        let chosen = stack.buyer().post(&format!("/api/pay/{open}/select"), &choice).await;
        assert_eq!(chosen.status, 200, "{}", chosen.body);
        set(true).await;
        payment_id(&send(&stack.buyer(), id(&link), &[]).await);
        stack.gateway.set_suspended(merchant.new.id, true).await.unwrap();
        assert_eq!(page_of(&stack, id(&link)).await.0, 410);
        assert_eq!(send(&stack.buyer(), id(&link), &[]).await.status, 410);
        assert_eq!(invoices(&stack).await, 2);
        let missing = page_of(&stack, "pzl_00000000000000000000000000").await;
        assert!(missing.0 == 404 && missing.1.contains("There is no such link"));
        for name in ["x", "%00", "%3Cscript%3E", "PZL_00000000000000000000000000"] {
            assert_eq!(page_of(&stack, name).await, missing, "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filled_hidden_field_and_hostile_words_create_nothing_and_act_on_nothing() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let open = json!({ "price_amount": null, "title": "<script>alert(1)</script>", "description": "\"><img src=x>" });
        let link = created(&shop, &open).await;
        let page = page_of(&stack, id(&link)).await.1;
        assert!(page.contains("&lt;script&gt;") || page.contains("&#60;script&#62;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        let trapped = [("amount", "10"), ("website", "https://spam.example")];
        let refused = send(&stack.buyer(), id(&link), &trapped).await;
        assert!(refused.status == 400 && refused.body.contains("hidden field"), "{}", refused.body);
        let hostile = send(&stack.buyer(), id(&link), &[("amount", "\"><script>alert(1)</script>")]).await;
        assert!(hostile.status == 400 && !hostile.body.contains("<script"), "{}", hostile.body);
        let query = format!("/l/{}?amount=%22%3E%3Cscript%3E&lang=%22%3E", id(&link));
        let echoed = stack.buyer().get(&query).await;
        assert!(echoed.status == 200 && !echoed.body.contains("<script"), "{}", echoed.body);
        let poisoned = stack.buyer().with_header("x-forwarded-host", "evil.example");
        let sent = send(&poisoned, id(&link), &[("amount", "10")]).await;
        payment_id(&sent);
        assert_eq!(invoices(&stack).await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_button_is_a_picture_that_holds_no_script() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let link = created(&shop, &json!({ "title": "<script>" })).await;
        for (query, words) in [("", "Pay USD\u{a0}25.00"), ("?lang=de", "25,00\u{a0}USD bezahlen")]
        {
            let path = format!("/l/{}/button.svg{query}", id(&link));
            let picture = stack.buyer().get(&path).await;
            assert_eq!(picture.status, 200);
            assert_eq!(picture.header("content-type"), Some("image/svg+xml; charset=utf-8"));
            assert_eq!(picture.header("content-security-policy"), Some("default-src 'none'"));
            assert_eq!(picture.header("cross-origin-resource-policy"), Some("cross-origin"));
            assert!(picture.body.contains(words), "{}", picture.body);
            assert!(!picture.body.contains("script"), "{}", picture.body);
        }
        let missing = stack.buyer().get("/l/pzl_00000000000000000000000000/button.svg").await;
        missing.expect_error(404, "LINK_NOT_FOUND");
    })
    .await;
}
