//! The checkout's origin over plain HTTP: headers, caching, visibility, limits.

use gateway::{config::Profile, mail::Language};
use http::Method;
use serde_json::json;
use support::{
    client::Client,
    server::stack::{Stack, with_stack},
};

async fn invoice(stack: &Stack, pay_currency: &str) -> String {
    let merchant = stack.merchant().await.client;
    let body = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": pay_currency, "order_id": "ORDER-CANARY",
        "order_description": "two cups", "ipn_callback_url": "https://shop.example/CALLBACK-CANARY",
        "success_url": "https://shop.example/SUCCESS-CANARY", "cancel_url": "https://shop.example/CANCEL-CANARY",
    });
    let created = merchant.post("/v1/payment", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["payment_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_has_strict_headers_and_shows_only_the_buyer_s_data() {
    with_stack(|stack| async move {
        for pay_currency in ["usdtmatic", "all"] {
            let id = invoice(&stack, pay_currency).await;
            let page = stack.buyer().get(&format!("/pay/{id}")).await;
            assert_eq!(page.status, 200);
            for (name, value) in [
                ("content-type", "text/html; charset=utf-8"),
                ("cache-control", "no-store"),
                ("referrer-policy", "no-referrer"),
                ("x-content-type-options", "nosniff"),
                ("x-robots-tag", "noindex"),
                ("cross-origin-opener-policy", "same-origin"),
                ("content-language", "en"),
            ] {
                assert_eq!(page.header(name), Some(value), "{name}");
            }
            assert_eq!(page.header("access-control-allow-origin"), None);
            let policy = page.header("content-security-policy").unwrap();
            for part in [
                "default-src 'none'",
                "frame-ancestors 'none'",
                "form-action 'self'",
                "base-uri 'none'",
            ] {
                assert!(policy.contains(part), "{policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert!(page.body.contains("<bdi>Test shop</bdi>"), "the buyer sees who is paid");
            for forbidden in ["CANARY", "<script>", " style=", " onclick"] {
                assert!(!page.body.contains(forbidden), "{forbidden}: {}", page.body);
            }
        }
    })
    .await;
}

/// An app of a wallet sends real coins, wherever the page was meant for.
#[tokio::test(flavor = "multi_thread")]
async fn wallets_are_opened_by_a_production_on_the_real_chain_alone() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "usdtmatic").await;
        let links = async |profile, toml: &str| {
            let checkout = stack.checkout_of(toml, |config| config.profile = profile).await;
            let page = Client::new(checkout).get(&format!("/pay/{id}")).await;
            assert_eq!(page.status, 200);
            ["https://link.metamask.io/send/", "https://link.trustwallet.com/send?"]
                .map(|app| page.body.matches(&format!("href=\"{app}")).count())
        };
        let node =
            "chains.polygon.source = 'node'\nchains.polygon.rpc_url = 'http://127.0.0.1:1'\n";
        let test_chain = format!("{node}chains.polygon.chain_id = 80002\n");
        assert_eq!(links(Profile::Production, node).await, [1, 1]);
        assert_eq!(links(Profile::Production, &test_chain).await, [0, 0]);
        let simulated = "chains.polygon.source = 'simulated'\n";
        assert_eq!(links(Profile::Production, simulated).await, [0, 0]);
        assert_eq!(links(Profile::Sandbox, node).await, [0, 0]);
    })
    .await;
}

/// The address of a page is the buyer's secret: who follows a link away from it, to the shop or to
/// an explorer, must not be sent with it.
#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_any_state_tells_its_address_to_another_origin() {
    with_stack(|stack| async move {
        let (chosen, draft, ended) = (
            invoice(&stack, "usdtmatic").await,
            invoice(&stack, "all").await,
            invoice(&stack, "usdtmatic").await,
        );
        stack.gateway.cancel_invoice(&ended).await.unwrap();
        let mut answers = Vec::new();
        for id in [&chosen, &draft, &ended, "pzi_00000000000000000000000000", "x"] {
            for path in [
                format!("/pay/{id}"),
                format!("/pay/{id}?lang=de"),
                format!("/embed/{id}?origin=https://shop.example"),
                format!("/pay/{id}/receipt"),
            ] {
                answers.push((stack.buyer().get(&path).await, path));
            }
            let path = format!("/pay/{id}/select");
            answers.push((stack.buyer().send(Method::POST, &path, "token_id=").await, path));
        }
        for (page, path) in &answers {
            let is_page = page.body.starts_with("<!doctype html>");
            assert!(is_page || page.status == 303, "{path}: {}", page.body);
            assert_eq!(page.header("referrer-policy"), Some("no-referrer"), "{path}");
            // Either would count more than the header.
            for weaker in ["referrerpolicy", "name=\"referrer\"", "name=referrer"] {
                assert!(!page.body.to_lowercase().contains(weaker), "{path}: {weaker}");
            }
        }
        let leads_away = |body: &str| body.contains("href=\"https://shop.example");
        assert!(answers.iter().any(|(page, _)| leads_away(&page.body)), "no link to the shop");
    })
    .await;
}

