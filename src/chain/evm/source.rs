//! The calls to one node, and the memory of its abilities.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use secrecy::SecretString;
use serde_json::{json, value::RawValue};
use tracing::info;

use super::{
    balance,
    decode::{self, Body, Outcomes, Receipt},
    evidence, lookup, quantity,
    wire::{WireBlock, WireLogPlace},
};
use crate::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, TokenFacts, TransferAsset,
        rpc::{EndpointError, Rpc},
    },
    money::BaseUnits,
};

const GET_BLOCK: &str = "eth_getBlockByNumber";
const GET_BLOCK_RECEIPTS: &str = "eth_getBlockReceipts";
const GET_RECEIPT: &str = "eth_getTransactionReceipt";
const GET_LOGS: &str = "eth_getLogs";
const CHAIN_ID: &str = "eth_chainId";

/// One node of an EVM network.
pub struct EvmSource {
    pub(super) rpc: Rpc,
    chain_id: u64,
    // Methods that the node turned out not to offer. Asked once, not before every block.
    lacks_block_receipts: AtomicBool,
    lacks_reader_call: AtomicBool,
}

/// The receipts of one block, after they were held against its header.
pub(in crate::chain) struct Proof {
    /// Whether the receipts give the outcome of every transaction.
    pub knows_status: bool,
    pub receipts: HashMap<String, Receipt>,
}

