//! x402 for operators: the wallet, its limits, open settlements, and the stop of settlements alone.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    app::Gateway,
    asset::Network,
    storage::{
        StorageError,
        x402::health::{self, GasRow, OpenCounts, Stop, Waiting},
    },
};

/// The name of the stop of settlements alone, beside the networks' and the one of everything.
pub const STOP: &str = "x402";

/// Limits of the gas, in whole USD.
#[derive(Debug, Clone, Copy)]
pub struct GasLimits {
    pub transaction: u64,
    pub hour: u64,
    pub day: u64,
}

/// Everything around x402 that operators watch.
pub struct X402Picture {
    /// Networks on which programs can pay; none while x402 is off.
    pub networks: Vec<Network>,
    /// The wallet that pays the gas, on all networks.
    pub wallet: Option<String>,
    pub gas: Vec<GasRow>,
    pub open: Vec<OpenCounts>,
    /// USD within an hour and a day.
    pub used: (Decimal, Decimal),
    pub limits: GasLimits,
    pub stop: Option<Stop>,
    /// The reason of the stop of everything, which settlements obey too.
    pub stopped_everywhere: Option<String>,
}

impl Gateway {
    pub async fn x402_picture(&self) -> Result<X402Picture, StorageError> {
        let stopped_everywhere = self.payouts_stopped("*").await?;
        let mut connection = self.db.connection().await?;
        let settings = &self.config.x402;
        Ok(X402Picture {
            networks: self.x402_networks(),
            wallet: self.x402_gas_address(),
            gas: health::gas(&mut connection).await?,
            open: health::open_counts(&mut connection).await?,
            used: health::gas_used(&mut connection).await?,
            limits: GasLimits {
                transaction: settings.gas_transaction_usd_max,
                hour: settings.gas_hour_usd_max,
                day: settings.gas_day_usd_max,
            },
            stop: health::stop(&mut connection, STOP).await?,
            stopped_everywhere,
        })
    }

    /// Settlements without an end behind a place, the oldest first.
    pub async fn x402_waiting(
        &self,
        after: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<Waiting>, StorageError> {
        let mut connection = self.db.connection().await?;
        health::waiting(&mut connection, after, limit).await
    }
}