/// A frame is for the one page that the widget names, exactly.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_named_page_may_frame_the_checkout() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "usdtmatic").await;
        for (query, ancestor) in [
            ("", "'none'"),
            ("?origin=https://shop.example", "https://shop.example"),
            ("?origin=http%3A%2F%2F127.0.0.1%3A8080", "http://127.0.0.1:8080"),
            ("?origin=*", "'none'"),
            ("?origin=https://*.example", "'none'"),
            ("?origin=https://shop.example/", "'none'"),
            ("?origin=https://a.example%20https://b.example", "'none'"),
            ("?origin=https://a.example;script-src%20*", "'none'"),
            ("?origin=null", "'none'"),
        ] {
            let page = stack.buyer().get(&format!("/embed/{id}{query}")).await;
            let policy = page.header("content-security-policy").unwrap();
            let ending = format!("frame-ancestors {ancestor}");
            assert!(policy.ends_with(&ending), "{query}: {policy}");
        }
        let page = stack.buyer().get(&format!("/pay/{id}?origin=https://shop.example")).await;
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_are_kept_for_ever_under_the_name_of_their_content() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "all").await;
        let page = stack.buyer().get(&format!("/pay/{id}")).await.body;
        let sources: Vec<_> =
            page.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(sources.len(), 2, "{sources:?}");
        let compressed = stack.buyer().with_header("accept-encoding", "gzip");
        for source in sources {
            let script = stack.buyer().get(source).await;
            assert_eq!(script.status, 200, "{source}");
            assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
            assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
            assert_eq!(stack.buyer().get(&source.replace('.', "0.")).await.status, 404);
            let head = compressed.send(Method::HEAD, source, "").await;
            assert_eq!(head.header("content-encoding"), Some("gzip"), "{source}");
        }
        let widget = stack.buyer().get("/widget/v1.js").await;
        assert_eq!(widget.header("cross-origin-resource-policy"), Some("cross-origin"));
        assert_eq!(widget.header("cache-control"), Some("public, max-age=3600"));
    })
    .await;
}

