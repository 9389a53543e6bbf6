//! Accounts of the dashboard: created and invited, signed in, proved again, ended.
//!
//! Every way in ends in one function, `open`, which alone decides whether the second factor is
//! still missing.

pub mod create;
pub mod hashing;
mod open;
pub mod opening;
pub mod second_factor;
pub mod session;
pub mod sign_in;

use crate::{
    account::password::PolicyError, app::operator::master_key::MasterKeyError,
    storage::StorageError,
};

/// The reasons for which somebody is not let in, or not further. The words are the same for
/// accounts that exist and for those that do not.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    #[error("The e-mail address or the password is wrong.")]
    Refused,
    #[error("This code is wrong, was used before, or is too old. Wait for the next one.")]
    WrongCode,
    #[error("Too many tries. Wait a quarter of an hour, then try again.")]
    TooManyTries,
    #[error("This link was used or has expired. Ask for a new one.")]
    LinkUsed,
    #[error("This account has no password: it was opened by a link. Open a new link instead.")]
    NoPassword,
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
}
