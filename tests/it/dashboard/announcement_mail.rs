//! The button that mails an announcement: for admins, where mails are sent, once.

use gateway::account::Role;
use support::server::{
    broker::eventually,
    smtp::{Answer as SmtpAnswer, MailServer},
    stack::with_configured_stack,
};

use super::{Desk, between, with_desk};

const HERE: &str = "/operator/announcements";

/// Publishes an announcement, and returns its id.
async fn published(admin: &mut super::Visitor, title: &str) -> String {
    let page = admin.get(HERE).await.body;
    let id = between(&page, "name=\"id\" value=\"", "\"").to_owned();
    let fields = [("id", id.as_str()), ("title", title), ("body", "Use /v1."), ("days", "")];
    assert_eq!(admin.post(HERE, &fields).await.status, 303);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_is_mailed_once_by_an_admin_and_its_card_says_so() {
    let server = MailServer::start().await;
    with_configured_stack(&crate::mail::settings(&server), |stack| async move {
        stack.start_all();
        let (gateway, address) = stack.dashboard("").await;
        let desk = Desk { stack, gateway, address };
        let merchant = desk.merchant().await;
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        desk.signed_in("v@example.com", Role::Viewer, Some(&merchant)).await;
        let id = published(&mut admin, "The old API ends in May").await;
        let path = format!("{HERE}/{id}/mail");
        assert!(admin.get(HERE).await.body.contains("data-action=\"announcement.mail\""));
        assert!(!support.get(HERE).await.body.contains("data-action=\"announcement.mail\""));
        assert_eq!(support.post(&path, &[]).await.status, 403);

        // Whoever took over a session cannot write to everybody.
        desk.stack.sql("update account_session set confirmed_at = null").await;
        let asked = admin.post(&path, &[]).await;
        assert_eq!(asked.header("location"), Some("/account/confirm?for=announcement.mail"));
        desk.stack.sql("update account_session set confirmed_at = now()").await;
        let done = admin.post(&path, &[]).await;
        let to = format!("{HERE}?done=mailed&count=1");
        assert_eq!(done.header("location"), Some(to.as_str()), "{}", done.body);
        let again = admin.post(&path, &[]).await;
        assert_eq!(again.status, 409);
        assert!(again.body.contains("mailed before"), "{}", again.body);

        let page = admin.get(&to).await.body;
        assert!(page.contains("Mails to 1 owners are written"), "{page}");
        assert!(page.contains("; mailed 2"), "{page}");
        assert!(!page.contains("data-action=\"announcement.mail\""), "{page}");
        let mails = server.wait_for(1).await;
        assert_eq!(mails[0].to, ["o@example.com"]);
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        let acts: Vec<_> = audit.iter().map(|entry| entry.act.as_str()).collect();
        assert_eq!(acts, ["update", "insert"], "the mailing is noted");
        assert!(audit.iter().all(|entry| entry.operator == "a@example.com"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_that_were_given_up_are_sent_again_by_their_cause() {
    let server = MailServer::start().await;
    server.answer_first(&[SmtpAnswer::Data(554), SmtpAnswer::Data(554)]);
    with_configured_stack(&crate::mail::settings(&server), |stack| async move {
        stack.start_all();
        let (gateway, address) = stack.dashboard("").await;
        let desk = Desk { stack, gateway, address };
        let (one, two) = (desk.merchant().await, desk.merchant().await);
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        desk.signed_in("o@example.com", Role::Owner, Some(&one)).await;
        desk.signed_in("p@example.com", Role::Owner, Some(&two)).await;
        let id = published(&mut admin, "The old API ends in May").await;
        assert_eq!(admin.post(&format!("{HERE}/{id}/mail"), &[]).await.status, 303);
        let letters = "/operator/dead-letters";
        let page = eventually("both are given up", async || {
            let groups = desk.gateway.dead_mail_groups().await.unwrap();
            let both = groups.first().is_some_and(|group| group.count == 2);
            if both { Some(support.get(letters).await.body) } else { None }
        })
        .await;
        assert!(page.contains("the relay answered 554") && !page.contains("o@example.com"));
        assert!(!page.contains("action=\"/operator/dead-letters/mails\""), "support only looks");
        let other = [("kind", "receipt"), ("cause", "the relay answered 554")];
        let path = format!("{letters}/mails");
        admin.get(letters).await;
        let none = admin.post(&path, &other).await;
        let to = format!("{letters}?mails=0#mails");
        assert_eq!(none.header("location"), Some(to.as_str()), "{}", none.body);
        assert_eq!(admin.post(&path, &[("kind", "x"), ("cause", "")]).await.status, 404);
        let group = [("kind", "announcement"), ("cause", "the relay answered 554")];
        for _ in 0..2 {
            assert_eq!(admin.post(&path, &group).await.status, 303);
        }
        server.wait_for(2).await;
        eventually("none is left", async || {
            let groups = desk.gateway.dead_mail_groups().await.unwrap();
            groups.is_empty().then_some(())
        })
        .await;
        assert_eq!(server.taken().len(), 2, "twice starts one cycle");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_mails_there_is_no_button_and_a_forged_press_does_nothing() {
    with_desk(|desk| async move {
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let id = published(&mut admin, "The old API ends in May").await;
        let page = admin.get(HERE).await.body;
        assert!(page.contains("No mail is sent from here"), "{page}");
        assert!(!page.contains("data-action=\"announcement.mail\""), "{page}");
        let refused = admin.post(&format!("{HERE}/{id}/mail"), &[]).await;
        assert_eq!(refused.status, 409);
        assert_eq!(admin.post(&format!("{HERE}/x/mail"), &[]).await.status, 404);
    })
    .await;
}
