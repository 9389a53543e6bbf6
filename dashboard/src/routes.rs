//! The table of routes: the router is built from it alone, so that a test that walks it misses
//! nothing, and no route is without its action.

use axum::{
    http::Method,
    routing::{MethodRouter, get, post},
};
use gateway::account::Action as A;

use crate::{
    State, account, announcements, audit, balance, currencies, dead_letters, deposits, developers,
    events, help, invitation, links, merchants, networks, operator, operator_payouts, overview,
    payments,
    payouts::{self, nc_payouts as nc},
    reports, settings, sign_in, subscriptions, team, x402, x402_health,
};

/// One row of the table.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub action: A,
    pub(crate) handler: MethodRouter<State>,
}

/// Every route but those of the assets.
pub fn routes() -> Vec<Route> {
    [account(), merchant(), operator()].into_iter().flatten().collect()
}

fn read(path: &'static str, action: A, handler: MethodRouter<State>) -> Route {
    Route { method: Method::GET, path, action, handler }
}

fn act(path: &'static str, action: A, handler: MethodRouter<State>) -> Route {
    Route { method: Method::POST, path, action, handler }
}

/// Ways in, and what belongs to an account.
fn account() -> Vec<Route> {
    vec![
        read("/sign-in", A::SessionOpen, get(sign_in::page)),
        act("/sign-in", A::SessionOpen, post(sign_in::submit)),
        read("/sign-in/code", A::CodeEnter, get(sign_in::code_page)),
        act("/sign-in/code", A::CodeEnter, post(sign_in::submit_code)),
        act("/sign-in/passkey", A::SessionOpen, post(sign_in::submit_passkey)),
        act("/sign-in/code/passkey", A::CodeEnter, post(sign_in::submit_second_passkey)),
        read("/sign-in/link/{token}", A::SessionOpen, get(sign_in::link_page)),
        act("/sign-in/link/{token}", A::SessionOpen, post(sign_in::submit_link)),
        act("/sign-out", A::SessionClose, post(sign_in::close)),
        read("/invite/{token}", A::SessionOpen, get(invitation::page)),
        act("/invite/{token}", A::SessionOpen, post(invitation::accept)),
        read("/account", A::AccountView, get(account::page)),
        read("/account/confirm", A::AccountConfirm, get(account::confirm::page)),
        act("/account/confirm", A::AccountConfirm, post(account::confirm::submit)),
        act("/account/confirm/passkey", A::AccountConfirm, post(account::confirm::submit_passkey)),
        act("/account/password", A::PasswordChange, post(account::change_password)),
        act("/account/codes", A::TotpBegin, post(account::codes::begin)),
        act("/account/codes/confirm", A::TotpConfirm, post(account::codes::confirm)),
        act("/account/codes/remove", A::TotpRemove, post(account::codes::remove)),
        act("/account/recovery", A::RecoveryReplace, post(account::codes::replace_recovery)),
        act("/account/passkeys", A::PasskeyAdd, post(account::passkeys::begin)),
        act("/account/passkeys/add", A::PasskeyAdd, post(account::passkeys::add)),
        act("/account/passkeys/{id}/remove", A::PasskeyRemove, post(account::passkeys::remove)),
        act("/account/sessions/{handle}/end", A::SessionRevoke, post(account::end_session)),
        act("/account/merchant", A::MerchantChoose, post(account::choose_merchant)),
        read("/help", A::AccountView, get(help::page)),
        act("/announcements/{id}/dismiss", A::AnnouncementDismiss, post(announcements::dismiss)),
    ]
}

