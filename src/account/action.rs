//! Actions of the dashboard, and the roles that may do each: the one table that every route obeys.

use super::role::Role::{self, Admin, Developer, Finance, OperatorFinance, Owner, Support, Viewer};
use crate::vocabulary::vocabulary;

vocabulary! {
    /// An action that a route names. One that ends in `.view` reads, every other one changes
    /// something.
    pub enum Action: "action" {
        SessionOpen = "session.open",
        CodeEnter = "code.enter",
        SessionClose = "session.close",
        AccountView = "account.view",
        AccountConfirm = "account.confirm",
        PasswordChange = "password.change",
        TotpBegin = "totp.begin",
        TotpConfirm = "totp.confirm",
        SessionRevoke = "session.revoke",
        MerchantChoose = "merchant.choose",
        OverviewView = "overview.view",
        PaymentView = "payment.view",
        PaymentCancel = "payment.cancel",
        PayoutView = "payout.view",
        PayoutPreview = "payout.preview",
        PayoutCreate = "payout.create",
        PayoutConfirm = "payout.confirm",
        PayoutRefresh = "payout.refresh",
        PayoutCancel = "payout.cancel",
        NcPayoutCreate = "nc-payout.create",
        NcPayoutSubmit = "nc-payout.submit",
        EventView = "event.view",
        EventResend = "event.resend",
        DevelopersView = "developers.view",
        KeyRotate = "key.rotate",
        SecretRotate = "secret.rotate",
        SettingsView = "settings.view",
        SettingsChange = "settings.change",
        OperatorView = "operator.view",
        MerchantView = "merchant.view",
        MerchantCreate = "merchant.create",
        MerchantSuspend = "merchant.suspend",
        MerchantResume = "merchant.resume",
        DeadLetterView = "dead-letter.view",
        DeadLetterRequeue = "dead-letter.requeue",
        AuditView = "audit.view",
    }
}

/// The callers an action is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everybody, also without a session.
    Anyone,
    /// A session that waits for its second factor.
    HalfSignedIn,
    /// Every signed-in account, whatever its roles.
    Account,
    /// A role in the merchant that the session has chosen.
    Merchant,
    /// A role among the operators.
    Operator,
}

const ALL_OF_MERCHANT: &[Role] = &[Owner, Developer, Finance, Viewer];
const ALL_OPERATORS: &[Role] = &[Admin, OperatorFinance, Support];

impl Action {
    pub const fn scope(self) -> Scope {
        match self {
            Self::SessionOpen => Scope::Anyone,
            Self::CodeEnter => Scope::HalfSignedIn,
            Self::SessionClose
            | Self::AccountView
            | Self::AccountConfirm
            | Self::PasswordChange
            | Self::TotpBegin
            | Self::TotpConfirm
            | Self::SessionRevoke
            | Self::MerchantChoose => Scope::Account,
            Self::OverviewView
            | Self::PaymentView
            | Self::PaymentCancel
            | Self::PayoutView
            | Self::PayoutPreview
            | Self::PayoutCreate
            | Self::PayoutConfirm
            | Self::PayoutRefresh
            | Self::PayoutCancel
            | Self::NcPayoutCreate
            | Self::NcPayoutSubmit
            | Self::EventView
            | Self::EventResend
            | Self::DevelopersView
            | Self::KeyRotate
            | Self::SecretRotate
            | Self::SettingsView
            | Self::SettingsChange => Scope::Merchant,
            Self::OperatorView
            | Self::MerchantView
            | Self::MerchantCreate
            | Self::MerchantSuspend
            | Self::MerchantResume
            | Self::DeadLetterView
            | Self::DeadLetterRequeue
            | Self::AuditView => Scope::Operator,
        }
    }

