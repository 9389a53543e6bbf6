//! Budgets of guesses: each is taken before the guess is looked at, over all copies of the program.

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{SignInError, Visitor};
use crate::{
    account::session::Budget,
    storage::{
        PgConnection, StorageError,
        accounts::{devices, guesses, sessions},
    },
};

/// A budget of one subject.
pub(super) type Taken = (Budget, String);

/// The account in the names of budgets: a hash, since people type passwords into the wrong field.
pub(super) fn subject_of(typed_email: &str) -> String {
    hex::encode(Sha256::digest(typed_email.trim().to_ascii_lowercase()))
}

/// Takes a guess of a password from every budget that it concerns. The same statements run for an
/// account that does not exist. Returns the budget that a right guess gives back.
///
/// A browser in which the account signed in before has a budget of its own, so that nobody else can
/// use it up, not even behind the same address. An address at which it signed in before does not
/// share the account's.
pub(super) async fn take_password(
    connection: &mut PgConnection,
    account_id: Option<Uuid>,
    subject: &str,
    visitor: &Visitor,
) -> Result<Taken, SignInError> {
    let id = account_id.unwrap_or_else(Uuid::nil);
    let address = &visitor.address;
    guesses::forget(connection).await?;
    if let Some(device) = known_device(connection, id, visitor).await? {
        let own = (Budget::Device, format!("{subject}@{device}"));
        return take_from(connection, own).await;
    }
    let at_home = sessions::is_known_address(connection, id, address).await?;
    let pair = (Budget::Pair, format!("{subject}@{address}"));
    let mut left = guesses::take(connection, Budget::Address, address).await?;
    left &= guesses::take(connection, pair.0, &pair.1).await?;
    if !at_home {
        left &= guesses::take(connection, Budget::Account, subject).await?;
    }
    if left { Ok(pair) } else { Err(SignInError::TooManyTries) }
}

/// Takes a guess of a second factor, behind the right password.
pub(super) async fn take_code(
    connection: &mut PgConnection,
    account_id: Uuid,
    visitor: &Visitor,
) -> Result<Taken, SignInError> {
    let own = match known_device(connection, account_id, visitor).await? {
        Some(device) => Some(device),
        None => {
            let address = &visitor.address;
            let at_home = sessions::is_known_address(connection, account_id, address).await?;
            at_home.then(|| address.clone())
        }
    };
    let budget = match own {
        Some(own) => (Budget::KnownCode, format!("{account_id}@{own}")),
        None => (Budget::Code, account_id.to_string()),
    };
    take_from(connection, budget).await
}

/// Takes a guess of a proof that a session gives again. Each session has a budget of its own: a
/// thief of one uses up no other.
pub(super) async fn take_confirmation(
    connection: &mut PgConnection,
    handle: Uuid,
) -> Result<Taken, SignInError> {
    take_from(connection, (Budget::KnownCode, handle.to_string())).await
}

async fn take_from(connection: &mut PgConnection, budget: Taken) -> Result<Taken, SignInError> {
    let left = guesses::take(connection, budget.0, &budget.1).await?;
    if left { Ok(budget) } else { Err(SignInError::TooManyTries) }
}

/// Gives a budget back, after a guess that was right.
pub(super) async fn give_back(
    connection: &mut PgConnection,
    (budget, subject): &Taken,
) -> Result<(), StorageError> {
    guesses::clear(connection, *budget, subject).await
}

/// The hash of the visitor's token, if the account knows this browser.
async fn known_device(
    connection: &mut PgConnection,
    account_id: Uuid,
    visitor: &Visitor,
) -> Result<Option<String>, StorageError> {
    let Some(device) = &visitor.device else { return Ok(None) };
    let hash = device.sha256();
    let known = devices::is_known(connection, account_id, &hash).await?;
    Ok(known.then(|| hex::encode(hash)))
}
