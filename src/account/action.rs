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
        TotpRemove = "totp.remove",
        RecoveryReplace = "recovery.replace",
        PasskeyAdd = "passkey.add",
        PasskeyRemove = "passkey.remove",
        SessionRevoke = "session.revoke",
        MerchantChoose = "merchant.choose",
        TeamView = "team.view",
        TeamInvite = "team.invite",
        TeamRole = "team.role",
        TeamRemove = "team.remove",
        OperatorTeamView = "operator-team.view",
        OperatorTeamInvite = "operator-team.invite",
        OperatorTeamRole = "operator-team.role",
        OperatorTeamRemove = "operator-team.remove",
        OverviewView = "overview.view",
        PaymentView = "payment.view",
        PaymentCreate = "payment.create",
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
        EventTest = "event.test",
        BalanceView = "balance.view",
        ReportView = "report.view",
        LinkView = "link.view",
        LinkCreate = "link.create",
        LinkChange = "link.change",
        DeviceEnrol = "device.enrol",
        DeviceRevoke = "device.revoke",
        SubscriptionView = "subscription.view",
        SubscriptionCancel = "subscription.cancel",
        /// Resources that are sold to programs, and their settlements.
        X402View = "x402.view",
        X402Create = "x402.create",
        X402Change = "x402.change",
        DevelopersView = "developers.view",
        KeyRotate = "key.rotate",
        SecretRotate = "secret.rotate",
        /// The keys of the `/legacy` adapter, first ones and others.
        LegacyKeyRotate = "legacy-key.rotate",
        LegacyKeyRevoke = "legacy-key.revoke",
        SettingsView = "settings.view",
        SettingsChange = "settings.change",
        OperatorView = "operator.view",
        MerchantView = "merchant.view",
        MerchantCreate = "merchant.create",
        /// Invites the first owner.
        MerchantInvite = "merchant.invite",
        MerchantSuspend = "merchant.suspend",
        MerchantResume = "merchant.resume",
        MerchantChange = "merchant.change",
        /// Reads a merchant's own pages as its viewer does.
        MerchantPagesView = "merchant-pages.view",
        DeadLetterView = "dead-letter.view",
        DeadLetterRequeue = "dead-letter.requeue",
        CurrencyView = "currency.view",
        CurrencyChange = "currency.change",
        NetworkView = "network.view",
        NetworkExamine = "network.examine",
        DepositView = "deposit.view",
        DepositImport = "deposit.import",
        DepositAccept = "deposit.accept",
        OperatorPayoutView = "operator-payout.view",
        PayoutHold = "payout.hold",
        PayoutRelease = "payout.release",
        PayoutStop = "payout.stop",
        PayoutResume = "payout.resume",
        PayoutLimit = "payout.limit",
        X402HealthView = "x402-health.view",
        /// Stops settlements of programs alone.
        X402Stop = "x402.stop",
        X402Resume = "x402.resume",
        AnnouncementView = "announcement.view",
        AnnouncementPublish = "announcement.publish",
        AnnouncementMail = "announcement.mail",
        AnnouncementWithdraw = "announcement.withdraw",
        AnnouncementDismiss = "announcement.dismiss",
        AuditView = "audit.view",
    }
}

