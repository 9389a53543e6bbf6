//! Recent changes that touch security, from the audit log: an account's own, and for owners those
//! of their merchants and of the people there.

use uuid::Uuid;

use super::{session::Signed, team};
use crate::{
    account::Role,
    app::Gateway,
    storage::{
        StorageError,
        audit::{self, AuditEntry, SecuritySubjects},
    },
};

const SHOWN: i64 = 30;

impl Gateway {
    /// The newest first. An owner is told of everything that a thief would change: keys, settings,
    /// the team, and second factors of its people.
    pub async fn security_news(&self, signed: &Signed) -> Result<Vec<AuditEntry>, StorageError> {
        let owned = signed.memberships.iter().filter_map(|membership| match membership.role {
            Role::Owner | Role::Admin => Some(membership.merchant_id),
            Role::OperatorFinance
            | Role::Support
            | Role::Developer
            | Role::Finance
            | Role::Viewer => None,
        });
        let owned: Vec<Option<Uuid>> = owned.collect();
        let teams: Vec<_> = owned.iter().map(|merchant_id| team::subject(*merchant_id)).collect();
        let mut people = Vec::new();
        for merchant_id in &owned {
            let members = self.members(*merchant_id).await?;
            // Who has only been invited is a stranger, and whoever invites could be one.
            let accepted = members.into_iter().filter(|member| member.accepted_at.is_some());
            people.extend(accepted.map(|member| member.email));
        }
        let subjects =
            SecuritySubjects { email: &signed.row.email, teams: &teams, people: &people };
        audit::of_security(&mut *self.db.connection().await?, &subjects, SHOWN).await
    }
}
