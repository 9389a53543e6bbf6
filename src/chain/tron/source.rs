//! The calls to one node.

use std::time::Duration;

use futures_util::future::try_join_all;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    decode::{self, Body},
    lookup,
    wire::WireBlock,
};
use crate::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, TokenFacts, TransferAsset,
        Waiting,
        http::{EndpointError, Http},
        pinned::Pinned,
        unfinal::Unfinal,
    },
    money::BaseUnits,
};

const NOW_BLOCK: &str = "walletsolidity/getnowblock";
const BLOCK: &str = "walletsolidity/getblockbynum";
const INFOS: &str = "walletsolidity/gettransactioninfobyblocknum";
/// The same of blocks that are not solidified yet.
const NEWEST_BLOCK: &str = "wallet/getnowblock";
const NEW_BLOCK: &str = "wallet/getblockbynum";
const NEW_INFOS: &str = "wallet/gettransactioninfobyblocknum";
/// Addresses that are asked about side by side: a balance is a call of its own for each of their
/// assets.
const ADDRESSES_AT_ONCE: usize = 4;
/// The first block of the main network.
const GENESIS: &str = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";

/// One node of TRON.
pub struct TronSource {
    http: Http,
    pinned: Pinned,
    unfinal: Unfinal,
}

impl TronSource {
    pub fn new(url: &SecretString) -> Result<Self, EndpointError> {
        Ok(Self {
            http: Http::new(Network::Tron, url)?,
            pinned: Pinned::default(),
            unfinal: Unfinal::default(),
        })
    }

    /// Waits this long for one answer of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.http = self.http.with_deadline(deadline);
        self
    }

    /// Asks for a block and reads it; `None` if the node has none there.
    async fn ask<T>(
        &self,
        method: &'static str,
        body: serde_json::Value,
        read: impl FnOnce(&WireBlock<'_>) -> Result<T, &'static str>,
    ) -> Result<Option<T>, ChainError> {
        let answer = self.http.post(method, method, &body).await?;
        let wire: WireBlock = self.http.read(method, &answer)?;
        if let Some(error) = &wire.error {
            return Err(self.http.refused(method, 0, error));
        }
        if wire.block_id.is_none() {
            return Ok(None);
        }
        let unreadable = |field| self.http.malformed(method, format!("field {field}"));
        read(&wire).map(Some).map_err(unreadable)
    }

    fn check_height(&self, asked: u64, header: &BlockRef) -> Result<(), ChainError> {
        if header.height == asked {
            return Ok(());
        }
        Err(self.http.inconsistent(format!("asked for block {asked}, got {}", header.height)))
    }

    /// Blocks do not name their chain, but its first block does.
    async fn check_chain(&self) -> Result<(), ChainError> {
        let first = self
            .ask(BLOCK, json!({ "num": 0 }), |wire| {
                Ok(wire.block_id.unwrap_or_default().to_owned())
            })
            .await?;
        let found = first.unwrap_or_default();
        if found == GENESIS {
            return Ok(());
        }
        let (expected, found) = (GENESIS.to_owned(), found.chars().take(66).collect());
        Err(ChainError::WrongChain { network: Network::Tron, expected, found })
    }

    /// The block at `height`, from `block_method`; its outcomes come from `infos_method`.
    async fn block_of(
        &self,
        (block_method, infos_method): (&'static str, &'static str),
        height: u64,
    ) -> Result<Option<Block>, ChainError> {
        let body = self.ask(block_method, json!({ "num": height }), decode::body).await?;
        let Some(body) = body else { return Ok(None) };
        self.check_height(height, &body.header)?;
        self.with_transfers(infos_method, body).await.map(Some)
    }

    async fn with_transfers(
        &self,
        infos_method: &'static str,
        body: Body,
    ) -> Result<Block, ChainError> {
        let height = body.header.height;
        if body.is_empty() && body.commits_to_some {
            return Err(self.http.inconsistent(format!("block {height} lost its transactions")));
        }
        // An empty block pays no receiver; and the first one has transactions that were never
        // executed.
        if body.is_empty() || height == 0 {
            return Ok(Block { header: body.header, transfers: Vec::new() });
        }
        let answer = self.http.post(infos_method, infos_method, &json!({ "num": height })).await?;
        let infos = self.read_infos(infos_method, &answer)?;
        let transfers = decode::transfers(&body, &infos)
            .map_err(|reason| self.http.inconsistent(format!("block {height}: {reason}")))?;
        Ok(Block { header: body.header, transfers })
    }

    /// Reads the newest block, unless it was read already: one call while nothing is new, and one
    /// more for a block's outcomes.
    async fn read_newest(&self) -> Result<bool, ChainError> {
        let body = self.ask(NEWEST_BLOCK, json!({}), decode::body).await?;
        let body = body.ok_or_else(|| self.http.malformed(NEWEST_BLOCK, "there is no block"))?;
        if !self.unfinal.knows(&body.header).await {
            let newest = self.with_transfers(NEW_INFOS, body).await?;
            let read = |height| self.block_of((NEW_BLOCK, NEW_INFOS), height);
            self.unfinal.add(newest, read).await?;
        }
        Ok(true)
    }

    /// The outcomes in an answer, which is an object where there is none or where something went
    /// wrong.
    fn read_infos<'a>(
        &self,
        method: &'static str,
        answer: &'a RawValue,
    ) -> Result<Vec<&'a RawValue>, ChainError> {
        #[derive(Deserialize)]
        struct Failure {
            #[serde(default, rename = "Error")]
            error: Option<String>,
        }
        if answer.get().starts_with('[') {
            return self.http.read(method, answer);
        }
        match self.http.read::<Failure>(method, answer)?.error {
            Some(error) => Err(self.http.refused(method, 0, &error)),
            None => Ok(Vec::new()),
        }
    }
}

