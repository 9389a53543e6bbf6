//! Deposits that ask for a decision: booked late, in another currency, of an unknown token, or
//! under an alert.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::Network,
    deposit::BookedAs,
    storage::{
        StorageError,
        operator::{
            alerts_of_deposits::{self, DepositAlert},
            odd_deposits::{self, OddDeposit},
        },
    },
};

const ALERTS_SHOWN: i64 = 25;

impl Gateway {
    /// Deposits of one kind of booking before a place, the newest first.
    pub async fn odd_deposits(
        &self,
        which: (BookedAs, Option<Network>),
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<OddDeposit>, StorageError> {
        let mut connection = self.db.connection().await?;
        odd_deposits::page(&mut connection, which, before, limit).await
    }

    /// The newest alerts about deposits.
    pub async fn deposit_alerts(&self) -> Result<Vec<DepositAlert>, StorageError> {
        let mut connection = self.db.connection().await?;
        alerts_of_deposits::newest(&mut connection, ALERTS_SHOWN).await
    }
}
