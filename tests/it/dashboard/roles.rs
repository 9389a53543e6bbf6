//! The table of roles × routes × own and other merchants' ids, over routes that the test finds by
//! itself.

use gateway::account::{Action, Role, action::Scope};
use gateway_dashboard::{Route, routes};
use http::Method;
use sqlx::{Executor, Row};
use support::client::Answer;
use uuid::Uuid;

use super::{Desk, Visitor, payment, with_desk};

/// A path with every parameter replaced by `id`.
fn path(route: &Route, id: &str) -> String {
    let parts = route.path.split('/').map(|part| if part.starts_with('{') { id } else { part });
    parts.collect::<Vec<_>>().join("/")
}

async fn send(visitor: &mut Visitor, route: &Route, path: &str) -> Answer {
    if route.method == Method::GET {
        visitor.get(path).await
    } else {
        visitor.post(path, &[]).await
    }
}

/// Refused means that the guard said no: by a word, or by another page.
fn is_refused(answer: &Answer) -> bool {
    let location = answer.header("location").unwrap_or_default();
    answer.status == 403
        || ["/sign-in", "/sign-in/code", "/operator", "/account"].contains(&location)
}

async fn somebody(desk: &Desk, role: Role, merchant: &support::server::stack::Merchant) -> Visitor {
    let merchant = (!role.is_operator()).then_some(merchant);
    let mut visitor = desk.signed_in(&format!("{role}@example.com"), role, merchant).await;
    visitor.get("/account").await;
    visitor
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_open_to_the_roles_of_its_action_alone() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = payment(&merchant, "one").await;
        let mut tried = 0;
        for role in Role::ALL {
            let mut visitor = somebody(&desk, role, &merchant).await;
            for route in routes() {
                if matches!(route.action.scope(), Scope::Merchant | Scope::Operator) {
                    let answer = send(&mut visitor, &route, &path(&route, &id)).await;
                    let what = format!("{role} {} {}", route.method, route.path);
                    let refused = is_refused(&answer);
                    assert_eq!(refused, !route.action.is_for(role), "{what}: {}", answer.status);
                    assert!(answer.status < 500, "{what}: {}", answer.body);
                    tried += 1;
                }
            }
        }
        assert!(tried >= 7 * 20, "{tried}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_anywhere_without_a_session_or_with_half_of_one() {
    with_desk(|desk| async move {
        let merchant = desk.merchant().await;
        let id = payment(&merchant, "one").await;
        let email = "owner@example.com";
        let mut owner = desk.invited(email, Role::Owner, Some(&merchant)).await;
        owner.get("/account").await;
        super::set_up_codes(&mut owner).await;
        let (mut half, answer) = desk.by_password(email, super::PASSWORD).await;
        assert_eq!(answer.header("location"), Some("/sign-in/code"));
        half.get("/sign-in/code").await;
        let mut stranger = desk.visitor();
        stranger.get("/sign-in").await;
        for route in routes().iter().filter(|route| route.action.scope() != Scope::Anyone) {
            let path = path(route, &id);
            let answer = send(&mut stranger, route, &path).await;
            assert_eq!(answer.header("location"), Some("/sign-in"), "{path}");
            if !matches!(route.action, Action::CodeEnter | Action::SessionClose) {
                let answer = send(&mut half, route, &path).await;
                assert_eq!(answer.header("location"), Some("/sign-in/code"), "{path}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_does_nothing_before_he_has_a_second_factor() {
    with_desk(|desk| async move {
        let mut admin = desk.invited("admin@example.com", Role::Admin, None).await;
        admin.get("/account").await;
        let id = Uuid::now_v7().to_string();
        for route in routes().iter().filter(|route| route.action.scope() == Scope::Operator) {
            let answer = send(&mut admin, route, &path(route, &id)).await;
            assert_eq!(answer.header("location"), Some("/account"), "{}", route.path);
        }
        let page = admin.get("/account").await;
        assert!(page.body.contains("Operators need a second factor"), "{}", page.body);
        super::set_up_codes(&mut admin).await;
        assert_eq!(admin.get("/operator").await.status, 200);
    })
    .await;
}

/// Everything of a merchant that the database names, and the state of all of it, over whatever
/// tables there are.
struct Belongings {
    ids: Vec<String>,
    state: Vec<String>,
}

async fn belongings(desk: &Desk, merchant: Uuid) -> Belongings {
    let mut owner = desk.stack.database.connect().await;
    let columns = "
        select c.table_name::text as table_name,
               array_agg(c.column_name::text) filter (where c.column_name = 'id' or c.column_name like '%\\_id') as ids
        from information_schema.columns c
        join information_schema.columns m
            on m.table_schema = 'public' and m.table_name = c.table_name and m.column_name = 'merchant_id'
        where c.table_schema = 'public' and c.column_name <> 'merchant_id'
          and c.table_name not in ('account_session', 'membership')
        group by c.table_name
        order by c.table_name";
    let (mut ids, mut state) = (vec![merchant.to_string()], Vec::new());
    for row in owner.fetch_all(columns).await.unwrap() {
        let table: String = row.get("table_name");
        let named: Option<Vec<String>> = row.get("ids");
        let rows = format!("from \"{table}\" t where t.merchant_id = '{merchant}'");
        for column in named.unwrap_or_default() {
            let query = format!(
                "select distinct t.{column}::text {rows} and t.{column} is not null limit 2"
            );
            let found = owner.fetch_all(sqlx::AssertSqlSafe(query)).await.unwrap();
            ids.extend(found.iter().map(|row| row.get::<String, _>(0)));
        }
        let query =
            format!("select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') {rows}");
        let hash = owner.fetch_one(sqlx::AssertSqlSafe(query)).await.unwrap();
        state.push(format!("{table} {}", hash.get::<String, _>(0)));
    }
    Belongings { ids, state }
}

/// Whatever route takes an id: another merchant's is unknown to it, and nothing of his changes.
#[tokio::test(flavor = "multi_thread")]
async fn no_route_knows_anything_of_another_merchant() {
    with_desk(|desk| async move {
        let (ours, theirs) = (desk.merchant().await, desk.merchant().await);
        let id = payment(&theirs, "secret order").await;
        let event = theirs.client.get("/v1/events").await.json();
        assert!(event["data"][0]["event_id"].is_string(), "{event}");
        let before = belongings(&desk, theirs.new.id).await;
        assert!(before.ids.contains(&id) && before.ids.len() >= 4, "{:?}", before.ids);
        let mut owner = somebody(&desk, Role::Owner, &ours).await;
        let mut tried = 0;
        for route in routes() {
            if route.action.scope() != Scope::Merchant || !route.path.contains('{') {
                continue;
            }
            for id in &before.ids {
                let path = path(&route, &id.replace(' ', "%20"));
                let answer = send(&mut owner, &route, &path).await;
                let what = format!("{} {path}", route.method);
                assert!([404, 422].contains(&answer.status), "{what}: {}", answer.status);
                assert!(!answer.body.contains("secret order"), "{what}: {}", answer.body);
                tried += 1;
            }
        }
        assert!(tried >= 16, "{tried}");
        let after = belongings(&desk, theirs.new.id).await;
        assert_eq!(before.state, after.state);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchants_ids_lead_nowhere() {
    with_desk(|desk| async move {
        let (ours, theirs) = (desk.merchant().await, desk.merchant().await);
        let id = payment(&theirs, "secret order").await;
        let feed = theirs.client.get("/v1/events").await.json();
        let event = feed["data"][0]["event_id"].as_str().unwrap().to_owned();
        let mut owner = somebody(&desk, Role::Owner, &ours).await;
        for path in [format!("/payments/{id}"), format!("/events/{event}")] {
            assert_eq!(owner.get(&path).await.status, 404, "{path}");
        }
        for path in [format!("/payments/{id}/cancel"), format!("/events/{event}/resend")] {
            assert_eq!(owner.post(&path, &[]).await.status, 404, "{path}");
        }
        for words in [id.as_str(), "secret+order"] {
            let found = owner.get(&format!("/payments?q={words}")).await;
            assert!(found.body.contains("<p>None.</p>"), "{words}");
        }
        let other = theirs.new.id.to_string();
        let chosen = owner.post("/account/merchant", &[("merchant", &other)]).await;
        assert_eq!(chosen.status, 404);
        let status = theirs.client.get(&format!("/v1/payment/{id}")).await.json();
        assert_eq!(status["payment_status"], "waiting");
    })
    .await;
}
