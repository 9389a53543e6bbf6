//! The mailer cannot be used as a relay.

use super::{donated, donations, link, mails_become, paid, with_mailing_shop};

#[tokio::test(flavor = "multi_thread")]
async fn an_address_gets_so_many_mails_a_day_over_all_links() {
    with_mailing_shop("mail.per_address_day = 2\n", |shop, server| async move {
        shop.stack.start_all();
        let links = [donations(&shop).await, donations(&shop).await, donations(&shop).await];
        for link_id in &links {
            donated(&shop, link_id, "victim@example.com").await;
        }
        mails_become(&shop, "dropped", Some("address_budget"), 1).await;
        donated(&shop, &links[0], "ada@example.com").await;
        server.wait_for(3).await;
        mails_become(&shop, "delivered", None, 3).await;
        let to: Vec<_> = server.taken().into_iter().flat_map(|mail| mail.to).collect();
        assert_eq!(to.iter().filter(|to| *to == "victim@example.com").count(), 2, "{to:?}");
        // The next day there is room again.
        shop.run("update mail_budget set day = day - 1").await;
        donated(&shop, &links[0], "victim@example.com").await;
        server.wait_for(4).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_sends_so_many_mails_a_day_and_a_retry_is_not_another() {
    with_mailing_shop("mail.per_link_day = 2\n", |shop, server| async move {
        shop.stack.start_all();
        let link_id = donations(&shop).await;
        server.answer_first(&[support::server::smtp::Answer::Recipient(450)]);
        donated(&shop, &link_id, "a@example.com").await;
        mails_become(&shop, "retry_wait", Some("the relay answered 450"), 1).await;
        super::hurry(&shop).await;
        donated(&shop, &link_id, "b@example.com").await;
        server.wait_for(2).await;
        donated(&shop, &link_id, "c@example.com").await;
        mails_become(&shop, "dropped", Some("link_budget"), 1).await;
        let other = donations(&shop).await;
        donated(&shop, &other, "c@example.com").await;
        server.wait_for(3).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_s_title_changes_no_header_and_is_no_markup() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let title = "</p><img src=//evil.example> Subject: x \u{202e}";
        let body = serde_json::json!({ "type": "donation", "title": title });
        let path = format!("/l/{}", link(&shop, body).await);
        paid(&shop, &path, &[("amount", "10"), ("donor_email", "ada@example.com")]).await;
        let mail = server.wait_for(1).await.remove(0);
        assert_eq!(mail.header("subject").as_deref(), Some("Receipt for USD\u{a0}10.00"));
        let html = mail.html();
        assert!(!html.contains("<img") && !html.contains('\u{202e}'), "{html}");
        assert_eq!(mail.to, ["ada@example.com"]);
    })
    .await;
}
