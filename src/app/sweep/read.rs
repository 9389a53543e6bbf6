//! Plans as operators look at them, and giving one up.

use super::SweepError;
use crate::{
    app::Gateway,
    storage::{
        StorageError,
        sweeps::{self, SweepRow, TransactionRow},
    },
};

/// A plan with its transactions.
#[derive(Debug, Clone)]
pub struct Status {
    pub sweep: SweepRow,
    pub transactions: Vec<TransactionRow>,
}

impl Gateway {
    /// One plan.
    ///
    /// # Errors
    /// If there is none.
    pub async fn sweep_status(&self, plan_id: &str) -> Result<Status, SweepError> {
        let mut connection = self.db.connection().await?;
        let sweep = sweeps::of_id(&mut connection, plan_id).await?;
        let sweep = sweep.ok_or_else(|| SweepError::Unknown(plan_id.to_owned()))?;
        let transactions = sweeps::transactions(&mut connection, sweep.id).await?;
        Ok(Status { sweep, transactions })
    }

    /// Plans, the newest first.
    pub async fn sweeps(&self, limit: i64) -> Result<Vec<Status>, StorageError> {
        let mut connection = self.db.connection().await?;
        let mut all = Vec::new();
        for sweep in sweeps::newest(&mut connection, limit).await? {
            let transactions = sweeps::transactions(&mut connection, sweep.id).await?;
            all.push(Status { sweep, transactions });
        }
        Ok(all)
    }

    /// Gives up a plan of which nothing is signed here, so that another may have its coins. `false`
    /// if it was given up before.
    ///
    /// # Errors
    /// If it is signed, or unknown.
    pub async fn drop_sweep(&self, plan_id: &str) -> Result<bool, SweepError> {
        let mut tx = self.db.begin().await?;
        let sweep = sweeps::lock(&mut tx, plan_id).await?;
        let sweep = sweep.ok_or_else(|| SweepError::Unknown(plan_id.to_owned()))?;
        if sweep.signed_at.is_some() {
            return Err(SweepError::Signed(plan_id.to_owned()));
        }
        if sweep.dropped_at.is_some() {
            return Ok(false);
        }
        sweeps::drop_plan(&mut tx, sweep.id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(true)
    }
}
