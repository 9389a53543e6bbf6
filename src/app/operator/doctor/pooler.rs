//! The database's two addresses: the direct one has sessions of its own, the pooler keeps what its
//! clients rely on.

use super::{Finding, Health, with_causes};
use crate::{
    app::Gateway,
    storage::{StorageError, Trouble},
};

pub(super) fn advice(error: &StorageError) -> &'static str {
    let trouble = Trouble::of(error);
    if trouble == Some(Trouble::DirectAddress) {
        "set GATEWAY_DATABASE_DIRECT_URL to PostgreSQL itself: deploy/SCALING.md"
    } else if trouble == Some(Trouble::Pooler) {
        "set max_prepared_statements of PgBouncer: deploy/SCALING.md"
    } else {
        "is PostgreSQL running there? the address is in DATABASE_URL"
    }
}

impl Gateway {
    pub(super) async fn look_at_sessions(&self) -> Vec<Finding> {
        let failed = |check: &str, error: &StorageError| {
            Finding::new(check, Health::Broken, with_causes(error)).advice(advice(error))
        };
        // First of all: without statements that last the second question cannot be asked.
        if let Err(error) = self.db.prove_pooler().await {
            return vec![failed("pooler", &error)];
        }
        let direct = self.db.prove_direct().await;
        let mut findings: Vec<_> =
            direct.err().iter().map(|error| failed("direct address", error)).collect();
        let Some(address) = self.db.pooler_address() else { return findings };
        findings.push(match self.db.unlimited_behind_pooler().await {
            Ok(unlimited) => self.limits(&address, &unlimited.unwrap_or_default()),
            Err(error) => failed("pooler", &error),
        });
        findings
    }

    fn limits(&self, address: &str, unlimited: &[String]) -> Finding {
        let Some((user, database)) = self.db.pooled_user().filter(|_| !unlimited.is_empty()) else {
            return Finding::new("pooler", Health::Ok, format!("keeps statements at {address}"));
        };
        let detail = format!(
            "statements outside a transaction have no limit at {address}: {}",
            unlimited.join(", ")
        );
        let limits = [
            ("statement_timeout", "15s"),
            ("lock_timeout", "8s"),
            ("idle_in_transaction_session_timeout", "30s"),
        ];
        let missing =
            limits.iter().filter(|(name, _)| unlimited.iter().any(|missing| missing == name));
        let remedy: Vec<_> = missing
            .map(|(name, value)| {
                format!("alter role \"{user}\" in database \"{database}\" set {name} = '{value}'")
            })
            .collect();
        Finding::new("pooler", Health::Doubtful, detail)
            .fact("unlimited", unlimited.to_vec())
            .fact("remedy", remedy.clone())
            .advice(remedy.join("; "))
    }
}
