//! Accounts of the dashboard: created and invited, signed in, proved again, ended.
//!
//! Every way in ends in one function, `open`, which alone decides whether the second factor is
//! still missing.

mod budget;
pub mod create;
pub mod hashing;
mod open;
pub mod opening;
pub mod passkey;
pub mod second_factor;
pub mod security_events;
pub mod session;
pub mod sign_in;
pub mod team;

use crate::{
    account::{bearer::Bearer, factor::LastFactor, password::PolicyError},
    app::operator::master_key::MasterKeyError,
    storage::StorageError,
};

/// The reasons for which somebody is not let in, or not further. The words are the same for
/// accounts that exist and for those that do not.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("The e-mail address or the password is wrong.")]
    Refused,
    #[error("The password is wrong.")]
    WrongPassword,
    #[error("This code is wrong, was used before, or is too old. Wait for the next one.")]
    WrongCode,
    #[error("Too many tries. Wait a quarter of an hour, then try again.")]
    TooManyTries,
    #[error("This link was used or has expired. Ask for a new one.")]
    LinkUsed,
    #[error("This account has no password: it was opened by a link. Open a new link instead.")]
    NoPassword,
    #[error("This passkey was not accepted. Try again, or use another way.")]
    WrongPasskey,
    #[error("An account has at most 20 passkeys. Remove one first.")]
    TooManyPasskeys,
    #[error(transparent)]
    LastFactor(#[from] LastFactor),
    #[error("The key has expired: enter its first code within 15 minutes. Start the set-up again.")]
    NothingPending,
    #[error("Set up an authenticator app or a passkey first; recovery codes stand in for these.")]
    NoFactor,
    #[error("An operator has reset this account. Open his link first, then this one.")]
    ResetFirst,
    #[error("Too many people are signing in at this moment. Try again.")]
    Busy,
    #[error("This session has ended. Sign in again.")]
    Ended,
    #[error("{}", sentence(.0))]
    Policy(#[from] PolicyError),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The error as a sentence that people read in a page.
fn sentence(error: &PolicyError) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// The client of a request: its address, and the words by which its browser names itself.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub address: String,
    pub agent: String,
    /// By which its browser may be known; whether it is depends on the account.
    pub device: Option<Bearer>,
}
