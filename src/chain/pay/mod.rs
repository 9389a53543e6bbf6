//! Paying: signing a transaction, handing it to a node, and finding out its result.
//!
//! The decision which payments may be signed and when is made in `app`; the means are here. A
//! transaction's hash is known before it is sent, so a lost answer loses nothing: the hash is
//! looked for, and the same bytes are handed in again.

mod account;
mod conflicting;
mod data_fee;
mod eip3009;
mod erc20;
mod evm;
mod fees;
mod multisend;
mod proof;
mod receipts;
mod simulated;
pub mod utxo;
mod witness;

pub use conflicting::{Conflicting, Did, Named, Returned};
pub use eip3009::Holdings;
pub use evm::EvmPayer;
pub use simulated::SimulatedPayer;
pub use utxo::UtxoPayer;
pub use witness::Witnesses;

use k256::ecdsa::SigningKey;

use super::ChainError;
use crate::{
    money::BaseUnits,
    payout::{
        batch::Seen,
        coins::{HeldCoin, Spent},
        fee::Fee,
        spend::Sweep,
    },
};

/// A payment to be signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsigned {
    /// As `match_key` spells it.
    pub sender: String,
    pub nonce: u64,
    pub outputs: Vec<Output>,
    pub means: Means,
    /// The token's contract; `None` for the network's own coin.
    pub contract: Option<String>,
    /// The work that the network will charge for: gas, or virtual bytes.
    pub work: u128,
    /// The price that is offered for one unit of it.
    pub fee: Fee,
    /// The outputs that it may spend, where transactions have inputs and outputs.
    pub spendable: Option<Spendable>,
}

/// The transaction that makes a payment of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Means {
    /// A transfer to the one recipient. Where transactions have outputs, one to each.
    #[default]
    Transfer,
    /// A call of the contract at this address, which pays all recipients or none.
    Multisend(String),
    /// It pays nobody, and lets the contract at `spender` move `amount`.
    Allowance { spender: String, amount: BaseUnits },
}

/// Outputs that a payment may spend, and the most it may take of them for the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spendable {
    pub coins: Vec<HeldCoin>,
    /// Every one of them is spent, because another version of the payment does.
    pub every_coin: bool,
    /// Paid on top for a parent (CPFP).
    pub fee_extra: BaseUnits,
    pub fee_max: BaseUnits,
    /// The most at the lowest rate that is of use, where `fee_max` does not buy even that.
    pub fee_limit: BaseUnits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub address: String,
    pub amount: BaseUnits,
}

/// Bytes that are stored before they are sent, and the hash by which they are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedTx {
    pub raw: Vec<u8>,
    pub hash: String,
    /// Where transactions have inputs and outputs.
    pub spent: Option<Spent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    #[error("the key is not the sender's")]
    WrongKey,
    #[error("this kind of payment cannot be signed here")]
    Unsupported,
    #[error(transparent)]
    Spend(#[from] utxo::spend::SpendError),
    /// Its spendable money came in too many pieces. One more of `deposit` base units would suffice.
    #[error("{error}; one more deposit of {deposit} base units would suffice")]
    Scattered { error: utxo::spend::SpendError, deposit: u64 },
}

/// The amount of work of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    Units(u128),
    /// The network refuses it whatever is offered: the recipient reverts.
    Refused(String),
}

/// A node's answer to a transaction that was handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    /// Taken, or known already.
    Taken,
    /// The node does not want it. It may still be in the chain, so only looking decides.
    Refused(String),
}

/// State of a sender in a node's view, including pending transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub chain_id: u64,
    /// Number of nonces used in blocks.
    pub used_nonces: u64,
    pub next_nonce: u64,
    /// The network's own coin.
    pub coins: BaseUnits,
    /// Balance of the requested token.
    pub tokens: BaseUnits,
    /// Base fee of the last block, in wei per gas.
    pub base_fee: u128,
    pub tip: u128,
}

/// A call whose gas is estimated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub to: [u8; 20],
    pub value: u128,
    pub data: Vec<u8>,
}

/// A payment to look for: by its versions, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub sender: String,
    pub nonce: u64,
    pub hashes: Vec<String>,
    /// The bytes of any version: they contain the promised payment.
    pub raw: Vec<u8>,
}

/// Where a payment stands, by any of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub seen: Seen,
    /// The version in the chain, its block, and the fee that the network took.
    pub mined: Option<Mined>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mined {
    pub hash: String,
    pub height: u64,
    pub fee: BaseUnits,
    /// Gas that it used, on EVM networks.
    pub gas: Option<u64>,
}

/// The ways of paying that this program knows.
#[expect(clippy::large_enum_variant, reason = "a process has a few, each behind an Arc")]
pub enum Payer {
    Simulated(SimulatedPayer),
    Evm(EvmPayer),
    Utxo(Box<UtxoPayer>),
}

