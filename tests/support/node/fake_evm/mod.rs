//! A fake EVM node with faults. It identifies itself (`web3_clientVersion`), and complements the
//! real node, never replaces it.
//!
//! It has no virtual machine: it recovers who signed, keeps nonces, balances, blocks and a
//! mempool, and from a seed it loses requests and responses, executes requests twice, receives old
//! requests late, answers from an old state, returns "already known" and "nonce too low" at random,
//! drops its mempool, and reorganises its newest blocks, though never a final one.

mod authorized;
mod bytes;
mod handed;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    net::Ipv4Addr,
    sync::{Arc, Mutex},
};

use anyhow::Result;
use axum::{
    Json, Router,
    extract::State as Shared,
    response::{IntoResponse, Response},
    routing::post,
};
use http::StatusCode;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::node::anvil::word;
use bytes::add_to_bloom;
use handed::{Handed, cost, fee, gas, price, topics};

/// Empty blocks that every chain begins with.
const FIRST_BLOCKS: usize = 8;
/// Unix time of the first block, one second before the next.
const BEGAN_AT: u64 = 1_700_000_000;
const GWEI: u128 = 1_000_000_000;
/// Gas of an expensive transfer of coins.
const DEAR_GAS: u128 = 300_000;
/// Of a block without transactions.
const EMPTY_ROOT: &str = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/// Accounts on the chain of one seed.
#[derive(Clone, Default)]
pub struct Cast {
    pub chain_id: u64,
    /// Confirmations that make a block final.
    pub required: usize,
    pub token: String,
    /// The order's address; the gas wallet is the account that funds it.
    pub order: String,
    pub gas_wallet: String,
    /// Initial nonce of the gas wallet.
    pub gas_nonce: u64,
    /// Recipients that refuse every estimate.
    pub refusing: HashSet<String>,
    /// Recipients whose transfers are estimated well and fail when mined.
    pub turning: HashSet<String>,
    /// Unix time of the first block, by default in November 2023.
    pub began_at: Option<u64>,
}

#[derive(Clone)]
struct Block {
    hash: String,
    base: u128,
    transactions: Vec<(Handed, bool)>,
}

pub struct State {
    random: StdRng,
    cast: Cast,
    chain: Vec<Block>,
    pool: BTreeMap<(String, u64), Handed>,
    known: HashMap<String, Handed>,
    first_balances: HashMap<String, u128>,
    /// Of the token, which payers of authorizations have.
    first_tokens: HashMap<String, u128>,
    /// The highest block that can never go.
    last_final: usize,
    forks: u64,
    /// Requests whose callers no longer wait, and which still arrive.
    late: Vec<Value>,
    /// If set, every response is true from now on.
    honest: bool,
    pub lies: u64,
    dear: Option<Dear>,
    /// Recipients whose transfers it reports as impossible to estimate.
    pub unknown: HashSet<String>,
    /// Recipients whose transfers it reports as reverted, and how often.
    pub refusals: HashMap<String, u32>,
    /// If true, payments are lost before the node processes them.
    pub loses_payments: bool,
}

/// Response to transfers of coins that need more gas than allowed.
#[derive(Clone, Copy, Debug)]
pub enum Dear {
    /// Keeps to the given bound and fails.
    Refused,
    /// Returns the gas needed.
    Told,
}

/// The node. Stops with its runtime.
pub struct FakeEvm {
    url: String,
    state: Arc<Mutex<State>>,
}

/// Fate of one request.
enum Fate {
    Answered,
    Unheard,
    Unanswered,
    Doubled,
    Late,
    Stale,
}

impl FakeEvm {
    pub async fn start() -> Result<Self> {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(Mutex::new(State::new(0, Cast::default(), HashMap::new())));
        let router = Router::new().route("/", post(answer)).with_state(state.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, state })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// A fresh chain with these balances.
    pub fn begin(&self, seed: u64, cast: Cast, balances: HashMap<String, u128>) {
        *self.state.lock().unwrap() = State::new(seed, cast, balances);
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }
}

