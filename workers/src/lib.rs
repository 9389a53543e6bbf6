//! The workers: agents that wait, loop, restart and shut down. Their work is in `gateway::app`.
//!
//! Every role may run in any number of copies. Roles that must be single (the watcher of one
//! network, the sweep) take a lock and are on standby otherwise.

pub mod batch;
pub mod consume;
pub mod contain;
pub mod patience;
pub mod role;

use std::{fmt, str::FromStr, sync::Arc};

use gateway::{app::Gateway, serve::admin::Readiness};
use tokio_util::sync::CancellationToken;

/// One kind of worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    DepositMatching,
    ExpiryTimer,
    IpnDelivery,
    PayoutBatch,
    PayoutWebhookDelivery,
    ChainWatcher,
    RateRefresher,
    Sweeper,
    Reporter,
    MailDelivery,
    X402Settlement,
}

impl Role {
    pub const ALL: [Self; 11] = [
        Self::DepositMatching,
        Self::ExpiryTimer,
        Self::IpnDelivery,
        Self::PayoutBatch,
        Self::PayoutWebhookDelivery,
        Self::ChainWatcher,
        Self::RateRefresher,
        Self::Sweeper,
        Self::Reporter,
        Self::MailDelivery,
        Self::X402Settlement,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::DepositMatching => "deposit-matching",
            Self::ExpiryTimer => "expiry-timer",
            Self::IpnDelivery => "ipn-delivery",
            Self::PayoutBatch => "payout-batch",
            Self::PayoutWebhookDelivery => "payout-webhook-delivery",
            Self::ChainWatcher => "chain-watcher",
            Self::RateRefresher => "rate-refresher",
            Self::Sweeper => "sweeper",
            Self::Reporter => "reporter",
            Self::MailDelivery => "mail-delivery",
            Self::X402Settlement => "x402-settlement",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no role {name:?}; roles are {}, or all", Role::ALL.map(Role::name).join(", "))]
pub struct UnknownRole {
    name: String,
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let known = Self::ALL.into_iter().find(|role| role.name() == text);
        known.ok_or_else(|| UnknownRole { name: text.to_owned() })
    }
}

/// Context of a running role.
#[derive(Clone)]
pub struct Agent {
    pub gateway: Arc<Gateway>,
    pub readiness: Readiness,
    pub stop: CancellationToken,
}

/// Runs a role until the stop, and restarts it after failures.
pub async fn run(role: Role, agent: Agent) {
    match role {
        Role::DepositMatching => role::deposit_matching::run(&agent).await,
        Role::ExpiryTimer => role::expiry_timer::run(&agent).await,
        Role::IpnDelivery => role::delivery::run_ipn(&agent).await,
        Role::PayoutBatch => role::payout_batch::run(&agent).await,
        Role::PayoutWebhookDelivery => role::delivery::run_payout_webhook(&agent).await,
        Role::ChainWatcher => role::chain_watcher::run(&agent).await,
        Role::RateRefresher => role::rate_refresher::run(&agent).await,
        Role::Sweeper => role::sweeper::run(&agent).await,
        Role::Reporter => role::reporter::run(&agent).await,
        Role::MailDelivery => role::mail_delivery::run(&agent).await,
        Role::X402Settlement => role::x402_settlement::run(&agent).await,
    }
    tracing::info!(%role, "stopped");
}