    /// Roles that may do it; none where the scope needs no role.
    pub const fn roles(self) -> &'static [Role] {
        match self {
            Self::SessionOpen
            | Self::CodeEnter
            | Self::SessionClose
            | Self::AccountView
            | Self::AccountConfirm
            | Self::PasswordChange
            | Self::TotpBegin
            | Self::TotpConfirm
            | Self::SessionRevoke
            | Self::MerchantChoose => &[],
            Self::OverviewView | Self::PaymentView | Self::EventView | Self::SettingsView => {
                ALL_OF_MERCHANT
            }
            Self::PaymentCancel => &[Owner, Finance],
            Self::PayoutView => ALL_OF_MERCHANT,
            Self::PayoutPreview
            | Self::PayoutCreate
            | Self::PayoutConfirm
            | Self::PayoutRefresh
            | Self::PayoutCancel
            | Self::NcPayoutCreate
            | Self::NcPayoutSubmit => &[Owner, Finance],
            Self::EventResend | Self::DevelopersView => &[Owner, Developer],
            Self::KeyRotate | Self::SecretRotate => &[Owner, Developer],
            Self::SettingsChange => &[Owner],
            Self::OperatorView | Self::MerchantView | Self::DeadLetterView => ALL_OPERATORS,
            Self::MerchantCreate | Self::MerchantSuspend | Self::MerchantResume => &[Admin],
            Self::DeadLetterRequeue => &[Admin, OperatorFinance],
            Self::AuditView => &[Admin, Support],
        }
    }

    pub fn is_for(self, role: Role) -> bool {
        self.roles().contains(&role)
    }

    /// Returns true for what a stolen session must not reach: the account proves itself again
    /// within five minutes before it (attack A28).
    pub const fn needs_confirmation(self) -> bool {
        matches!(
            self,
            Self::PasswordChange
                | Self::TotpBegin
                | Self::KeyRotate
                | Self::SecretRotate
                | Self::SettingsChange
                | Self::PayoutConfirm
                | Self::MerchantCreate
        )
    }

    /// The screen with the form of this action.
    pub const fn screen(self) -> &'static str {
        match self {
            Self::KeyRotate | Self::SecretRotate | Self::DevelopersView => "/developers",
            Self::SettingsChange | Self::SettingsView => "/settings",
            Self::MerchantCreate
            | Self::MerchantSuspend
            | Self::MerchantResume
            | Self::MerchantView => "/operator/merchants",
            Self::DeadLetterView | Self::DeadLetterRequeue => "/operator/dead-letters",
            Self::AuditView => "/operator/audit",
            Self::OperatorView => "/operator",
            Self::PaymentView | Self::PaymentCancel => "/payments",
            Self::PayoutView
            | Self::PayoutPreview
            | Self::PayoutCreate
            | Self::PayoutConfirm
            | Self::PayoutRefresh
            | Self::PayoutCancel
            | Self::NcPayoutCreate
            | Self::NcPayoutSubmit => "/payouts",
            Self::EventView | Self::EventResend => "/events",
            Self::SessionOpen | Self::CodeEnter | Self::OverviewView => "/",
            Self::SessionClose
            | Self::AccountView
            | Self::AccountConfirm
            | Self::PasswordChange
            | Self::TotpBegin
            | Self::TotpConfirm
            | Self::SessionRevoke
            | Self::MerchantChoose => "/account",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_roles_and_actions_is_as_printed() {
        let line = |action: &Action| {
            let roles: Vec<_> = action.roles().iter().map(|role| role.as_str()).collect();
            format!("{action:<20} {}", roles.join(" ")).trim_end().to_owned()
        };
        let table: Vec<_> = Action::ALL.iter().map(line).collect();
        expect_test::expect_file!["role_table.txt"].assert_eq(&(table.join("\n") + "\n"));
    }

    #[test]
    fn an_action_names_roles_of_its_scope_alone() {
        for action in Action::ALL {
            let operators = action.scope() == Scope::Operator;
            let by_role = operators || action.scope() == Scope::Merchant;
            assert_eq!(action.roles().is_empty(), !by_role, "{action}");
            assert!(action.roles().iter().all(|role| role.is_operator() == operators), "{action}");
        }
    }

    #[test]
    fn roles_that_read_change_nothing() {
        for action in Action::ALL {
            let changes = !action.as_str().ends_with(".view");
            for role in [Viewer, Support] {
                assert!(!(changes && action.is_for(role)), "{role} {action}");
            }
        }
    }
}
