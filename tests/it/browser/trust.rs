//! Attacks on the page (attacks A12, A24, A30, A38 to A42, A57, A58, A61).

use gateway::asset::{Network, catalogue::Catalogue};
use serde_json::json;
use support::server::stack::with_configured_stack;

use super::{inspect, page, with_browser};

/// Markup, script addresses and bidirectional text, as a merchant's data.
const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</title></style></noscript><svg onload=alert(1)>",
    "' onfocus=alert(1) autofocus x='",
    "javascript:alert(1)",
    "{{7*7}}${7*7}<%= 7*7 %>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u{202e}gpj.exe\u{2066}\u{200f} \u{0430}pple",
];

const HOSTILE_QUERIES: [&str; 4] =
    ["", "?lang=%22%3E%3Cscript%3E", "?theme=%22onload=%22", "?origin=javascript:alert(1)"];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_text_is_escaped_in_every_page() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        for (turn, words) in HOSTILE.into_iter().enumerate() {
            for currency in ["usdtmatic", "all"] {
                let id = shop
                    .invoice_of(json!({
                        "pay_currency": currency, "order_description": words, "order_id": words,
                        "success_url": format!("https://shop.example/?q={}", words.replace(' ', "+")),
                    }))
                    .await;
                // The query of the page's URL is trusted no more than that.
                let query = HOSTILE_QUERIES[turn % HOSTILE_QUERIES.len()];
                tab.open(&format!("{}{query}", page(&shop, &id))).await;
                assert_eq!(tab.text(".description").await, words);
                // A browser draws the words in a box of their own direction.
                assert!(tab.has(".description > bdi").await);
                shop.stack.gateway.cancel_invoice(&id).await.unwrap();
                tab.open(&page(&shop, &id)).await;
                tab.phase("cancelled").await;
            }
        }
        tab.picture("hostile", 360).await;
        tab.open(&page(&shop, "pzi_00000000000000000000000000")).await;
        inspect(&tab, "missing").await;
        assert_eq!(tab.complaints().await, Vec::<String>::new());
        let host = format!("http://{}/", shop.stack.checkout);
        let elsewhere: Vec<_> =
            tab.requests().into_iter().filter(|url| !url.starts_with(&host)).collect();
        assert_eq!(elsewhere, Vec::<String>::new());
    })
    .await;
}

/// Both links are clicked; neither leads anywhere but where the merchant's parsed address says.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_the_shop_is_a_web_address_or_no_link() {
    with_browser(|shop, browser| async move {
        let tab = browser.phone().await;
        for (stored, shown) in [
            ("javascript:alert(1)", None),
            ("javascript://shop.example/%0aalert(1)", None),
            ("data:text/html,<script>alert(1)</script>", None),
            ("//evil.example", None),
            ("\\\\evil.example", None),
            ("/%09/evil.example", None),
            ("https://bank.example@127.0.0.1:1/x", Some("127.0.0.1:1")),
        ] {
            let id = shop.invoice().await;
            shop.stack.gateway.cancel_invoice(&id).await.unwrap();
            // Creation refuses most of these; a row may be older than a check.
            let mut connection = shop.stack.database.connect().await;
            sqlx::query("update invoice set cancel_url = $2 where payment_id = $1")
                .bind(&id)
                .bind(stored)
                .execute(&mut connection)
                .await
                .unwrap();
            tab.open(&page(&shop, &id)).await;
            tab.phase("cancelled").await;
            assert_eq!(tab.has("#return").await, shown.is_some(), "{stored}");
            if let Some(host) = shown {
                assert_eq!(tab.text("#return").await, format!("Return to {host}"));
                tab.click("#return").await;
                tab.shows("location.protocol !== 'http:' || location.pathname === '/x'").await;
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_code_on_every_network_reads_as_the_row_says() {
    // On simulated chains codes name the amount where they name a chain of their own: EVM's.
    let own_id = |network: Network| {
        let id = network.evm_chain_id()? + 1_000_000;
        Some(format!("chains.{network}.chain_id = {id}\n"))
    };
    let toml: String = Network::ALL.into_iter().filter_map(own_id).collect();
    with_configured_stack(&toml, |stack| async move {
        stack.lift_rate_limits().await;
        for network in [Network::Solana, Network::Near] {
            stack.gateway.fill_addresses(network, 3).await.unwrap();
        }
        let merchant = stack.merchant().await.client;
        let browser = support::client::browser::Browser::start().await;
        let tab = browser.phone().await;
        for network in Network::ALL {
            let coin = Catalogue::get().native(network);
            let body = json!({
                "price_amount": 700.07, "price_currency": "usd", "pay_currency": coin.symbol, "network": network.name(),
            });
            let created = merchant.post("/v1/payment", &body).await;
            assert_eq!(created.status, 201, "{network}: {}", created.body);
            let id = created.json()["payment_id"].as_str().unwrap().to_owned();
            let row = stack.anybody().get(&format!("/v1/invoices/{id}/status")).await.json();
            tab.open(&format!("http://{}/pay/{id}", stack.checkout)).await;
            let address = row["pay_address"].as_str().unwrap();
            assert_eq!(tab.text("#address").await, address, "{network}");
            // Three digits behind the point get a zero more, as half of the languages would read
            // thousands.
            let due = row["amount_due"].as_str().unwrap();
            let is_like_thousands = due.split('.').nth(1).is_some_and(|places| places.len() == 3);
            let zero = if is_like_thousands && !due.starts_with("0.") { "0" } else { "" };
            assert_eq!(tab.text("#amount").await, format!("{due}{zero}"), "{network}");
            assert!(tab.text("#send-only").await.contains(network.title()), "{network}");
            let uri = row["payment_uri"].as_str().unwrap_or_default();
            if network.evm_chain_id().is_none() {
                assert!(!tab.has("[data-qr=uri]").await, "{network} leads to real coins");
                assert_eq!(tab.read_qr("[data-qr=address] svg").await, address, "{network}");
                continue;
            }
            assert!(uri.contains(address), "{uri}");
            for (code, content) in [("address", address), ("uri", uri)] {
                tab.click(&format!("label[for=code-{code}]")).await;
                assert_eq!(tab.read_qr(&format!("[data-qr={code}] svg")).await, content, "{network}");
            }
        }
    })
    .await;
}
