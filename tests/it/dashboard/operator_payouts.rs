//! Payouts that people decide about: two accounts, each of which has seen the order.

use gateway::{account::Role, asset::Network};
use support::{
    server::{
        broker::eventually,
        stack::{Stack, only, with_configured_stack},
    },
    shop::payouts::Payer,
};

use super::{Desk, Visitor, between};
use crate::payout::{EVM, two_rows};

/// A payer with an order that is funded and held for two people, and the operators' desk.
async fn with_held_order<F: Future<Output = ()>>(test: impl FnOnce(Desk, Payer, String) -> F) {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(&toml, |stack: std::sync::Arc<Stack>| async move {
        stack.start_all();
        let (gateway, address) = stack.dashboard("").await;
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        payer.fund(&order, due).await;
        eventually("the order is held", async || payer.story(&id).await.order.held).await;
        test(Desk { stack, gateway, address }, payer, id).await;
    })
    .await;
}

/// The digest that the page of an order shows to somebody who may release it.
async fn seen(visitor: &mut Visitor, id: &str) -> String {
    let page = visitor.get(&format!("/operator/payouts/{id}")).await;
    between(&page.body, "name=\"seen\" value=\"", "\"").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_released_by_two_accounts_and_never_by_one_twice() {
    with_held_order(|desk, payer, id| async move {
        let mut ada = desk.signed_in("ada@example.com", Role::OperatorFinance, None).await;
        let mut ben = desk.signed_in("ben@example.com", Role::Admin, None).await;
        let list = ada.get("/operator/payouts").await.body;
        assert!(list.contains(&id) && list.contains("2 people must release it"), "{list}");
        let path = format!("/operator/payouts/{id}/release");
        let digest = seen(&mut ada, &id).await;
        let fields = [("seen", digest.as_str())];
        for _ in 0..2 {
            let noted = ada.post(&path, &fields).await;
            let to = format!("/operator/payouts/{id}?done=noted");
            assert_eq!(noted.header("location"), Some(to.as_str()), "{}", noted.body);
        }
        // The same person at a shell is nobody else.
        assert_eq!(desk.gateway.release_order(&id, "ada").await.unwrap(), 1);
        assert!(payer.story(&id).await.payments.is_empty());
        let page = ada.get(&format!("/operator/payouts/{id}")).await.body;
        assert!(page.contains("You have released it"), "{page}");
        assert!(!page.contains("data-action=\"payout.release\""), "{page}");

        let digest = seen(&mut ben, &id).await;
        let released = ben.post(&path, &[("seen", digest.as_str())]).await;
        let to = format!("/operator/payouts/{id}?done=released");
        assert_eq!(released.header("location"), Some(to.as_str()), "{}", released.body);
        payer.becomes(&id, "completed").await;
        let audit = desk.gateway.audit(None, None).await.unwrap();
        let mut by: Vec<_> = audit
            .iter()
            .filter(|entry| entry.subject_kind == "payout_release" && entry.address.is_some())
            .map(|entry| entry.operator.as_str())
            .collect();
        by.sort_unstable();
        assert_eq!(by, ["ada@example.com", "ben@example.com"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_bound_to_what_its_page_showed() {
    with_held_order(|desk, payer, id| async move {
        let mut ada = desk.signed_in("ada@example.com", Role::Admin, None).await;
        let mut ben = desk.signed_in("ben@example.com", Role::Admin, None).await;
        let path = format!("/operator/payouts/{id}/release");
        let (by_ada, by_ben) = (seen(&mut ada, &id).await, seen(&mut ben, &id).await);
        assert_eq!(by_ada, by_ben);
        ada.post(&path, &[("seen", by_ada.as_str())]).await;
        // The hold has another reason now: neither the page of the one nor the word of the other
        // is about it.
        desk.stack
            .sql("update payout_order set hold_reason = 'another reason' where held_at is not null")
            .await;
        let refused = ben.post(&path, &[("seen", by_ben.as_str())]).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.body.contains("has changed since this page"), "{}", refused.body);
        let digest = seen(&mut ben, &id).await;
        let noted = ben.post(&path, &[("seen", digest.as_str())]).await;
        let to = format!("/operator/payouts/{id}?done=noted");
        assert_eq!(
            noted.header("location"),
            Some(to.as_str()),
            "the first word was of another page"
        );
        assert!(payer.story(&id).await.payments.is_empty());
        let digest = seen(&mut ada, &id).await;
        ada.post(&path, &[("seen", digest.as_str())]).await;
        payer.becomes(&id, "completed").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_an_account_that_was_let_in_meanwhile_nor_one_that_has_ended_is_a_second_person() {
    with_held_order(|desk, payer, id| async move {
        let mut ada = desk.signed_in("ada@example.com", Role::Admin, None).await;
        let mut ben = desk.signed_in("ben@example.com", Role::OperatorFinance, None).await;
        ada.get("/operator/accounts").await;
        let offer = [("email", "alt@example.com"), ("role", "operator-finance")];
        assert_eq!(ada.post("/operator/accounts", &offer).await.status, 200);
        let mut alt = desk.signed_in_again("alt@example.com").await;
        let path = format!("/operator/payouts/{id}/release");
        let digest = seen(&mut alt, &id).await;
        let refused = alt.post(&path, &[("seen", digest.as_str())]).await;
        assert_eq!(refused.status, 409, "{}", refused.body);
        assert!(refused.body.contains("let it in while the order waited"), "{}", refused.body);
        let noted = format!("/operator/payouts/{id}?done=noted");
        let digest = seen(&mut ben, &id).await;
        let first = ben.post(&path, &[("seen", digest.as_str())]).await;
        assert_eq!(first.header("location"), Some(noted.as_str()), "{}", first.body);
        desk.gateway.set_account_disabled("ben@example.com", true).await.unwrap();
        let digest = seen(&mut ada, &id).await;
        let first = ada.post(&path, &[("seen", digest.as_str())]).await;
        assert_eq!(first.header("location"), Some(noted.as_str()), "{}", first.body);
        assert!(payer.story(&id).await.payments.is_empty());
        let mut eve = desk.signed_in("eve@example.com", Role::OperatorFinance, None).await;
        let digest = seen(&mut eve, &id).await;
        eve.post(&path, &[("seen", digest.as_str())]).await;
        payer.becomes(&id, "completed").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_is_stopped_with_a_reason_and_goes_on_again() {
    with_held_order(|desk, _, id| async move {
        let mut ada = desk.signed_in("ada@example.com", Role::Admin, None).await;
        ada.get("/operator/payouts").await;
        let silent = ada.post("/operator/payouts/stop", &[("network", "*"), ("reason", " ")]).await;
        assert_eq!(silent.status, 422);
        let fields = [("network", "polygon"), ("reason", "a stolen <key>")];
        let stopped = ada.post("/operator/payouts/stop", &fields).await;
        assert_eq!(stopped.status, 303, "{}", stopped.body);
        let page = ada.get("/operator/payouts").await.body;
        assert!(page.contains("a stolen &#60;key&#62;"), "{page}");
        assert!(desk.gateway.payouts_stopped("polygon").await.unwrap().is_some());
        let resumed = ada.post("/operator/payouts/resume", &[("network", "polygon")]).await;
        assert_eq!(resumed.status, 303, "{}", resumed.body);
        assert_eq!(desk.gateway.payouts_stopped("polygon").await.unwrap(), None);
        let again = ada.post("/operator/payouts/resume", &[("network", "polygon")]).await;
        assert_eq!(again.status, 409);
        let audit = desk.gateway.audit(Some("polygon"), None).await.unwrap();
        let acts: Vec<_> = audit
            .iter()
            .filter(|entry| entry.subject_kind == "payout_stop")
            .map(|entry| (entry.act.as_str(), entry.operator.as_str()))
            .collect();
        assert_eq!(acts, [("delete", "ada@example.com"), ("insert", "ada@example.com")]);
        let held = ada.post(&format!("/operator/payouts/{id}/hold"), &[("reason", "x")]).await;
        assert_eq!(held.status, 409, "it is held already");
        let mut support = desk.signed_in("s@example.com", Role::Support, None).await;
        let page = support.get(&format!("/operator/payouts/{id}")).await.body;
        assert!(!page.contains("<form method=\"post\" action=\"/operator/payouts"), "{page}");
    })
    .await;
}
