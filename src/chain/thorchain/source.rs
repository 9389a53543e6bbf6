//! The calls to one node.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde_json::value::RawValue;

use super::{
    balance,
    decode::{self, Body},
    wire::{WireBlock, WireEnvelope, WireFound, WireQuery, WireResults, WireStatus},
};
use crate::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, TransferAsset,
        http::{EndpointError, Http},
    },
    money::BaseUnits,
};

const STATUS: &str = "status";
const BLOCK: &str = "block";
const TX: &str = "tx";
const BLOCK_RESULTS: &str = "block_results";
const QUERY: &str = "abci_query";
/// Denomination of RUNE in the bank module.
const COIN: &str = "rune";
/// Chain id since the restart of 2025.
const CHAIN_ID: &str = "thorchain-1";

/// One node of THORChain.
pub struct ThorchainSource {
    http: Http,
}

impl ThorchainSource {
    pub fn new(url: &SecretString) -> Result<Self, EndpointError> {
        Ok(Self { http: Http::new(Network::Thorchain, url)? })
    }

    /// Time limit for one response of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.http = self.http.with_deadline(deadline);
        self
    }

    fn check_chain(&self, found: &str) -> Result<(), ChainError> {
        if found == CHAIN_ID {
            return Ok(());
        }
        let (expected, found) = (CHAIN_ID.to_owned(), found.chars().take(66).collect());
        Err(ChainError::WrongChain { network: Network::Thorchain, expected, found })
    }

    /// Calls `method` at a height and reads its result; `None` if the node has nothing there yet.
    async fn ask<T>(
        &self,
        method: &'static str,
        height: Option<u64>,
        read: impl FnOnce(&RawValue) -> Result<T, ChainError>,
    ) -> Result<Option<T>, ChainError> {
        let height = height.map(|height| height.to_string());
        let query: Vec<(&str, &str)> = height.iter().map(|h| ("height", h.as_str())).collect();
        let answer = match self.http.get(method, method, &query).await {
            Err(refusal) if is_too_high(&refusal) => return Ok(None),
            answer => answer?,
        };
        let envelope: WireEnvelope = self.http.read(method, &answer)?;
        if let Some(error) = envelope.error {
            let reason = error.data.unwrap_or(error.message);
            let refusal = self.http.refused(method, error.code, &reason);
            return if is_too_high(&refusal) { Ok(None) } else { Err(refusal) };
        }
        let result = envelope.result.ok_or_else(|| self.http.malformed(method, "no result"))?;
        read(result).map(Some)
    }

    async fn body(&self, height: u64) -> Result<Option<Body>, ChainError> {
        let read = |result: &_| {
            let wire: WireBlock = self.http.read(BLOCK, result)?;
            decode::body(&wire)
                .map_err(|field| self.http.malformed(BLOCK, format!("field {field}")))
        };
        let Some(body) = self.ask(BLOCK, Some(height), read).await? else { return Ok(None) };
        self.check_chain(&body.chain_id)?;
        if body.header.height != height {
            let got = body.header.height;
            return Err(self.http.inconsistent(format!("asked for block {height}, got {got}")));
        }
        if !body.is_complete {
            let reason = format!("block {height} holds other transactions than its header says");
            return Err(self.http.inconsistent(reason));
        }
        Ok(Some(body))
    }
}

impl ThorchainSource {
    /// True if the node's newest block shows the block's own events, if that is above `height`;
    /// `None` if there is no newer block, or its results are not there yet.
    async fn shows_own_events_above(&self, height: u64) -> Result<Option<bool>, ChainError> {
        let read = |result: &_| {
            let results: WireResults = self.http.read(BLOCK_RESULTS, result)?;
            let newest: u64 = results
                .height
                .parse()
                .map_err(|_| self.http.malformed(BLOCK_RESULTS, "field height"))?;
            Ok((newest > height).then(|| decode::has_own_events(&results)))
        };
        Ok(self.ask(BLOCK_RESULTS, None, read).await?.flatten())
    }

