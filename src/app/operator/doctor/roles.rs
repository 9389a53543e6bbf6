//! The separation of spending rights: whether payouts have accounts of their own, and whether the
//! programs share one database user that may order a payout and sign it.

use super::{Finding, Health};
use crate::{
    app::Gateway,
    storage::{PgConnection, StorageError, roles},
};

impl Gateway {
    /// `None` where payouts are disabled. A program would not start with an error that is found
    /// here.
    pub(super) fn payout_accounts(&self) -> Option<Finding> {
        if !self.config.payouts_enabled() {
            return None;
        }
        let name = "payout accounts";
        let faults = self.accounts().payouts_not_apart(&self.config);
        if !faults.is_empty() {
            let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
            let advice = "how accounts are changed while orders run: deploy/CUSTODY.md";
            return Some(Finding::new(name, Health::Broken, faults.join("; ")).advice(advice));
        }
        let sound = if self.config.is_sandbox() {
            "the sandbox's own"
        } else {
            "no invoice has an address of theirs"
        };
        Some(Finding::new(name, Health::Ok, sound))
    }

    pub(super) async fn database_roles(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Finding, StorageError> {
        let missing = roles::missing(connection).await?;
        let users = roles::connected(connection).await?;
        let both = users.iter().filter(|user| user.writes_orders && user.writes_payments);
        let both: Vec<_> = both.map(|user| user.name.as_str()).collect();
        let detail = if !missing.is_empty() {
            format!("missing: {}", missing.join(", "))
        } else if !both.is_empty() {
            format!("{} may write orders of payouts and payments", both.join(", "))
        } else {
            "no connected user may write both orders of payouts and payments".to_owned()
        };
        let apart = missing.is_empty() && both.is_empty();
        let matters = !self.config.is_sandbox() && self.config.payouts_enabled();
        let health = if apart || !matters { Health::Ok } else { Health::Doubtful };
        Ok(Finding::new("database roles", health, detail)
            .fact("missing", missing.clone())
            .fact("users_with_both", both)
            .advice("give each program a user of its own: deploy/CUSTODY.md"))
    }
}
