//! Plan of one seed.

use gateway::asset::Network;
use rand::{RngExt, rngs::StdRng};

use super::super::chain::{address, script};

/// In turn, by seed.
pub const NETWORKS: [Network; 3] = [Network::Bitcoin, Network::Litecoin, Network::Dogecoin];

pub struct Plan {
    pub seed: u64,
    pub network: Network,
    pub recipients: std::ops::Range<u32>,
    pub refund: Option<String>,
    pub surplus: u64,
    /// True if payments are pending at first until they are replaced or have a child.
    pub is_dear: bool,
}

impl Plan {
    pub fn draw(seed: u64, random: &mut StdRng, turn: usize) -> Self {
        let networks = u64::try_from(NETWORKS.len()).unwrap();
        let network = NETWORKS[usize::try_from(seed % networks).unwrap()];
        // One in forty takes two batches.
        let rows = if random.random_ratio(1, 40) { 203 } else { random.random_range(1..5) };
        let first = 1_000 * u32::try_from(turn + 1).unwrap();
        let recipients = first..first + rows;
        let refund = address(network, &script(network, first + 999));
        let refund = random.random_bool(0.5).then_some(refund);
        // Now and then about the dust limit.
        let surplus = match random.random_range(0..4) {
            3 => random.random_range(0..8_000),
            often => often * 25_000,
        };
        // Not drawn: all networks have high fees in some seeds of every few.
        let is_dear = (seed / networks).is_multiple_of(2);
        let surplus = surplus * unit(network);
        Self { seed, network, recipients, refund, surplus, is_dear }
    }

    /// Amount of a recipient.
    pub fn amount(&self, number: u32) -> u64 {
        (10_000 + u64::from(number % 1_000)) * unit(self.network)
    }

    /// Sum of all amounts.
    pub fn total(&self) -> u64 {
        self.recipients.clone().map(|number| self.amount(number)).sum()
    }

    pub fn address(&self, number: u32) -> String {
        address(self.network, &script(self.network, number))
    }
}

/// Outputs and fees are a hundred times as large on dogecoin.
const fn unit(network: Network) -> u64 {
    if matches!(network, Network::Dogecoin) { 100 } else { 1 }
}
