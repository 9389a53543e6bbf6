//! Mails are off by default, and half a setting is refused.

use gateway::config::Config;
use gateway_workers::Role;
use support::{server::smtp::MailServer, shop::with_shop};

use super::{donated, donations, settings, with_mailing_shop};

#[tokio::test(flavor = "multi_thread")]
async fn without_settings_no_mail_is_written_and_the_role_waits() {
    with_shop(|shop| async move {
        shop.stack.lift_rate_limits().await;
        let (stop, workers) = shop.stack.start(&Role::ALL);
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        assert_eq!(shop.number("select count(*) from mail").await, 0);
        stop.cancel();
        for worker in workers {
            worker.await.unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_s_password_is_sent_to_the_relay_alone() {
    let more = "mail.user = \"shop\"\nmail.password = \"PASSWORD-CANARY\"\n";
    with_mailing_shop(more, |shop, server| async move {
        shop.stack.start_all();
        let link_id = donations(&shop).await;
        donated(&shop, &link_id, "ada@example.com").await;
        server.wait_for(1).await;
        assert_eq!(server.credentials(), ["shop PASSWORD-CANARY"]);
        let kept = "select count(*) from mail m where m::text like '%CANARY%'";
        assert_eq!(shop.number(kept).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_setting_is_refused_by_name() {
    let server = MailServer::start().await;
    let base = "database_url = \"postgres://u:p@localhost/x\"\namqp_url = \"amqp://localhost/x\"\n\
                master_key = \"1111111111111111111111111111111111111111111111111111111111111111\"\n";
    let load =
        |toml: &str| Config::from_toml(&format!("{base}{toml}")).err().map(|e| e.to_string());
    assert_eq!(load(""), None);
    assert_eq!(load(&settings(&server)), None);
    for (toml, named) in [
        ("mail.enabled = true\nmail.from = \"a@b.example\"\n", "GATEWAY_MAIL__SERVER"),
        (
            "mail.enabled = true\nmail.server = \"relay\"\nmail.from = \"a@b.example\"\n",
            "GATEWAY_MAIL__SERVER",
        ),
        ("mail.enabled = true\nmail.server = \"relay:25\"\n", "GATEWAY_MAIL__FROM"),
        (
            "mail.enabled = true\nmail.server = \"relay:25\"\nmail.from = \"a@b.example\\r\\nBcc: c@d.example\"\n",
            "GATEWAY_MAIL__FROM",
        ),
        (
            "profile = \"production\"\nmail.enabled = true\nmail.server = \"relay:25\"\nmail.security = \"none\"\n",
            "GATEWAY_MAIL__SECURITY",
        ),
    ] {
        let faults = load(toml).unwrap_or_else(|| panic!("{toml} is accepted"));
        assert!(faults.contains(named), "{toml}: {faults}");
    }
    let production = format!("profile = \"production\"\n{}", settings(&server));
    assert!(
        !load(&production).unwrap().contains("GATEWAY_MAIL"),
        "this machine may be unencrypted"
    );
}
