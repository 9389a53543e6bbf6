//! Teams: inviting people, changing their roles, taking them out. Owners do it for their merchant,
//! administrators for the operators.

use uuid::Uuid;

use super::create::{CreateError, Invitation, Way};
use crate::{
    account::{
        Role,
        bearer::Bearer,
        email,
        session::{Budget, INVITATION_SECONDS},
    },
    app::{
        Gateway,
        mail::{
            QUEUE,
            invitation::{Invited, invitation},
        },
    },
    storage::{
        PgConnection, StorageError,
        accounts::{
            self, NewMembership, guesses,
            links::{self, LinkKind, NewLink},
            team::{self, MemberRow},
        },
        audit, mail, merchants,
    },
};

/// People of one team, invited ones included.
pub const MEMBERS_MAX: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    #[error("There is nobody of that name in this team.")]
    Unknown,
    #[error("The role was changed by somebody else meanwhile. Look again.")]
    ChangedMeanwhile,
    #[error("The last {0} stays. Give somebody else that role first.")]
    LastOwner(Role),
    #[error("Your own role was changed meanwhile. Sign in again.")]
    NoLonger,
    #[error("The role {0} does not exist in this team.")]
    ForeignRole(Role),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for TeamError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// The author of a change to a team.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    pub account_id: Uuid,
    pub email: &'a str,
}

/// The name of a team in the audit log: its merchant's id, or the operators.
pub fn subject(merchant_id: Option<Uuid>) -> String {
    merchant_id.map_or_else(|| "operators".to_owned(), |id| id.to_string())
}

impl Gateway {
    /// The people of a merchant, or without one the operators.
    pub async fn members(&self, merchant_id: Option<Uuid>) -> Result<Vec<MemberRow>, StorageError> {
        everybody(&mut *self.db.connection().await?, merchant_id).await
    }

    /// Invites the first owner of a merchant. Whoever owns one invites the others, so that no
    /// operator makes himself an owner beside them. `by` is the operator's account.
    /// With `by_mail` the address is mailed, and the caller shows it to nobody.
    pub async fn invite_first_owner(
        &self,
        merchant_id: Uuid,
        typed_email: &str,
        by: &str,
        by_mail: bool,
    ) -> Result<Invitation, CreateError> {
        if self.has_owner(merchant_id).await? {
            return Err(CreateError::HasOwner);
        }
        let merchant = merchants::by_id(&mut *self.db.connection().await?, merchant_id).await?;
        merchant.ok_or(CreateError::UnknownMerchant(merchant_id))?;
        let way = if by_mail { Way::ByMail(by) } else { Way::ByHand };
        let made = self.invite(typed_email, Role::Owner, Some(merchant_id), None, way).await?;
        let mut connection = self.db.connection().await?;
        let detail = format!("{} as {}", email::normalised(typed_email)?, Role::Owner);
        let subject = subject(Some(merchant_id));
        audit::note(&mut connection, ("team", "invited"), &subject, by, &detail).await?;
        Ok(made)
    }

    /// Returns true if somebody has accepted to own a merchant.
    pub async fn has_owner(&self, merchant_id: Uuid) -> Result<bool, StorageError> {
        let members = self.members(Some(merchant_id)).await?;
        Ok(members.iter().any(|row| row.role == Role::Owner && row.accepted_at.is_some()))
    }

