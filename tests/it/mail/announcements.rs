//! Announcements by mail: one to each owner, whatever is pressed how often.

use gateway::{account::Role, app::mail::MailedAnnouncement};
use support::shop::{Shop, with_shop};
use uuid::Uuid;

use super::{mails_become, with_mailing_shop};

const BY: &str = "admin@example.com";

async fn account(shop: &Shop, email: &str, role: Role, merchant: Option<Uuid>) {
    shop.stack.gateway.create_account(email, role, merchant).await.unwrap();
}

/// Every membership is accepted, but for the one of `invited@example.com`.
async fn accepted(shop: &Shop) {
    shop.run(
        "update membership m set accepted_at = now() from account a
         where a.id = m.account_id and a.email <> 'invited@example.com'",
    )
    .await;
}

async fn announced(shop: &Shop, title: &str, body: &str) -> Uuid {
    let id = Uuid::now_v7();
    shop.stack.gateway.announce(id, (title, body), None, BY).await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn each_owner_gets_an_announcement_once_and_nobody_else_does() {
    with_mailing_shop("", |shop, server| async move {
        let (one, two) = (shop.merchant.new.id, shop.stack.merchant().await.new.id);
        for (email, role, merchant) in [
            ("ada@example.com", Role::Owner, Some(one)),
            ("ada@example.com", Role::Owner, Some(two)),
            ("bob@example.com", Role::Owner, Some(two)),
            ("developer@example.com", Role::Developer, Some(one)),
            ("viewer@example.com", Role::Viewer, Some(two)),
            ("invited@example.com", Role::Owner, Some(one)),
            ("left@example.com", Role::Owner, Some(one)),
            (BY, Role::Admin, None),
        ] {
            account(&shop, email, role, merchant).await;
        }
        accepted(&shop).await;
        shop.run("update account set disabled_at = now() where email = 'left@example.com'").await;
        let title = "The old <b>API</b> ends in May";
        let id = announced(&shop, title, "Use /v1.\nRead https://docs.example first.").await;
        let gateway = &shop.stack.gateway;
        let (first, second) =
            tokio::join!(gateway.mail_announcement(id, BY), gateway.mail_announcement(id, BY));
        let mut both = [first.unwrap(), second.unwrap()];
        both.sort_by_key(|one| *one == MailedAnnouncement::NotNow);
        assert_eq!(both, [MailedAnnouncement::Written(2), MailedAnnouncement::NotNow]);
        assert_eq!(server.taken().len(), 0, "nothing is sent before the commit");

        shop.stack.start_all();
        let mails = server.wait_for(2).await;
        let mut to: Vec<_> = mails.iter().flat_map(|mail| mail.to.clone()).collect();
        to.sort_unstable();
        assert_eq!(to, ["ada@example.com", "bob@example.com"]);
        for mail in &mails {
            assert_eq!(mail.header("subject").as_deref(), Some(title));
            assert!(mail.text().contains("Use /v1."), "{}", mail.text());
            let html = mail.html();
            assert!(html.contains("The old &lt;b&gt;API") && !html.contains("<b>"), "{html}");
            assert!(!html.contains("<a "), "no link to sign in by: {html}");
            assert!(mail.header("list-unsubscribe").is_none());
        }
        mails_become(&shop, "delivered", None, 2).await;
        assert_eq!(
            gateway.mail_announcement(id, BY).await.unwrap(),
            MailedAnnouncement::NotNow,
            "a later press changes nothing"
        );
        let kept = "select count(*) from mail where address is not null or contents is not null";
        assert_eq!(shop.number(kept).await, 0);
        let other = announced(&shop, "Another one", "").await;
        let written = gateway.mail_announcement(other, BY).await.unwrap();
        assert_eq!(written, MailedAnnouncement::Written(2));
        server.wait_for(4).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_announcement_counts_against_the_budget_of_its_address() {
    with_mailing_shop(
        "mail.per_address_day = 1\nmail.per_link_day = 1\n",
        |shop, server| async move {
            let id = shop.merchant.new.id;
            account(&shop, "ada@example.com", Role::Owner, Some(id)).await;
            account(&shop, "bob@example.com", Role::Owner, Some(id)).await;
            accepted(&shop).await;
            shop.stack.start_all();
            for (title, sent) in [("One", 2), ("Two", 2)] {
                let said = announced(&shop, title, "").await;
                shop.stack.gateway.mail_announcement(said, BY).await.unwrap();
                server.wait_for(sent).await;
                mails_become(&shop, "delivered", None, 2).await;
            }
            mails_become(&shop, "dropped", Some("address_budget"), 2).await;
            assert_eq!(server.taken().len(), 2);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_withdrawn_is_neither_mailed_nor_sent_any_more() {
    with_mailing_shop("", |shop, server| async move {
        account(&shop, "ada@example.com", Role::Owner, Some(shop.merchant.new.id)).await;
        accepted(&shop).await;
        let gateway = &shop.stack.gateway;
        let (early, late) = (announced(&shop, "A", "").await, announced(&shop, "B", "").await);
        assert!(gateway.withdraw_announcement(early).await.unwrap());
        let refused = gateway.mail_announcement(early, BY).await.unwrap();
        assert_eq!(refused, MailedAnnouncement::NotNow);
        let unknown = gateway.mail_announcement(Uuid::now_v7(), BY).await.unwrap();
        assert_eq!(unknown, MailedAnnouncement::NotNow);
        let written = gateway.mail_announcement(late, BY).await.unwrap();
        assert_eq!(written, MailedAnnouncement::Written(1));
        assert!(gateway.withdraw_announcement(late).await.unwrap());
        shop.stack.start_all();
        mails_become(&shop, "dropped", Some("outdated"), 1).await;
        assert_eq!(server.taken().len(), 0);
    })
    .await;
}

/// A row says who gets it, and never in which words.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_without_its_announcement_or_with_words_of_its_own_is_never_sent() {
    with_mailing_shop("", |shop, server| async move {
        account(&shop, "ada@example.com", Role::Owner, Some(shop.merchant.new.id)).await;
        accepted(&shop).await;
        let id = announced(&shop, "The words of the operator", "").await;
        shop.stack.gateway.mail_announcement(id, BY).await.unwrap();
        shop.run(
            "insert into mail (id, kind, subject, recipient, merchant_id, language, address, next_attempt_at, expires_at)
             select gen_random_uuid(), kind, gen_random_uuid(), recipient, merchant_id, language, address, now(),
                    expires_at from mail",
        )
        .await;
        shop.run(
            "update mail set contents = '{\"announcement\":{\"title\":\"Pay the thief\",\"body\":\"\"}}'",
        )
        .await;
        shop.stack.start_all();
        let mails = server.wait_for(1).await;
        assert_eq!(mails[0].header("subject").as_deref(), Some("The words of the operator"));
        mails_become(&shop, "delivered", None, 1).await;
        let dead = "select count(*) from mail where state = 'dead'";
        support::server::broker::eventually("the other one is given up", async || {
            (shop.number(dead).await == 1).then_some(())
        })
        .await;
        assert_eq!(server.taken().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_settings_an_announcement_is_a_banner_alone() {
    with_shop(|shop| async move {
        account(&shop, "ada@example.com", Role::Owner, Some(shop.merchant.new.id)).await;
        accepted(&shop).await;
        let id = announced(&shop, "A", "").await;
        let done = shop.stack.gateway.mail_announcement(id, BY).await.unwrap();
        assert_eq!(done, MailedAnnouncement::MailsAreOff);
        assert_eq!(shop.number("select count(*) from mail").await, 0);
    })
    .await;
}
