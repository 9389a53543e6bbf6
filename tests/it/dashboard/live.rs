//! Pages that renew themselves: what a poll costs, and what it must not do.

use gateway::account::Role;

use super::{payment, with_desk};

const POLL: (&str, &str) = ("x-live", "1");

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_costs_a_line_until_something_has_changed() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let first = owner.get_with("/payments", &[POLL]).await;
        let tag = first.header("etag").unwrap().to_owned();
        let known = [POLL, ("if-none-match", tag.as_str())];
        let again = owner.get_with("/payments", &known).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""));
        assert_eq!(again.header("cache-control"), Some("no-store"));
        payment(&merchant, "one").await;
        let changed = owner.get_with("/payments", &known).await;
        assert_eq!(changed.status, 200);
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
        // A page that somebody opens is always sent whole.
        let opened = owner.get_with("/payments", &known[1..]).await;
        assert_eq!((opened.status, opened.header("etag")), (200, None));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_keep_no_session_alive_that_nobody_uses() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("o@example.com", Role::Owner, Some(&merchant)).await;
        let idle = "update account_session set seen_at = now() - interval '29 minutes'";
        desk.stack.sql(idle).await;
        assert_eq!(owner.get_with("/", &[POLL]).await.status, 200);
        let later = "update account_session set seen_at = seen_at - interval '2 minutes'";
        desk.stack.sql(later).await;
        let ended = owner.get_with("/", &[POLL]).await;
        assert_eq!(ended.header("location"), Some("/sign-in"), "{}", ended.body);
        // A use does, and a form is a use whatever mark it carries.
        let mut owner = desk.signed_in_again("o@example.com").await;
        for _ in 0..2 {
            desk.stack.sql(idle).await;
            assert_eq!(owner.get("/account").await.status, 200);
        }
        desk.stack.sql(idle).await;
        owner.get("/account").await;
        desk.stack.sql(later).await;
        assert_eq!(owner.get("/account").await.status, 200);
    })
    .await;
}
