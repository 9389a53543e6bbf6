//! Receipts, in the language of the page, once, with nothing in them that a stranger wrote.

use gateway::mail::Language;
use serde_json::json;

use super::{
    advance, donated, donations, mails_become, newest_subscription, paid, subscriptions,
    with_mailing_shop,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_donor_gets_one_receipt_without_his_own_words() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let link_id = donations(&shop).await;
        let fields = [
            ("amount", "12.50"),
            ("donor_name", "NAME-CANARY\r\nBcc: x@evil.example"),
            ("donor_email", "Ada@Example.com"),
            ("message", "MESSAGE-CANARY"),
        ];
        let payment = paid(&shop, &format!("/l/{link_id}"), &fields).await;
        let mail = server.wait_for(1).await.remove(0);
        assert_eq!(
            (mail.from.as_str(), &*mail.to),
            ("receipts@shop.example", &["ada@example.com".to_owned()][..])
        );
        for (name, value) in [
            ("from", "Shop <receipts@shop.example>"),
            ("to", "ada@example.com"),
            ("subject", "Receipt for USD\u{a0}12.50"),
            ("auto-submitted", "auto-generated"),
        ] {
            assert_eq!(mail.header(name).as_deref(), Some(value), "{name}");
        }
        let id = mail.header("message-id").unwrap();
        assert!(id.ends_with("@shop.example>"), "{id}");
        let names = mail.header_names();
        for absent in ["List-Unsubscribe", "List-Unsubscribe-Post", "Bcc", "Cc", "Reply-To"] {
            assert!(!names.iter().any(|name| name.eq_ignore_ascii_case(absent)), "{names:?}");
        }
        let url = format!("http://{}/pay/{payment}", shop.stack.checkout);
        for body in [mail.text(), mail.html()] {
            for part in ["Two cups", "USD\u{a0}12.50", "12.5 USDT (polygon)", url.as_str()] {
                assert!(body.contains(part), "{part}: {body}");
            }
            assert!(!body.contains("CANARY"), "{body}");
        }
        for loads in ["src=", "url(", "<link", "<script", "<img"] {
            assert!(!mail.html().contains(loads), "{loads}");
        }
        mails_become(&shop, "delivered", None, 1).await;
        // A deposit after the end makes no second one, and the row has forgotten the address.
        shop.pay(&payment, "1").await;
        shop.webhook(2).await;
        assert_eq!(shop.number("select count(*) from mail").await, 1);
        assert_eq!(
            shop.number("select count(*) from mail where mail::text ilike '%ada@%'").await,
            0
        );
        assert_eq!(shop.number("select count(*) from mail_attempt where code is null").await, 1);
        assert_eq!(server.taken().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_is_written_in_the_language_of_the_page() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let link_id = donations(&shop).await;
        for (number, (language, subject, direction)) in [
            ("de", "Quittung über 10,00\u{a0}USD", "ltr"),
            ("ar", "إيصال بمبلغ \u{2068}10.00\u{a0}USD\u{2069}", "rtl"),
            ("ja", "USD\u{a0}10.00 のお支払い明細", "ltr"),
        ]
        .into_iter()
        .enumerate()
        {
            let path = format!("/l/{link_id}?lang={language}");
            let address = format!("{language}@example.com");
            paid(&shop, &path, &[("amount", "10"), ("donor_email", &address)]).await;
            let mail = server.wait_for(number + 1).await.remove(number);
            assert_eq!(mail.header("subject").as_deref(), Some(subject));
            let html = mail.html();
            assert!(html.contains(&format!("lang=\"{language}\" dir=\"{direction}\"")), "{html}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_holds_every_language_where_it_holds_one() {
    with_mailing_shop("", |shop, _| async move {
        let mut connection = shop.stack.database.connect().await;
        let sets: Vec<String> = sqlx::query_scalar(
            "select pg_get_constraintdef(oid) from pg_constraint \
             where contype = 'c' and convalidated and conname like '%\\_language\\_known'",
        )
        .fetch_all(&mut connection)
        .await
        .unwrap();
        assert_eq!(sets.len(), 3, "{sets:?}");
        for set in &sets {
            assert_eq!(set.matches('\'').count(), 2 * Language::ALL.len(), "{set}");
            assert!(Language::ALL.iter().all(|one| set.contains(&format!("'{one}'"))), "{set}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_address_there_is_no_receipt() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let link_id = donations(&shop).await;
        let path = format!("/l/{link_id}");
        paid(&shop, &path, &[("amount", "10")]).await;
        let anonymous =
            [("amount", "11"), ("donor_email", "canary@example.com"), ("anonymous", "1")];
        paid(&shop, &path, &anonymous).await;
        let invoice = shop.invoice().await;
        shop.pay(&invoice, "100").await;
        shop.becomes(&invoice, gateway::invoice::Status::Paid).await;
        donated(&shop, &link_id, "ada@example.com").await;
        let taken = server.wait_for(1).await;
        assert_eq!(taken[0].to, ["ada@example.com"]);
        assert_eq!(shop.number("select count(*) from mail").await, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_paid_cycle_of_a_subscription_has_a_receipt() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start_all();
        let path = format!("/l/{}", subscriptions(&shop).await);
        paid(&shop, &path, &[("email", "ada@example.com")]).await;
        paid(&shop, &path, &[("email", "ada@example.com"), ("once", "")]).await;
        let taken = server.wait_for(2).await;
        assert!(
            taken
                .iter()
                .all(|mail| mail.header("subject").unwrap() == "Receipt for USD\u{a0}10.00")
        );
        assert_ne!(taken[0].header("message-id"), taken[1].header("message-id"));
        let one = newest_subscription(&shop).await;
        assert_eq!(one["subscription_cycle"], json!(2));
        // Paid ahead: nothing is due for a while, so nobody is reminded.
        advance(&shop, &one, 30).await;
        shop.stack.gateway.remind_subscribers().await.unwrap();
        assert_eq!(shop.number("select count(*) from mail where kind = 'reminder'").await, 0);
    })
    .await;
}
