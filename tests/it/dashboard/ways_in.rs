//! Ways in that somebody would try: links used by many, proofs used twice, guesses that lock an
//! owner out, roles that nobody accepted (attacks A28, A29, A31).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gateway::{
    account::Role,
    config::{Config, Profile},
};
use support::client::Answer;

use super::{Desk, PASSWORD, Visitor, code_now, path_of, set_up_codes, with_desk};

const EMAIL: &str = "owner@example.com";

/// The sessions of everybody that are alive.
async fn begin_anew(desk: &Desk) {
    desk.stack.sql("delete from guess_budget").await;
}

/// Posts the same form from as many browsers as there are visitors, at once.
async fn all_at_once(visitors: &mut [Visitor], path: &str, fields: &[(&str, &str)]) -> usize {
    let posts = visitors.iter_mut().map(|visitor| visitor.post(path, fields));
    let answers: Vec<Answer> = join_all(posts).await;
    assert!(answers.iter().all(|answer| answer.status < 500), "nothing breaks");
    answers.iter().filter(|answer| answer.status == 303).count()
}

#[test]
fn sessions_are_stored_by_one_function_alone() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut open = vec![root.join("src"), root.join("api/src"), root.join("dashboard/src")];
    let (mut inserts, mut callers) = (Vec::new(), Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            inserts.extend(text.matches("insert into account_session").map(|_| name.clone()));
            callers.extend(text.matches("sessions::insert(").map(|_| name.clone()));
        }
    }
    assert_eq!(inserts, ["src/storage/accounts/sessions.rs"]);
    assert_eq!(callers, ["src/app/account/open.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_fifty_who_use_a_link_at_once_one_gets_in() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = Some(merchant.new.id);
        let made = desk.gateway.create_account(EMAIL, Role::Owner, id).await.unwrap();
        desk.gateway.create_account("b@example.com", Role::Viewer, id).await.unwrap();
        let link = desk.gateway.create_sign_in_link("b@example.com").await.unwrap();
        for (url, fields) in [(link, &[][..]), (made.url, &[("password", PASSWORD)][..])] {
            let path = path_of(&url);
            let mut visitors = vec![desk.visitor(); 50];
            for visitor in &mut visitors {
                assert_eq!(visitor.get(&path).await.status, 200);
            }
            // Hashing has a queue of its own; what it sends away may come back.
            let mut entered = 0;
            for some in visitors.chunks_mut(10) {
                entered += all_at_once(some, &path, fields).await;
            }
            assert_eq!(entered, 1, "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_use_a_code_at_once_one_gets_in() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let (secret, recovery) = set_up_codes(&mut owner).await;
        for code in [code_now(&secret, 1), recovery[0].clone()] {
            begin_anew(&desk).await;
            let mut visitors = Vec::new();
            for _ in 0..6 {
                let (mut visitor, answer) = desk.by_password(EMAIL, PASSWORD).await;
                assert_eq!(answer.header("location"), Some("/sign-in/code"), "{}", answer.body);
                visitor.get("/sign-in/code").await;
                visitors.push(visitor);
            }
            let entered = all_at_once(&mut visitors, "/sign-in/code", &[("code", &code)]).await;
            assert_eq!(entered, 1, "{code}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_gives_its_own_role_and_no_other() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = Some(merchant.new.id);
        // Somebody is to become an operator, and a merchant's owner invites him too: the owner sees
        // his own invitation's address.
        let operator = desk.gateway.create_account(EMAIL, Role::Admin, None).await.unwrap();
        let viewer = desk.gateway.create_account(EMAIL, Role::Viewer, id).await.unwrap();
        let (mut thief, path) = (desk.visitor(), path_of(&viewer.url));
        thief.get(&path).await;
        let entered = thief.post(&path, &[("password", PASSWORD)]).await;
        assert_eq!(entered.header("location"), Some("/account"), "{}", entered.body);
        let page = thief.get("/account").await.body;
        assert!(page.contains("<strong>viewer</strong>"), "{page}");
        assert!(!page.contains("operator-admin"), "{page}");
        assert_eq!(thief.get("/operator").await.status, 403);
        // The other one still works, for whoever has it and knows the password.
        let (mut visitor, path) = (desk.visitor(), path_of(&operator.url));
        visitor.get(&path).await;
        let wrong = visitor.post(&path, &[("password", "another long password")]).await;
        assert_eq!(wrong.status, 422, "{}", wrong.body);
        assert_eq!(visitor.post(&path, &[("password", PASSWORD)]).await.status, 303);
        assert!(visitor.get("/account").await.body.contains("operator-admin"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_account_is_opened_by_the_operators_link_alone() {
    with_desk(|desk| async move {
        let (ours, theirs) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&ours)).await;
        owner.get("/account").await;
        set_up_codes(&mut owner).await;
        let id = Some(theirs.new.id);
        let foreign = desk.gateway.create_account(EMAIL, Role::Viewer, id).await.unwrap();
        let reset = desk.gateway.reset_account(EMAIL).await.unwrap();
        assert_eq!(owner.get("/account").await.header("location"), Some("/sign-in"));
        let (_, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert_eq!(answer.status, 422, "the old password is over");
        let (mut thief, path) = (desk.visitor(), path_of(&foreign.url));
        thief.get(&path).await;
        let refused = thief.post(&path, &[("password", "a thief's own password")]).await;
        assert!(refused.body.contains("An operator has reset this account"), "{}", refused.body);
        assert_eq!(thief.session(), None);
        let (mut owner, path) = (desk.visitor(), path_of(&reset.url));
        owner.get(&path).await;
        let entered = owner.post(&path, &[("password", "another good password")]).await;
        assert_eq!(entered.header("location"), Some("/account"), "{}", entered.body);
        let page = owner.get("/account").await.body;
        assert!(page.contains("<strong>owner</strong>") && page.contains("not set up"), "{page}");
        assert!(page.contains("Account reset"), "{page}");
    })
    .await;
}

/// Seconds that a refusal takes, the middle one of some.
async fn median(desk: &Desk, emails: &[&str]) -> [Duration; 2] {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..9 {
        for (at, email) in emails.iter().enumerate() {
            begin_anew(desk).await;
            let mut visitor = desk.visitor();
            visitor.get("/sign-in").await;
            let fields = [("email", *email), ("password", "a wrong password")];
            let started = Instant::now();
            assert_eq!(visitor.post("/sign-in", &fields).await.status, 422);
            times[at].push(started.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_account_takes_the_time_of_a_known_one() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let [known, unknown] = median(&desk, &[EMAIL, "nobody@example.com"]).await;
        // Without a hash to compare with it would be a tenth.
        assert!(unknown * 2 > known && known * 2 > unknown, "{known:?} and {unknown:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_behind_the_same_address_do_not_lock_an_owner_out_of_his_browser() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let other = desk.invited("other@example.com", Role::Viewer, Some(&merchant)).await;
        assert!(owner.cookies.contains_key("gateway-device"), "{:?}", owner.cookies.keys());
        for _ in 0..9 {
            desk.by_password(EMAIL, "a wrong password").await;
        }
        let again = async |cookies: &Visitor, device: bool| {
            let mut visitor = desk.visitor();
            if device {
                let token = cookies.cookies["gateway-device"].clone();
                visitor.cookies.insert("gateway-device".to_owned(), token);
            }
            visitor.get("/sign-in").await;
            let fields = [("email", EMAIL), ("password", PASSWORD)];
            visitor.post("/sign-in", &fields).await
        };
        assert!(again(&owner, false).await.body.contains("Too many tries"));
        assert!(again(&other, true).await.body.contains("Too many tries"), "another's browser");
        let entered = again(&owner, true).await;
        assert_eq!(entered.status, 303, "{}", entered.body);
        assert!(
            !entered
                .headers
                .get_all("set-cookie")
                .iter()
                .any(|line| { line.to_str().unwrap().starts_with("gateway-device") })
        );
        // His own browser's guesses run out too: a thief of its token guesses no more than that.
        for _ in 0..8 {
            let mut visitor = desk.visitor();
            let token = owner.cookies["gateway-device"].clone();
            visitor.cookies.insert("gateway-device".to_owned(), token);
            visitor.get("/sign-in").await;
            visitor.post("/sign-in", &[("email", EMAIL), ("password", "a wrong one")]).await;
        }
        assert!(again(&owner, true).await.body.contains("Too many tries"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_with_the_password_does_not_lock_the_second_factor() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let (secret, _) = set_up_codes(&mut owner).await;
        // This address is new to the account.
        desk.stack.sql("update account_session set address = '192.0.2.1'").await;
        let (mut stranger, _) = desk.by_password(EMAIL, PASSWORD).await;
        stranger.get("/sign-in/code").await;
        let right = code_now(&secret, 1);
        for tries in 1..=9 {
            let answer = stranger.post("/sign-in/code", &[("code", "000000")]).await;
            assert_eq!(answer.body.contains("Too many tries"), tries > 8, "{tries}");
        }
        let answer = stranger.post("/sign-in/code", &[("code", &right)]).await;
        assert!(answer.body.contains("Too many tries"), "the right one is no better");
        let (mut home, _) = desk.by_password(EMAIL, PASSWORD).await;
        let token = owner.cookies["gateway-device"].clone();
        home.cookies.insert("gateway-device".to_owned(), token);
        home.get("/sign-in/code").await;
        let entered = home.post("/sign-in/code", &[("code", &right)]).await;
        assert_eq!(entered.status, 303, "{}", entered.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_session_sees_no_secret_that_waits_for_its_code() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let page = owner.post("/account/codes", &[]).await.body;
        let key = super::between(&page, "<code class=\"once\">", "</code>").to_owned();
        let again = owner.post("/account/codes", &[]).await.body;
        assert!(!again.contains(&key), "each time a new secret");
        let key = super::between(&again, "<code class=\"once\">", "</code>").to_owned();
        let wrong = owner.post("/account/codes/confirm", &[("code", "000000")]).await;
        assert!(wrong.status == 422 && wrong.body.contains(&key), "{}", wrong.body);
        // A thief has the session and no fresh proof.
        let stale = "update account_session set confirmed_at = now() - interval '6 minutes'";
        desk.stack.sql(stale).await;
        let answer = owner.post("/account/codes/confirm", &[("code", "000000")]).await;
        assert_eq!(answer.header("location"), Some("/account/confirm?for=totp.confirm"));
        assert!(!answer.body.contains(&key) && !owner.get("/account").await.body.contains(&key));
        // With a fresh proof it is over after a quarter of an hour.
        desk.stack.sql("update account_session set confirmed_at = now()").await;
        desk.stack.sql("update account set totp_pending_at = now() - interval '16 minutes'").await;
        let late = owner.post("/account/codes/confirm", &[("code", "000000")]).await;
        assert!(late.status == 409 && !late.body.contains(&key), "{}", late.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_open_nothing_outside_the_sandbox() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let owner = desk.signed_in(EMAIL, Role::Owner, Some(&merchant)).await;
        let path = path_of(&desk.gateway.create_sign_in_link(EMAIL).await.unwrap());
        let production = |config: &mut Config| config.profile = Profile::Production;
        let (gateway, address) = desk.stack.dashboard_with("", production).await;
        let refused = gateway.create_sign_in_link(EMAIL).await.unwrap_err().to_string();
        assert!(refused.contains("sandbox only"), "{refused}");
        let production = Desk { stack: desk.stack.clone(), gateway, address };
        let mut visitor = production.visitor();
        assert_eq!(visitor.get(&path).await.status, 410);
        visitor.get("/sign-in").await;
        assert_eq!(visitor.post(&path, &[]).await.status, 410);
        // A session that a link opened in the sandbox is none here.
        let mut moved = production.visitor();
        moved.cookies.clone_from(&owner.cookies);
        assert_eq!(moved.get("/account").await.header("location"), Some("/sign-in"));
        // In the sandbox both go on.
        let mut visitor = desk.visitor();
        visitor.get(&path).await;
        assert_eq!(visitor.post(&path, &[]).await.status, 303);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_again_ends_the_session_that_was_open_in_this_browser() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let mut before = desk.visitor();
        before.cookies.clone_from(&owner.cookies);
        owner.get("/sign-in").await;
        let fields = [("email", EMAIL), ("password", PASSWORD)];
        assert_eq!(owner.post("/sign-in", &fields).await.status, 303);
        assert_ne!(owner.session(), before.session());
        assert_eq!(before.get("/account").await.header("location"), Some("/sign-in"));
        assert_eq!(owner.get("/account").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suspending_a_merchant_ends_its_sessions_and_leaves_its_people_reading() {
    with_desk(|desk| async move {
        let (merchant, other) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let mut bystander = desk.invited("b@example.com", Role::Owner, Some(&other)).await;
        let id = merchant.new.id;
        desk.gateway.set_suspended(id, true).await.unwrap();
        assert_eq!(owner.get("/account").await.header("location"), Some("/sign-in"));
        assert_eq!(bystander.get("/account").await.status, 200);
        let (mut owner, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        for path in ["/payments", "/developers", "/team", "/settings"] {
            assert_eq!(owner.get(path).await.status, 200, "{path}");
        }
        for path in ["/developers/key", "/settings", "/team"] {
            let answer = owner.post(path, &[]).await;
            assert_eq!(answer.status, 403, "{path}");
            assert!(answer.body.contains("suspended this merchant"), "{}", answer.body);
        }
        // The account itself is not the merchant's.
        let changed =
            owner.post("/account/password", &[("password", "another good password")]).await;
        assert_eq!(changed.header("location"), Some("/account?done=password"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_leads_to_an_address_that_somebody_wrote_into_a_request() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        for evil in ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:x"] {
            let word = url::form_urlencoded::byte_serialize(evil.as_bytes()).collect::<String>();
            for path in ["/account/confirm", "/sign-in", "/account", "/team", "/"] {
                for name in ["for", "next", "to", "done", "return_to"] {
                    let page = owner.get(&format!("{path}?{name}={word}")).await;
                    assert_eq!(page.status, 200, "{path} {name}");
                    assert!(!page.body.contains(&format!("\"{evil}")), "{path} {name}");
                }
            }
            let fields = [("for", evil), ("next", evil), ("password", PASSWORD), ("email", EMAIL)];
            for path in ["/account/confirm", "/sign-in"] {
                owner.get(path).await;
                let answer = owner.post(path, &fields).await;
                let to = answer.header("location").unwrap().to_owned();
                assert!(to == "/" || to == "/account", "{path}: {to}");
            }
        }
    })
    .await;
}
