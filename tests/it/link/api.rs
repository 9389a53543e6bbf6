//! `/v1/links` for its merchant.

use http::Method;
use serde_json::{Value, json};
use support::server::stack::with_stack;

use super::{created, id, new_link};

#[tokio::test(flavor = "multi_thread")]
async fn a_link_reads_back_as_it_was_created() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let body = json!({
            "type": "donation", "title": "Keep the <b>lights</b> on", "description": "Thank you", "price_amount": 10,
            "price_currency": "EUR", "accepted": ["USDTMATIC@polygon", "trx@tron"], "min_amount": 2.5, "max_amount": 500,
            "suggested_amounts": [5, 10, 25.50], "success_url": "https://shop.example/ok", "cancel_url": "",
            "ipn_callback_url": "https://shop.example/ipn", "order_id": "lights", "unknown": 1, "description2": null,
        });
        let answer = shop.post("/v1/links", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let link = answer.json();
        let url = format!("http://{}/l/{}", stack.checkout, id(&link));
        assert_eq!(id(&link).len(), 30);
        for (name, expected) in [
            ("url", json!(url)),
            ("type", json!("donation")),
            ("active", json!(true)),
            ("title", json!("Keep the <b>lights</b> on")),
            ("description", json!("Thank you")),
            ("price_currency", json!("eur")),
            ("accepted", json!(["usdtmatic@polygon", "trx@tron"])),
            ("single_use", json!(false)),
            ("success_url", json!("https://shop.example/ok")),
            ("cancel_url", json!(null)),
            ("ipn_callback_url", json!("https://shop.example/ipn")),
            ("order_id", json!("lights")),
            ("button_url", json!(format!("{url}/button.svg"))),
        ] {
            assert_eq!(link[name], expected, "{name}");
        }
        for (name, text) in [
            ("price_amount", "10"),
            ("min_amount", "2.5"),
            ("max_amount", "500"),
            ("suggested_amounts", "[5,10,25.5]"),
        ] {
            assert_eq!(link[name].to_string(), text, "{name}");
        }
        // The snippet is pasted into pages: the title must not become markup there.
        let html = link["button_html"].as_str().unwrap();
        assert!(html.contains("alt=\"Keep the &lt;b&gt;lights&lt;/b&gt; on\""), "{html}");
        let path = format!("/v1/links/{}", id(&link));
        assert_eq!(shop.get(&path).await.json(), link);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_changes_what_it_is_told_and_a_refused_change_changes_nothing() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let body = json!({
            "type": "donation", "title": "Keep the lights on", "description": "Thank you", "price_amount": 10,
            "price_currency": "EUR", "accepted": ["USDTMATIC@polygon", "trx@tron"], "min_amount": 2.5, "max_amount": 500,
            "suggested_amounts": [5, 10, 25.50], "success_url": "https://shop.example/ok",
        });
        let link = shop.post("/v1/links", &body).await.json();
        let path = format!("/v1/links/{}", id(&link));
        let change = |body: Value| {
            let (shop, path) = (shop.clone(), path.clone());
            async move { shop.send(Method::PATCH, &path, &body.to_string()).await }
        };
        let changed = change(json!({
            "title": "Lights", "description": null, "max_amount": null, "suggested_amounts": null, "success_url": "",
            "accepted": null, "active": false,
        }))
        .await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        let now = changed.json();
        let mut expected = link.clone();
        for (name, value) in [
            ("title", json!("Lights")),
            ("description", json!(null)),
            ("max_amount", json!(null)),
            ("suggested_amounts", json!([])),
            ("success_url", json!(null)),
            ("accepted", json!(null)),
            ("active", json!(false)),
            ("updated_at", now["updated_at"].clone()),
            ("button_html", now["button_html"].clone()),
        ] {
            expected[name] = value;
        }
        assert_eq!(now, expected);
        assert_eq!(shop.get(&path).await.json(), now);
        // A refused change changes nothing.
        for (body, code) in [
            (json!({ "type": "payment" }), "INVALID_REQUEST"),
            (json!({ "title": null }), "INVALID_REQUEST"),
            (json!({ "min_amount": 11 }), "INVALID_REQUEST"),
            (json!({ "accepted": ["nocoin@polygon"] }), "CURRENCY_NOT_SUPPORTED"),
            (json!({ "active": "no" }), "INVALID_REQUEST"),
        ] {
            change(body).await.expect_error(400, code);
        }
        assert_eq!(shop.get(&path).await.json(), now);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_new_link_is_refused_by_name() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (changes, code, word) in [
            (json!({ "type": null }), "INVALID_REQUEST", "type"),
            (json!({ "type": "invoice" }), "INVALID_REQUEST", "type"),
            (json!({ "type": "subscription" }), "INVALID_REQUEST", "subscription"),
            (json!({ "type": "pos" }), "INVALID_REQUEST", "pos"),
            (json!({ "title": null }), "INVALID_REQUEST", "title"),
            (json!({ "title": "" }), "INVALID_REQUEST", "title"),
            (json!({ "title": "a\nb" }), "INVALID_REQUEST", "title"),
            (json!({ "title": "x".repeat(121) }), "INVALID_REQUEST", "title"),
            (json!({ "description": "x".repeat(2001) }), "INVALID_REQUEST", "description"),
            (json!({ "price_amount": 0 }), "INVALID_REQUEST", "price_amount"),
            (json!({ "price_amount": -1 }), "INVALID_REQUEST", "price_amount"),
            (json!({ "price_amount": "25" }), "INVALID_REQUEST", "price_amount"),
            (json!({ "price_currency": null }), "INVALID_REQUEST", "price_currency"),
            (json!({ "price_currency": "jpy" }), "INVALID_REQUEST", "price_currency"),
            (json!({ "min_amount": 1 }), "INVALID_REQUEST", "min_amount"),
            (
                json!({ "price_amount": null, "min_amount": 3, "max_amount": 2 }),
                "INVALID_REQUEST",
                "min_amount",
            ),
            (json!({ "suggested_amounts": [1] }), "INVALID_REQUEST", "suggested_amounts"),
            (
                json!({ "price_amount": null, "suggested_amounts": ["1"] }),
                "INVALID_REQUEST",
                "suggested_amounts",
            ),
            (
                json!({ "price_amount": null, "suggested_amounts": [1, 2, 3, 4, 5, 6, 7] }),
                "INVALID_REQUEST",
                "suggested_amounts",
            ),
            (json!({ "accepted": "all" }), "INVALID_REQUEST", "accepted"),
            (json!({ "accepted": [] }), "INVALID_REQUEST", "accepted"),
            (json!({ "accepted": ["trx@tron", "TRX@tron"] }), "INVALID_REQUEST", "accepted"),
            (json!({ "accepted": ["usdt"] }), "CURRENCY_NOT_SUPPORTED", "currency"),
            (json!({ "type": "donation", "single_use": true }), "INVALID_REQUEST", "single_use"),
            (json!({ "type": "donation", "price_amount": 1.005 }), "INVALID_REQUEST", "decimals"),
            (json!({ "success_url": "javascript:alert(1)" }), "INVALID_REQUEST", "success_url"),
            (json!({ "ipn_callback_url": "ftp://x" }), "INVALID_REQUEST", "ipn_callback_url"),
            (json!({ "order_id": "x".repeat(256) }), "INVALID_REQUEST", "order_id"),
        ] {
            let answer = shop.post("/v1/links", &new_link(&changes)).await;
            answer.expect_error(400, code);
            assert!(answer.json()["message"].as_str().unwrap().contains(word), "{}", answer.body);
        }
        assert_eq!(shop.get("/v1/links").await.json()["total"], 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_listed_newest_first_and_a_repeated_request_creates_none() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let mut ids = Vec::new();
        for title in ["one", "two", "three"] {
            ids.push(id(&created(&shop, &json!({ "title": title })).await).to_owned());
        }
        ids.reverse();
        let list = shop.get("/v1/links?limit=2").await.json();
        let listed = |list: &Value| -> Vec<String> {
            list["data"].as_array().unwrap().iter().map(|link| id(link).to_owned()).collect()
        };
        assert_eq!(listed(&list), ids[..2]);
        assert_eq!(
            (&list["total"], &list["pagesCount"], &list["page"]),
            (&json!(3), &json!(2), &json!(0))
        );
        let rest = shop.get("/v1/links?limit=2&page=1").await.json();
        assert_eq!(listed(&rest), ids[2..]);
        assert_eq!(shop.get("/v1/links?page=9").await.json()["data"], json!([]));
        let oldest = shop.get("/v1/links?orderBy=asc&limit=1").await.json();
        assert_eq!(listed(&oldest), ids[2..]);
        let path = format!("/v1/links/{}", ids[2]);
        assert_eq!(shop.send(Method::PATCH, &path, r#"{"title":"One"}"#).await.status, 200);
        let changed = shop.get("/v1/links?sortBy=updated_at&limit=2").await.json();
        assert_eq!(listed(&changed), [&*ids[2], &*ids[0]]);
        let unchanged = shop.get("/v1/links?sortBy=updated_at&orderBy=asc&limit=1").await.json();
        assert_eq!(listed(&unchanged), ids[1..2]);

        let keyed = shop.clone().with_header("idempotency-key", "k1");
        let body = new_link(&json!({ "title": "four" }));
        let (first, again) =
            (keyed.post("/v1/links", &body).await, keyed.post("/v1/links", &body).await);
        assert_eq!((first.status, again.status), (201, 201));
        assert_eq!(again.header("x-gateway-idempotent-replay"), Some("true"));
        assert_eq!(first.json(), again.json());
        let other = keyed.post("/v1/links", &new_link(&json!({ "title": "five" }))).await;
        other.expect_error(400, "INVALID_REQUEST");
        // The key is spent for invoices too.
        let payment = json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "all" });
        keyed.post("/v1/payment", &payment).await.expect_error(400, "INVALID_REQUEST");
        assert_eq!(shop.get("/v1/links").await.json()["total"], 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchants_link_is_as_unknown_as_one_that_never_was() {
    with_stack(|stack| async move {
        let (owner, rival) = (stack.merchant().await.client, stack.merchant().await.client);
        let link = created(&owner, &json!({})).await;
        for name in [id(&link), "pzl_00000000000000000000000000", "x", "..", "%00"] {
            let path = format!("/v1/links/{name}");
            rival.get(&path).await.expect_error(404, "LINK_NOT_FOUND");
            let change = rival.send(Method::PATCH, &path, r#"{"title":"mine"}"#).await;
            change.expect_error(404, "LINK_NOT_FOUND");
        }
        assert_eq!(rival.get("/v1/links").await.json()["total"], 0);
        assert_eq!(owner.get(&format!("/v1/links/{}", id(&link))).await.json(), link);
    })
    .await;
}