/// The callers an action is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everybody, also without a session.
    Anyone,
    /// A session that waits for its second factor.
    SecondFactorPending,
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
    /// Follows from the roles: an action that names none is for every signed-in account, but for
    /// the two by which one signs in.
    pub const fn scope(self) -> Scope {
        match (self, self.roles()) {
            (Self::SessionOpen, _) => Scope::Anyone,
            (Self::CodeEnter, _) => Scope::SecondFactorPending,
            (_, []) => Scope::Account,
            (_, [role, ..]) if role.is_operator() => Scope::Operator,
            (_, [_, ..]) => Scope::Merchant,
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
            | Self::TotpRemove
            | Self::RecoveryReplace
            | Self::PasskeyAdd
            | Self::PasskeyRemove
            | Self::SessionRevoke
            | Self::AnnouncementDismiss
            | Self::MerchantChoose => &[],
            Self::TeamView | Self::TeamInvite | Self::TeamRole | Self::TeamRemove => &[Owner],
            Self::OperatorTeamView
            | Self::OperatorTeamInvite
            | Self::OperatorTeamRole
            | Self::OperatorTeamRemove => &[Admin],
            Self::OverviewView
            | Self::PaymentView
            | Self::EventView
            | Self::BalanceView
            | Self::ReportView
            | Self::LinkView
            | Self::SubscriptionView
            | Self::X402View
            | Self::SettingsView => ALL_OF_MERCHANT,
            Self::LinkCreate | Self::LinkChange => &[Owner, Developer, Finance],
            Self::DeviceEnrol | Self::DeviceRevoke => &[Owner, Developer, Finance],
            Self::X402Create | Self::X402Change => &[Owner, Developer, Finance],
            Self::PaymentCreate => &[Owner, Developer, Finance],
            Self::PaymentCancel | Self::SubscriptionCancel => &[Owner, Finance],
            Self::EventResend | Self::EventTest | Self::DevelopersView => &[Owner, Developer],
            Self::PayoutView => ALL_OF_MERCHANT,
            Self::PayoutPreview
            | Self::PayoutCreate
            | Self::PayoutConfirm
            | Self::PayoutRefresh
            | Self::PayoutCancel
            | Self::NcPayoutCreate
            | Self::NcPayoutSubmit => &[Owner, Finance],
            Self::KeyRotate | Self::SecretRotate => &[Owner, Developer],
            Self::LegacyKeyRotate | Self::LegacyKeyRevoke => &[Owner, Developer],
            Self::SettingsChange => &[Owner],
            Self::OperatorView | Self::MerchantView | Self::DeadLetterView => ALL_OPERATORS,
            Self::MerchantPagesView | Self::CurrencyView | Self::NetworkView => ALL_OPERATORS,
            Self::DepositView | Self::OperatorPayoutView | Self::AnnouncementView => ALL_OPERATORS,
            Self::X402HealthView => ALL_OPERATORS,
            Self::MerchantCreate | Self::MerchantSuspend | Self::MerchantResume => &[Admin],
            Self::MerchantChange | Self::MerchantInvite | Self::CurrencyChange => &[Admin],
            Self::AnnouncementPublish | Self::AnnouncementMail => &[Admin],
            Self::AnnouncementWithdraw => &[Admin],
            Self::DeadLetterRequeue | Self::NetworkExamine => &[Admin, OperatorFinance],
            Self::DepositImport | Self::DepositAccept => &[Admin, OperatorFinance],
            Self::PayoutHold
            | Self::PayoutRelease
            | Self::PayoutStop
            | Self::PayoutResume
            | Self::PayoutLimit
            | Self::X402Stop
            | Self::X402Resume => &[Admin, OperatorFinance],
            Self::AuditView => &[Admin, Support],
        }
    }

    /// Returns true for what reads and changes nothing.
    pub fn is_view(self) -> bool {
        self.as_str().ends_with(".view")
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
                | Self::TotpConfirm
                | Self::TotpRemove
                | Self::RecoveryReplace
                | Self::PasskeyAdd
                | Self::PasskeyRemove
                | Self::TeamInvite
                | Self::TeamRole
                | Self::TeamRemove
                | Self::OperatorTeamInvite
                | Self::OperatorTeamRole
                | Self::OperatorTeamRemove
                | Self::KeyRotate
                | Self::SecretRotate
                | Self::LegacyKeyRotate
                | Self::LegacyKeyRevoke
                | Self::SettingsChange
                | Self::PayoutConfirm
                | Self::MerchantCreate
                | Self::MerchantInvite
                | Self::DepositAccept
                | Self::PayoutRelease
                | Self::PayoutResume
                | Self::PayoutLimit
                | Self::X402Resume
                | Self::AnnouncementMail
        )
    }

    /// The screen with the form of this action.
    pub const fn screen(self) -> &'static str {
        match self {
            Self::KeyRotate
            | Self::SecretRotate
            | Self::LegacyKeyRotate
            | Self::LegacyKeyRevoke
            | Self::DevelopersView => "/developers",
            Self::SettingsChange | Self::SettingsView => "/settings",
            Self::MerchantCreate
            | Self::MerchantInvite
            | Self::MerchantSuspend
            | Self::MerchantResume
            | Self::MerchantChange
            | Self::MerchantPagesView
            | Self::PayoutLimit
            | Self::MerchantView => "/operator/merchants",
            Self::CurrencyView | Self::CurrencyChange => "/operator/currencies",
            Self::NetworkView | Self::NetworkExamine => "/operator/networks",
            Self::DepositView | Self::DepositImport | Self::DepositAccept => "/operator/deposits",
            Self::OperatorPayoutView
            | Self::PayoutHold
            | Self::PayoutRelease
            | Self::PayoutStop
            | Self::PayoutResume => "/operator/payouts",
            Self::X402HealthView | Self::X402Stop | Self::X402Resume => "/operator/x402",
            Self::AnnouncementView | Self::AnnouncementPublish => "/operator/announcements",
            Self::AnnouncementMail | Self::AnnouncementWithdraw => "/operator/announcements",
            Self::DeadLetterView | Self::DeadLetterRequeue => "/operator/dead-letters",
            Self::AuditView => "/operator/audit",
            Self::OperatorView => "/operator",
            Self::PaymentView | Self::PaymentCreate | Self::PaymentCancel => "/payments",
            Self::EventView | Self::EventResend | Self::EventTest => "/events",
            Self::BalanceView => "/balance",
            Self::ReportView => "/reports",
            Self::LinkView | Self::LinkCreate | Self::LinkChange => "/links",
            Self::DeviceEnrol | Self::DeviceRevoke => "/links",
            Self::SubscriptionView | Self::SubscriptionCancel => "/subscriptions",
            Self::X402View | Self::X402Create | Self::X402Change => "/x402",
            Self::SessionOpen
            | Self::CodeEnter
            | Self::AnnouncementDismiss
            | Self::OverviewView => "/",
            Self::PayoutView
            | Self::PayoutPreview
            | Self::PayoutCreate
            | Self::PayoutConfirm
            | Self::PayoutRefresh
            | Self::PayoutCancel
            | Self::NcPayoutCreate
            | Self::NcPayoutSubmit => "/payouts",
            Self::SessionClose
            | Self::AccountView
            | Self::AccountConfirm
            | Self::PasswordChange
            | Self::TotpBegin
            | Self::TotpConfirm
            | Self::TotpRemove
            | Self::RecoveryReplace
            | Self::PasskeyAdd
            | Self::PasskeyRemove
            | Self::SessionRevoke
            | Self::MerchantChoose => "/account",
            Self::TeamView | Self::TeamInvite | Self::TeamRole | Self::TeamRemove => "/team",
            Self::OperatorTeamView
            | Self::OperatorTeamInvite
            | Self::OperatorTeamRole
            | Self::OperatorTeamRemove => "/operator/accounts",
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
            let changes = !action.is_view();
            for role in [Viewer, Support] {
                assert!(!(changes && action.is_for(role)), "{role} {action}");
            }
        }
    }
}