async fn answer(Shared(state): Shared<Arc<Mutex<State>>>, Json(request): Json<Value>) -> Response {
    let fate = state.lock().unwrap().fate();
    let gone = || (StatusCode::BAD_GATEWAY, "gone").into_response();
    if request["method"] == "eth_sendRawTransaction" && state.lock().unwrap().loses_payments {
        return gone();
    }
    let once = |stale| state.lock().unwrap().reply(&request, stale);
    let reply = match fate {
        Fate::Unheard => return gone(),
        Fate::Unanswered => {
            once(false);
            return gone();
        }
        Fate::Doubled => {
            once(false);
            once(false)
        }
        Fate::Late => {
            state.lock().unwrap().late.push(request);
            return gone();
        }
        Fate::Stale => once(true),
        Fate::Answered => once(false),
    };
    Json(reply).into_response()
}

impl State {
    fn new(seed: u64, cast: Cast, first_balances: HashMap<String, u128>) -> Self {
        let genesis = Block { hash: hash_of(&"genesis"), base: GWEI, transactions: vec![] };
        Self {
            random: StdRng::seed_from_u64(seed),
            cast,
            chain: vec![genesis; FIRST_BLOCKS],
            pool: BTreeMap::new(),
            known: HashMap::new(),
            first_balances,
            first_tokens: HashMap::new(),
            last_final: 0,
            forks: 0,
            late: vec![],
            honest: false,
            lies: 0,
            dear: None,
            unknown: HashSet::new(),
            refusals: HashMap::new(),
            loses_payments: false,
        }
    }

    /// Sets the base fee of the newest block.
    pub fn set_base(&mut self, wei: u128) {
        if let Some(block) = self.chain.last_mut() {
            block.base = wei;
        }
    }

    /// Makes transfers of coins expensive, like a data fee that is part of their gas; `None` ends
    /// it.
    pub const fn set_dear(&mut self, dear: Option<Dear>) {
        self.dear = dear;
    }

    pub fn be_honest(&mut self) {
        self.honest = true;
    }

    /// Draws what follows from another seed, on the same chain.
    pub fn reseed(&mut self, seed: u64) {
        self.random = StdRng::seed_from_u64(seed);
        self.honest = false;
    }

    /// Says the truth from now on, or lies; returns what it did before.
    pub const fn set_honest(&mut self, honest: bool) -> bool {
        std::mem::replace(&mut self.honest, honest)
    }

    /// Replaces the newest `depth` blocks, final ones too, by as many and one more. Without
    /// `keeps`, no node has their transactions any more.
    pub fn replace(&mut self, depth: usize, keeps: bool) {
        let depth = depth.min(self.chain.len() - FIRST_BLOCKS);
        let forgotten = self.chain.split_off(self.chain.len() - depth);
        self.pool.clear();
        for (handed, _) in forgotten.into_iter().flat_map(|block| block.transactions) {
            if keeps {
                self.pool.insert((handed.sender.clone(), handed.nonce), handed);
            }
        }
        for _ in 0..=depth {
            self.mine();
        }
    }

    fn chance(&mut self, percent: u32) -> bool {
        let hit = !self.honest && self.random.random_range(0..100) < percent;
        self.lies += u64::from(hit);
        hit
    }

    fn fate(&mut self) -> Fate {
        for (percent, fate) in [
            (3, Fate::Unheard),
            (4, Fate::Unanswered),
            (3, Fate::Doubled),
            (2, Fate::Late),
            (8, Fate::Stale),
        ] {
            if self.chance(percent) {
                return fate;
            }
        }
        Fate::Answered
    }

    /// Lets time pass: a block, or a reorg, or a dropped mempool; delayed requests arrive.
    pub fn pass(&mut self) {
        for request in std::mem::take(&mut self.late) {
            if self.honest || self.random.random_range(0..3) == 0 {
                self.reply(&request, false);
            } else {
                self.late.push(request);
            }
        }
        if self.chance(10) {
            self.reorganise();
        }
        if self.chance(8) {
            self.pool.clear();
        }
        if self.honest || self.random.random_range(0..100) < 85 {
            self.mine();
        }
    }