    /// `None` if the node forwards no queries to its application.
    async fn balance(
        &self,
        at: &BlockRef,
        address: &str,
        denom: &str,
    ) -> Result<Option<BaseUnits>, ChainError> {
        let unreadable = || self.http.malformed(QUERY, "no balance");
        let question = balance::question(address, denom).ok_or_else(unreadable)?;
        let path = format!("\"{}\"", balance::PATH);
        let (data, height) = (format!("0x{}", hex::encode(question)), at.height.to_string());
        let query = [("path", path.as_str()), ("data", &data), ("height", &height)];
        let answer = match self.http.get(QUERY, QUERY, &query).await {
            Err(refusal) if refusal.lacks_method() => return Ok(None),
            answer => answer?,
        };
        let envelope: WireEnvelope = self.http.read(QUERY, &answer)?;
        if let Some(error) = envelope.error {
            let refusal =
                self.http.refused(QUERY, error.code, &error.data.unwrap_or(error.message));
            return if refusal.lacks_method() { Ok(None) } else { Err(refusal) };
        }
        let result = envelope.result.ok_or_else(|| self.http.malformed(QUERY, "no result"))?;
        let told = self.http.read::<WireQuery>(QUERY, result)?.response;
        if told.code != 0 {
            return Err(self.http.refused(QUERY, told.code, &told.log));
        }
        if told.height != height {
            let reason = format!("asked for balances at block {height}, got {}", told.height);
            return Err(self.http.inconsistent(reason));
        }
        let bytes = told.value.and_then(|value| BASE64_STANDARD.decode(value).ok());
        let units = bytes.and_then(|bytes| balance::answer(&bytes, denom));
        units.map(Some).ok_or_else(unreadable)
    }
}

/// The node has no such block yet, or has not written its results yet, which follow a moment later.
fn is_too_high(refusal: &ChainError) -> bool {
    let ChainError::Refused { reason, .. } = refusal else { return false };
    reason.contains("must be less than or equal to") || reason.contains("could not find results")
}

fn is_not_found(refusal: &ChainError) -> bool {
    matches!(refusal, ChainError::Refused { reason, .. } if reason.contains("not found"))
}

impl ChainSource for ThorchainSource {
    fn network(&self) -> Network {
        Network::Thorchain
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let read = |result: &_| {
            let status: WireStatus = self.http.read(STATUS, result)?;
            self.check_chain(status.node_info.network)?;
            let height = status.sync_info.latest_block_height.parse();
            height.map_err(|_| self.http.malformed(STATUS, "field latest_block_height"))
        };
        let height = self.ask(STATUS, None, read).await?;
        let height = height.ok_or_else(|| self.http.malformed(STATUS, "no status"))?;
        let body = self.body(height).await?;
        let lost = || self.http.inconsistent(format!("there is no latest block {height}"));
        Ok(body.ok_or_else(lost)?.header)
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        Ok(self.body(height).await?.map(|body| body.header))
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let Some(body) = self.body(height).await? else { return Ok(None) };
        let read = |result: &_| {
            let results: WireResults = self.http.read(BLOCK_RESULTS, result)?;
            if results.height.parse() != Ok(height) {
                let got = results.height;
                let reason = format!("asked for the results of block {height}, got those of {got}");
                return Err(self.http.inconsistent(reason));
            }
            let transfers = decode::transfers(&body, &results)
                .map_err(|reason| self.http.inconsistent(format!("block {height}: {reason}")))?;
            Ok((transfers, decode::has_own_events(&results)))
        };
        let told = self.ask(BLOCK_RESULTS, Some(height), read).await?;
        let Some((transfers, has_own_events)) = told else { return Ok(None) };
        // A node that has lost such events, or withholds them, lacks them in every block.
        if !has_own_events {
            match self.shows_own_events_above(height).await? {
                None => return Ok(None),
                Some(true) => {}
                Some(false) => {
                    let reason = format!("block {height} and the newest did nothing by themselves");
                    return Err(self.http.inconsistent(reason));
                }
            }
        }
        Ok(Some(Block { header: body.header, transfers }))
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        let mut by_address = Vec::with_capacity(addresses.len());
        for address in addresses {
            let mut held = Vec::with_capacity(assets.len());
            for asset in assets {
                let denom = match asset {
                    TransferAsset::Native => COIN,
                    TransferAsset::Contract(denom) => denom,
                };
                let Some(units) = self.balance(at, address, denom).await? else { return Ok(None) };
                held.push(Some(units));
            }
            by_address.push(held);
        }
        Ok(Some(Held { up_to: at.height, by_address }))
    }

    /// Finds transactions only: payments of a swap at the end of a block have no hash of their own.
    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        let hash = format!("0x{}", tx_hash.trim_start_matches("0x"));
        let answer = match self.http.get(TX, TX, &[("hash", &hash)]).await {
            Err(refusal) if is_not_found(&refusal) => return Ok(Located::Unknown),
            answer => answer?,
        };
        let envelope: WireEnvelope = self.http.read(TX, &answer)?;
        if let Some(error) = envelope.error {
            let refusal = self.http.refused(TX, error.code, &error.data.unwrap_or(error.message));
            return if is_not_found(&refusal) { Ok(Located::Unknown) } else { Err(refusal) };
        }
        let result = envelope.result.ok_or_else(|| self.http.malformed(TX, "no result"))?;
        let tx: WireFound = self.http.read(TX, result)?;
        let height = tx.height.parse().map_err(|_| self.http.malformed(TX, "field height"))?;
        Ok(Located::Mined { height, failed: tx.tx_result.code != 0 })
    }
}
