//! Invitations by mail: the address goes to the invited alone, and is stored in clear nowhere.

use gateway::account::Role;
use support::server::{
    broker::eventually,
    smtp::{Answer as SmtpAnswer, MailServer},
    stack::with_configured_stack,
};

use super::{Desk, PASSWORD, Visitor, between, path_of, with_desk};

const NEW: &str = "new@example.com";

/// The dashboard of the workers' settings.
const DASHBOARD: &str = "dashboard_url = \"http://localhost:8082\"\n";

/// A stack whose mails go to a server of its own, with its workers running, and a dashboard with
/// `toml` on top.
async fn with_mails<F: Future<Output = ()>>(toml: &str, test: impl FnOnce(Desk, MailServer) -> F) {
    let server = MailServer::start().await;
    with_configured_stack(&crate::mail::settings(&server), |stack| async move {
        stack.start_all();
        let (gateway, address) = stack.dashboard(toml).await;
        test(Desk { stack, gateway, address }, server).await;
    })
    .await;
}

async fn invite(visitor: &mut Visitor, path: &str, email: &str, way: &str) -> super::Answer {
    visitor.post(path, &[("email", email), ("role", "viewer"), ("way", way)]).await
}

/// The address in a mail.
fn address(text: &str) -> String {
    between(text, "Accept the invitation:\n", "\n").trim().to_owned()
}

