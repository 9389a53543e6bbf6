//! Teams: invitations, roles, and the last owner.

use std::sync::Arc;

use futures_util::future::join_all;
use gateway::account::{Action, Role, action::Scope};
use support::server::stack::Merchant;

use super::{Desk, PASSWORD, Visitor, between, path_of, set_up_codes, with_desk};

/// Invites somebody by the form and returns the path of the invitation.
async fn invite(owner: &mut Visitor, team: &str, email: &str, role: &str) -> String {
    owner.get(team).await;
    let page = owner.post(team, &[("email", email), ("role", role)]).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert_eq!(page.header("cache-control"), Some("no-store"));
    path_of(between(&page.body, "<code class=\"once\">", "</code>"))
}

async fn accept(desk: &Desk, path: &str) -> Visitor {
    let mut visitor = desk.visitor();
    assert_eq!(visitor.get(path).await.status, 200);
    let accepted = visitor.post(path, &[("password", PASSWORD)]).await;
    assert_eq!(accepted.header("location"), Some("/account"), "{}", accepted.body);
    visitor
}

/// The name of a member in the team's page, by his address.
fn member(page: &str, email: &str) -> String {
    let (_, rest) = page.split_once(&format!("<bdi>{email}</bdi>")).unwrap();
    between(rest, "/", "/role\"").rsplit('/').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_invites_changes_roles_and_removes() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited("owner@example.com", Role::Owner, Some(&merchant)).await;
        let path = invite(&mut owner, "/team", "dev@example.com", "developer").await;
        let page = owner.get("/team").await.body;
        assert!(page.contains("not accepted yet") && !page.contains(&path), "{page}");
        let mut dev = accept(&desk, &path).await;
        assert_eq!(dev.get("/developers").await.status, 200);
        let refused = dev.get("/team").await;
        assert_eq!(refused.status, 403);
        assert!(refused.body.contains("does not include team.view"), "{}", refused.body);
        let page = owner.get("/team").await.body;
        let id = member(&page, "dev@example.com");
        let change = format!("/team/{id}/role");
        let done = owner.post(&change, &[("seen", "developer"), ("role", "viewer")]).await;
        assert_eq!(done.header("location"), Some("/team?done=role"), "{}", done.body);
        assert_eq!(dev.get("/account").await.header("location"), Some("/sign-in"), "at once");
        let (mut dev, _) = desk.by_password("dev@example.com", PASSWORD).await;
        assert_eq!(dev.get("/developers").await.status, 403);
        // A form that was opened before that changes nothing, and says so.
        let stale = owner.post(&change, &[("seen", "developer"), ("role", "finance")]).await;
        assert_eq!(stale.status, 409);
        assert!(stale.body.contains("changed by somebody else"), "{}", stale.body);
        for wrong in ["operator-admin", "root", ""] {
            let answer = owner.post(&change, &[("seen", "viewer"), ("role", wrong)]).await;
            assert!([404, 409].contains(&answer.status), "{wrong}: {}", answer.status);
        }
        let gone = owner.post(&format!("/team/{id}/remove"), &[]).await;
        assert_eq!(gone.header("location"), Some("/team?done=removed"), "{}", gone.body);
        assert_eq!(dev.get("/account").await.header("location"), Some("/sign-in"));
        assert_eq!(owner.post(&format!("/team/{id}/remove"), &[]).await.status, 404);
        assert!(owner.get("/account").await.body.contains("Team: removed: dev@example.com"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_ends_with_the_next_one_with_its_removal_and_with_its_inviters_role() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited("owner@example.com", Role::Owner, Some(&merchant)).await;
        let mut second = desk.invited("second@example.com", Role::Owner, Some(&merchant)).await;
        let email = "new@example.com";
        let first = invite(&mut owner, "/team", email, "viewer").await;
        let next = invite(&mut owner, "/team", email, "finance").await;
        let mut visitor = desk.visitor();
        assert_eq!(visitor.get(&first).await.status, 410, "replaced");
        let id = member(&owner.get("/team").await.body, email);
        assert_eq!(owner.post(&format!("/team/{id}/remove"), &[]).await.status, 303);
        assert_eq!(visitor.get(&next).await.status, 410, "taken back");
        let path = invite(&mut second, "/team", email, "owner").await;
        visitor.get(&path).await;
        let id = member(&owner.get("/team").await.body, "second@example.com");
        let fields = [("seen", "owner"), ("role", "viewer")];
        assert_eq!(owner.post(&format!("/team/{id}/role"), &fields).await.status, 303);
        let late = visitor.post(&path, &[("password", PASSWORD)]).await;
        assert_eq!((late.status, visitor.session()), (410, None), "{}", late.body);
        // Whoever is in the team already is not invited again.
        owner.get("/team").await;
        let again =
            owner.post("/team", &[("email", "owner@example.com"), ("role", "viewer")]).await;
        assert!(again.status == 422 && again.body.contains("has a role there already"));
        let wrong = owner.post("/team", &[("email", "no address"), ("role", "viewer")]).await;
        assert!(wrong.status == 422 && wrong.body.contains("no e-mail address"));
        let operator = [("email", "x@example.com"), ("role", "operator-admin")];
        assert_eq!(owner.post("/team", &operator).await.status, 422);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_owner_stays() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.invited("owner@example.com", Role::Owner, Some(&merchant)).await;
        desk.invited("viewer@example.com", Role::Viewer, Some(&merchant)).await;
        // An invited owner is none yet.
        invite(&mut owner, "/team", "later@example.com", "owner").await;
        let id = member(&owner.get("/team").await.body, "owner@example.com");
        for (path, fields) in [
            (format!("/team/{id}/remove"), &[][..]),
            (format!("/team/{id}/role"), &[("seen", "owner"), ("role", "viewer")][..]),
        ] {
            let refused = owner.post(&path, fields).await;
            assert_eq!(refused.status, 409, "{}", refused.body);
            assert!(refused.body.contains("The last owner stays"), "{}", refused.body);
        }
        assert_eq!(owner.get("/team").await.status, 200);
        // The database itself refuses, whoever asks.
        let mut database = desk.stack.database.connect().await;
        let deleted = sqlx::query("delete from membership").execute(&mut database).await;
        assert!(deleted.unwrap_err().to_string().contains("the last owner of a team stays"));
    })
    .await;
}

