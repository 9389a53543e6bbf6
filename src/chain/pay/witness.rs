//! The end of a payment, believed when two nodes report it.
//!
//! Resending a payment or raising its fee leaves it the same payment even if a node lies, so one
//! node is enough for that. But a final payment is reported to merchants and booked, and a
//! double-spend fails it or puts its order on hold, so either needs a second node if one is
//! configured, as deposits do.

use tracing::warn;

use super::{Payer, Standing, Wanted};
use crate::{asset::Network, chain::ChainError, payout::batch::Seen};

/// The other nodes of a network, asked to confirm the end of a payment.
pub struct Witnesses {
    pub network: Network,
    pub nodes: Vec<Payer>,
}

impl Witnesses {
    /// As [`Payer::standings`]. A payment that no witness reports as final stays one block below
    /// final, and one that none reports as displaced counts as not found.
    pub async fn standings(
        &self,
        payer: &Payer,
        payments: &[Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        let mut standings = payer.standings(payments, required).await?;
        if self.nodes.is_empty() {
            return Ok(standings);
        }
        for (payment, standing) in payments.iter().zip(&mut standings) {
            let is_end = standing.seen.is_final(required) || standing.seen == Seen::Displaced;
            if is_end && !self.confirm(payment, standing, required).await {
                standing.seen = match standing.seen {
                    Seen::Displaced => Seen::Nowhere,
                    seen @ (Seen::Nowhere
                    | Seen::Waiting
                    | Seen::Mined { .. }
                    | Seen::Unexplained { .. }) => seen.not_yet_final(required),
                };
            }
        }
        Ok(standings)
    }

    /// True if any of them reports the same end in the same block.
    async fn confirm(&self, payment: &Wanted, told: &Standing, required: u64) -> bool {
        for (at, node) in self.nodes.iter().enumerate() {
            let fault = match node.tells(payment, told, required).await {
                Ok(true) => return true,
                Ok(false) => "differs",
                Err(_) => "failed",
            };
            // The node that pays is number 0.
            self.note(at + 1, fault, &payment.hashes);
        }
        false
    }

    fn note(&self, node: usize, fault: &'static str, hashes: &[String]) {
        let network = self.network.name();
        let labels = [
            ("network", network.to_owned()),
            ("node", node.to_string()),
            ("fault", fault.to_owned()),
        ];
        metrics::counter!("chain_node_faults_total", &labels).increment(1);
        warn!(network, node, fault, ?hashes, "a node does not report the outcome of a payment");
    }
}

impl Payer {
    /// True if this node by itself reports the same end of `payment` as `told`.
    async fn tells(
        &self,
        payment: &Wanted,
        told: &Standing,
        required: u64,
    ) -> Result<bool, ChainError> {
        let is_displaced = told.seen == Seen::Displaced;
        match (self, &told.mined) {
            (Self::Utxo(payer), None) if is_displaced => payer.misses_inputs(payment).await,
            (Self::Simulated(_) | Self::Evm(_), None) if is_displaced => {
                let seen = self.standings(std::slice::from_ref(payment), required).await?;
                Ok(seen.iter().any(|seen| seen.seen == Seen::Displaced))
            }
            (_, None) => Ok(false),
            // The search position belongs to the node that pays, so a witness reads only the named
            // block.
            (Self::Utxo(payer), Some(mined)) => payer.holds(mined, required).await,
            (Self::Simulated(_) | Self::Evm(_), Some(_)) => {
                let seen = self.standings(std::slice::from_ref(payment), required).await?;
                Ok(seen.iter().any(|seen| is_same_end(seen, told, required)))
            }
        }
    }
}

fn is_same_end(one: &Standing, other: &Standing, required: u64) -> bool {
    let outcome = |seen: Seen| match seen {
        Seen::Mined { succeeded, .. } => Some(succeeded),
        Seen::Nowhere | Seen::Waiting | Seen::Unexplained { .. } | Seen::Displaced => None,
    };
    one.seen.is_final(required)
        && outcome(one.seen) == outcome(other.seen)
        && one.mined == other.mined
}
