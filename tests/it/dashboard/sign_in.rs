//! Ways in, and everything that must not be one.

use gateway::account::Role;
use uuid::Uuid;

use super::{PASSWORD, code_now, path_of, set_up_codes, with_desk};

const EMAIL: &str = "owner@example.com";

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_accepted_once_and_looking_at_it_uses_nothing_up() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = Some(merchant.new.id);
        let made = desk.gateway.create_account(EMAIL, Role::Owner, id).await.unwrap();
        let (mut one, mut two, path) = (desk.visitor(), desk.visitor(), path_of(&made.url));
        for _ in 0..3 {
            assert_eq!(one.get(&path).await.status, 200);
        }
        two.get(&path).await;
        let weak = one.post(&path, &[("password", "short")]).await;
        assert_eq!(weak.status, 422);
        assert!(weak.body.contains("12 to 200 characters"), "{}", weak.body);
        let accepted = one.post(&path, &[("password", PASSWORD)]).await;
        assert_eq!(accepted.header("location"), Some("/account"));
        assert_eq!(one.get("/").await.status, 200);
        for answer in [two.post(&path, &[("password", PASSWORD)]).await, two.get(&path).await] {
            assert_eq!(answer.status, 410);
        }
        assert_eq!(two.session(), None);
        let again = desk.gateway.create_account(EMAIL, Role::Viewer, id).await;
        assert!(again.is_err_and(|error| error.to_string().contains("already")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_link_works_once_for_ten_minutes_and_has_one_form() {
    with_desk(|desk| async move {
        desk.gateway.create_account(EMAIL, Role::Admin, None).await.unwrap();
        let path = path_of(&desk.gateway.create_sign_in_link(EMAIL).await.unwrap());
        let mut visitor = desk.visitor();
        for _ in 0..2 {
            let page = visitor.get(&path).await;
            assert_eq!(page.status, 200);
            assert_eq!(page.body.matches("<form").count(), 1, "{}", page.body);
            assert!(page.body.contains("data-action=\"session.open\""), "{}", page.body);
        }
        assert_eq!(visitor.post(&path, &[]).await.header("location"), Some("/"));
        assert_eq!(visitor.get("/operator").await.status, 200);
        let mut late = desk.visitor();
        late.get("/sign-in").await;
        assert_eq!(late.post(&path, &[]).await.status, 410);
        let path = path_of(&desk.gateway.create_sign_in_link(EMAIL).await.unwrap());
        desk.stack.sql("update account_link set expires_at = now() - interval '1 second'").await;
        assert_eq!(late.get(&path).await.status, 410);
        assert_eq!(late.post(&path, &[]).await.status, 410);
        assert_eq!(late.get("/sign-in/link/x").await.status, 410);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_gets_a_new_id_at_every_step_and_a_planted_one_opens_nothing() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let first = owner.session().unwrap().to_owned();
        owner.get("/account").await;
        let (secret, _) = set_up_codes(&mut owner).await;
        let second = owner.session().unwrap().to_owned();
        assert_ne!(first, second);

        let mut planted = desk.visitor();
        planted.get("/sign-in").await;
        planted.cookies.insert("gateway-session".to_owned(), "ab".repeat(32));
        let fields = [("email", EMAIL), ("password", PASSWORD)];
        let answer = planted.post("/sign-in", &fields).await;
        assert_eq!(answer.header("location"), Some("/sign-in/code"), "{}", answer.body);
        let half = planted.session().unwrap().to_owned();
        assert_ne!(half, "ab".repeat(32));
        planted.get("/sign-in/code").await;
        let code = code_now(&secret, 1);
        let answer = planted.post("/sign-in/code", &[("code", &code)]).await;
        assert_eq!(answer.header("location"), Some("/"), "{}", answer.body);
        assert_ne!(planted.session().unwrap(), half);
        for old in [first, half, "ab".repeat(32)] {
            let mut thief = desk.visitor();
            thief.cookies.insert("gateway-session".to_owned(), old);
            assert_eq!(thief.get("/account").await.header("location"), Some("/sign-in"));
        }
        let answer = planted.get("/account").await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_counts_once_and_a_recovery_code_too() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        let (secret, recovery) = set_up_codes(&mut owner).await;
        assert_eq!(recovery.len(), 10);
        let next = code_now(&secret, 1);
        for (code, taken) in [
            ("000000", false),
            (next.as_str(), true),
            (next.as_str(), false),
            (recovery[3].as_str(), true),
            (recovery[3].as_str(), false),
        ] {
            let (mut visitor, _) = desk.by_password(EMAIL, PASSWORD).await;
            visitor.get("/sign-in/code").await;
            let answer = visitor.post("/sign-in/code", &[("code", code)]).await;
            assert_eq!(answer.status == 303, taken, "{code}: {}", answer.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_account_is_answered_in_the_words_of_a_known_one() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let invited = desk.gateway.create_account("new@example.com", Role::Admin, None).await;
        assert!(invited.is_ok());
        let mut bodies = Vec::new();
        for email in [EMAIL, "nobody@example.com", "new@example.com", "no address"] {
            let (visitor, answer) = desk.by_password(email, "a wrong password").await;
            assert_eq!(answer.status, 422, "{email}");
            // Each page asks for a passkey anew.
            let challenge = super::between(&answer.body, "data-challenge=\"", "\"");
            let plain = answer.body.replace(email, "").replace(&visitor.token, "");
            let plain = plain.replace(challenge, "");
            bodies.push(plain);
        }
        assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{bodies:?}");
        assert!(bodies[0].contains("The e-mail address or the password is wrong."));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_run_out_over_all_copies_and_do_not_lock_the_owner_out_at_home() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        let (_, other) = desk.stack.dashboard("").await;
        let mut refused = 0;
        for turn in 0..10 {
            let server = if turn % 2 == 0 { desk.address } else { other };
            let origin = format!("http://localhost:{}", server.port());
            let mut visitor = super::Visitor::new(server, &origin);
            visitor.get("/sign-in").await;
            let fields = [("email", EMAIL), ("password", "a wrong password")];
            let answer = visitor.post("/sign-in", &fields).await;
            refused += usize::from(answer.body.contains("Too many tries"));
        }
        assert_eq!(refused, 2, "eight guesses from one address");
        let (_, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert!(answer.body.contains("Too many tries"), "the right one is no better");
        // Strangers elsewhere used up the account's own budget; it signs in where it did before.
        desk.stack.sql("delete from guess_budget where key not like 'account:%'").await;
        desk.stack.sql("update guess_budget set guesses = 1000").await;
        let (_, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        desk.stack.sql("update account_session set address = '192.0.2.1'").await;
        desk.stack
            .sql(
                "insert into guess_budget select 'account:' || encode(sha256('owner@example.com'), 'hex'), 1000, now()
                 on conflict (key) do update set guesses = 1000, began_at = now()",
            )
            .await;
        let (_, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert!(answer.body.contains("Too many tries"), "{}", answer.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_its_time_its_role_its_account_and_by_hand() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        desk.invited(EMAIL, Role::Owner, Some(&merchant)).await;
        // The last owner would stay.
        desk.invited("b@example.com", Role::Owner, Some(&merchant)).await;
        for (end, statement) in [
            ("idle", "update account_session set seen_at = now() - interval '31 minutes'"),
            ("old", "update account_session set opened_at = now() - interval '13 hours'"),
            ("role", "update membership m set role = 'viewer' from account a where a.id = m.account_id and a.email like 'owner@%'"),
            ("role taken", "delete from membership m using account a where a.id = m.account_id and a.email like 'owner@%'"),
            ("disabled", "update account set disabled_at = now()"),
        ] {
            desk.stack.sql("update account set disabled_at = null").await;
            let (mut visitor, answer) = desk.by_password(EMAIL, PASSWORD).await;
            assert_eq!(answer.status, 303, "{end}: {}", answer.body);
            assert_eq!(visitor.get("/account").await.status, 200, "{end}");
            desk.stack.sql(statement).await;
            let after = visitor.get("/account").await;
            assert_eq!(after.header("location"), Some("/sign-in"), "{end}");
        }
        let (_, answer) = desk.by_password(EMAIL, PASSWORD).await;
        assert_eq!(answer.status, 422, "a disabled account signs in");
        desk.gateway.set_account_disabled(EMAIL, false).await.unwrap();
        let (mut one, _) = desk.by_password(EMAIL, PASSWORD).await;
        let (mut two, _) = desk.by_password(EMAIL, PASSWORD).await;
        let page = one.get("/account").await;
        let marks: Vec<_> = page.body.split("/account/sessions/").skip(1).collect();
        assert_eq!(marks.len(), 2);
        // The one used last stands first: its own.
        for mark in marks.into_iter().rev() {
            let handle = mark.split('/').next().unwrap();
            one.post(&format!("/account/sessions/{handle}/end"), &[]).await;
            one.get("/account").await;
        }
        assert_eq!(two.get("/account").await.header("location"), Some("/sign-in"));
        let foreign = format!("/account/sessions/{}/end", Uuid::now_v7());
        let mut other = desk.signed_in("c@example.com", Role::Viewer, Some(&merchant)).await;
        other.get("/account").await;
        assert_eq!(other.post(&foreign, &[]).await.status, 404);
    })
    .await;
}