/// Two owners who remove or demote each other at once leave one.
#[tokio::test(flavor = "multi_thread")]
async fn two_owners_who_remove_each_other_at_once_leave_one() {
    with_desk(|desk| async move {
        let desk = Arc::new(desk);
        for round in 0..6 {
            let merchant = desk.merchant().await;
            let name = |who: &str| format!("{who}{round}@example.com");
            let mut owners = Vec::new();
            for who in ["a", "b"] {
                owners.push(desk.invited(&name(who), Role::Owner, Some(&merchant)).await);
            }
            let page = owners[0].get("/team").await.body;
            owners[1].get("/team").await;
            let ids = [member(&page, &name("b")), member(&page, &name("a"))];
            let acts = owners.iter_mut().zip(ids).enumerate().map(|(at, (owner, id))| async move {
                if (round + at) % 2 == 0 {
                    owner.post(&format!("/team/{id}/remove"), &[]).await
                } else {
                    let fields = [("seen", "owner"), ("role", "viewer")];
                    owner.post(&format!("/team/{id}/role"), &fields).await
                }
            });
            let answers = join_all(acts).await;
            let done = answers.iter().filter(|answer| {
                answer.header("location").is_some_and(|to| to.starts_with("/team?done="))
            });
            assert_eq!(done.count(), 1, "{answers:?}");
            let members = desk.gateway.members(Some(merchant.new.id)).await.unwrap();
            let left = members.iter().filter(|member| member.role == Role::Owner);
            assert_eq!(left.count(), 1, "{members:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_teams_people_are_out_of_reach() {
    with_desk(|desk| async move {
        let (ours, theirs): (Merchant, Merchant) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.invited("owner@example.com", Role::Owner, Some(&ours)).await;
        desk.invited("a@example.com", Role::Owner, Some(&theirs)).await;
        desk.invited("b@example.com", Role::Viewer, Some(&theirs)).await;
        let members = desk.gateway.members(Some(theirs.new.id)).await.unwrap();
        let page = owner.get("/team").await.body;
        assert!(!page.contains("b@example.com"), "{page}");
        for member in &members {
            let (seen, id) = (member.role.as_str(), member.id);
            let fields = [("seen", seen), ("role", "finance")];
            assert_eq!(owner.post(&format!("/team/{id}/role"), &fields).await.status, 404);
            assert_eq!(owner.post(&format!("/team/{id}/remove"), &[]).await.status, 404);
        }
        assert_eq!(desk.gateway.members(Some(theirs.new.id)).await.unwrap().len(), 2);
    })
    .await;
}

/// Anybody can be invited, so an invitation that waits neither ends nor tells anything.
#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_has_no_power_over_its_account_before_it_is_accepted() {
    with_desk(|desk| async move {
        let (ours, theirs): (Merchant, Merchant) = (desk.merchant().await, desk.merchant().await);
        let mut owner = desk.invited("o@example.com", Role::Owner, Some(&ours)).await;
        let mut stranger = desk.invited("s@example.com", Role::Owner, Some(&theirs)).await;
        desk.invited("gone@example.com", Role::Viewer, Some(&theirs)).await;
        desk.gateway.set_account_disabled("gone@example.com", true).await.unwrap();
        for email in ["s@example.com", "gone@example.com"] {
            invite(&mut owner, "/team", email, "viewer").await;
        }
        stranger.get("/account").await;
        set_up_codes(&mut stranger).await;
        let page = owner.get("/team").await.body;
        for email in ["s@example.com", "gone@example.com"] {
            let row = between(&page, &format!("<bdi>{email}</bdi>"), "<form");
            assert!(row.contains("not accepted yet"), "{row}");
            assert!(!row.contains("second factor") && !row.contains("disabled"), "{row}");
        }
        assert!(!owner.get("/account").await.body.contains("of s@example.com"), "its security");
        let id = member(&page, "s@example.com");
        let fields = [("seen", "viewer"), ("role", "developer")];
        assert_eq!(owner.post(&format!("/team/{id}/role"), &fields).await.status, 303);
        assert_eq!(stranger.get("/team").await.status, 200, "after a change");
        assert_eq!(owner.post(&format!("/team/{id}/remove"), &[]).await.status, 303);
        assert_eq!(stranger.get("/team").await.status, 200, "after it was taken back");
        invite(&mut owner, "/team", "s@example.com", "viewer").await;
        let id = ours.new.id;
        desk.gateway.set_suspended_because(id, true, "stolen", "a@example.com").await.unwrap();
        assert_eq!(owner.get("/account").await.header("location"), Some("/sign-in"));
        assert_eq!(stranger.get("/team").await.status, 200, "after its merchant was suspended");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_of_several_merchants_chooses_one_and_has_its_role_there() {
    with_desk(|desk| async move {
        let (one, two) = (desk.merchant().await, desk.merchant().await);
        let email = "both@example.com";
        desk.invited(email, Role::Owner, Some(&one)).await;
        let mut owner = desk.invited("owner@example.com", Role::Owner, Some(&two)).await;
        let path = invite(&mut owner, "/team", email, "viewer").await;
        let mut both = accept(&desk, &path).await;
        assert_eq!(both.get("/team").await.status, 403, "a viewer in the one that invited");
        both.get("/account").await;
        let first = one.new.id.to_string();
        let chosen = both.post("/account/merchant", &[("merchant", &first)]).await;
        assert_eq!(chosen.header("location"), Some("/"));
        assert_eq!(both.get("/team").await.status, 200);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_prints_the_table_that_the_guard_obeys() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let mut owner = desk.signed_in("owner@example.com", Role::Owner, Some(&merchant)).await;
        let mut admin = desk.signed_in("admin@example.com", Role::Admin, None).await;
        let merchants = [Role::Owner, Role::Developer, Role::Finance, Role::Viewer];
        let operators = [Role::Admin, Role::OperatorFinance, Role::Support];
        for (page, scope, roles) in [
            (owner.get("/team").await.body, Scope::Merchant, &merchants[..]),
            (admin.get("/operator/accounts").await.body, Scope::Operator, &operators[..]),
        ] {
            for action in Action::ALL {
                let mark = format!("<code>{action}</code></td>");
                let Some((_, row)) = page.split_once(&mark) else {
                    assert_ne!(action.scope(), scope, "{action} is missing");
                    continue;
                };
                let row = row.split("</tr>").next().unwrap();
                for role in roles {
                    let cell = between(row, &format!("data-label=\"{role}\">"), "</td>");
                    assert_eq!(cell == "yes", action.is_for(*role), "{action} {role}");
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_keep_the_operators_team_in_the_same_way() {
    with_desk(|desk| async move {
        let mut admin = desk.signed_in("admin@example.com", Role::Admin, None).await;
        let mut support = desk.signed_in("support@example.com", Role::Support, None).await;
        assert_eq!(support.get("/operator/accounts").await.status, 403);
        let path = invite(&mut admin, "/operator/accounts", "fin@example.com", "operator-finance");
        let mut visitor = accept(&desk, &path.await).await;
        assert_eq!(visitor.get("/operator").await.header("location"), Some("/account"));
        let page = admin.get("/operator/accounts").await.body;
        let id = member(&page, "admin@example.com");
        let last = admin.post(&format!("/operator/accounts/{id}/remove"), &[]).await;
        assert!(last.status == 409, "{}", last.body);
        assert!(last.body.contains("The last operator-admin stays"), "{}", last.body);
        let foreign = [("email", "x@example.com"), ("role", "owner")];
        assert_eq!(admin.post("/operator/accounts", &foreign).await.status, 422);
        let id = member(&page, "fin@example.com");
        let gone = admin.post(&format!("/operator/accounts/{id}/remove"), &[]).await;
        assert_eq!(gone.header("location"), Some("/operator/accounts?done=removed"));
        assert_eq!(visitor.get("/account").await.header("location"), Some("/sign-in"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_invites_the_first_owner_of_a_merchant_and_no_second_one() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let page = format!("/operator/merchants/{}", merchant.new.id);
        let path = format!("{page}/owner");
        let mut admin = desk.signed_in("a@example.com", Role::Admin, None).await;
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        assert!(!support.get(&page).await.body.contains("merchant.invite"));
        assert_eq!(support.post(&path, &[("email", "x@example.com")]).await.status, 403);
        assert!(admin.get(&page).await.body.contains("data-action=\"merchant.invite\""));
        assert_eq!(admin.post(&path, &[("email", "nobody")]).await.status, 422);
        let unknown = format!("/operator/merchants/{}/owner", uuid::Uuid::now_v7());
        assert_eq!(admin.post(&unknown, &[("email", "o@example.com")]).await.status, 404);

        let first = admin.post(&path, &[("email", "O@Example.com ")]).await;
        assert_eq!(first.status, 200, "{}", first.body);
        assert_eq!(first.header("cache-control"), Some("no-store"));
        let lost = path_of(between(&first.body, "<code class=\"once\">", "</code>"));
        let again = admin.post(&path, &[("email", "o@example.com")]).await;
        let link = path_of(between(&again.body, "<code class=\"once\">", "</code>"));
        assert_ne!(lost, link);
        let mut late = desk.visitor();
        late.get(&lost).await;
        assert_ne!(late.post(&lost, &[("password", PASSWORD)]).await.status, 303, "it has ended");
        let mut owner = accept(&desk, &link).await;
        assert_eq!(owner.get("/team").await.status, 200);

        assert!(!admin.get(&page).await.body.contains("data-action=\"merchant.invite\""));
        let refused = admin.post(&path, &[("email", "a@example.com")]).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("has an owner already"), "{}", refused.body);
        let id = merchant.new.id.to_string();
        let audit = desk.gateway.audit(Some(&id), None).await.unwrap();
        let invited: Vec<_> = audit.iter().filter(|entry| entry.act == "invited").collect();
        assert_eq!(invited.len(), 2, "{audit:?}");
        assert!(invited.iter().all(|entry| entry.operator == "a@example.com"));
    })
    .await;
}
