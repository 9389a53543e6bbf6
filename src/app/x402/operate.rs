//! What operators do about settlements: a stop switch of x402 alone, and a look at what waits.

use std::time::Duration;

use futures_util::future::join_all;

use super::health::STOP;
use crate::{
    app::Gateway,
    asset::Network,
    money::BaseUnits,
    storage::{
        StorageError,
        payouts::safety,
        x402::{
            following,
            operating::{self, Open},
        },
    },
};

/// A slower node tells no balance.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Settlements of one network.
#[derive(Debug, Clone)]
pub struct NetworkStanding {
    /// One that is not offered any more may have some that are not carried out.
    pub is_offered: bool,
    pub open: Open,
    /// Why nothing is signed there, if so.
    pub stopped: Option<String>,
    /// What the gas wallet holds in the network's coin; `None` if its node does not say.
    pub gas_held: Option<BaseUnits>,
}

/// What operators see of x402.
#[derive(Debug, Clone)]
pub struct Standing {
    /// The wallet that pays the gas, the same on all networks; `None` without `x402.account`.
    pub gas_wallet: Option<String>,
    /// Why nothing is signed on any network, if so.
    pub stopped: Option<String>,
    pub networks: Vec<NetworkStanding>,
}

impl Gateway {
    /// Stops the signing of settlements on all networks. Payouts go on.
    pub async fn stop_x402(&self, reason: &str) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        safety::stop(&mut connection, STOP, reason).await
    }

    /// Ends that stop. `false` if there was none.
    pub async fn resume_x402(&self) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        safety::resume(&mut connection, STOP).await
    }

    /// Why no settlement is signed on any network, if so: the stop of x402, or that of everything.
    pub async fn x402_stopped(&self) -> Result<Option<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        safety::switch(&mut connection, STOP).await
    }

    /// Settlements that have not ended, the stops, and the gas wallet with what it holds.
    pub async fn x402_standing(&self) -> Result<Standing, StorageError> {
        let mut connection = self.db.connection().await?;
        let stopped = safety::switch(&mut connection, STOP).await?;
        let mut known = operating::open(&mut connection).await?;
        let offered = self.x402_networks();
        for network in &offered {
            if known.iter().all(|open| open.network != network.name()) {
                let network = network.name().to_owned();
                let nothing =
                    Open { network, verified: 0, submitted: 0, in_block: 0, waits_seconds: 0 };
                known.push(nothing);
            }
        }
        let mut networks = Vec::with_capacity(known.len());
        for open in known {
            let network = open.network.parse::<Network>();
            let network =
                network.map_err(|error| StorageError::damaged("x402_settlement", error))?;
            let stopped = following::stopped(&mut connection, network).await?;
            let is_offered = offered.contains(&network);
            networks.push((network, NetworkStanding { is_offered, open, stopped, gas_held: None }));
        }
        drop(connection);
        let gas_wallet = self.x402_gas_address();
        let asked =
            networks.iter().map(|(network, _)| self.gas_held(*network, gas_wallet.as_deref()));
        let held = join_all(asked).await;
        let networks = networks.into_iter().zip(held);
        let networks =
            networks.map(|((_, standing), gas_held)| NetworkStanding { gas_held, ..standing });
        Ok(Standing { gas_wallet, stopped, networks: networks.collect() })
    }

    async fn gas_held(&self, network: Network, wallet: Option<&str>) -> Option<BaseUnits> {
        let payers = self.x402_payers(network).ok()?;
        let asked = payers.payer.coins_for_gas(wallet?);
        tokio::time::timeout(ANSWER_WITHIN, asked).await.ok()?.ok()?
    }
}
