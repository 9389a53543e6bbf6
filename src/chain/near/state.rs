//! Account balances, read from a node of NEAR itself, because block servers have none.
//!
//! A node serves them at any block of the last days, after all receipts that the block executed.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::future::try_join_all;
use secrecy::SecretString;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    asset::Network,
    chain::{
        BlockRef, ChainError, Held, Holdings, TransferAsset, amount,
        rpc::{EndpointError, Rpc},
    },
    money::BaseUnits,
};

const QUERY: &str = "query";
/// Addresses read concurrently: each balance of each asset is a separate call.
const ADDRESSES_AT_ONCE: usize = 4;
/// The account does not exist, because no payment ever reached it.
const UNKNOWN_ACCOUNT: &str = "UNKNOWN_ACCOUNT";

/// One node of NEAR.
pub(super) struct State {
    rpc: Rpc,
}

#[derive(Deserialize)]
struct WireAccount {
    amount: String,
    block_height: u64,
}

#[derive(Deserialize)]
struct WireResult {
    /// The bytes returned by a method.
    result: Vec<u8>,
}

impl State {
    pub fn new(url: &SecretString) -> Result<Self, EndpointError> {
        Ok(Self { rpc: Rpc::new(Network::Near, url)? })
    }

    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    pub async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Held, ChainError> {
        let mut by_address = Vec::with_capacity(addresses.len());
        for chunk in addresses.chunks(ADDRESSES_AT_ONCE) {
            let held = chunk.iter().map(|address| self.holdings_of(at, address, assets));
            by_address.extend(try_join_all(held).await?);
        }
        Ok(Held { up_to: at.height, by_address })
    }

    async fn holdings_of(
        &self,
        at: &BlockRef,
        account: &str,
        assets: &[TransferAsset],
    ) -> Result<Holdings, ChainError> {
        let mut held = Vec::with_capacity(assets.len());
        for asset in assets {
            held.push(match asset {
                TransferAsset::Native => Some(self.coins(at, account).await?),
                TransferAsset::Contract(contract) => self.tokens(at, account, contract).await?,
            });
        }
        Ok(held)
    }

    async fn coins(&self, at: &BlockRef, account: &str) -> Result<BaseUnits, ChainError> {
        let question = json!({ "request_type": "view_account", "account_id": account });
        let told: WireAccount = match self.ask(at, question).await {
            Err(ChainError::Refused { reason, .. }) if reason.contains(UNKNOWN_ACCOUNT) => {
                return Ok(BaseUnits::ZERO);
            }
            told => told?,
        };
        if told.block_height != at.height {
            let reason = format!("asked for block {}, got {}", at.height, told.block_height);
            return Err(self.rpc.inconsistent(reason));
        }
        amount::units(&told.amount).ok_or_else(|| self.rpc.malformed(QUERY, "field amount"))
    }

    /// `None` if the contract gives no response.
    async fn tokens(
        &self,
        at: &BlockRef,
        account: &str,
        contract: &str,
    ) -> Result<Option<BaseUnits>, ChainError> {
        let arguments = json!({ "account_id": account }).to_string();
        let question = json!({
            "request_type": "call_function", "account_id": contract, "method_name": "ft_balance_of",
            "args_base64": BASE64_STANDARD.encode(arguments),
        });
        let told: WireResult = match self.ask(at, question).await {
            Err(ChainError::Refused { .. }) => return Ok(None),
            told => told?,
        };
        let digits: Option<String> = serde_json::from_slice(&told.result).ok();
        Ok(digits.and_then(|digits| amount::units(&digits)))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        at: &BlockRef,
        mut question: Value,
    ) -> Result<T, ChainError> {
        question["block_id"] = json!(at.hash);
        let result = self.rpc.call(QUERY, question).await?;
        self.rpc.read(QUERY, &result)
    }
}
