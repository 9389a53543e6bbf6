//! The reasons of the database's failures, as far as a person can put them right.

use std::error::Error;

use super::StorageError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// There was no answer, or not in time.
    NoAnswer,
    /// It is on its way up or down, or has no connection left.
    NotReady,
    Credentials,
    NoSuchDatabase,
    /// A table or a column that this program knows is missing.
    OldSchema,
    NotAllowed,
    /// It only repeats another server.
    Replica,
    /// It was closed for a planned failover.
    HandedOver,
    /// Locks and migrations have no session of their own, or one in another database.
    DirectAddress,
    /// The pooler in front of it forgets prepared statements.
    Pooler,
}

impl Trouble {
    /// The trouble with the database that `cause`, one link of an error's chain, shows.
    pub fn of(cause: &(dyn Error + 'static)) -> Option<Self> {
        match cause.downcast_ref() {
            Some(StorageError::TimedOut) => Some(Self::NoAnswer),
            Some(StorageError::Database(error)) => from_driver(error),
            Some(StorageError::ReadOnly) => Some(Self::Replica),
            Some(StorageError::HandedOver) => Some(Self::HandedOver),
            Some(StorageError::SharedSessions | StorageError::TwoDatabases) => {
                Some(Self::DirectAddress)
            }
            Some(StorageError::ForgottenStatements) => Some(Self::Pooler),
            Some(StorageError::Constraint { .. } | StorageError::Damaged { .. }) => None,
            // Errors that wrap ours without a sentence of their own show only the driver's in the
            // chain.
            None => from_driver(cause.downcast_ref()?),
        }
    }

    /// Returns whether waiting a little may help.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::NoAnswer | Self::NotReady)
    }
}

fn from_driver(error: &sqlx::Error) -> Option<Trouble> {
    if let sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut = error {
        return Some(Trouble::NoAnswer);
    }
    // A forwarder in front of a server that is not up yet accepts and hangs up.
    if let sqlx::Error::Protocol(_) = error {
        return Some(Trouble::NotReady);
    }
    if super::pooler::forgets(error) {
        return Some(Trouble::Pooler);
    }
    match error.as_database_error()?.code()?.as_ref() {
        "57P03" | "57P01" | "53300" => Some(Trouble::NotReady),
        "28P01" | "28000" => Some(Trouble::Credentials),
        "3D000" => Some(Trouble::NoSuchDatabase),
        "42P01" | "42703" => Some(Trouble::OldSchema),
        "42501" => Some(Trouble::NotAllowed),
        _ => None,
    }
}
