//! Second factors, passwords and sessions of an account, and the news that their changes make.

use gateway::account::Role;

use super::{PASSWORD, between, code_now, path_of, set_up_codes, with_desk};

const EMAIL: &str = "owner@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn a_recovery_code_leads_to_setting_up_anew_and_new_codes_end_the_old_ones() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let none = owner.post("/account/recovery", &[]).await;
        assert!(none.status == 409 && none.body.contains("Set up an authenticator app"));
        let (first, recovery) = set_up_codes(&mut owner).await;
        let (mut lost, _) = desk.by_password(EMAIL, PASSWORD).await;
        lost.get("/sign-in/code").await;
        let entered = lost.post("/sign-in/code", &[("code", &recovery[0])]).await;
        assert_eq!(entered.header("location"), Some("/account"));
        let page = lost.get("/account").await.body;
        assert!(page.contains("9 codes are left") && page.contains("9 left"), "{page}");
        assert!(page.contains("Recovery code used: 9 are left"), "{page}");
        // He has just proved himself, so he replaces the app at once; the session before ends.
        let (second, again) = set_up_codes(&mut lost).await;
        assert_ne!(first.base32(), second.base32());
        assert_eq!(owner.get("/account").await.header("location"), Some("/sign-in"));
        let page = lost.get("/account").await.body;
        assert!(!page.contains("You signed in with a recovery code"), "{page}");
        let replaced = lost.post("/account/recovery", &[]).await;
        assert_eq!(replaced.body.matches("<li><code>").count(), 10, "{}", replaced.body);
        assert_eq!(replaced.header("cache-control"), Some("no-store"));
        for old in [&recovery[1], &again[0], &code_now(&first, 1)] {
            let (mut visitor, _) = desk.by_password(EMAIL, PASSWORD).await;
            visitor.get("/sign-in/code").await;
            let answer = visitor.post("/sign-in/code", &[("code", old)]).await;
            assert_eq!(answer.status, 422, "{old}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_password_ends_other_sessions_and_gives_this_one_another_id() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let (mut other, _) = desk.by_password(EMAIL, PASSWORD).await;
        let before = owner.session().unwrap().to_owned();
        owner.get("/account").await;
        for weak in ["short", "password1234", EMAIL] {
            let refused = owner.post("/account/password", &[("password", weak)]).await;
            assert_eq!(refused.status, 422, "{weak}");
        }
        let fields = [("password", "another good password")];
        let done = owner.post("/account/password", &fields).await;
        assert_eq!(done.header("location"), Some("/account?done=password"), "{}", done.body);
        assert_ne!(owner.session().unwrap(), before);
        assert_eq!(other.get("/account").await.header("location"), Some("/sign-in"));
        assert_eq!(owner.get("/account").await.status, 200);
        assert_eq!(desk.by_password(EMAIL, PASSWORD).await.1.status, 422);
        assert_eq!(desk.by_password(EMAIL, "another good password").await.1.status, 303);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_are_told_of_changes_that_a_thief_would_make() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let mut dev = desk.invited("dev@example.com", Role::Developer, Some(&merchant)).await;
        let mut stranger = desk.invited("x@example.com", Role::Owner, Some(&other)).await;
        dev.get("/account").await;
        set_up_codes(&mut dev).await;
        let page = dev.get("/developers").await.body;
        let seen = between(&page, "name=\"seen\" value=\"", "\"").to_owned();
        let rotated = dev.post("/developers/key", &[("seen", &seen)]).await;
        let key = between(&rotated.body, "<code class=\"once\">", "</code>").to_owned();
        assert_eq!(key.len(), 64);
        owner.get("/account").await;
        owner.post("/account/password", &[("password", "another good password")]).await;
        let news = async |visitor: &mut super::Visitor| {
            let page = visitor.get("/account").await.body;
            between(&page, "Recent security events", "</section>").to_owned()
        };
        let told = news(&mut owner).await;
        for text in [
            "Authenticator app set up of dev@example.com",
            "Merchant changed: the API key",
            "by <bdi>dev@example.com</bdi>",
            "Password changed: all other sessions have ended",
            "Signed in by invitation from 127.0.0.1",
        ] {
            assert!(told.contains(text), "{text} in {told}");
        }
        assert!(!told.contains(&key) && !told.contains("argon2"), "{told}");
        // A developer is told of his own account, a stranger of nothing here.
        let told = news(&mut dev).await;
        assert!(told.contains("Authenticator app set up") && !told.contains(EMAIL), "{told}");
        let told = news(&mut stranger).await;
        assert!(!told.contains("dev@example.com") && !told.contains("Merchant changed"), "{told}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_of_a_fresh_proof_run_out_in_their_session_alone() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let (mut stolen, _) = desk.by_password(EMAIL, PASSWORD).await;
        let confirm = async |visitor: &mut super::Visitor, password: &str| {
            visitor.get("/account/confirm?for=key.rotate").await;
            let fields = [("for", "key.rotate"), ("password", password)];
            visitor.post("/account/confirm", &fields).await
        };
        for tries in 1..=9 {
            let answer = confirm(&mut stolen, "a wrong password").await;
            assert_eq!(answer.body.contains("Too many tries"), tries > 8, "{tries}");
        }
        assert!(confirm(&mut stolen, PASSWORD).await.body.contains("Too many tries"));
        let answer = confirm(&mut owner, PASSWORD).await;
        assert_eq!(answer.header("location"), Some("/developers"), "{}", answer.body);
        assert_eq!(desk.by_password(EMAIL, PASSWORD).await.1.status, 303);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_a_link_opened_has_no_password_to_prove() {
    with_desk(|desk| async move {
        let made = desk.gateway.create_account(EMAIL, Role::Admin, None).await.unwrap();
        let mut admin = desk.signed_in_again(EMAIL).await;
        let stale = "update account_session set confirmed_at = now() - interval '6 minutes'";
        desk.stack.sql(stale).await;
        admin.get("/account/confirm?for=merchant.create").await;
        let answer = admin.post("/account/confirm", &[("password", PASSWORD)]).await;
        assert!(answer.status == 422 && answer.body.contains("has no password"), "{}", answer.body);
        // The link has accepted the role; the invitation of it is over then.
        assert_eq!(desk.visitor().get(&path_of(&made.url)).await.status, 200);
        let mut late = desk.visitor();
        late.get(&path_of(&made.url)).await;
        assert_ne!(late.post(&path_of(&made.url), &[("password", PASSWORD)]).await.status, 303);
        assert_eq!(late.session(), None);
    })
    .await;
}
