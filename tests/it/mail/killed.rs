//! The role as a program of its own: killed around an attempt, and listened to.

use std::time::Duration;

use gateway_workers::Role;
use support::{
    client::Client,
    fault::fired::died_at,
    server::{
        installation::Installation,
        smtp::{Answer, MailServer},
    },
    shop::Shop,
};

use super::{donated, donations, hurry, mails_become, with_mailing_shop};

const DEATH_LIMIT: Duration = Duration::from_secs(90);

/// Programs over the same database and broker, with all that they can say in their logs.
fn programs(shop: &Shop, server: &MailServer) -> Installation {
    let address = server.address.to_string();
    let checkout = shop.stack.gateway.config.checkout_url.clone();
    let more = [
        // As all programs of an installation: no mail leads anywhere else.
        ("GATEWAY_CHECKOUT_URL", checkout.as_str()),
        ("GATEWAY_MAIL__ENABLED", "true"),
        ("GATEWAY_MAIL__SERVER", address.as_str()),
        ("GATEWAY_MAIL__SECURITY", "none"),
        ("GATEWAY_MAIL__FROM", "Shop <receipts@shop.example>"),
        ("RUST_LOG", "trace"),
    ];
    Installation::new(&shop.stack.database.url, &(&*shop.stack.broker).into(), &more)
}

fn all_others() -> Vec<Role> {
    Role::ALL.into_iter().filter(|role| *role != Role::MailDelivery).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailer_killed_around_an_attempt_loses_no_mail_and_repeats_only_what_was_in_doubt() {
    for (moment, copies) in [("mail.begun", 1), ("mail.sent", 2), ("mail.recorded", 1)] {
        with_mailing_shop("", |shop, server| async move {
            shop.stack.start(&all_others());
            let programs = programs(&shop, &server);
            let role = ["mail-delivery"];
            let victim = programs.launch("gateway-worker", &role, &[("FAIL_POINT", moment)]);
            let link_id = donations(&shop).await;
            donated(&shop, &link_id, "ada@example.com").await;
            victim.process.ended(DEATH_LIMIT).await;
            let said = victim.process.said();
            assert!(said.contains(&format!("dies at {moment}")), "{moment}: {said}");
            died_at(moment);
            let _successor = programs.start_workers(&role).await;
            // While the lease lasts, the message that comes back is stale; then the row is due.
            shop.run(
                "update mail set leased_until = now() - interval '1 second', next_attempt_at = now()
                 where state in ('pending', 'retry_wait')",
            )
            .await;
            mails_become(&shop, "delivered", None, 1).await;
            let taken = server.wait_for(copies).await;
            assert_eq!(taken.len(), copies, "{moment}");
            assert!(
                taken.iter().all(|mail| mail.header("message-id") == taken[0].header("message-id"))
            );
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_address_is_in_the_mailer_s_log() {
    with_mailing_shop("", |shop, server| async move {
        shop.stack.start(&all_others());
        let programs = programs(&shop, &server);
        let mailer = programs.start_workers(&["mail-delivery"]).await;
        server.answer_first(&[Answer::Recipient(451), Answer::Recipient(550)]);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "canary@example.com").await;
        mails_become(&shop, "retry_wait", Some("the relay answered 451"), 1).await;
        hurry(&shop).await;
        mails_become(&shop, "dropped", Some("the relay answered 550, there is no such mailbox"), 1)
            .await;
        donated(&shop, &link_id, "canary@example.com").await;
        server.wait_for(1).await;
        mails_become(&shop, "delivered", None, 1).await;
        let log = mailer.process.output();
        assert!(log.contains("mail attempt: delivered"), "{}", mailer.process.said());
        assert!(!log.contains("canary"), "an address is in the log");
        let page = Client::new(mailer.metrics()).get("/metrics").await.body;
        for line in [
            "mail_attempts_total{outcome=\"retry_later\"} 1",
            "mail_attempts_total{outcome=\"dropped\"} 1",
            "mail_attempts_total{outcome=\"delivered\"} 1",
            "mail_attempt_seconds_count 3",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
        assert!(!page.contains("canary"), "an address is in a metric");
    })
    .await;
}