/// A merchant's screens.
fn merchant() -> Vec<Route> {
    vec![
        read("/", A::OverviewView, get(overview::page)),
        read("/payments", A::PaymentView, get(payments::list)),
        read("/payments/new", A::PaymentCreate, get(payments::by_hand::form)),
        act("/payments/new", A::PaymentCreate, post(payments::by_hand::submit)),
        read("/payments/{id}", A::PaymentView, get(payments::detail::page)),
        act("/payments/{id}/cancel", A::PaymentCancel, post(payments::detail::cancel)),
        read("/links", A::LinkView, get(links::page)),
        read("/links/new", A::LinkCreate, get(links::new::form)),
        act("/links/new", A::LinkCreate, post(links::new::submit)),
        read("/links/{id}", A::LinkView, get(links::detail::page)),
        act("/links/{id}/switch", A::LinkChange, post(links::detail::switch)),
        act("/links/{id}/devices", A::DeviceEnrol, post(links::devices::enrol)),
        act("/links/{id}/devices/{device}/revoke", A::DeviceRevoke, post(links::devices::revoke)),
        read("/subscriptions", A::SubscriptionView, get(subscriptions::list)),
        read("/subscriptions/{id}", A::SubscriptionView, get(subscriptions::page)),
        act("/subscriptions/{id}/cancel", A::SubscriptionCancel, post(subscriptions::cancel)),
        read("/x402", A::X402View, get(x402::list)),
        read("/x402/new", A::X402Create, get(x402::new::form)),
        act("/x402/new", A::X402Create, post(x402::new::submit)),
        read("/x402/settlements", A::X402View, get(x402::settlements::list)),
        read("/x402/{id}", A::X402View, get(x402::detail::page)),
        act("/x402/{id}", A::X402Change, post(x402::detail::edit)),
        act("/x402/{id}/switch", A::X402Change, post(x402::detail::switch)),
        read("/payouts", A::PayoutView, get(payouts::list)),
        act("/payouts", A::PayoutCreate, post(payouts::compose::create)),
        read("/payouts/new", A::PayoutPreview, get(payouts::compose::page)),
        act("/payouts/new", A::PayoutPreview, post(payouts::compose::preview)),
        read("/payouts/template.csv", A::PayoutView, get(payouts::report::template)),
        read("/payouts/new/non-custodial", A::PayoutPreview, get(nc::compose::page)),
        act("/payouts/new/non-custodial", A::PayoutPreview, post(nc::compose::preview)),
        act("/payouts/non-custodial", A::NcPayoutCreate, post(nc::compose::create)),
        read("/payouts/{id}", A::PayoutView, get(payouts::page)),
        act("/payouts/{id}/confirm", A::PayoutConfirm, post(payouts::act::confirm)),
        act("/payouts/{id}/refresh", A::PayoutRefresh, post(payouts::act::refresh)),
        act("/payouts/{id}/cancel", A::PayoutCancel, post(payouts::act::cancel)),
        read("/payouts/{id}/report.csv", A::PayoutView, get(payouts::report::report)),
        read("/payouts/{id}/unsigned", A::PayoutView, get(nc::sign::unsigned)),
        act("/payouts/{id}/submit", A::NcPayoutSubmit, post(nc::sign::submit)),
        read("/events", A::EventView, get(events::list)),
        read("/events/resend", A::EventResend, get(events::bulk_resend::preview)),
        act("/events/resend", A::EventResend, post(events::bulk_resend::submit)),
        read("/events/test", A::EventTest, get(events::test_event::form)),
        act("/events/test", A::EventTest, post(events::test_event::submit)),
        read("/events/{id}", A::EventView, get(events::page)),
        act("/events/{id}/resend", A::EventResend, post(events::resend)),
        read("/balance", A::BalanceView, get(balance::page)),
        read("/reports", A::ReportView, get(reports::page)),
        read("/reports/export", A::ReportView, get(reports::download::export)),
        read("/reports/{month}", A::ReportView, get(reports::month::page)),
        read("/reports/{month}/{file}", A::ReportView, get(reports::download::report)),
        read("/developers", A::DevelopersView, get(developers::page)),
        act("/developers/key", A::KeyRotate, post(developers::rotate_key)),
        act("/developers/secret", A::SecretRotate, post(developers::rotate_secret)),
        act("/developers/legacy", A::LegacyKeyRotate, post(developers::legacy::rotate)),
        act("/developers/legacy/revoke", A::LegacyKeyRevoke, post(developers::legacy::revoke)),
        read("/settings", A::SettingsView, get(settings::page)),
        act("/settings", A::SettingsChange, post(settings::submit)),
        act("/settings/front", A::SettingsChange, post(settings::front::submit)),
        read("/team", A::TeamView, get(team::page)),
        act("/team", A::TeamInvite, post(team::invite)),
        act("/team/{id}/role", A::TeamRole, post(team::change_role)),
        act("/team/{id}/remove", A::TeamRemove, post(team::remove)),
    ]
}

