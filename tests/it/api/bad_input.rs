//! Input that no honest client sends: always the error envelope, never a server error, nothing
//! half-written.

use http::Method;
use serde_json::json;
use support::server::stack::with_stack;

use super::{order, rows_written};

/// Members that spoil a valid object.
const BROKEN_MEMBERS: [&str; 24] = [
    r#""price_amount":26"#,
    r#""order_id":"a","order_id":"a""#,
    r#""x":1,"x":1"#,
    r#""\u0070rice_amount":26"#,
    r#""order_id":"\ud800""#,
    r#""order_id":"\udc00\ud800""#,
    r#""order_id":"a\u0000b""#,
    r#""order_id":"\x""#,
    "\"order_id\":\"a\nb\"",
    r#""order_id":5"#,
    r#""order_id":{}"#,
    r#""order_id":["a"]"#,
    r#""order_id":true"#,
    r#""order_description":5"#,
    r#""order_description":"\u0000""#,
    r#""ipn_callback_url":5"#,
    r#""ipn_callback_url":{}"#,
    r#""ipn_callback_url":"\u0000""#,
    r#""success_url":["https://shop.example"]"#,
    r#""cancel_url":false"#,
    r#""network":5"#,
    r#""pricing_mode":1"#,
    r#""x":NaN"#,
    r#""x":01"#,
];

const REQUIRED: [&str; 3] = ["price_amount", "price_currency", "pay_currency"];

fn with_member(member: &str) -> Vec<u8> {
    let valid = order(&json!({})).to_string();
    format!("{},{member}}}", &valid[..valid.len() - 1]).into_bytes()
}

/// Bodies that are not one JSON object.
fn no_objects() -> Vec<(&'static str, Vec<u8>)> {
    let valid = order(&json!({})).to_string();
    let open = &valid[..valid.len() - 1];
    let texts = [
        ("empty", ""),
        ("blank", " \n\t "),
        ("null", "null"),
        ("a number", "25"),
        ("a string", "\"x\""),
        ("true", "true"),
        ("an empty array", "[]"),
        ("an array of objects", &format!("[{valid}]")),
        ("an empty object", "{}"),
        ("cut off", open),
        ("trailing data", &format!("{valid}x")),
        ("two objects", &format!("{valid}{valid}")),
        ("a trailing comma", &format!("{open},}}")),
        ("a comment", &format!("/* x */{valid}")),
        ("single quotes", &valid.replace('"', "'")),
        ("form-encoded", "price_amount=25&price_currency=usd&pay_currency=usdtmatic"),
        ("XML", "<price_amount>25</price_amount>"),
        ("a byte order mark", &format!("\u{feff}{valid}")),
        ("a NUL byte", &format!("{valid}\0")),
    ];
    texts.map(|(name, text)| (name, text.as_bytes().to_vec())).into()
}

/// Bodies that are not text, too large or too deep.
fn no_texts() -> Vec<(&'static str, Vec<u8>)> {
    let valid = order(&json!({})).to_string();
    let deep = format!("{}1{}", "[".repeat(30_000), "]".repeat(30_000));
    let large = 10 * 1024 * 1024;
    vec![
        ("gzip", vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0x56, 0x4a, 0, 0, 0, 0]),
        ("UTF-16", valid.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("broken UTF-8", [b"{\"order_id\":\"\xff\",", &valid.as_bytes()[1..]].concat()),
        ("broken UTF-8 in a name", [b"{\"\xc3\x28\":1,", &valid.as_bytes()[1..]].concat()),
        ("deep arrays", deep.clone().into_bytes()),
        ("a deep order_id", with_member(&format!("\"order_id\":{deep}"))),
        ("10 MB of blanks", vec![b' '; large]),
        ("10 MB of order_id", with_member(&format!("\"order_id\":\"{}\"", "x".repeat(large)))),
    ]
}

