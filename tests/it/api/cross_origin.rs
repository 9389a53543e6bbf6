//! Endpoints that need no key, as scripts of any page and thrifty clients ask them.

use std::process::{Command, Stdio};

use gateway_api::{Access, endpoints};
use http::Method;
use support::server::stack::with_stack;

const ORIGIN: &str = "https://shop.example";

fn path_of(endpoint: &gateway_api::Endpoint) -> String {
    let query = match endpoint.path {
        "/v1/estimate" => "?amount=25&currency_from=usd&currency_to=usdtmatic",
        "/v1/min-amount" => "?currency_to=usdtmatic",
        "/v1/x402/discovery/search" => "?query=weather",
        _ => "",
    };
    endpoint.path.replace("{id}", "pzi_00000000000000000000000000") + query
}

#[tokio::test(flavor = "multi_thread")]
async fn cross_origin_pages_may_read_only_public_endpoints() {
    with_stack(|stack| async move {
        let page = stack.anybody().with_header("origin", ORIGIN);
        let asking = page
            .clone()
            .with_header("access-control-request-method", "GET")
            .with_header("access-control-request-headers", "x-anything");
        for endpoint in endpoints() {
            let (path, open) = (path_of(&endpoint), endpoint.access == Access::Anyone);
            let before = asking.send(Method::OPTIONS, &path, "").await;
            assert_eq!(before.status, if open { 204 } else { 405 }, "{path}: {}", before.body);
            let answer = page.send(endpoint.method.clone(), &path, "").await;
            for answer in [&before, &answer] {
                let origin = answer.header("access-control-allow-origin");
                assert_eq!(origin, open.then_some("*"), "{path}");
                assert_eq!(answer.header("access-control-allow-credentials"), None, "{path}");
            }
            if open {
                assert_eq!(before.header("access-control-allow-methods"), Some("GET, HEAD"));
                assert_eq!(before.header("access-control-allow-headers"), Some("*"));
            }
        }
        // The buyer's status at the checkout's origin too; and OPTIONS alone is no preflight.
        let status = "/v1/invoices/pzi_00000000000000000000000000/status";
        let buyer = stack.buyer().with_header("origin", ORIGIN);
        assert_eq!(buyer.get(status).await.header("access-control-allow-origin"), Some("*"));
        let plain = stack.anybody().send(Method::OPTIONS, "/v1/currencies", "").await;
        plain.expect_error(405, "METHOD_NOT_ALLOWED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn public_answers_are_compressed_on_request() {
    with_stack(|stack| async move {
        let plain = stack.anybody().get("/v1/currencies").await;
        assert_eq!(plain.header("content-encoding"), None);
        let url = |path: &str| format!("http://{}{path}", stack.api);
        for path in ["/v1/currencies", "/v1/openapi.json"] {
            let fetch = |arguments: &[&str]| {
                let mut curl = Command::new("curl");
                curl.args(["-sS", "--max-time", "20"]).args(arguments).arg(url(path));
                let output = curl.stderr(Stdio::inherit()).output().unwrap();
                assert!(output.status.success(), "{path}");
                output.stdout
            };
            let whole = fetch(&[]);
            let packed = fetch(&["-H", "accept-encoding: gzip"]);
            assert!(packed.len() * 2 < whole.len(), "{path}: {} {}", packed.len(), whole.len());
            assert_eq!(packed[..2], [0x1f, 0x8b], "{path}");
            assert_eq!(fetch(&["--compressed"]), whole, "{path}");
        }
    })
    .await;
}
