//! Passkeys through their forms, by an authenticator in memory: what counts, and everything that
//! looks like it.

use futures_util::future::join_all;
use gateway::account::Role;
use support::{client::Answer, server::stack::Merchant};

use super::{
    Desk, PASSWORD, Visitor,
    authenticator::{Passkey, question},
    code_now, set_up_codes, with_desk,
};

const EMAIL: &str = "owner@example.com";

type Fields = Vec<(&'static str, String)>;

async fn post(visitor: &mut Visitor, path: &str, fields: &Fields) -> Answer {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    visitor.post(path, &fields).await
}

fn passkey(desk: &Desk) -> Passkey {
    Passkey::new(&desk.gateway.config.dashboard_url)
}

/// Adds a passkey to the account that is signed in. Returns the recovery codes that came with it.
async fn add(visitor: &mut Visitor, passkey: &mut Passkey) -> Vec<String> {
    visitor.get("/account").await;
    let page = visitor.post("/account/passkeys", &[]).await;
    assert_eq!(page.status, 200, "{}", page.body);
    let fields = passkey.register(&question(&page.body));
    let added = post(visitor, "/account/passkeys/add", &fields).await;
    if added.status == 303 {
        assert_eq!(added.header("location"), Some("/account?done=passkey"));
        return Vec::new();
    }
    assert_eq!(added.status, 200, "{}", added.body);
    let codes = added.body.split("<li><code>").skip(1);
    codes.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

async fn owner_with(desk: &Desk, merchant: &Merchant) -> (Visitor, Passkey, Vec<String>) {
    let mut owner = desk.invited(EMAIL, Role::Owner, Some(merchant)).await;
    let mut passkey = passkey(desk);
    let recovery = add(&mut owner, &mut passkey).await;
    (owner, passkey, recovery)
}

/// A browser on the sign-in page, and the answer to its question.
async fn asked(desk: &Desk, passkey: &mut Passkey) -> (Visitor, Fields) {
    let mut visitor = desk.visitor();
    let page = visitor.get("/sign-in").await;
    let fields = passkey.answer(&question(&page.body));
    (visitor, fields)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_signs_in_alone_and_completes_what_a_password_began() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let (mut owner, mut passkey, recovery) = owner_with(&desk, &merchant).await;
        assert_eq!(recovery.len(), 10);
        assert_eq!(owner.get("/account").await.status, 200, "its session goes on");
        let (mut visitor, fields) = asked(&desk, &mut passkey).await;
        let entered = post(&mut visitor, "/sign-in/passkey", &fields).await;
        assert_eq!(entered.header("location"), Some("/"), "{}", entered.body);
        assert_eq!(visitor.get("/payments").await.status, 200);
        // Where there is a passkey, the password alone is half of a sign-in.
        let (mut half, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert_eq!(answer.header("location"), Some("/sign-in/code"), "{}", answer.body);
        assert_eq!(half.get("/payments").await.header("location"), Some("/sign-in/code"));
        let page = half.get("/sign-in/code").await;
        let before = half.session().unwrap().to_owned();
        let fields = passkey.answer(&question(&page.body));
        let entered = post(&mut half, "/sign-in/code/passkey", &fields).await;
        assert_eq!(entered.header("location"), Some("/"), "{}", entered.body);
        assert_ne!(half.session().unwrap(), before);
        // A recovery code stands in for it, and leads to setting up another one.
        let (mut lost, _) = desk.by_password(EMAIL, PASSWORD).await;
        lost.get("/sign-in/code").await;
        let entered = lost.post("/sign-in/code", &[("code", &recovery[0])]).await;
        assert_eq!(entered.header("location"), Some("/account"), "{}", entered.body);
        let page = lost.get("/account").await.body;
        assert!(page.contains("You signed in with a recovery code"), "{page}");
        assert!(page.contains("9 codes are left"), "{page}");
        set_up_codes(&mut lost).await;
        assert!(!lost.get("/account").await.body.contains("You signed in with a recovery code"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_once_in_its_browser_for_its_purpose() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let (mut owner, mut passkey, _) = owner_with(&desk, &merchant).await;
        // Taken to another browser.
        let (mut visitor, fields) = asked(&desk, &mut passkey).await;
        let mut thief = desk.visitor();
        thief.get("/sign-in").await;
        let refused = post(&mut thief, "/sign-in/passkey", &fields).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("This passkey was not accepted"), "{}", refused.body);
        // Used for something else: a question of the sign-in page confirms nothing.
        let page = owner.get("/account/confirm?for=key.rotate").await;
        let mut other = question(&page.body);
        other.challenge = question(&owner.clone().get("/sign-in").await.body).challenge;
        let wrong = passkey.answer(&other);
        owner.get("/account/confirm?for=key.rotate").await;
        assert_eq!(post(&mut owner, "/account/confirm/passkey", &wrong).await.status, 422);
        // In its own browser, and then again, and again at once.
        passkey.count += 1;
        let entered = post(&mut visitor.clone(), "/sign-in/passkey", &fields).await;
        assert_eq!(entered.status, 303, "{}", entered.body);
        let again = post(&mut visitor, "/sign-in/passkey", &fields).await;
        assert_eq!((again.status, visitor.session()), (422, None), "a replay");
        let (visitor, fields) = asked(&desk, &mut passkey).await;
        let mut many = vec![visitor; 8];
        let posts = many.iter_mut().map(|visitor| post(visitor, "/sign-in/passkey", &fields));
        let answers: Vec<Answer> = join_all(posts).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 303).count(), 1);
        assert!(answers.iter().all(|answer| answer.status < 500));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authenticator_that_lies_does_not_get_in() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let (_, good, _) = owner_with(&desk, &merchant).await;
        type Lie = fn(&mut Passkey);
        let cases: [(&str, Lie); 5] = [
            ("no user verification", |passkey| passkey.verifies_user = false),
            ("another origin", |passkey| passkey.origin = "http://localhost:1".to_owned()),
            ("another account's name", |passkey| {
                passkey.user_handle = "AAAAAAAAAAAAAAAAAAAAAA".to_owned()
            }),
            ("no name", |passkey| passkey.user_handle = String::new()),
            ("an unknown key", |passkey| {
                *passkey = Passkey {
                    id: passkey.id.clone(),
                    user_handle: passkey.user_handle.clone(),
                    ..Passkey::new(&passkey.origin)
                };
            }),
        ];
        for (what, lie) in cases {
            let mut passkey = good.clone();
            lie(&mut passkey);
            let (mut visitor, fields) = asked(&desk, &mut passkey).await;
            let refused = post(&mut visitor, "/sign-in/passkey", &fields).await;
            assert_eq!((refused.status, visitor.session()), (422, None), "{what}");
        }
        // A counter that stands still is one of a copy.
        let mut passkey = good.clone();
        for (count, counts) in [(6, true), (6, false), (3, false), (7, true)] {
            passkey.count = count - 1;
            let (mut visitor, fields) = asked(&desk, &mut passkey).await;
            let answer = post(&mut visitor, "/sign-in/passkey", &fields).await;
            assert_eq!(answer.status == 303, counts, "{count}: {}", answer.body);
        }
        // Nothing at all, and rubbish.
        for value in ["", "x", "AAAA", "!!"] {
            let (mut visitor, fields) = asked(&desk, &mut passkey).await;
            for at in 0..fields.len() {
                let mut fields = fields.clone();
                value.clone_into(&mut fields[at].1);
                assert_eq!(post(&mut visitor, "/sign-in/passkey", &fields).await.status, 422);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_accounts_passkey_is_no_factor_of_another() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let (_, _, _) = owner_with(&desk, &merchant).await;
        let mut other = desk.invited("b@example.com", Role::Viewer, Some(&merchant)).await;
        let mut foreign = passkey(&desk);
        add(&mut other, &mut foreign).await;
        let (mut half, _) = desk.by_password(EMAIL, PASSWORD).await;
        let page = half.get("/sign-in/code").await;
        let fields = foreign.answer(&question(&page.body));
        let refused = post(&mut half, "/sign-in/code/passkey", &fields).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_eq!(half.get("/payments").await.header("location"), Some("/sign-in/code"));
        // Nor is it registered a second time, by whoever has seen its id.
        let (mut third, mut stolen) =
            (desk.invited("c@example.com", Role::Viewer, Some(&merchant)).await, passkey(&desk));
        stolen.id.clone_from(&foreign.id);
        third.get("/account").await;
        let page = third.post("/account/passkeys", &[]).await;
        let fields = stolen.register(&question(&page.body));
        let refused = post(&mut third, "/account/passkeys/add", &fields).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passkey_is_a_fresh_proof() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let (mut owner, mut passkey, _) = owner_with(&desk, &merchant).await;
        let stale = "update account_session set confirmed_at = now() - interval '6 minutes'";
        desk.stack.sql(stale).await;
        owner.get("/team").await;
        let asked = owner.post("/team", &[("email", "x@example.com"), ("role", "viewer")]).await;
        assert_eq!(asked.header("location"), Some("/account/confirm?for=team.invite"));
        // The password alone is too little where there is a passkey.
        let page = owner.get("/account/confirm?for=team.invite").await;
        let fields = [("for", "team.invite"), ("password", PASSWORD), ("code", "")];
        let refused = owner.post("/account/confirm", &fields).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        let before = owner.session().unwrap().to_owned();
        let mut fields = passkey.answer(&question(&page.body));
        fields.push(("for", "team.invite".to_owned()));
        let confirmed = post(&mut owner, "/account/confirm/passkey", &fields).await;
        assert_eq!(confirmed.header("location"), Some("/team"), "{}", confirmed.body);
        assert_ne!(owner.session().unwrap(), before);
        owner.get("/team").await;
        let done = owner.post("/team", &[("email", "x@example.com"), ("role", "viewer")]).await;
        assert_eq!(done.status, 200, "{}", done.body);
        let replay = post(&mut owner, "/account/confirm/passkey", &fields).await;
        assert_eq!(replay.status, 422);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_second_factor_stays_and_passkeys_serve_operators() {
    with_desk(|desk| async move {
        let mut admin = desk.invited("admin@example.com", Role::Admin, None).await;
        assert_eq!(admin.get("/operator").await.header("location"), Some("/account"));
        let mut one = passkey(&desk);
        add(&mut admin, &mut one).await;
        assert_eq!(admin.get("/operator").await.status, 200, "a passkey is a second factor");
        let ids = |page: &str| -> Vec<String> {
            let parts = page.split("/account/passkeys/").skip(1);
            let ids = parts.filter_map(|part| part.split_once("/remove")).map(|(id, _)| id);
            ids.filter(|id| id.len() == 36).map(ToOwned::to_owned).collect()
        };
        let page = admin.get("/account").await.body;
        let first = ids(&page)[0].clone();
        let remove = format!("/account/passkeys/{first}/remove");
        let refused = admin.post(&remove, &[]).await;
        assert!(refused.status == 409 && refused.body.contains("still needed"), "{}", refused.body);
        // An app, and then the app may go because a passkey and recovery codes are left.
        set_up_codes(&mut admin).await;
        admin.get("/account").await;
        let removed = admin.post("/account/codes/remove", &[]).await;
        assert_eq!(removed.header("location"), Some("/account?done=factor"), "{}", removed.body);
        // Without recovery codes it may not.
        admin.get("/account").await;
        let (secret, _) = set_up_codes(&mut admin).await;
        desk.stack.sql("update recovery_code set used_at = now()").await;
        admin.get("/account").await;
        let refused = admin.post("/account/codes/remove", &[]).await;
        assert!(refused.status == 409, "{}", refused.body);
        assert!(refused.body.contains("Keep the authenticator app"), "{}", refused.body);
        let mut two = passkey(&desk);
        assert_eq!(add(&mut admin, &mut two).await.len(), 10, "recovery codes had run out");
        desk.stack.sql("update recovery_code set used_at = now()").await;
        admin.get("/account").await;
        assert_eq!(admin.post("/account/codes/remove", &[]).await.status, 303, "two passkeys");
        let (mut visitor, _) = desk.by_password("admin@example.com", PASSWORD).await;
        visitor.get("/sign-in/code").await;
        let code = code_now(&secret, 1);
        let old = visitor.post("/sign-in/code", &[("code", &code)]).await;
        assert_eq!(old.status, 422, "the app that was removed opens nothing");
        // Somebody else's passkey cannot be removed by its id.
        let mut other = desk.invited("b@example.com", Role::Support, None).await;
        other.get("/account").await;
        assert_eq!(other.post(&remove, &[]).await.status, 404);
    })
    .await;
}