/// Each required member missing, and of each wrong type.
fn wrong_types() -> Vec<(&'static str, Vec<u8>)> {
    let mut cases = Vec::new();
    for field in REQUIRED {
        let mut missing = order(&json!({}));
        missing.as_object_mut().unwrap().remove(field);
        cases.push((field, missing.to_string().into_bytes()));
        let number_or_text = if field == "price_amount" { json!("25") } else { json!(5) };
        for value in [json!(null), json!(true), json!([]), json!({}), number_or_text] {
            cases.push((field, order(&json!({ field: value })).to_string().into_bytes()));
        }
    }
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_makes_no_sense_is_an_invalid_request_and_writes_nothing() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client.with_header("idempotency-key", "k");
        let spoilt = BROKEN_MEMBERS.map(|member| (member, with_member(member)));
        let cases = spoilt.into_iter().chain(no_objects()).chain(no_texts()).chain(wrong_types());
        for (name, body) in cases {
            let answer = shop.send_bytes(Method::POST, "/v1/payment", &body).await;
            assert_eq!(answer.status, 400, "{name}: {}", answer.body);
            answer.expect_error(400, "INVALID_REQUEST");
            assert_eq!(answer.json().as_object().unwrap().len(), 3, "{name}");
            assert!(answer.body.len() < 1_000, "{name}: {}", answer.body);
        }
        assert_eq!(rows_written(&stack).await, [0; 4]);
        // None of them took the key.
        assert_eq!(shop.post("/v1/payment", &order(&json!({}))).await.status, 201);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_its_first_invalid_field() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        for (body, named) in [
            (json!({}), "price_amount"),
            (json!({"price_amount": "25"}), "price_amount"),
            (json!({"price_amount": 25}), "price_currency"),
            (
                json!({"price_amount": 25, "price_currency": "u", "pay_currency": "x"}),
                "price_currency",
            ),
            (json!({"price_amount": 25, "price_currency": "usd"}), "pay_currency"),
            (order(&json!({"order_id": 5, "order_description": 5})), "order_id"),
            (order(&json!({"order_description": 5, "success_url": 5})), "order_description"),
            (order(&json!({"success_url": "x", "cancel_url": "x"})), "success_url"),
            (order(&json!({"cancel_url": "x"})), "cancel_url"),
        ] {
            let answer = shop.post("/v1/payment", &body).await;
            answer.expect_error(400, "INVALID_REQUEST");
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(named), "{message:?} for {body}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_and_the_content_type_of_a_body_are_ignored() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let mut body = order(&json!({}));
        for extra in
            ["id", "payment_id", "payment_status", "merchant_id", "pay_amount", "__proto__"]
        {
            body[extra] = json!({"a": [1, null, "\u{0}"]});
        }
        for content_type in
            ["application/json", "text/plain", "application/x-www-form-urlencoded", "x"]
        {
            let shop = shop.clone().with_header("content-type", content_type);
            let answer = shop.post("/v1/payment", &body).await;
            assert_eq!(answer.status, 201, "{}", answer.body);
            assert_eq!(answer.json()["payment_status"], "waiting");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_methods_answer_with_the_envelope() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let long = format!("/v1/{}", "x".repeat(300));
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v2/payment",
            "/v1/payments",
            "/v1/Payment",
            "/V1/payment",
            "//v1/payment",
            "/v1//payment",
            "/v1/payment/a/b",
            "/v1/invoices",
            "/v1/invoices/x",
            "/v1/../v1/payment",
            "/v1%2Fpayment",
            "/v1/pay%00ment",
            "/%FF",
            "/%",
            "/v1/payouts",
            "/metrics",
            "/ready",
            "/.env",
            &long,
        ] {
            for client in [&shop, &stack.anybody()] {
                let answer = client.get(path).await;
                assert_eq!(answer.status, 404, "{path}: {}", answer.body);
                answer.expect_error(404, "NOT_FOUND");
            }
        }
        for (method, path, allowed) in [
            ("POST", "/v1/status", "GET,HEAD"),
            ("DELETE", "/v1/currencies", "GET,HEAD"),
            ("PUT", "/v1/payment", "POST,GET,HEAD"),
            ("DELETE", "/v1/payment", "POST,GET,HEAD"),
            ("PATCH", "/v1/payment/x", "GET,HEAD"),
            ("DELETE", "/v1/payment/x", "GET,HEAD"),
            ("POST", "/v1/payment/x", "GET,HEAD"),
            ("OPTIONS", "/v1/payment", "POST,GET,HEAD"),
            ("TRACE", "/v1/payment", "POST,GET,HEAD"),
            ("FOO", "/v1/payment", "POST,GET,HEAD"),
            ("POST", "/v1/invoices/x/status", "GET,HEAD"),
        ] {
            let method: Method = method.parse().unwrap();
            let answer = shop.send(method.clone(), path, "").await;
            assert_eq!(answer.status, 405, "{method} {path}: {}", answer.body);
            answer.expect_error(405, "METHOD_NOT_ALLOWED");
            assert_eq!(answer.header("allow"), Some(allowed), "{method} {path}");
        }
        // The merchant API cancels nothing and selects nothing.
        for path in [
            "/v1/payment/x/cancel",
            "/v1/invoices/x/cancel",
            "/v1/invoices/x/select",
            "/api/pay/x/cancel",
        ] {
            shop.post(path, &json!({})).await.expect_error(404, "NOT_FOUND");
        }
        assert_eq!(rows_written(&stack).await, [0; 4]);
    })
    .await;
}