    /// Offers a role to whoever has this e-mail address, and makes the invitation that its owner
    /// accepts. Until then the role counts for nothing. Without an author it comes from the command
    /// line, or is the first. A mail is written with it, or not at all.
    pub async fn invite(
        &self,
        typed_email: &str,
        role: Role,
        merchant_id: Option<Uuid>,
        author: Option<Author<'_>>,
        way: Way<'_>,
    ) -> Result<Invitation, CreateError> {
        let email = email::normalised(typed_email)?;
        match (role.is_operator(), merchant_id) {
            (true, Some(_)) => return Err(CreateError::NoMerchant(role)),
            (false, None) => return Err(CreateError::NeedsMerchant(role)),
            (true, None) | (false, Some(_)) => {}
        }
        let mut tx = self.db.begin().await?;
        team::lock(&mut tx, merchant_id).await?;
        let members = everybody(&mut tx, merchant_id).await?;
        if author.is_some_and(|author| !leads(&members, author)) {
            return Err(CreateError::NoLonger);
        }
        if members.len() >= MEMBERS_MAX {
            return Err(CreateError::TooMany);
        }
        let account_id = accounts::find_or_insert(&mut tx, Uuid::now_v7(), &email).await?;
        let invited_by = author.map(|author| author.account_id);
        let new = NewMembership { account_id, merchant_id, role, invited_by };
        let inserted = accounts::insert_membership(&mut tx, new).await?;
        let Some(id) = inserted else { return Err(CreateError::Exists(email)) };
        let token = Bearer::generate();
        let link = NewLink {
            account_id,
            kind: LinkKind::Invitation,
            membership_id: Some(id),
            token_sha256: &token.sha256(),
            seconds: INVITATION_SECONDS,
        };
        links::replace(&mut tx, &link).await?;
        let url = self.dashboard_link("invite", &token);
        if let Way::ByMail(by) = way {
            let offer = (id, role, url.as_str());
            self.mail_invitation(&mut tx, merchant_id, offer, by, &email).await?;
        }
        if let Some(author) = author {
            let by_mail = if way == Way::ByHand { "" } else { ", by mail" };
            let detail = format!("{email} as {role}{by_mail}");
            let team = subject(merchant_id);
            audit::note(&mut tx, ("team", "invited"), &team, author.email, &detail).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(Invitation { account_id, url })
    }

    /// Writes the mail of an invitation to a merchant's team. Among the operators none is mailed:
    /// whoever reads a mailbox is not to become one of them.
    async fn mail_invitation(
        &self,
        tx: &mut PgConnection,
        merchant_id: Option<Uuid>,
        (membership_id, role, url): (Uuid, Role, &str),
        by: &str,
        address: &str,
    ) -> Result<(), CreateError> {
        let merchant_id =
            merchant_id.filter(|_| self.config.mail.enabled).ok_or(CreateError::MailsAreOff)?;
        if !guesses::take(tx, Budget::InvitationMail, &merchant_id.to_string()).await? {
            return Err(CreateError::TooManyMails);
        }
        let merchant = merchants::by_id(tx, merchant_id).await?;
        let merchant = merchant.ok_or(CreateError::UnknownMerchant(merchant_id))?;
        let merchant = merchant.name.as_str();
        let invited = Invited { membership_id, merchant_id, merchant, role, by, url };
        let mail = invitation(&self.master_keys, &invited, address);
        Ok(mail::insert(tx, &[mail], QUEUE).await?)
    }

    /// Gives somebody another role. His sessions end, and the last owner keeps his.
    pub async fn change_role(
        &self,
        author: Author<'_>,
        merchant_id: Option<Uuid>,
        member: Uuid,
        (seen, role): (Role, Role),
    ) -> Result<(), TeamError> {
        if role.is_operator() != merchant_id.is_none() {
            return Err(TeamError::ForeignRole(role));
        }
        let mut tx = self.db.begin().await?;
        let row = known(&mut tx, author, merchant_id, member).await?;
        let changed = team::set_role(&mut tx, merchant_id, member, seen, role).await;
        if !changed.map_err(|error| last_owner(error, seen))? {
            return Err(TeamError::ChangedMeanwhile);
        }
        let detail = format!("{} from {seen} to {role}", row.email);
        let team = subject(merchant_id);
        audit::note(&mut tx, ("team", "role changed"), &team, author.email, &detail).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// Takes somebody out of a team, or an invitation back. His sessions end, and the last owner
    /// stays.
    pub async fn remove_member(
        &self,
        author: Author<'_>,
        merchant_id: Option<Uuid>,
        member: Uuid,
    ) -> Result<(), TeamError> {
        let mut tx = self.db.begin().await?;
        let row = known(&mut tx, author, merchant_id, member).await?;
        let removed = team::remove(&mut tx, merchant_id, member).await;
        if !removed.map_err(|error| last_owner(error, row.role))? {
            return Err(TeamError::Unknown);
        }
        let detail = format!("{}, who was {}", row.email, row.role);
        let team = subject(merchant_id);
        audit::note(&mut tx, ("team", "removed"), &team, author.email, &detail).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }
}

async fn everybody(
    connection: &mut PgConnection,
    merchant_id: Option<Uuid>,
) -> Result<Vec<MemberRow>, StorageError> {
    let limit = i64::try_from(MEMBERS_MAX).unwrap_or(i64::MAX);
    team::members(connection, merchant_id, limit).await
}

/// Returns true if somebody may change the team now, under its lock: another owner may just have
/// taken that role from him.
fn leads(members: &[MemberRow], author: Author<'_>) -> bool {
    let leads = |row: &MemberRow| {
        let is_leading = matches!(row.role, Role::Owner | Role::Admin);
        row.account_id == author.account_id && row.accepted_at.is_some() && is_leading
    };
    members.iter().any(leads)
}

/// Somebody of a team, whose changes wait until the transaction ends.
async fn known(
    connection: &mut PgConnection,
    author: Author<'_>,
    merchant_id: Option<Uuid>,
    member: Uuid,
) -> Result<MemberRow, TeamError> {
    team::lock(connection, merchant_id).await?;
    let members = everybody(connection, merchant_id).await?;
    if !leads(&members, author) {
        return Err(TeamError::NoLonger);
    }
    members.into_iter().find(|row| row.id == member).ok_or(TeamError::Unknown)
}

/// The name is part of the schema's contract.
fn last_owner(error: StorageError, role: Role) -> TeamError {
    if error.is_constraint("membership_last_owner") {
        TeamError::LastOwner(role)
    } else {
        TeamError::Storage(error)
    }
}