impl ChainSource for TronSource {
    fn network(&self) -> Network {
        Network::Tron
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        self.pinned.check(|| self.check_chain()).await?;
        let head = self.ask(NOW_BLOCK, json!({}), decode::header).await?;
        let head =
            head.ok_or_else(|| self.http.malformed(NOW_BLOCK, "there is no solidified block"))?;
        self.unfinal.note_final(&head).await;
        Ok(head)
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        let header = self.ask(BLOCK, json!({ "num": height }), decode::header).await?;
        if let Some(header) = &header {
            self.check_height(height, header)?;
        }
        Ok(header)
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        self.block_of((BLOCK, INFOS), height).await
    }

    /// The payments in blocks that are not solidified yet, up to a minute ahead of those that are
    /// credited. Transactions in no block cannot be read. A node that serves `walletsolidity` alone
    /// shows payments that much later.
    async fn mempool(&self) -> Result<Waiting, ChainError> {
        Ok(self.unfinal.waiting_after(Network::Tron, self.read_newest()).await)
    }

    /// Never: internal transactions show the value that contracts move.
    async fn native_balances(
        &self,
        _at: &BlockRef,
        _addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        Ok(None)
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        lookup::locate(&self.http, tx_hash).await
    }

    /// At the newest solidified block. No answer names it, so the one that is asked for afterwards
    /// bounds it.
    async fn holdings(
        &self,
        _at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        let mut by_address = Vec::with_capacity(addresses.len());
        for chunk in addresses.chunks(ADDRESSES_AT_ONCE) {
            let held = chunk.iter().map(|address| lookup::holdings(&self.http, address, assets));
            by_address.extend(try_join_all(held).await?);
        }
        let up_to = self.head().await?.height;
        Ok(Some(Held { up_to, by_address }))
    }

    async fn token(&self, contract: &str) -> Result<Option<TokenFacts>, ChainError> {
        lookup::token(&self.http, contract).await.map(Some)
    }
}
