//! Resources that are sold to programs, and their settlements, by the forms of a merchant.

use gateway::account::Role;
use serde_json::Value;
use support::{
    client::browser::Browser,
    node::anvil::Anvil,
    server::stack::{Merchant, with_configured_stack},
};

use super::{Desk, Visitor, between, pages, with_desk};
use crate::x402::scene::{self, CENT, Scene, with_scene};

const HOSTILE: &str = "\"><img src=x onerror=alert(1)><script>alert(1)</script>";

async fn desk_of(scene: &Scene) -> Desk {
    let (gateway, address) = scene.stack.dashboard("").await;
    Desk { stack: scene.stack.clone(), gateway, address }
}

/// A desk over a gateway that offers x402 and carries nothing out.
async fn with_idle_desk<F: Future<Output = ()>>(test: impl FnOnce(Desk) -> F) {
    let anvil: std::sync::Arc<Anvil> = scene::node().await;
    with_configured_stack(&scene::settings(anvil.url()), |stack| async move {
        stack.lift_rate_limits().await;
        let (gateway, address) = stack.dashboard("").await;
        test(Desk { stack, gateway, address }).await;
    })
    .await;
    drop(anvil);
}

/// A form as its page is filled in, under the key that the page gave it.
fn form<'a>(key: &'a str, url: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("key", key),
        ("url", url),
        ("description", "The weather of tomorrow"),
        ("mime_type", "application/json"),
        ("price", "0.01"),
        ("network", "polygon"),
        ("timeout", "60"),
        ("listed", "yes"),
    ]
}

async fn key(visitor: &mut Visitor) -> String {
    let page = visitor.get("/x402/new").await.body;
    between(&page, "name=\"key\" value=\"", "\"").to_owned()
}

/// Sells a resource, and returns the path of its page.
async fn sold(visitor: &mut Visitor, url: &str) -> String {
    let key = key(visitor).await;
    let made = visitor.post("/x402/new", &form(&key, url)).await;
    assert_eq!(made.status, 303, "{}", made.body);
    made.header("location").unwrap().split('?').next().unwrap().to_owned()
}

