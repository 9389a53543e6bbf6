//! Views of operators: the picture of everything, networks, the audit log, and a merchant's pages.

use gateway::{
    account::{Role, action::Scope},
    asset::Network,
};
use gateway_dashboard::routes;
use http::Method;
use support::{server::broker::eventually, shop::with_shop};

use super::{Desk, between, payment, with_desk};

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_shows_queues_and_what_an_alert_would_report() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        desk.gateway.stop_payouts("polygon", "looking at something").await.unwrap();
        desk.stack
            .sql(
                "insert into operator_alert (id, kind, subject, detail)
                 values (gen_random_uuid(), 'gas_wallet_short', 'polygon', '<i>coins</i> have left')",
            )
            .await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        let page = eventually("the broker has counted", async || {
            let page = support.get("/operator").await;
            assert_eq!(page.status, 200);
            page.body.contains(".ipn.work</code>").then_some(page.body)
        })
        .await;
        assert!(page.contains("1 stops of signing"), "{page}");
        assert!(page.contains("GatewayPayoutsStopped: what to do"), "{page}");
        assert!(page.contains("&#60;i&#62;coins&#60;/i&#62; have left"), "{page}");
        assert!(page.contains("Coins left the gas wallet"), "the runbook's words: {page}");
        assert!(!page.contains("data-action=\"network.examine\""), "support only looks");
        let networks = support.get("/operator/networks").await.body;
        let picture = desk.gateway.picture().await.unwrap();
        assert!(picture.lags.iter().any(|lag| lag.network == Network::Polygon));
        for lag in &picture.lags {
            assert!(networks.contains(&format!("/operator/networks/{}\"", lag.network)));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_examination_is_answered_at_once_and_its_findings_follow() {
    with_shop(|shop| async move {
        shop.stack.start_all();
        let (gateway, address) = shop.stack.dashboard("").await;
        let desk = Desk { stack: shop.stack.clone(), gateway, address };
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let path = "/operator/networks/polygon";
        assert!(admin.get(path).await.body.contains("was not examined here yet"));
        let asked = admin.post(&format!("{path}/examine"), &[]).await;
        assert_eq!(asked.header("location"), Some("/operator/networks/polygon#doctor"));
        let page = eventually("the findings are there", async || {
            let page = admin.get(path).await.body;
            page.contains("network polygon</td>").then_some(page)
        })
        .await;
        assert!(page.contains("Asked by <bdi>a@example.com</bdi>"), "{page}");
        // One that works is not begun again.
        desk.stack.sql("update examination set finished_at = null, asked_at = now()").await;
        assert!(!desk.gateway.examine(Some(Network::Polygon), "b@example.com").await.unwrap());
        desk.stack.sql("update examination set asked_at = now() - interval '2 minutes'").await;
        assert!(admin.get(path).await.body.contains("It did not finish"));
        assert_eq!(admin.get("/operator/networks/nowhere").await.status, 404);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchants_pages_are_read_alone_under_a_banner_and_noted() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let id = payment(&merchant, "order of theirs").await;
        let foreign = payment(&other, "order of others").await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        support.get("/operator").await;
        let path = format!("/operator/merchants/{}/pages", merchant.new.id);
        let begun = support.post(&path, &[]).await;
        assert_eq!(begun.header("location"), Some("/"), "{}", begun.body);
        for route in routes() {
            if route.action.scope() != Scope::Merchant || route.path.contains('{') {
                continue;
            }
            if route.method == Method::GET && route.action.is_for(Role::Viewer) {
                let page = support.get(route.path).await;
                assert_eq!(page.status, 200, "{}", route.path);
                let is_page = page.header("content-type") == Some("text/html; charset=utf-8");
                assert!(!is_page || page.body.contains("as its viewer"), "{}", route.path);
            } else if route.method == Method::POST {
                assert_eq!(support.post(route.path, &[]).await.status, 403, "{}", route.path);
            }
        }
        assert_eq!(support.get(&format!("/payments/{id}")).await.status, 200);
        assert_eq!(support.get(&format!("/payments/{foreign}")).await.status, 404);
        assert_eq!(support.post(&format!("/payments/{id}/cancel"), &[]).await.status, 403);
        assert_eq!(support.get("/developers").await.status, 403, "keys are none of this");
        let mut again = desk.signed_in_again("s@example.com").await;
        assert_eq!(again.get("/payments").await.status, 403, "another session reads nothing");
        support.get("/payments").await;
        let ended = support.post("/operator/pages/end", &[]).await;
        let to = format!("/operator/merchants/{}", merchant.new.id);
        assert_eq!(ended.header("location"), Some(to.as_str()), "{}", ended.body);
        assert_eq!(support.get("/payments").await.status, 403);
        let audit = desk.gateway.audit(Some(&merchant.new.id.to_string()), None).await.unwrap();
        let acts: Vec<_> = audit.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["observe-end", "observe"]);
        assert!(audit.iter().all(|entry| entry.operator == "s@example.com"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_is_filtered_by_author_kind_day_and_subject_and_paged() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let path = format!("/operator/merchants/{}", merchant.new.id);
        admin.get(&path).await;
        for turn in 0..15 {
            let reason = format!("reason {turn}");
            let act = if turn % 2 == 0 { "suspend" } else { "resume" };
            admin.post(&format!("{path}/{act}"), &[("reason", &reason)]).await;
        }
        desk.stack
            .sql(
                "insert into audit_entry (operator, at, subject_kind, act, subject, change)
                 values ('old@example.com', '2020-02-29 23:59:59Z', 'payout_stop', 'insert', 'polygon', '{}')",
            )
            .await;
        let audit = "/operator/audit";
        let of = async |visitor: &mut super::Visitor, query: &str| {
            visitor.get(&format!("{audit}?{query}")).await.body
        };
        let page = of(&mut admin, "by=a@example.com&kind=merchant").await;
        assert!(page.contains("reason 14") && !page.contains("old@example.com"), "{page}");
        let (mut seen, mut next) = (0, format!("{audit}?by=a@example.com&kind=merchant"));
        loop {
            let page = admin.get(&next).await.body;
            seen += page.matches("data-label=\"Who\"").count();
            let Some((_, rest)) = page.split_once("rel=\"next\" href=\"") else { break };
            next = rest.split('"').next().unwrap().replace("&#38;", "&");
        }
        assert_eq!(seen, 30, "a change of the row and a note for each of fifteen");
        let day = of(&mut admin, "since=2020-02-29&until=2020-02-29").await;
        assert!(day.contains("old@example.com") && !day.contains("reason 1"), "{day}");
        assert!(!of(&mut admin, "since=2020-03-01&q=polygon").await.contains("old@example.com"));
        assert!(of(&mut admin, "q=polygon&kind=payout_stop").await.contains("old@example.com"));
        for odd in ["since=x", "older=x", "kind=%00", "q=%00&by=%27", "until=0000-00-00"] {
            assert_eq!(admin.get(&format!("{audit}?{odd}")).await.status, 200, "{odd}");
        }
        let text = of(&mut admin, "q=reason+3").await;
        assert!(text.contains("reason 3") && !text.contains("reason 4"), "{text}");
        let ours = between(&text, "data-label=\"Of\">", "</td>");
        assert!(ours.contains(&merchant.new.id.to_string()), "{ours}");
    })
    .await;
}
