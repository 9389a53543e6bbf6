//! Attacks on forms and pages (attacks A28, A29, A31, A59).

use gateway::account::{Role, action::Scope};
use gateway_dashboard::routes;
use http::Method;

use super::{PASSWORD, payment, with_desk};

#[tokio::test(flavor = "multi_thread")]
async fn no_form_is_taken_from_another_origin_or_without_its_token() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = payment(&merchant, "one").await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let (token, ours) = (owner.token.clone(), desk.gateway.config.dashboard_url.clone());
        let checkout = desk.gateway.config.checkout_url.clone();
        for route in routes().iter().filter(|route| route.method == Method::POST) {
            let path = route.path.replace("{id}", &id).replace("{handle}", &id);
            let path = path.replace("{token}", &"ab".repeat(32));
            for origin in
                [None, Some("null"), Some(checkout.as_str()), Some("https://evil.example")]
            {
                let answer = owner.clone().post_as(&path, &[], &token, origin).await;
                assert_eq!(answer.status, 403, "{path} from {origin:?}");
                assert!(answer.body.contains("came from another site"), "{}", answer.body);
            }
            let odd = "\u{e9}".repeat(48);
            for wrong in ["", "ab", &"ab".repeat(32), &odd, owner.session().unwrap()] {
                let answer = owner.clone().post_as(&path, &[], wrong, Some(&ours)).await;
                assert_eq!(answer.status, 403, "{path} with {wrong}");
            }
            if route.action.scope() != Scope::Anyone {
                let mut other = desk.signed_in_again("o@example.com").await;
                other.get("/account").await;
                let answer = owner.clone().post_as(&path, &[], &other.token, Some(&ours)).await;
                assert_eq!(answer.status, 403, "{path} with the token of another session");
            }
        }
        let status = merchant.client.get(&format!("/v1/payment/{id}")).await.json();
        assert_eq!(status["payment_status"], "waiting");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_tab_does_not_act_on_a_merchant_that_was_chosen_later() {
    with_desk(|desk| async move {
        let (one, two) = (desk.merchant().await, desk.merchant().await);
        let email = "both@example.com";
        desk.signed_in(email, Role::Owner, Some(&one)).await;
        desk.gateway.create_account(email, Role::Owner, Some(two.new.id)).await.unwrap();
        let mut here = desk.signed_in_again(email).await;
        let (one, two) = (one.new.id.to_string(), two.new.id.to_string());
        here.get("/account").await;
        here.post("/account/merchant", &[("merchant", &one)]).await;
        here.get("/team").await;
        let mut other_tab = here.clone();
        here.post("/account/merchant", &[("merchant", &two)]).await;
        let fields = [("email", "new@example.com"), ("role", "viewer")];
        let refused = other_tab.post("/team", &fields).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(refused.body.contains("The form is too old"), "{}", refused.body);
        let ours = Some(desk.gateway.config.dashboard_url.clone());
        let short = other_tab.token[..64].to_owned();
        let cut = other_tab.post_as("/team", &fields, &short, ours.as_deref()).await;
        assert_eq!(cut.status, 403, "a token without its merchant");
        // What is about no merchant goes on, and leads back to that one.
        let back = other_tab.post("/account/merchant", &[("merchant", &one)]).await;
        assert_eq!(back.header("location"), Some("/"), "{}", back.body);
        assert_eq!(other_tab.post("/team", &fields).await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zero_in_a_path_or_a_field_does_not_reach_the_database() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        for path in ["/payments/a%00b", "/events/%00", "/payouts/%00"] {
            assert_eq!(owner.get(path).await.status, 404, "{path}");
        }
        assert_eq!(owner.get("/payments?q=a%00b").await.status, 200);
        owner.get("/team").await;
        let made = owner.post("/team", &[("email", "n\0ew@example.com"), ("role", "viewer")]).await;
        assert_eq!(made.status, 200, "{}", made.body);
        assert!(owner.get("/team").await.body.contains("<bdi>new@example.com</bdi>"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_and_settings_need_a_fresh_proof() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited("o@example.com", Role::Owner, Some(&merchant)).await;
        desk.stack
            .sql("update account_session set confirmed_at = now() - interval '6 minutes'")
            .await;
        owner.get("/developers").await;
        for route in routes().iter().filter(|route| route.action.needs_confirmation()) {
            if route.action.scope() != Scope::Operator {
                let answer = owner.post(route.path, &[]).await;
                let wanted = format!("/account/confirm?for={}", route.action);
                assert_eq!(answer.header("location"), Some(wanted.as_str()), "{}", route.path);
            }
        }
        let before = owner.session().unwrap().to_owned();
        let fields = |password| [("for", "key.rotate"), ("password", password)];
        owner.get("/account/confirm?for=key.rotate").await;
        let wrong = owner.post("/account/confirm", &fields("a wrong password")).await;
        assert_eq!(wrong.status, 422);
        // The way on is a name of the table, so it leads nowhere else.
        let evil = [("for", "https://evil.example"), ("password", PASSWORD)];
        let answer = owner.clone().post("/account/confirm", &evil).await;
        assert_eq!(answer.header("location"), Some("/account"));
        let mut owner = desk.by_password("o@example.com", PASSWORD).await.0;
        owner.get("/account/confirm?for=key.rotate").await;
        let right = owner.post("/account/confirm", &fields(PASSWORD)).await;
        assert_eq!(right.header("location"), Some("/developers"), "{}", right.body);
        assert_ne!(owner.session().unwrap(), before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_proof_leads_back_to_the_page_of_what_was_acted_on() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited("o@example.com", Role::Owner, Some(&merchant)).await;
        desk.stack
            .sql("update account_session set confirmed_at = now() - interval '6 minutes'")
            .await;
        owner.get("/payouts").await;
        let asked = owner.post("/payouts/po_1/confirm", &[]).await;
        let confirm = "/account/confirm?for=payout.confirm&id=po_1";
        assert_eq!(asked.header("location"), Some(confirm), "{}", asked.body);
        let page = owner.get(confirm).await.body;
        assert!(page.contains("name=\"id\" value=\"po_1\""), "{page}");
        let fields = [("for", "payout.confirm"), ("id", "po_1"), ("password", PASSWORD)];
        let answer = owner.post("/account/confirm", &fields).await;
        assert_eq!(answer.header("location"), Some("/payouts/po_1"), "{}", answer.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_no_form_has_changes_nothing() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let page = owner.get("/settings").await;
        let version = super::between(&page.body, "name=\"version\" value=\"", "\"").to_owned();
        let fields = [
            ("version", version.as_str()),
            ("name", "Renamed"),
            ("overpay_bps", "100"),
            ("payment_window", "900"),
            ("selection_window", "900"),
            ("accept_all", "yes"),
            ("open_invoices_max", "1000000"),
            ("suspended_at", ""),
            ("api_key_preview", "0000"),
            ("id", "00000000-0000-0000-0000-000000000000"),
        ];
        let saved = owner.post("/settings", &fields).await;
        assert_eq!(saved.status, 303, "{}", saved.body);
        let row = desk.gateway.merchant(merchant.new.id).await.unwrap();
        assert_eq!((row.name.as_str(), row.overpay_bps), ("Renamed", 100));
        assert_eq!(row.open_invoices_max, 500);
        assert_ne!(row.api_key_preview, "0000");
        // The form was opened before that change: now it changes nothing, and says so.
        let stale = owner.post("/settings", &fields).await;
        assert_eq!(stale.status, 422);
        assert!(stale.body.contains("somebody changed this meanwhile"), "{}", stale.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_fenced_in() {
    with_desk(|desk| async move {
        let mut visitor = desk.visitor();
        for path in ["/sign-in", "/account", "/nowhere", "/invite/x"] {
            let answer = visitor.get(path).await;
            let policy = answer.header("content-security-policy").unwrap();
            for part in ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe") && !policy.contains("http"), "{path}: {policy}");
            for (name, value) in [
                ("referrer-policy", "same-origin"),
                ("x-content-type-options", "nosniff"),
                ("x-frame-options", "DENY"),
                ("cache-control", "no-store"),
            ] {
                assert_eq!(answer.header(name), Some(value), "{path} {name}");
            }
        }
        let page = desk.visitor().get("/sign-in").await;
        let line = page.header("set-cookie").unwrap();
        assert!(line.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{line}");
        let style = super::between(&page.body, "<link rel=\"stylesheet\" href=\"", "\"").to_owned();
        let style = visitor.get(&style).await;
        assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
        assert!(style.body.len() < 20_000);
        let owner = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&owner)).await;
        let page = owner.get("/account").await;
        let script = super::between(&page.body, "<script src=\"", "\"").to_owned();
        let script = visitor.get(&script).await;
        assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
        assert!(script.header("cache-control").unwrap().contains("immutable"));
        // The first view, with everything it loads.
        assert!(page.body.len() + style.body.len() + script.body.len() < 100 * 1024);
    })
    .await;
}