    fn mine(&mut self) {
        let base = if self.chance(15) { 4 * GWEI } else { GWEI };
        let height = self.chain.len();
        self.forks += 1;
        let mut block = Block { hash: hash_of(&(height, self.forks)), base, transactions: vec![] };
        self.chain.push(block.clone());
        for key in self.pool.keys().cloned().collect::<Vec<_>>() {
            let next = self.count(&key.0, height);
            let handed = self.pool[&key].clone();
            let can_pay = self.balance(&key.0, height) >= cost(&handed);
            if handed.nonce < next {
                self.pool.remove(&key);
            } else if handed.nonce == next && handed.max_fee >= base && can_pay && !self.chance(15)
            {
                self.pool.remove(&key);
                let succeeds = !self.cast.turning.contains(&handed.to)
                    && self.can_move(handed.authorized.as_ref(), height);
                block.transactions.push((handed, succeeds));
                self.chain[height] = block.clone();
            }
        }
        let finalised = (height + 1).saturating_sub(self.cast.required);
        self.last_final = self.last_final.max(finalised);
    }

    fn reorganise(&mut self) {
        let most = self.chain.len() - 1 - self.last_final.max(FIRST_BLOCKS - 1);
        if most == 0 {
            return;
        }
        let depth = self.random.random_range(1..=most);
        let forgotten = self.chain.split_off(self.chain.len() - depth);
        for (handed, _) in forgotten.into_iter().flat_map(|block| block.transactions) {
            if !self.chance(30) {
                self.pool.insert((handed.sender.clone(), handed.nonce), handed);
            }
        }
        for _ in 0..depth {
            self.mine();
        }
    }

    /// Nonces of `sender` used up to a block.
    fn count(&self, sender: &str, height: usize) -> u64 {
        let first = if sender == self.cast.gas_wallet { self.cast.gas_nonce } else { 0 };
        let of = |block: &Block| {
            block.transactions.iter().filter(|(handed, _)| handed.sender == sender).count() as u64
        };
        first + self.chain.iter().take(height + 1).map(of).sum::<u64>()
    }

    fn balance(&self, address: &str, height: usize) -> u128 {
        let mut balance = self.first_balances.get(address).copied().unwrap_or(0);
        for block in self.chain.iter().take(height + 1) {
            for (handed, succeeded) in &block.transactions {
                let value = if handed.is_token || !succeeded { 0 } else { handed.amount };
                if handed.to == address {
                    balance += value;
                }
                if handed.sender == address {
                    let spent = value + fee(handed, block.base);
                    balance = balance.checked_sub(spent).expect("nobody spends what he has not");
                }
            }
        }
        balance
    }

    /// Payments to the order's recipients on the current chain: their number and their sum.
    pub fn paid(&self) -> BTreeMap<String, (u32, u128)> {
        let mut paid = BTreeMap::new();
        let all = self.chain.iter().flat_map(|block| &block.transactions);
        for (handed, _) in all.filter(|(handed, ok)| *ok && handed.sender == self.cast.order) {
            let entry = paid.entry(handed.to.clone()).or_insert((0, 0));
            *entry = (entry.0 + 1, entry.1 + handed.amount);
        }
        paid
    }

    /// Every nonce of any signed payment per recipient: payments with two nonces for one recipient
    /// could both confirm.
    pub fn nonces(&self) -> BTreeMap<String, HashSet<u64>> {
        let mut nonces: BTreeMap<String, HashSet<u64>> = BTreeMap::new();
        for handed in self.known.values().filter(|handed| handed.sender == self.cast.order) {
            nonces.entry(handed.to.clone()).or_default().insert(handed.nonce);
        }
        nonces
    }

    /// Height of the newest block.
    pub fn height(&self) -> usize {
        self.chain.len() - 1
    }

    pub fn coins(&self, address: &str) -> u128 {
        self.balance(address, self.chain.len() - 1)
    }

    fn reply(&mut self, request: &Value, stale: bool) -> Value {
        // Hosted nodes let several machines answer the calls of a batch.
        let Some(calls) = request.as_array() else { return self.reply_to_one(request, stale) };
        let reply = |call| {
            let stale = stale || self.chance(8);
            self.reply_to_one(call, stale)
        };
        calls.iter().map(reply).collect()
    }