/// Operators' screens.
fn operator() -> Vec<Route> {
    vec![
        read("/operator", A::OperatorView, get(operator::page)),
        read("/operator/merchants", A::MerchantView, get(merchants::list)),
        act("/operator/merchants", A::MerchantCreate, post(merchants::create)),
        read("/operator/merchants/{id}", A::MerchantView, get(merchants::page)),
        act("/operator/merchants/{id}/owner", A::MerchantInvite, post(merchants::owner::invite)),
        act("/operator/merchants/{id}/suspend", A::MerchantSuspend, post(merchants::suspend)),
        act("/operator/merchants/{id}/resume", A::MerchantResume, post(merchants::resume)),
        read("/operator/dead-letters", A::DeadLetterView, get(dead_letters::page)),
        act("/operator/dead-letters", A::DeadLetterRequeue, post(dead_letters::requeue)),
        read("/operator/accounts", A::OperatorTeamView, get(team::page)),
        act("/operator/accounts", A::OperatorTeamInvite, post(team::invite)),
        act("/operator/accounts/{id}/role", A::OperatorTeamRole, post(team::change_role)),
        act("/operator/accounts/{id}/remove", A::OperatorTeamRemove, post(team::remove)),
        read("/operator/audit", A::AuditView, get(audit::page)),
        act("/operator/examine", A::NetworkExamine, post(operator::examine)),
        act("/operator/merchants/{id}/settings", A::MerchantChange, post(merchants::change)),
        act("/operator/merchants/{id}/limits", A::PayoutLimit, post(merchants::limit)),
        act("/operator/merchants/{id}/pages", A::MerchantPagesView, post(merchants::observe)),
        act("/operator/pages/end", A::MerchantPagesView, post(merchants::end_observation)),
        act(
            "/operator/dead-letters/mails",
            A::DeadLetterRequeue,
            post(dead_letters::mails::requeue),
        ),
        read("/operator/dead-letters/group", A::DeadLetterView, get(dead_letters::group)),
        read("/operator/dead-letters/runs/{id}", A::DeadLetterView, get(dead_letters::run)),
        read("/operator/currencies", A::CurrencyView, get(currencies::list)),
        read("/operator/currencies/{id}", A::CurrencyView, get(currencies::page)),
        act("/operator/currencies/{id}", A::CurrencyChange, post(currencies::change)),
        read("/operator/networks", A::NetworkView, get(networks::list)),
        read("/operator/networks/{id}", A::NetworkView, get(networks::page)),
        act("/operator/networks/{id}/examine", A::NetworkExamine, post(networks::examine)),
        read("/operator/deposits", A::DepositView, get(deposits::list)),
        read("/operator/deposits/explain", A::DepositView, get(deposits::explain)),
        act("/operator/deposits/import", A::DepositImport, post(deposits::import)),
        act("/operator/deposits/accept", A::DepositAccept, post(deposits::accept)),
        read("/operator/payouts", A::OperatorPayoutView, get(operator_payouts::list)),
        read("/operator/payouts/{id}", A::OperatorPayoutView, get(operator_payouts::page)),
        act("/operator/payouts/{id}/hold", A::PayoutHold, post(operator_payouts::hold)),
        act("/operator/payouts/{id}/release", A::PayoutRelease, post(operator_payouts::release)),
        act("/operator/payouts/stop", A::PayoutStop, post(operator_payouts::stop)),
        act("/operator/payouts/resume", A::PayoutResume, post(operator_payouts::resume)),
        read("/operator/x402", A::X402HealthView, get(x402_health::page)),
        act("/operator/x402/stop", A::X402Stop, post(x402_health::stop)),
        act("/operator/x402/resume", A::X402Resume, post(x402_health::resume)),
        read("/operator/announcements", A::AnnouncementView, get(announcements::list)),
        act("/operator/announcements", A::AnnouncementPublish, post(announcements::publish)),
        act("/operator/announcements/{id}/mail", A::AnnouncementMail, post(announcements::mail)),
        act(
            "/operator/announcements/{id}/withdraw",
            A::AnnouncementWithdraw,
            post(announcements::withdraw),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::next_page::SCREENS_OF_THINGS;

    #[test]
    fn the_screens_with_a_page_for_each_thing_are_those_of_the_table() {
        let reads = routes().into_iter().filter(|route| route.method == Method::GET);
        let of_things = reads.filter_map(|route| {
            let (screen, name) = route.path.rsplit_once("/{")?;
            (route.action.screen() == screen && name.ends_with('}')).then_some(screen)
        });
        assert_eq!(of_things.collect::<BTreeSet<_>>(), BTreeSet::from(SCREENS_OF_THINGS));
    }
}