impl Payer {
    /// The number of payments of one sender that may wait for a block at a time. Nodes keep only so
    /// many of one account.
    pub const fn window(&self) -> usize {
        match self {
            Self::Simulated(_) => 200,
            Self::Evm(_) => 16,
            // Each spends the change of the one before, which must be final: a version of it may
            // still be replaced.
            Self::Utxo(_) => 1,
        }
    }

    /// The newest block, where it shows without a look how deep a payment stands.
    pub async fn head(&self) -> Result<Option<u64>, ChainError> {
        match self {
            Self::Simulated(_) | Self::Utxo(_) => Ok(None),
            Self::Evm(payer) => payer.head("latest").await.map(|(height, ..)| Some(height)),
        }
    }

    /// Returns whether its payments need a [`Spendable`].
    pub const fn spends_coins(&self) -> bool {
        matches!(self, Self::Utxo(_))
    }

    /// Returns whether a higher fee takes a payment's place; where it does not, a child pays for
    /// its parent.
    pub const fn replaces(&self) -> bool {
        match self {
            Self::Simulated(_) | Self::Evm(_) => true,
            Self::Utxo(payer) => payer.replaces(),
        }
    }

    /// The amount of `coins` that can be sent back at once; `None` where there are none.
    pub fn sweep(&self, coins: &[HeldCoin], fee: Fee) -> Option<Sweep> {
        match self {
            Self::Simulated(_) | Self::Evm(_) => None,
            Self::Utxo(payer) => Some(payer.sweep(coins, fee)),
        }
    }

    /// Which outputs of a payment the network would not carry, by position, and why.
    pub async fn refused(&self, payment: &Unsigned) -> Result<Vec<(usize, String)>, ChainError> {
        match self {
            Self::Simulated(_) | Self::Evm(_) => Ok(vec![]),
            Self::Utxo(payer) => payer.refused(payment).await,
        }
    }

    /// The present cost of a unit of work; `None` where nothing is asked for it.
    pub async fn fee(&self) -> Result<Option<Fee>, ChainError> {
        match self {
            Self::Simulated(_) => Ok(None),
            Self::Evm(payer) => payer.fee().await.map(Some),
            Self::Utxo(payer) => payer.fee().await.map(Some),
        }
    }

    /// The balance of `address` in the network's own coin; `None` where payments need none beside
    /// the amount they pay.
    pub async fn coins_for_gas(&self, address: &str) -> Result<Option<BaseUnits>, ChainError> {
        match self {
            Self::Simulated(_) | Self::Utxo(_) => Ok(None),
            Self::Evm(payer) => payer.balance(address).await.map(Some),
        }
    }

    /// The amount of work of payments, in their order: for each the node's answer about it.
    pub async fn works(
        &self,
        payments: &[Unsigned],
    ) -> Result<Vec<Result<Work, ChainError>>, ChainError> {
        match self {
            // A transaction's size is known once its coins are chosen.
            Self::Simulated(_) | Self::Utxo(_) => {
                Ok(payments.iter().map(|payment| Ok(Work::Units(payment.work))).collect())
            }
            Self::Evm(payer) => payer.works(payments).await,
        }
    }

    pub async fn work(&self, payment: &Unsigned) -> Result<Work, ChainError> {
        let works = self.works(std::slice::from_ref(payment)).await?;
        works.into_iter().next().unwrap_or(Ok(Work::Units(payment.work)))
    }

    /// Pure: the same payment gives the same bytes.
    pub fn sign(
        &self,
        key: Option<&SigningKey>,
        payment: &Unsigned,
    ) -> Result<SignedTx, SignError> {
        match self {
            Self::Simulated(payer) => payer.sign(payment),
            Self::Evm(payer) => payer.sign(key.ok_or(SignError::WrongKey)?, payment),
            Self::Utxo(payer) => payer.sign(key.ok_or(SignError::WrongKey)?, payment),
        }
    }

    pub async fn send(&self, raw: &[u8], hash: &str) -> Result<Sent, ChainError> {
        match self {
            Self::Simulated(payer) => payer.send(raw, hash).await,
            Self::Evm(payer) => payer.send(raw, hash).await,
            Self::Utxo(payer) => payer.send(raw, hash).await,
        }
    }

    /// Where payments stand, in their order; `required` is the depth that counts as final.
    pub async fn standings(
        &self,
        payments: &[Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        match self {
            Self::Simulated(payer) => payer.standings(payments).await,
            Self::Evm(payer) => {
                payer.standings(&payments.iter().collect::<Vec<_>>(), required).await
            }
            Self::Utxo(payer) => {
                let mut standings = Vec::with_capacity(payments.len());
                for payment in payments {
                    standings.push(payer.standing(payment, required).await?);
                }
                Ok(standings)
            }
        }
    }

    /// On the simulated chain blocks have no other maker: a payment that was sent gets its blocks
    /// here, as a simulated deposit does.
    pub async fn after_sending(&self, confirmations: u64) -> Result<(), ChainError> {
        match self {
            Self::Simulated(payer) => payer.mine(confirmations).await,
            Self::Evm(_) | Self::Utxo(_) => Ok(()),
        }
    }
}