impl EvmSource {
    /// `url` is a secret because it usually carries an access key.
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        let chain_id = network.evm_chain_id().ok_or(EndpointError::WrongFamily { network })?;
        let rpc = Rpc::new(network, url)?;
        Ok(Self {
            rpc,
            chain_id,
            lacks_block_receipts: AtomicBool::new(false),
            lacks_reader_call: AtomicBool::new(false),
        })
    }

    /// Expects another chain id than the network's own: a test chain.
    #[must_use]
    pub const fn with_chain_id(mut self, chain_id: u64) -> Self {
        self.chain_id = chain_id;
        self
    }

    /// Waits this long for one answer of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    async fn check_chain(&self) -> Result<(), ChainError> {
        let result = self.rpc.call(CHAIN_ID, json!([])).await?;
        let found: &str = self.rpc.read(CHAIN_ID, &result)?;
        if quantity::number(found) == Some(self.chain_id) {
            return Ok(());
        }
        let expected = format!("{:#x}", self.chain_id);
        let found = found.chars().take(66).collect();
        Err(ChainError::WrongChain { network: self.rpc.network(), expected, found })
    }

    /// A block by its number or by `latest`, read by `read`.
    pub(super) async fn wire_block<T>(
        &self,
        which: &str,
        with_transactions: bool,
        read: impl FnOnce(&WireBlock<'_>) -> Result<T, &'static str>,
    ) -> Result<Option<T>, ChainError> {
        let result = self.rpc.call(GET_BLOCK, json!([which, with_transactions])).await?;
        let Some(block) = self.rpc.read::<Option<WireBlock>>(GET_BLOCK, &result)? else {
            return Ok(None);
        };
        let unreadable = |field| self.rpc.malformed(GET_BLOCK, format!("field {field}"));
        read(&block).map(Some).map_err(unreadable)
    }

    fn check_height(&self, asked: u64, header: &BlockRef) -> Result<(), ChainError> {
        if header.height == asked {
            return Ok(());
        }
        Err(self.rpc.inconsistent(format!("asked for block {asked}, got {}", header.height)))
    }

    /// A block with all of its receipts, which were held against its header.
    async fn whole_block(&self, height: u64) -> Result<Option<(Body, Outcomes)>, ChainError> {
        let network = self.rpc.network();
        let read = |block: &WireBlock<'_>| decode::body(network, block);
        let Some(body) = self.wire_block(&format!("{height:#x}"), true, read).await? else {
            return Ok(None);
        };
        self.check_height(height, &body.header)?;
        let outcomes = if body.transactions.is_empty() && body.unreadable == 0 {
            Outcomes::default()
        } else {
            self.outcomes(&body).await?
        };
        evidence::check(network, &body, &outcomes)
            .map_err(|reason| self.rpc.inconsistent(format!("block {height}: {reason}")))?;
        Ok(Some((body, outcomes)))
    }

    /// The receipts of a block, believed as far as those of a block of deposits are; `None` if
    /// there is no such block.
    pub(in crate::chain) async fn proof(&self, height: u64) -> Result<Option<Proof>, ChainError> {
        let Some((_, outcomes)) = self.whole_block(height).await? else { return Ok(None) };
        // The older methods give only the logs of transactions without value.
        let knows_status = !self.lacks_block_receipts.load(Ordering::Relaxed);
        let receipts = outcomes.receipts.into_iter();
        let receipts = receipts.map(|receipt| (receipt.tx_hash.clone(), receipt)).collect();
        Ok(Some(Proof { knows_status, receipts }))
    }

    async fn outcomes(&self, body: &Body) -> Result<Outcomes, ChainError> {
        if !self.lacks_block_receipts.load(Ordering::Relaxed) {
            match self.block_receipts(&body.header).await {
                Err(refusal) if refusal.lacks_method() => {
                    let network = self.rpc.network();
                    info!(%network, "the node of {network} lacks {GET_BLOCK_RECEIPTS}: {refusal}");
                    self.lacks_block_receipts.store(true, Ordering::Relaxed);
                }
                answer => return answer,
            }
        }
        let paid = self.receipts_of_payments(body).await?;
        self.add_logs(body, paid).await
    }

    async fn block_receipts(&self, at: &BlockRef) -> Result<Outcomes, ChainError> {
        let block_hash = at.hash.as_str();
        let result = self.rpc.call(GET_BLOCK_RECEIPTS, json!([block_hash])).await?;
        let raw: Option<Vec<&RawValue>> = self.rpc.read(GET_BLOCK_RECEIPTS, &result)?;
        let raw = raw.ok_or_else(|| self.vanished(block_hash))?;
        decode::outcomes(self.rpc.network(), at, &raw)
            .ok_or_else(|| self.rpc.malformed(GET_BLOCK_RECEIPTS, "no receipt can be read"))
    }

    /// From older methods: the receipts of transactions that send native value, one by one.
    async fn receipts_of_payments(&self, body: &Body) -> Result<Outcomes, ChainError> {
        let paying = body.transactions.iter().filter(|tx| tx.payment.is_some());
        self.receipts_of(body, paying.map(|tx| tx.hash.as_str())).await
    }

    /// All receipts one by one, each with its logs: no cap on the logs of a block forbids that.
    async fn every_receipt(&self, body: &Body) -> Result<Outcomes, ChainError> {
        self.receipts_of(body, body.transactions.iter().map(|tx| tx.hash.as_str())).await
    }

    async fn receipts_of(
        &self,
        body: &Body,
        hashes: impl Iterator<Item = &str>,
    ) -> Result<Outcomes, ChainError> {
        let block_hash = body.header.hash.as_str();
        let params: Vec<_> = hashes.map(|hash| [hash]).collect();
        let results = self.rpc.batch(GET_RECEIPT, &params).await?;
        if results.iter().any(|result| result.get() == "null") {
            return Err(self.vanished(block_hash));
        }
        let raw: Vec<&RawValue> = results.iter().map(AsRef::as_ref).collect();
        let outcomes = decode::outcomes(self.rpc.network(), &body.header, &raw)
            .ok_or_else(|| self.rpc.malformed(GET_RECEIPT, "no receipt can be read"))?;
        if outcomes.receipts.iter().any(|receipt| receipt.block_hash != block_hash) {
            return Err(self.vanished(block_hash));
        }
        Ok(outcomes)
    }

    /// From older methods: all logs of the block, sorted into receipts in the order of the block.
    ///
    /// No topic filter: a log's key is its place among all logs of its transaction, and the
    /// evidence covers all logs.
    async fn add_logs(&self, body: &Body, paid: Outcomes) -> Result<Outcomes, ChainError> {
        let network = self.rpc.network();
        let block_hash = body.header.hash.as_str();
        let result = match self.rpc.call(GET_LOGS, json!([{ "blockHash": block_hash }])).await {
            // One block is the least that can be asked for, so a cap on logs leaves only the
            // receipts themselves.
            Err(refusal) if refusal.is_too_large() => return self.every_receipt(body).await,
            answer => answer?,
        };
        let raw: Option<Vec<&RawValue>> = self.rpc.read(GET_LOGS, &result)?;

        let empty = |tx_hash: &str, succeeded| Receipt {
            tx_hash: tx_hash.to_owned(),
            block_hash: block_hash.to_owned(),
            succeeded,
            logs: Vec::new(),
        };
        let paid: HashMap<&str, bool> =
            paid.receipts.iter().map(|r| (r.tx_hash.as_str(), r.succeeded)).collect();
        let mut outcomes = Outcomes::default();
        let mut places = HashMap::with_capacity(body.transactions.len());
        for tx in &body.transactions {
            // The EVM keeps no log of a failed transaction, so one that pays nothing and has logs
            // has succeeded. One that pays and whose receipt could not be read must not count as a
            // success.
            let succeeded = paid.get(tx.hash.as_str()).copied().unwrap_or(tx.payment.is_none());
            places.insert(tx.hash.clone(), outcomes.receipts.len());
            outcomes.receipts.push(empty(&tx.hash, succeeded));
        }
        for raw in raw.ok_or_else(|| self.vanished(block_hash))? {
            let place: WireLogPlace = self.rpc.read(GET_LOGS, raw)?;
            if quantity::hash(place.block_hash).as_deref() != Some(block_hash) {
                return Err(self.vanished(block_hash));
            }
            let tx_hash = quantity::hash(place.transaction_hash)
                .ok_or_else(|| self.rpc.malformed(GET_LOGS, "field transactionHash"))?;
            let log = decode::log(network, &body.header, &tx_hash, raw);
            let place = *places.entry(tx_hash.clone()).or_insert_with(|| {
                outcomes.receipts.push(empty(&tx_hash, true));
                outcomes.receipts.len() - 1
            });
            outcomes.receipts[place].logs.push(log);
        }
        Ok(outcomes)
    }

    fn vanished(&self, block_hash: &str) -> ChainError {
        self.rpc.inconsistent(format!("block {block_hash} changed or vanished between two calls"))
    }
}