    fn reply_to_one(&mut self, request: &Value, stale: bool) -> Value {
        let behind = if stale { self.random.random_range(1..=4) } else { 0 };
        let head = (self.chain.len() - 1).saturating_sub(behind);
        let params = &request["params"];
        let method = request["method"].as_str().unwrap_or_default();
        let (id, jsonrpc) = (request["id"].clone(), "2.0");
        match self.call(method, params, head, stale) {
            Ok(result) => json!({ "jsonrpc": jsonrpc, "id": id, "result": result }),
            Err((code, message)) => {
                json!({ "jsonrpc": jsonrpc, "id": id, "error": { "code": code, "message": message } })
            }
        }
    }

    fn call(
        &mut self,
        method: &str,
        params: &Value,
        head: usize,
        stale: bool,
    ) -> Result<Value, (i64, &'static str)> {
        let text = |at: usize| params[at].as_str().unwrap_or_default().to_owned();
        let height = |tag: &str| match tag {
            "latest" => head,
            digits => usize::from_str_radix(digits.trim_start_matches("0x"), 16).unwrap_or(head),
        };
        Ok(match method {
            "web3_clientVersion" => json!("fake node of the tests, without a virtual machine"),
            "eth_chainId" => json!(format!("{:#x}", self.cast.chain_id)),
            "eth_feeHistory" => json!({
                "baseFeePerGas": [format!("{:#x}", self.chain[head].base)],
                "reward": [[format!("{GWEI:#x}")]],
            }),
            "eth_getBalance" => json!(format!("{:#x}", self.balance(&text(0), head))),
            "eth_getTransactionCount" => {
                json!(format!("{:#x}", self.count(&text(0), height(&text(1)).min(head))))
            }
            "eth_getBlockByNumber" => {
                let at = height(&text(0));
                match self.chain.get(at).filter(|_| at <= head) {
                    Some(_) => self.block(at, params[1] == true),
                    None => Value::Null,
                }
            }
            "eth_getBlockReceipts" => {
                let hash = text(0);
                let at = self.chain.iter().rposition(|block| block.hash == hash);
                at.filter(|at| *at <= head).map_or(Value::Null, |at| {
                    let all = self.chain[at].transactions.iter();
                    all.map(|(handed, _)| self.receipt(&handed.hash, head)).collect()
                })
            }
            "eth_getTransactionByHash" => {
                let hash = text(0);
                let waits = !stale && self.pool.values().any(|handed| handed.hash == hash);
                let mined = self.place(&hash, head).is_some();
                if waits || mined { json!({ "hash": hash }) } else { Value::Null }
            }
            "eth_getTransactionReceipt" => self.receipt(&text(0), head),
            "eth_getCode" => json!(if text(0) == self.cast.token { "0x00" } else { "0x" }),
            "eth_call" => return self.ask(&params[0], head),
            "eth_estimateGas" => return self.estimate(&params[0]),
            "eth_sendRawTransaction" => return self.take(&text(0)),
            _ => return Err((-32601, "the method does not exist")),
        })
    }

    fn place(&self, hash: &str, head: usize) -> Option<(usize, &Handed, bool)> {
        self.chain.iter().take(head + 1).enumerate().find_map(|(height, block)| {
            let found = block.transactions.iter().find(|(handed, _)| handed.hash == hash);
            found.map(|(handed, ok)| (height, handed, *ok))
        })
    }

    fn block(&self, at: usize, whole: bool) -> Value {
        let block = &self.chain[at];
        let parent = at.checked_sub(1).map_or(&block.hash, |before| &self.chain[before].hash);
        let mut bloom = [0; 256];
        for (handed, _) in block.transactions.iter().filter(|(handed, ok)| *ok && handed.is_token) {
            for name in [vec![self.cast.token.clone()], topics(handed)].concat() {
                add_to_bloom(&mut bloom, &name);
            }
        }
        let transaction = |(handed, _): &(Handed, bool)| match (whole, handed.is_token) {
            (false, _) => json!(handed.hash),
            (true, true) => json!({ "hash": handed.hash, "to": self.cast.token, "value": "0x0" }),
            (true, false) => json!({
                "hash": handed.hash, "to": handed.to, "value": format!("{:#x}", handed.amount),
            }),
        };
        let transactions: Vec<_> = block.transactions.iter().map(transaction).collect();
        let root = if transactions.is_empty() { EMPTY_ROOT } else { block.hash.as_str() };
        json!({
            "number": format!("{at:#x}"), "hash": block.hash, "parentHash": parent,
            "timestamp": format!("{:#x}", self.cast.began_at.unwrap_or(BEGAN_AT) + at as u64), "transactionsRoot": root,
            "logsBloom": format!("0x{}", hex::encode(bloom)), "transactions": transactions,
            "baseFeePerGas": format!("{:#x}", block.base),
        })
    }