async fn owner(desk: &Desk, merchant: &Merchant) -> Visitor {
    desk.signed_in("o@example.com", Role::Owner, Some(merchant)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_is_sold_once_changed_by_whoever_saw_it_and_switched_off_and_on() {
    with_idle_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let mut owner = owner(&desk, &merchant).await;
        let empty = owner.get("/x402").await.body;
        assert!(empty.contains("import { Gateway, requirePayment }"), "{empty}");
        let key = key(&mut owner).await;
        let url = "https://api.example/weather?'<script>alert(1)</script>";
        let made = owner.post("/x402/new", &form(&key, url)).await;
        assert_eq!(made.status, 303, "{}", made.body);
        let to = made.header("location").unwrap().to_owned();
        let again = owner.post("/x402/new", &form(&key, url)).await;
        assert_eq!(
            again.header("location"),
            Some(to.as_str()),
            "sent twice, sold once: {}",
            again.body
        );
        let changed = owner.post("/x402/new", &form(&key, "https://api.example/other")).await;
        assert_eq!(changed.status, 422);
        assert!(changed.body.contains("sent before with other values"), "{}", changed.body);

        let path = to.split('?').next().unwrap().to_owned();
        let id = path.trim_start_matches("/x402/").to_owned();
        let page = owner.get(&to).await.body;
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(page.contains("app.get(&#39;/weather&#39;") && page.contains("It is on sale"));
        let api = format!("/v1/x402/resources/{id}");
        let read = merchant.client.get(&api).await.json();
        assert_eq!((&read["price_amount"], &read["listed"]), (&0.01.into(), &true.into()));
        assert!(owner.get("/x402").await.body.contains(&path));

        let seen = between(&page, "name=\"seen\" value=\"", "\"").to_owned();
        let mut edit = form("", "https://api.example/v2/weather");
        edit.extend([("seen", seen.as_str())]);
        edit.retain(|(name, _)| !["listed", "price", "network"].contains(name));
        // Price and networks are no fields of this form.
        edit.extend([("price", "9"), ("network", "base")]);
        assert_eq!(owner.post(&path, &edit).await.status, 303);
        let read = merchant.client.get(&api).await.json();
        assert_eq!(read["url"], "https://api.example/v2/weather");
        assert_eq!((&read["price_amount"], &read["listed"]), (&0.01.into(), &false.into()));
        assert_eq!(read["networks"], serde_json::json!(["polygon"]));
        let stale = owner.post(&path, &edit).await;
        assert_eq!(stale.status, 422);
        assert!(stale.body.contains("Somebody changed this meanwhile"), "{}", stale.body);

        let off = owner.post(&format!("{path}/switch"), &[("active", "no")]).await;
        assert_eq!(off.status, 303, "{}", off.body);
        merchant.client.get(&api).await.expect_error(404, "RESOURCE_NOT_FOUND");
        assert!(!owner.get("/x402").await.body.contains(&path));
        assert!(owner.get("/x402?state=off").await.body.contains(&path));
        assert!(!owner.get(&path).await.body.contains("name=\"seen\""), "it cannot be changed");
        assert_eq!(owner.post(&format!("{path}/switch"), &[("active", "yes")]).await.status, 303);
        assert_eq!(merchant.client.get(&api).await.status, 200);
        let acts = desk.gateway.audit(Some(&id), None).await.unwrap();
        let acts: Vec<_> = acts.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["switch-on", "switch-off", "edit", "create"]);

        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let page = viewer.get(&path).await.body;
        assert!(page.contains(&id) && !page.contains("x402.change"), "{page}");
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&other)).await;
        assert_eq!(stranger.get(&path).await.status, 404);
        assert!(!stranger.get("/x402").await.body.contains(&path));
        for (path, fields) in
            [(path.clone(), edit.clone()), (format!("{path}/switch"), vec![("active", "no")])]
        {
            assert_eq!(stranger.post(&path, &fields).await.status, 404, "{path}");
        }
        // Another merchant's form under the same key learns nothing.
        let taken = stranger.post("/x402/new", &form(&key, url)).await;
        assert_eq!(taken.status, 422, "{}", taken.body);
        assert!(!taken.body.contains(&id), "{}", taken.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_form_of_a_resource_keeps_what_was_entered_and_says_what_to_do() {
    with_idle_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = owner(&desk, &merchant).await;
        let key = key(&mut owner).await;
        for (name, value, words) in [
            ("price", "a cent", "such as 0.01"),
            ("price", "0.0000001", "six decimal places"),
            ("price", "0.0001", "the least that is settled on polygon"),
            ("url", "javascript:alert(1)", "http or https"),
            ("mime_type", "json", "application/json"),
            ("timeout", "5", "10 to 600 seconds"),
            ("network", "moon", "Choose at least one network"),
            ("network", "base", "Programs cannot pay on base"),
            ("key", "x", "Open it again"),
        ] {
            let mut fields = form(&key, "https://api.example/weather");
            fields.retain(|(known, _)| *known != name);
            fields.push((name, value));
            let refused = owner.post("/x402/new", &fields).await;
            assert_eq!(refused.status, 422, "{name}: {}", refused.body);
            assert!(refused.body.contains(words), "{name}: {}", refused.body);
            assert!(refused.body.contains("The weather of tomorrow"), "{name}: {}", refused.body);
        }
        let path = sold(&mut owner, "https://api.example/weather").await;
        let refused = owner.post(&path, &[("seen", "0"), ("url", "ftp://x")]).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        for odd in ["?state=x", "?older=x", "?newer=1-1", "/pzx_1", "/settlements?state=%27"] {
            assert!(owner.get(&format!("/x402{odd}")).await.status < 500, "{odd}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_x402_is_off_the_page_says_so_and_sells_nothing() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = owner(&desk, &merchant).await;
        let page = owner.get("/x402").await.body;
        assert!(page.contains("switched off here") && !page.contains("/x402/new"), "{page}");
        let key = key(&mut owner).await;
        let refused = owner.post("/x402/new", &form(&key, "https://api.example/a")).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert!(owner.get("/x402/settlements").await.body.contains("<p>None.</p>"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_of_a_program_is_listed_with_its_payer_and_its_transaction() {
    with_scene(|scene| async move {
        let desk = desk_of(&scene).await;
        let mut owner = owner(&desk, &scene.merchant).await;
        let path = sold(&mut owner, "https://api.example/weather").await;
        let id = path.trim_start_matches("/x402/").to_owned();
        let read = scene.merchant.client.get(&format!("/v1/x402/resources/{id}")).await.json();
        let payer = scene.payer(7, 3 * CENT).await;
        let request = scene.request(&payer, &read["accepts"][0], 1).await;
        let settled = scene.settle(&request).await;
        assert_eq!(settled["success"], true, "{settled}");
        let hash = settled["transaction"].as_str().unwrap();
        scene
            .until(
                "the settlement is final",
                "select count(*) from x402_settlement where state = 'settled'",
                1,
            )
            .await;
        let explorer = format!("https://polygonscan.com/tx/{hash}");
        for shown in ["/x402/settlements", "/x402/settlements?state=settled", path.as_str()] {
            let page = owner.get(shown).await.body;
            for text in [payer.address.as_str(), "0.01 USDC", &explorer, "settled"] {
                assert!(page.contains(text), "{shown}: {text}: {page}");
            }
        }
        let listed = async |visitor: &mut Visitor, query: &str| {
            let page = visitor.get(&format!("/x402/settlements?{query}")).await.body;
            page.contains(&payer.address)
        };
        let other = sold(&mut owner, "https://api.example/other").await;
        let other = other.trim_start_matches("/x402/");
        assert!(listed(&mut owner, &format!("resource={id}&from=2020-01-01")).await);
        for query in [
            "state=failed",
            &format!("resource={other}"),
            "resource=pzx_00000000000000000000000000",
            "to=2020-01-01",
            "from=2999-01-01",
        ] {
            assert!(!listed(&mut owner, query).await, "{query}");
        }
        let stranger = desk.merchant().await;
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&stranger)).await;
        for query in [String::new(), format!("resource={id}")] {
            assert!(!listed(&mut stranger, &query).await, "{query}");
        }
    })
    .await;
}

/// More than a page of each state, which a filter keeps over its pages.
const MANY: &str = "
    insert into x402_settlement (id, merchant_id, address_id, network, asset, payer, nonce, amount, call_sha256, call,
        valid_before, state, reason, message, sender, tx_nonce, tx_hash, gas_usd, signed_at, ended_at, created_at)
    select gen_random_uuid(), r.merchant_id, r.address_id, 'polygon', '0x1', 'payer-' || n || '-',
           decode(lpad(to_hex(n), 64, '0'), 'hex'), 10000, '', '', 0,
           case when n % 2 = 0 then 'settled' else 'failed' end,
           case when n % 2 = 1 then 'invalid_transaction_state' end,
           case when n % 2 = 1 then '<script>alert(1)</script>' end,
           case when n % 2 = 0 then '0xaa' end, case when n % 2 = 0 then n end,
           case when n % 2 = 0 then '0x' || lpad(to_hex(n), 64, '0') end,
           case when n % 2 = 0 then 0.01 end, case when n % 2 = 0 then now() - interval '2 days' end,
           now(), now() - n * interval '1 minute'
    from generate_series(1, 120) n, x402_resource r";

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_settlements_goes_back_and_forth_through_its_filters() {
    with_idle_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = owner(&desk, &merchant).await;
        let path = sold(&mut owner, "https://api.example/weather").await;
        desk.stack.sql(MANY).await;
        let id = path.trim_start_matches("/x402/");
        let next = |body: &str, rel: &str| {
            let (_, rest) = body.split_once(&format!("rel=\"{rel}\" href=\""))?;
            Some(rest.split('"').next()?.replace("&#38;", "&"))
        };
        for (query, of) in [
            ("".to_owned(), [true, true]),
            ("state=failed".to_owned(), [false, true]),
            ("state=settled".to_owned(), [true, false]),
            (format!("resource={id}"), [true, true]),
            (format!("resource={id}&state=failed"), [false, true]),
        ] {
            let (mut path, mut seen) = (format!("/x402/settlements?{query}"), Vec::new());
            let last = loop {
                let page = owner.get(&path).await.body;
                assert!(!page.contains("<script>alert"), "{page}");
                seen.extend((1..=120).filter(|n| page.contains(&format!(">payer-{n}-<"))));
                match next(&page, "next") {
                    Some(older) => path = older,
                    None => break page,
                }
            };
            let expected = (1..=120_usize).filter(|n| of[n % 2]).collect::<Vec<_>>();
            assert_eq!(seen, expected, "{query}");
            let newer = owner.get(&next(&last, "prev").unwrap()).await.body;
            assert!(!newer.contains(">payer-120-<") && newer.contains(">payer-"), "{query}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_x402_are_legible_fit_a_phone_and_need_no_script() {
    with_idle_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = Some(merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        let origin = desk.gateway.config.dashboard_url.clone();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        tab.open(&format!("{origin}/x402")).await;
        pages::inspect(&tab, "x402-none").await;
        let without = |value: bool| serde_json::json!({ "value": value });
        tab.call("Emulation.setScriptExecutionDisabled", without(true)).await;
        tab.click("a[href=\"/x402/new\"]").await;
        pages::at(&tab, "/x402/new").await;
        pages::fill(&tab, "#url", "https://api.example/weather").await;
        pages::fill(&tab, "#description", HOSTILE).await;
        pages::fill(&tab, "#price", "0.01").await;
        tab.click("form[data-action=\"x402.create\"] button").await;
        tab.shows("location.pathname.startsWith('/x402/pzx_')").await;
        tab.call("Emulation.setScriptExecutionDisabled", without(false)).await;
        let path = tab.eval("location.pathname").await;
        let path = path.as_str().map(ToOwned::to_owned);
        desk.stack.sql(MANY).await;
        for (name, path) in [
            ("x402", "/x402".to_owned()),
            ("x402-new", "/x402/new".to_owned()),
            ("x402-resource", path.unwrap()),
            ("x402-settlements", "/x402/settlements".to_owned()),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            pages::inspect(&tab, name).await;
        }
        tab.open(&format!("{origin}/x402")).await;
        tab.click("tbody a").await;
        tab.shows(
            "location.pathname.startsWith('/x402/pzx_') && document.querySelector('#url') !== null",
        )
        .await;
        pages::fill(&tab, "#url", "https://api.example/v2/weather").await;
        tab.click("form[action^=\"/x402/pzx_\"].fields button").await;
        tab.shows("location.search === '?done=saved'").await;
        tab.click("form[action$=\"/switch\"] button").await;
        tab.shows("location.search === '?done=off'").await;
        pages::inspect(&tab, "x402-off").await;
        let rows: Value = tab.eval("document.querySelectorAll('tbody tr').length").await;
        assert_eq!(rows, 10, "the newest settlements stay");
    })
    .await;
}
