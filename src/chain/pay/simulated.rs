//! Payments on the sandbox's chain. The gateway's own payments are not signed: the bytes are the
//! payment in JSON, and their hash is its id. Merchants sign real EIP-1559 transactions, with the
//! same hash as on every EVM network.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Account, Mined, Sent, SignError, SignedTx, Standing, Unsigned, Wanted};
use crate::{
    asset::{
        Network,
        address::{self, evm},
    },
    chain::ChainError,
    money::BaseUnits,
    payout::{
        batch::Seen,
        eip1559,
        transfer::{self, Asset},
    },
    storage::{
        Db, StorageError,
        simulation::{self, SimTransfer, Spend},
    },
};

pub struct SimulatedPayer {
    network: Network,
    db: Db,
}

#[derive(Serialize, Deserialize)]
struct Payment {
    network: String,
    sender: String,
    nonce: u64,
    fee_rate: String,
    contract: Option<String>,
    /// Address and amount in base units.
    outputs: Vec<(String, String)>,
}

/// Base fee of every block, in wei per gas.
const BASE_FEE: u128 = 25_000_000_000;
const TIP: u128 = 1_000_000_000;

impl SimulatedPayer {
    /// Gas of every transfer.
    pub(super) const GAS: u128 = 65_000;

    pub fn new(network: Network, db: Db) -> Self {
        Self { network, db }
    }

    fn unreachable(&self, error: &StorageError) -> ChainError {
        ChainError::Unreachable { network: self.network, reason: error.to_string() }
    }

    pub(super) fn sign(&self, payment: &Unsigned) -> Result<SignedTx, SignError> {
        let output = |o: &super::Output| (o.address.clone(), o.amount.get().to_string());
        let payment = Payment {
            network: self.network.name().to_owned(),
            sender: payment.sender.clone(),
            nonce: payment.nonce,
            fee_rate: payment.fee.rate.to_string(),
            contract: payment.contract.clone(),
            outputs: payment.outputs.iter().map(output).collect(),
        };
        let raw = serde_json::to_vec(&payment).map_err(|_| SignError::Unsupported)?;
        let digits = hex::encode(Sha256::digest(&raw));
        let evm = self.network.evm_chain_id().is_some();
        let hash = if evm { format!("0x{digits}") } else { digits };
        Ok(SignedTx { raw, hash, spent: None })
    }

    pub(super) async fn send(&self, raw: &[u8], hash: &str) -> Result<Sent, ChainError> {
        let malformed = |reason: String| ChainError::Malformed {
            network: self.network,
            method: "send",
            reason,
        };
        let payment = match eip1559::read_signed(raw) {
            Ok(signed) => {
                let read = self.of_signed(&signed);
                read.ok_or_else(|| malformed("it pays nobody".to_owned()))?
            }
            Err(_) => serde_json::from_slice(raw).map_err(|e| malformed(e.to_string()))?,
        };
        self.hand_in(&payment, hash).await.map_err(|error| self.unreachable(&error))
    }

    fn of_signed(&self, signed: &eip1559::Signed) -> Option<Payment> {
        let (asset, output) = transfer::paid(&signed.transaction)?;
        let contract = match asset {
            Asset::Coin => None,
            Asset::Token(contract) => {
                Some(address::match_key(self.network.family(), &evm::checksummed(&contract)))
            }
        };
        Some(Payment {
            network: self.network.name().to_owned(),
            sender: signed.sender.clone(),
            nonce: signed.transaction.nonce,
            fee_rate: signed.transaction.max_fee.to_string(),
            contract,
            outputs: vec![(evm::checksummed(&output.to), output.amount.get().to_string())],
        })
    }

    /// All balances are unlimited; only nonces are real.
    pub(super) async fn account(&self, sender: &str) -> Result<Account, ChainError> {
        let read = async {
            let mut connection = self.db.connection().await?;
            simulation::next_nonce(&mut connection, self.network, sender).await
        };
        let next_nonce = read.await.map_err(|error| self.unreachable(&error))?;
        let enough = BaseUnits::new(u128::MAX);
        Ok(Account {
            chain_id: self.network.evm_chain_id().unwrap_or_default(),
            used_nonces: next_nonce,
            next_nonce,
            coins: enough,
            tokens: enough,
            base_fee: BASE_FEE,
            tip: TIP,
        })
    }

    async fn hand_in(&self, payment: &Payment, hash: &str) -> Result<Sent, StorageError> {
        let family = self.network.family();
        let nonce = i64::try_from(payment.nonce)
            .map_err(|_| StorageError::damaged("sim_spend", "a nonce is too large"))?;
        let mut tx = self.db.begin().await?;
        simulation::lock_chain(&mut tx, self.network).await?;
        match simulation::spend(&mut tx, self.network, &payment.sender, nonce, hash).await? {
            Spend::Known => return Ok(Sent::Taken),
            Spend::TooLow => return Ok(Sent::Refused("nonce too low".to_owned())),
            Spend::Taken => {}
        }
        for (output, (address, amount)) in (0_i32..).zip(&payment.outputs) {
            let transfer = SimTransfer {
                txid: hash.to_owned(),
                output,
                address: address::match_key(family, address),
                contract: payment.contract.clone(),
                amount: amount.clone(),
                height: None,
            };
            simulation::add_transfer(&mut tx, self.network, &transfer).await?;
        }
        tx.commit().await?;
        Ok(Sent::Taken)
    }

    pub(super) async fn standings(&self, payments: &[Wanted]) -> Result<Vec<Standing>, ChainError> {
        let hashes: Vec<_> = payments.iter().flat_map(|p| p.hashes.iter().cloned()).collect();
        let read = async {
            let mut connection = self.db.connection().await?;
            let heights = simulation::heights(&mut connection, self.network, &hashes).await?;
            let head = simulation::head(&mut connection, self.network).await?;
            Ok((heights, head.map_or(0, |head| head.height)))
        };
        let (heights, head) = read.await.map_err(|error| self.unreachable(&error))?;
        let heights: HashMap<_, _> = heights.into_iter().collect();
        Ok(payments.iter().map(|payment| standing(payment, &heights, head)).collect())
    }

    pub(super) async fn mine(&self, confirmations: u64) -> Result<(), ChainError> {
        let mining = async {
            let mut tx = self.db.begin().await?;
            simulation::lock_chain(&mut tx, self.network).await?;
            for n in 0..confirmations {
                let block = simulation::mine(&mut tx, self.network).await?;
                if n == 0 {
                    simulation::include(&mut tx, self.network, None, block.height).await?;
                }
            }
            tx.commit().await.map_err(StorageError::from)
        };
        mining.await.map_err(|error| self.unreachable(&error))
    }
}

fn standing(payment: &Wanted, heights: &HashMap<String, Option<u64>>, head: u64) -> Standing {
    let known: Vec<_> =
        payment.hashes.iter().filter_map(|hash| Some((hash, heights.get(hash)?))).collect();
    let mined = known.iter().find_map(|(hash, height)| {
        height.map(|height| Mined {
            hash: (*hash).clone(),
            height,
            fee: BaseUnits::ZERO,
            gas: None,
        })
    });
    let seen = match &mined {
        Some(mined) => {
            let depth = (head + 1).saturating_sub(mined.height);
            Seen::Mined { depth, succeeded: true }
        }
        None if known.is_empty() => Seen::Nowhere,
        None => Seen::Waiting,
    };
    Standing { seen, mined }
}
