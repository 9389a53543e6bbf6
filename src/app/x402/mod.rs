//! x402: merchants' resources, the facilitator that verifies and settles, and the role that carries
//! settlements out.
//!
//! A settlement books no income. It makes the token move the payer's money to an address of ours,
//! and the deposit that the watcher sees there is booked like any other, once ([`book`]).

mod admit;
pub(super) mod book;
pub mod by_hand;
mod cost;
mod follow;
mod give_up;
pub mod health;
pub mod lists;
mod operate;
mod paywall;
mod price;
mod reorg;
mod reread;
mod resources;
mod settle;
mod sign;
mod step;
mod supported;
mod token;
mod verify;
mod wallet;

pub use give_up::{GiveUpError, Unshown};
pub use operate::{NetworkStanding, Standing};
pub use paywall::{Paywall, PaywallError};
pub use resources::{Page, ResourceError};
pub use settle::{Answer, Settled};
pub use supported::{Discovery, Kind};
pub use verify::Verdict;
pub use wallet::{GasWallet, NoGasWallet};

use crate::{
    app::payout::payers::{Payers, Purpose},
    asset::Network,
    chain::{ChainError, UnusableSource, pay::SignError},
    storage::StorageError,
};

/// Answers of chains and counts of callers that a process keeps, each for moments.
#[derive(Default)]
pub struct Facilitator {
    tokens: token::Tokens,
    costs: cost::Costs,
    holdings: verify::KeptHoldings,
    callers: admit::Callers,
    looks: step::Looks,
    put_off: step::PutOff,
}

/// Why a step of x402 is not taken now.
#[derive(Debug, thiserror::Error)]
pub enum X402Error {
    #[error("programs cannot pay on this network")]
    NotOffered,
    #[error("the token tells no name and no version of itself")]
    NoDomain,
    #[error("the token could not be read a moment ago")]
    Unread,
    #[error(transparent)]
    Source(#[from] UnusableSource),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl super::Gateway {
    /// Networks on which programs can pay.
    pub fn x402_networks(&self) -> Vec<Network> {
        Network::ALL.into_iter().filter(|network| self.config.takes_x402_on(*network)).collect()
    }

    fn x402_payers(&self, network: Network) -> Result<std::sync::Arc<Payers>, X402Error> {
        self.payers(network, Purpose::Orders)?.ok_or(X402Error::NotOffered)
    }
}
