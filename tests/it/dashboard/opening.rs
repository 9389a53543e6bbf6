//! Accounts with which production does not start the dashboard.

use gateway::account::Role;

use super::{PASSWORD, path_of, set_up_codes, with_desk};

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_has_three_days_for_a_second_factor_and_then_production_does_not_start() {
    with_desk(|desk| async move {
        let (email, gateway) = ("admin@shop.example", &desk.gateway);
        let refusal = async || gateway.check_accounts().await.err().map(|error| error.to_string());
        // Nobody has accepted: the invitation needs a program that runs.
        gateway.create_account("later@shop.example", Role::Admin, None).await.unwrap();
        let mut admin = desk.invited(email, Role::Admin, None).await;
        assert_eq!(refusal().await, None);
        let later = "update membership set accepted_at = now() - interval '73 hours'
                     where accepted_at is not null";
        desk.stack.sql(later).await;
        let said = refusal().await.unwrap();
        assert!(said.contains(email) && said.contains("gatewayctl account disable"), "{said}");
        assert!(!said.contains("later@shop.example"), "{said}");
        // Both ways out: ended, or let in again for three days.
        gateway.set_account_disabled(email, true).await.unwrap();
        assert_eq!(refusal().await, None);
        gateway.set_account_disabled(email, false).await.unwrap();
        assert_eq!(refusal().await, None);
        assert_eq!(admin.get("/account").await.header("location"), Some("/sign-in"));
        let (mut admin, _) = desk.by_password(email, PASSWORD).await;
        admin.get("/account").await;
        set_up_codes(&mut admin).await;
        desk.stack.sql(later).await;
        assert_eq!(refusal().await, None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn production_refuses_the_accounts_of_the_sandbox() {
    with_desk(|desk| async move {
        let gateway = &desk.gateway;
        let email = "owner@demo.example";
        let merchant = desk.merchant().await;
        let id = Some(merchant.new.id);
        let made = gateway.create_account(email, Role::Owner, id).await.unwrap();
        assert!(path_of(&made.url).starts_with("/invite/"));
        let said = gateway.check_accounts().await.unwrap_err().to_string();
        assert!(said.contains(email) && said.contains("sandbox"), "{said}");
        gateway.set_account_disabled(email, true).await.unwrap();
        gateway.check_accounts().await.unwrap();
    })
    .await;
}