// Without a mempool: rollups keep waiting transactions to themselves and hosted nodes answer
// `pending` with their latest block; where it is real, it would cost a whole block per look and
// shows no token payment (a call is an intention, only its event is a movement).
impl ChainSource for EvmSource {
    fn network(&self) -> Network {
        self.rpc.network()
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let latest = self.wire_block("latest", false, decode::header);
        let ((), head) = futures_util::try_join!(self.check_chain(), latest)?;
        head.ok_or_else(|| self.rpc.malformed(GET_BLOCK, "there is no latest block"))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        let header = self.wire_block(&format!("{height:#x}"), false, decode::header).await?;
        if let Some(header) = &header {
            self.check_height(height, header)?;
        }
        Ok(header)
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let Some((body, outcomes)) = self.whole_block(height).await? else { return Ok(None) };
        let transfers = decode::transfers(&body.transactions, &outcomes.receipts);
        Ok(Some(Block { header: body.header, transfers }))
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        if !self.lacks_reader_call.load(Ordering::Relaxed) {
            match balance::by_reader(&self.rpc, at, addresses).await {
                Err(ChainError::Refused { .. } | ChainError::Malformed { .. }) => {}
                answer => return answer.map(Some),
            }
        }
        let balances = balance::by_question(&self.rpc, at, addresses).await?;
        // Both may be refused for want of the block; only a node that answers the second has shown
        // that it lacks the first.
        self.lacks_reader_call.store(true, Ordering::Relaxed);
        Ok(Some(balances))
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        lookup::locate(&self.rpc, tx_hash).await
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        lookup::holdings(&self.rpc, at, addresses, assets).await.map(Some)
    }

    async fn token(&self, contract: &str) -> Result<Option<TokenFacts>, ChainError> {
        lookup::token(&self.rpc, contract).await.map(Some)
    }
}