/// All mails' contents as they are stored.
async fn stored(desk: &Desk) -> String {
    let mut connection = desk.stack.database.connect().await;
    let query = "select coalesce(string_agg(coalesce(contents, ''), ' '), '') from mail";
    sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailed_invitation_is_seen_by_the_invited_alone_and_works_once() {
    with_mails(DASHBOARD, |desk, server| async move {
        // The first attempt fails, so that the row can be looked at.
        server.answer_first(&[SmtpAnswer::Data(451)]);
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        assert!(owner.get("/team").await.body.contains("value=\"mail\""));
        let done = invite(&mut owner, "/team", NEW, "mail").await;
        assert_eq!(done.header("location"), Some("/team?done=mailed"), "{}", done.body);
        let page = owner.get("/team?done=mailed").await.body;
        assert!(page.contains("The mail is on its way") && !page.contains("/invite/"), "{page}");
        eventually("the mail waits for its next attempt", async || {
            let page = owner.clone().get("/team").await.body;
            page.contains("is tried again").then_some(())
        })
        .await;
        let sealed = stored(&desk).await;
        assert!(sealed.contains("sealed_url") && !sealed.contains("invite/"), "{sealed}");

        desk.stack.sql("update mail set next_attempt_at = now() where state = 'retry_wait'").await;
        let mails = server.wait_for(1).await;
        assert_eq!(mails[0].to, [NEW]);
        let text = &mails[0].text();
        for part in ["Role: viewer", "Invited by: o@example.com"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let url = address(text);
        assert!(url.starts_with(&desk.gateway.config.dashboard_url), "{url}");
        let (mut visitor, path) = (desk.visitor(), path_of(&url));
        // Mail scanners open links.
        for _ in 0..2 {
            assert_eq!(visitor.get(&path).await.status, 200);
        }
        let accepted = visitor.post(&path, &[("password", PASSWORD)]).await;
        assert_eq!(accepted.header("location"), Some("/account"), "{}", accepted.body);
        assert_eq!(desk.visitor().get(&path).await.status, 410, "it works once");
        eventually("nothing of it is left in the row", async || {
            stored(&desk).await.trim().is_empty().then_some(())
        })
        .await;
        let recent = owner.get("/account").await.body;
        assert!(recent.contains("new@example.com as viewer, by mail"), "{recent}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_that_was_taken_back_is_not_mailed_and_a_dead_mail_is_told() {
    with_mails(DASHBOARD, |desk, server| async move {
        server.answer_first(&[SmtpAnswer::Data(451), SmtpAnswer::Data(554)]);
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        owner.get("/team").await;
        assert_eq!(invite(&mut owner, "/team", NEW, "mail").await.status, 303);
        let page = eventually("the mail waits for its next attempt", async || {
            let page = owner.clone().get("/team").await.body;
            page.contains("is tried again").then_some(page)
        })
        .await;
        let (_, rest) = page.split_once(&format!("<bdi>{NEW}</bdi>")).unwrap();
        let id = between(rest, "action=\"/team/", "/role\"").to_owned();
        assert_eq!(owner.post(&format!("/team/{id}/remove"), &[]).await.status, 303);
        desk.stack.sql("update mail set next_attempt_at = now() where state = 'retry_wait'").await;
        eventually("it is dropped", async || {
            let mut connection = desk.stack.database.connect().await;
            let query =
                "select count(*) from mail where state = 'dropped' and last_error = 'outdated'";
            let count: i64 = sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap();
            (count == 1).then_some(())
        })
        .await;
        assert!(server.taken().is_empty());
        assert_eq!(stored(&desk).await.trim(), "");

        assert_eq!(invite(&mut owner, "/team", "dead@example.com", "mail").await.status, 303);
        eventually("the page says that the mail is dead", async || {
            let page = owner.clone().get("/team").await.body;
            page.contains("could not be delivered").then_some(())
        })
        .await;
        // The other way stays, and ends the first invitation.
        let shown = invite(&mut owner, "/team", "dead@example.com", "shown").await;
        assert!(shown.body.contains("<code class=\"once\">"), "{}", shown.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_that_leads_elsewhere_than_to_the_workers_dashboard_is_not_sent() {
    with_mails("", |desk, server| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        owner.get("/team").await;
        assert_eq!(invite(&mut owner, "/team", NEW, "mail").await.status, 303);
        eventually("the page says that the mail is dead", async || {
            let page = owner.clone().get("/team").await.body;
            page.contains("could not be delivered").then_some(())
        })
        .await;
        assert!(server.taken().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_owner_is_invited_by_mail_an_operator_is_not_and_a_team_mails_no_flood() {
    with_mails(DASHBOARD, |desk, server| async move {
        let merchant = desk.merchant().await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let here = format!("/operator/merchants/{}", merchant.new.id);
        assert!(admin.get(&here).await.body.contains("value=\"mail\""));
        let done = invite(&mut admin, &format!("{here}/owner"), NEW, "mail").await;
        let to = format!("{here}?done=mailed");
        assert_eq!(done.header("location"), Some(to.as_str()), "{}", done.body);
        assert!(admin.get(&to).await.body.contains("The mail is on its way"));
        let mails = server.wait_for(1).await;
        assert!(mails[0].text().contains("Role: owner"), "{}", mails[0].text());
        assert_eq!(desk.visitor().get(&path_of(&address(&mails[0].text()))).await.status, 200);

        let page = admin.get("/operator/accounts").await.body;
        assert!(!page.contains("value=\"mail\""), "{page}");
        let fields = [("email", "b@example.com"), ("role", "operator-support"), ("way", "mail")];
        let refused = admin.post("/operator/accounts", &fields).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("No mail is sent from here"), "{}", refused.body);

        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        owner.get("/team").await;
        desk.stack
            .sql("update guess_budget set guesses = 20 where key like 'invitation-mail:%'")
            .await;
        let over = invite(&mut owner, "/team", "c@example.com", "mail").await;
        assert_eq!(over.status, 422);
        assert!(over.body.contains("Too many invitations by mail"), "{}", over.body);
        let page = owner.get("/team").await.body;
        assert!(!page.contains("c@example.com"), "nobody is invited without his mail: {page}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mails_the_address_is_shown_and_a_forged_choice_does_nothing() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        assert!(!owner.get("/team").await.body.contains("value=\"mail\""));
        let refused = invite(&mut owner, "/team", NEW, "mail").await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("No mail is sent from here"), "{}", refused.body);
        assert!(!owner.get("/team").await.body.contains("not accepted yet"));
        let shown = invite(&mut owner, "/team", NEW, "").await;
        assert!(shown.body.contains("<code class=\"once\">"), "{}", shown.body);
    })
    .await;
}