/// Missing, malformed and foreign ids look the same (A58), and no address is derived from the
/// request's own host (A30).
#[tokio::test(flavor = "multi_thread")]
async fn unknown_ids_get_the_same_404_and_the_host_header_is_not_trusted() {
    with_stack(|stack| async move {
        let missing = stack.buyer().get("/pay/pzi_00000000000000000000000000").await;
        assert_eq!(missing.status, 404);
        assert!(missing.body.contains("There is no such payment"));
        for id in
            ["x", "%00", "%FF", "pzi_%3Cscript%3E", "..%2F..", "PZI_00000000000000000000000000"]
        {
            for path in [format!("/pay/{id}"), format!("/pay/{id}?origin=x")] {
                let answer = stack.buyer().get(&path).await;
                assert_eq!((answer.status, &answer.body), (404, &missing.body), "{path}");
            }
        }
        let id = invoice(&stack, "all").await;
        let poisoned = stack
            .buyer()
            .with_header("x-forwarded-host", "evil.example")
            .with_header("x-forwarded-for", "<script>evil.example</script>")
            .with_header("user-agent", "<script>evil.example</script>")
            .with_header("forwarded", "host=evil.example")
            .with_header("origin", "https://evil.example");
        for path in [format!("/pay/{id}"), "/widget/v1.js".into(), format!("/embed/{id}")] {
            let answer = poisoned.get(&path).await;
            assert!(!answer.body.contains("evil.example"), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        let body = "token_id=usdtmatic%40polygon";
        let chosen = poisoned.send(Method::POST, &format!("/pay/{id}/select?lang=de"), body).await;
        assert_eq!(
            (chosen.status, chosen.header("location")),
            (303, Some(&*format!("/pay/{id}?lang=de")))
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_by_which_buyers_change_state_have_a_rate_limit_of_their_own_per_address() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "all").await;
        let select = format!("/pay/{id}/select");
        for _ in 0..60 {
            let refused =
                stack.buyer().send(Method::POST, &select, "token_id=doge%40bitcoin").await;
            assert_eq!(refused.status, 409, "{}", refused.body);
        }
        let refused =
            stack.buyer().send(Method::POST, &select, "token_id=usdtmatic%40polygon").await;
        assert_eq!(refused.status, 429);
        assert!(refused.body.contains("too many tries"), "{}", refused.body);
        for path in [format!("/api/pay/{id}/cancel"), format!("/api/pay/{id}/select")] {
            stack.buyer().post(&path, &json!({})).await.expect_error(429, "RATE_LIMIT_EXCEEDED");
        }
        // Viewing changes nothing.
        assert_eq!(stack.buyer().get(&format!("/v1/invoices/{id}/status")).await.status, 200);
        assert_eq!(stack.buyer().get(&format!("/pay/{id}")).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_form_post_shows_its_error_in_the_page() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "all").await;
        let post =
            async |path: String, body: &str| stack.buyer().send(Method::POST, &path, body).await;
        for (path, body, status, words) in [
            (format!("/pay/{id}/select"), "", 400, "choose one of the currencies"),
            (format!("/pay/{id}/select"), "token_id=", 409, "cannot be chosen"),
            (
                format!("/pay/{id}/select"),
                "token_id=usdtmatic%40polygon%00",
                409,
                "cannot be chosen",
            ),
            (format!("/pay/{id}/select"), "token_id=btc%40bitcoin", 409, "cannot be chosen"),
            ("/pay/x/select".into(), "token_id=usdtmatic%40polygon", 404, "no such payment"),
            ("/pay/x/cancel".into(), "", 404, "no such payment"),
            (format!("/pay/{id}/simulate"), "share=rest", 409, "could not pay"),
        ] {
            let answer = post(path.clone(), body).await;
            assert_eq!(answer.status, status, "{path} {body}");
            assert!(answer.body.contains(words), "{path} {body}: {}", answer.body);
        }
        assert_eq!(
            post(format!("/pay/{id}/select"), "token_id=usdtmatic%40polygon").await.status,
            303
        );
        // The same again, as a second tap sends it: the page with the chosen currency.
        let again = post(format!("/pay/{id}/select"), "token_id=usdcmatic%40polygon").await;
        assert_eq!(again.status, 409);
        assert!(again.body.contains("was chosen already") && again.body.contains("Send only"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_in_the_language_of_the_browser_and_says_so() {
    with_stack(|stack| async move {
        let id = invoice(&stack, "usdtmatic").await;
        let in_language = |page: &str, code: &str, direction: &str| {
            let start = format!("<!doctype html>\n<html lang=\"{code}\" dir=\"{direction}\">");
            assert!(
                page.starts_with(&start),
                "{code}: {}",
                page.lines().take(2).collect::<String>()
            );
            // The others by their names, and not a word of their texts.
            assert_eq!(page.matches(" hreflang=").count(), Language::ALL.len(), "{code}");
            assert!(page.contains(&format!(" lang=\"{code}\" hreflang=\"{code}\" aria-current")));
        };
        for language in Language::ALL {
            let (code, page) =
                (language.as_str(), stack.buyer().get(&format!("/pay/{id}?lang={language}")).await);
            let direction = if language.is_right_to_left() { "rtl" } else { "ltr" };
            in_language(&page.body, code, direction);
            assert_eq!(page.header("content-language"), Some(code));
            let missing = stack.buyer().get(&format!("/pay/pzi_none?lang={language}")).await;
            assert_eq!((missing.status, missing.header("content-language")), (404, Some(code)));
        }
        for (accepted, code) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
            ("zh-Hant-TW", "zh"),
            ("pt-BR,pt;q=0.9,en-US;q=0.8", "pt"),
            ("pt-PT", "pt"),
            ("fr-CA, en;q=0.5", "fr"),
            ("sv, pl;q=0.3", "pl"),
            ("sv", "en"),
        ] {
            let buyer = stack.buyer().with_header("accept-language", accepted);
            in_language(&buyer.get(&format!("/pay/{id}")).await.body, code, "ltr");
        }
    })
    .await;
}