    fn receipt(&self, hash: &str, head: usize) -> Value {
        let Some((height, handed, ok)) = self.place(hash, head) else { return Value::Null };
        let block = &self.chain[height];
        let log = json!({
            "address": self.cast.token,
            "topics": topics(handed),
            "data": format!("0x{}", word(&format!("{:x}", handed.amount))),
        });
        let logs = if ok && handed.is_token { vec![log] } else { vec![] };
        json!({
            "transactionHash": handed.hash,
            "blockHash": block.hash, "blockNumber": format!("{height:#x}"),
            "status": if ok { "0x1" } else { "0x0" }, "gasUsed": format!("{:#x}", gas(handed)),
            "effectiveGasPrice": format!("{:#x}", price(handed, block.base)), "logs": logs,
        })
    }

    fn estimate(&mut self, call: &Value) -> Result<Value, (i64, &'static str)> {
        let to = call["to"].as_str().unwrap_or_default().to_lowercase();
        let data = call["data"].as_str().unwrap_or_default();
        let is_token = to == self.cast.token;
        match self.refuses(data).filter(|_| is_token) {
            Some(true) => return Err((3, "execution reverted")),
            Some(false) => return Ok(json!(format!("{:#x}", handed::gas_of(true)))),
            None => {}
        }
        let recipient = if is_token { format!("0x{}", &data[34..74]) } else { to };
        if self.cast.refusing.contains(&recipient) {
            return Err((3, "execution reverted"));
        }
        if let Some(left) = self.refusals.get_mut(&recipient).filter(|left| **left > 0) {
            *left -= 1;
            return Err((3, "execution reverted"));
        }
        if self.unknown.contains(&recipient) {
            return Err((-32000, "missing trie node"));
        }
        match self.dear.filter(|_| !is_token) {
            Some(Dear::Refused) => return Err((-32000, "gas required exceeds allowance (40000)")),
            Some(Dear::Told) => return Ok(json!(format!("{DEAR_GAS:#x}"))),
            None => {}
        }
        Ok(json!(format!("{:#x}", handed::gas_of(is_token))))
    }

    fn take(&mut self, raw: &str) -> Result<Value, (i64, &'static str)> {
        let handed = Handed::read(raw, &self.cast)?;
        let hash = json!(handed.hash);
        let head = self.chain.len() - 1;
        let key = (handed.sender.clone(), handed.nonce);
        let was_known = self.known.insert(handed.hash.clone(), handed.clone()).is_some();
        if self.chance(3) {
            return Err((-32000, "txpool is full"));
        }
        if self.chance(2) {
            // A lie: it was not accepted.
            return Err((-32000, "already known"));
        }
        if handed.nonce < self.count(&handed.sender, head) {
            return Err((-32000, "nonce too low"));
        }
        if self.balance(&handed.sender, head) < cost(&handed) {
            return Err((-32000, "insufficient funds for gas * price + value"));
        }
        if let Some(old) = self.pool.get(&key) {
            if old.hash == handed.hash {
                return Err((-32000, "already known"));
            }
            if handed.max_fee * 10 < old.max_fee * 11 || handed.tip * 10 < old.tip * 11 {
                return Err((-32000, "replacement transaction underpriced"));
            }
        }
        self.pool.insert(key, handed);
        if was_known && self.chance(20) {
            return Err((-32000, "already known"));
        }
        if self.chance(3) {
            // Also a lie: it was accepted.
            return Err((-32000, "nonce too low"));
        }
        Ok(hash)
    }
}

fn hash_of(what: &impl std::fmt::Debug) -> String {
    format!("0x{}", hex::encode(Keccak256::digest(format!("{what:?}"))))
}
