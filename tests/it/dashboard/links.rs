//! Payment links: created once, shown with everything that their merchant needs, switched off.

use gateway::account::Role;
use support::client::browser::Browser;

use super::{between, pages, with_desk};

/// A form as its page is filled in, under the key that the page gave it.
fn form<'a>(key: &'a str, title: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("key", key),
        ("kind", "donation"),
        ("title", title),
        ("price_currency", "usd"),
        ("min", "2"),
        ("suggestions", "5 10 25"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_created_once_and_paid_by_those_who_have_its_address() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        assert!(owner.get("/links").await.body.contains("/links/new"));
        let page = owner.get("/links/new").await.body;
        let key = between(&page, "name=\"key\" value=\"", "\"").to_owned();
        let title = "\"><script>alert(1)</script>";
        let made = owner.post("/links/new", &form(&key, title)).await;
        assert_eq!(made.status, 303, "{}", made.body);
        let to = made.header("location").unwrap().to_owned();
        let again = owner.post("/links/new", &form(&key, title)).await;
        assert_eq!(again.header("location"), Some(to.as_str()), "sent twice, created once");
        let changed = owner.post("/links/new", &form(&key, "Another title")).await;
        assert_eq!(changed.status, 422);
        assert!(changed.body.contains("sent before with other values"), "{}", changed.body);

        let path = to.split('?').next().unwrap();
        let shown = owner.get(path).await.body;
        assert!(!shown.contains("<script>alert"), "{shown}");
        assert!(shown.contains("5, 10, 25") && shown.contains("2 to 1000000 USD"), "{shown}");
        let address = format!("{}/l/", desk.gateway.config.checkout_url.trim_end_matches('/'));
        assert!(shown.contains(&address), "{shown}");
        let id = path.trim_start_matches("/links/");
        let link = merchant.client.get(&format!("/v1/links/{id}")).await.json();
        assert_eq!((&link["title"], &link["active"]), (&title.into(), &true.into()));
        assert!(owner.get("/links").await.body.contains(id));

        let off = owner.post(&format!("{path}/switch"), &[("active", "no")]).await;
        assert_eq!(off.status, 303, "{}", off.body);
        let link = merchant.client.get(&format!("/v1/links/{id}")).await.json();
        assert_eq!(link["active"], false);
        let acts = desk.gateway.audit(Some(id), None).await.unwrap();
        let acts: Vec<_> = acts.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["switch-off", "create"]);

        let mut viewer = desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let page = viewer.get(path).await.body;
        assert!(page.contains("off") && !page.contains("link.change"), "{page}");
        let mut stranger = desk.signed_in("x@example.com", Role::Owner, Some(&other)).await;
        assert_eq!(stranger.get(path).await.status, 404);
        stranger.get("/links").await;
        let refused = stranger.post(&format!("{path}/switch"), &[("active", "yes")]).await;
        assert_eq!(refused.status, 404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_form_of_a_link_keeps_what_was_entered_and_says_what_to_do() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let page = owner.get("/links/new").await.body;
        let key = between(&page, "name=\"key\" value=\"", "\"").to_owned();
        for (name, value, words) in [
            ("min", "two", "The smallest amount must be an amount"),
            ("title", " ", "title must be"),
            ("kind", "lottery", "Choose what the link is for"),
            ("webhook_url", "http://127.0.0.1:9/\0ipn", "webhook address"),
            ("success_url", "javascript:alert(1)", "http or https"),
        ] {
            let mut fields = form(&key, "A good title");
            fields.retain(|(known, _)| *known != name);
            fields.push((name, value));
            let refused = owner.post("/links/new", &fields).await;
            let known = refused.status == 422 && refused.body.contains(words);
            assert!(known || name == "webhook_url", "{name}: {}", refused.body);
            assert!(refused.status < 500, "{name}: {}", refused.body);
        }
        for odd in
            ["/links?older=x", "/links?newer=1-1", "/links?older=99999999999-0", "/links/pzl_1"]
        {
            assert!(owner.get(odd).await.status < 500, "{odd}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_of_links_goes_back_and_forth_while_others_are_created() {
    with_desk(|desk| async move {
        desk.stack.lift_rate_limits().await;
        let merchant = desk.merchant().await;
        let create = async |title: &str| {
            let body =
                serde_json::json!({ "type": "donation", "title": title, "min_amount": 1, "price_currency": "usd" });
            let made = merchant.client.post("/v1/links", &body).await;
            assert_eq!(made.status, 201, "{}", made.body);
        };
        for n in 1..=60 {
            create(&format!("link-{n}-")).await;
        }
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let next = |body: &str, rel: &str| {
            let (_, rest) = body.split_once(&format!("rel=\"{rel}\" href=\""))?;
            Some(rest.split('"').next()?.replace("&#38;", "&"))
        };
        let (mut path, mut seen) = ("/links".to_owned(), Vec::new());
        let last = loop {
            let page = owner.get(&path).await.body;
            seen.extend((1..=60).rev().filter(|n| page.contains(&format!(">link-{n}-<"))));
            // What is created meanwhile moves nothing to another page.
            create("link-of-now").await;
            match next(&page, "next") {
                Some(older) => path = older,
                None => break page,
            }
        };
        assert_eq!(seen, (1..=60).rev().collect::<Vec<_>>());
        let newer = owner.get(&next(&last, "prev").unwrap()).await.body;
        assert!(newer.contains(">link-35-<") && !newer.contains(">link-60-<"), "{newer}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_links_and_reports_are_legible_and_fit_a_phone() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let origin = desk.gateway.config.dashboard_url.clone();
        let id = Some(merchant.new.id);
        desk.gateway.create_account("o@example.com", Role::Owner, id).await.unwrap();
        desk.stack.sql(super::reports::HISTORY).await;
        super::reports::close_months(&desk).await;
        let month = super::reports::last_month();
        let browser = Browser::start().await;
        let tab = browser.desktop().await;
        pages::sign_in_by_link(&desk, &tab, "o@example.com", None).await;
        for (name, path) in [
            ("reports", "/reports".to_owned()),
            ("report", format!("/reports/{month}")),
            ("links-none", "/links".to_owned()),
            ("link-new", "/links/new".to_owned()),
        ] {
            tab.open(&format!("{origin}{path}")).await;
            pages::inspect(&tab, name).await;
        }
        pages::fill(&tab, "#title", "Two cups of coffee").await;
        pages::fill(&tab, "#price", "7.50").await;
        tab.click("form[data-action=\"link.create\"] button").await;
        tab.shows("location.pathname.startsWith('/links/pzl_')").await;
        pages::inspect(&tab, "link-detail").await;
        let url = tab.read_qr(".qr svg").await;
        assert!(url.contains("/l/pzl_"), "{url}");
        tab.open(&format!("{origin}/links")).await;
        pages::inspect(&tab, "links").await;
    })
    .await;
}
