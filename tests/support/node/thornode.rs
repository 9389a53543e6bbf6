//! A stub of a THORChain node: CometBFT's RPC by path and by JSON-RPC.
//!
//! Shapes: the CometBFT 0.38 documentation, and recorded replies of chains of the same kind (beside
//! the adapter). Not seen live. Headers are reduced to the fields that the documentation calls
//! required; hashes are random, but `data_hash` is the real one and transactions are hashed as
//! CometBFT hashes them.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::node::{
    stub_chain::{StubBlock, StubChain},
    stub_node::{Answer, Ask, Node},
};

/// A coin and how much of it, as the SDK writes them together.
pub type Coins = String;

#[derive(Debug, Clone)]
pub struct ThorTx {
    pub bytes: Vec<u8>,
    pub code: u32,
    pub events: Vec<Value>,
}

impl ThorTx {
    /// A transaction of its own bytes, as a user would send it; its fee is part of it.
    pub fn new(code: u32, transfers: &[(String, Coins)]) -> Self {
        let fee = transfer("thor1dheycdevq39qlkxs2a6wuuzyn4aqxhve4qxtxt", "2000000rune");
        let mut events = vec![event("tx", &[("fee", "2000000rune")]), fee];
        events.push(event("message", &[("action", "/types.MsgSend"), ("sender", SENDER)]));
        events.extend(transfers.iter().map(|(to, coins)| transfer(to, coins)));
        Self { bytes: rand::random::<[u8; 32]>().to_vec(), code, events }
    }

    /// As explorers write it.
    pub fn hash(&self) -> String {
        hex::encode_upper(Sha256::digest(&self.bytes))
    }
}

const SENDER: &str = "thor1x3379v4xjyc5nlhs83j5zhfs5m948nk72u5uax";

pub fn event(kind: &str, attributes: &[(&str, &str)]) -> Value {
    let attribute =
        |(key, value): &(&str, &str)| json!({ "key": key, "value": value, "index": true });
    let attributes: Vec<Value> = attributes.iter().map(attribute).collect();
    json!({ "type": kind, "attributes": attributes })
}

pub fn transfer(to: &str, coins: &str) -> Value {
    event(
        "transfer",
        &[("recipient", to), ("sender", SENDER), ("amount", coins), ("msg_index", "0")],
    )
}

pub struct Thornode {
    pub chain: StubChain<ThorTx>,
    pub network: String,
    /// Events of the next blocks themselves, in addition to rewards, by height.
    pub block_events: Vec<(u64, Value)>,
    /// Returns true for blocks without rewards.
    pub without_rewards: fn(u64) -> bool,
}

impl Default for Thornode {
    fn default() -> Self {
        let chain = StubChain::new(1, rand::random());
        Self {
            chain,
            network: "thorchain-1".to_owned(),
            block_events: Vec::new(),
            without_rewards: |_| false,
        }
    }
}

impl Thornode {
    fn result(&self, method: &str, height: Option<u64>) -> Result<Value, Value> {
        if method == "status" {
            return Ok(self.status());
        }
        let head = self.chain.head().height;
        let height = height.unwrap_or(head);
        let refused =
            |data: String| json!({ "code": -32603, "message": "Internal error", "data": data });
        let block = self.chain.at(height).ok_or_else(|| {
            refused(format!(
                "height {height} must be less than or equal to the current blockchain height {head}"
            ))
        })?;
        match method {
            "block" => Ok(self.block(block)),
            "block_results" => Ok(self.block_results(block)),
            _ => Err(json!({ "code": -32601, "message": "Method not found" })),
        }
    }

    /// Answers as CometBFT's own index of transactions.
    fn transaction(&self, hash: &str) -> Result<Value, Value> {
        let wanted = hash.trim_start_matches("0x");
        for block in &self.chain.blocks {
            let mut txs = block.transactions.iter().enumerate();
            if let Some((index, tx)) = txs.find(|(_, tx)| tx.hash().eq_ignore_ascii_case(wanted)) {
                return Ok(json!({
                    "hash": tx.hash(), "height": block.height.to_string(), "index": index,
                    "tx_result": { "code": tx.code, "data": "", "log": "", "events": tx.events },
                    "tx": BASE64_STANDARD.encode(&tx.bytes)
                }));
            }
        }
        let data = format!("tx ({wanted}) not found");
        Err(json!({ "code": -32603, "message": "Internal error", "data": data }))
    }

    /// Answers as the bank module for one balance, at the requested height.
    fn balance(&self, data: &str, height: u64) -> Value {
        let question = hex::decode(data.trim_start_matches("0x")).unwrap();
        let (address, rest) = field(&question);
        let (denom, _) = field(rest);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let amount = self.received(&text(address), &text(denom), height).to_string();
        let coin = [written(1, denom), written(2, amount.as_bytes())].concat();
        json!({ "response": {
            "code": 0, "log": "", "info": "", "index": "0", "key": null,
            "value": BASE64_STANDARD.encode(written(1, &coin)),
            "proofOps": null, "height": height.to_string(), "codespace": ""
        }})
    }

    /// Amount received up to a height, in successful transactions and in events of blocks
    /// themselves.
    fn received(&self, address: &str, denom: &str, height: u64) -> u128 {
        let blocks = self.chain.blocks.iter().filter(|block| block.height <= height);
        let done = blocks.flat_map(|block| &block.transactions).filter(|tx| tx.code == 0);
        let by_blocks = self.block_events.iter().filter(|(at, _)| *at <= height);
        let events = done.flat_map(|tx| &tx.events).chain(by_blocks.map(|(_, event)| event));
        let value = |event: &Value, key: &str| {
            let attributes = event["attributes"].as_array()?;
            let found = attributes.iter().find(|attribute| attribute["key"] == key)?;
            Some(found["value"].as_str()?.to_owned())
        };
        let own = events.filter(|event| {
            event["type"] == "transfer" && value(event, "recipient").as_deref() == Some(address)
        });
        let amounts = own
            .filter_map(|event| value(event, "amount")?.strip_suffix(denom)?.parse::<u128>().ok());
        amounts.sum()
    }

    fn status(&self) -> Value {
        let head = self.chain.head();
        json!({
            "node_info": {
                "protocol_version": { "p2p": "8", "block": "11", "app": "0" },
                "id": "5576458aef205977e18fd50b274e9b5d9014525a",
                "listen_addr": "tcp://0.0.0.0:27146",
                "network": self.network,
                "version": "0.38.17",
                "channels": "40202122233038606100",
                "moniker": "stub",
                "other": { "tx_index": "on", "rpc_address": "tcp://0.0.0.0:27147" }
            },
            "sync_info": {
                "latest_block_hash": hex::encode_upper(head.hash),
                "latest_app_hash": "00".repeat(32),
                "latest_block_height": head.height.to_string(),
                "latest_block_time": rfc3339(head),
                "catching_up": false
            },
            "validator_info": {
                "address": "5D6A51A8E9899C44079C6AF90618BA0369070E6E",
                "pub_key": {
                    "type": "tendermint/PubKeyEd25519",
                    "value": "A6DoBUypNtUAyEHWtQ9bFjfNg8Bo9CrnkUGl6k6OHN4="
                },
                "voting_power": "0"
            }
        })
    }

    fn block(&self, block: &StubBlock<ThorTx>) -> Value {
        let parent =
            if block.parent == [0; 32] { String::new() } else { hex::encode_upper(block.parent) };
        let parts = json!({ "total": 1, "hash": "AA".repeat(32) });
        let previous = json!({ "hash": parent, "parts": parts });
        let txs: Vec<String> =
            block.transactions.iter().map(|tx| BASE64_STANDARD.encode(&tx.bytes)).collect();
        let some_hash = "BB".repeat(32);
        json!({
            "block_id": { "hash": hex::encode_upper(block.hash), "parts": parts },
            "block": {
                "header": {
                    "version": { "block": "11", "app": "0" },
                    "chain_id": self.network,
                    "height": block.height.to_string(),
                    "time": rfc3339(block),
                    "last_block_id": previous,
                    "last_commit_hash": some_hash,
                    "data_hash": data_hash(&block.transactions),
                    "validators_hash": some_hash,
                    "next_validators_hash": some_hash,
                    "consensus_hash": some_hash,
                    "app_hash": some_hash,
                    "last_results_hash": some_hash,
                    "evidence_hash": some_hash,
                    "proposer_address": "CC".repeat(20)
                },
                "data": { "txs": txs },
                "evidence": { "evidence": [] },
                "last_commit": {
                    "height": (block.height - 1).to_string(), "round": 0,
                    "block_id": previous, "signatures": []
                }
            }
        })
    }

    fn block_results(&self, block: &StubBlock<ThorTx>) -> Value {
        let results: Vec<Value> = block
            .transactions
            .iter()
            .map(|tx| {
                json!({
                    "code": tx.code, "data": "", "log": "", "info": "", "gas_wanted": "0",
                    "gas_used": "187035", "events": tx.events, "codespace": ""
                })
            })
            .collect();
        let of_block = self.block_events.iter().filter(|(height, _)| *height == block.height);
        let mut of_block: Vec<Value> = of_block.map(|(_, event)| event.clone()).collect();
        if !(self.without_rewards)(block.height) {
            of_block.push(event("rewards", &[("bond_reward", "64127453"), ("BTC.BTC", "871")]));
        }
        json!({
            "height": block.height.to_string(),
            "txs_results": if results.is_empty() { Value::Null } else { results.into() },
            "finalize_block_events": of_block,
            "validator_updates": null,
            "consensus_param_updates": null,
            "app_hash": ""
        })
    }
}

/// Returns the content of the first field of a message of short fields, and the remaining bytes.
fn field(message: &[u8]) -> (&[u8], &[u8]) {
    message[2..].split_at(usize::from(message[1]))
}

fn written(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

fn rfc3339(block: &StubBlock<ThorTx>) -> String {
    block.mined_at.to_rfc3339_opts(chrono::SecondsFormat::Nanos, true)
}

/// CometBFT's own root over the hashes of transactions, written independently of the adapter's:
/// level by level would pair differently, so it splits as RFC 6962 does.
fn data_hash(transactions: &[ThorTx]) -> String {
    fn root(leaves: &[Vec<u8>]) -> Vec<u8> {
        if leaves.len() <= 1 {
            return leaves.first().cloned().unwrap_or_else(|| Sha256::digest([]).to_vec());
        }
        let mut left = 1;
        while left * 2 < leaves.len() {
            left *= 2;
        }
        let pair = [vec![1], root(&leaves[..left]), root(&leaves[left..])].concat();
        Sha256::digest(pair).to_vec()
    }
    let leaf = |tx: &ThorTx| {
        Sha256::digest([vec![0], Sha256::digest(&tx.bytes).to_vec()].concat()).to_vec()
    };
    hex::encode_upper(root(&transactions.iter().map(leaf).collect::<Vec<_>>()))
}

impl Node for Thornode {
    fn answer(&self, ask: &Ask) -> Answer {
        let method = match ask.path.trim_start_matches('/') {
            "" => ask.body["method"].as_str().unwrap_or_default(),
            path => path,
        };
        let height = ask.query.get("height").map(String::as_str);
        let height = height.or_else(|| ask.body["params"]["height"].as_str());
        // Answers to paths carry -1.
        let id = ask.body.get("id").cloned().unwrap_or(json!(-1));
        let told = match (method, ask.query.get("hash")) {
            ("tx", Some(hash)) => self.transaction(hash),
            ("abci_query", _) => {
                assert_eq!(ask.query["path"], "\"/cosmos.bank.v1beta1.Query/Balance\"");
                Ok(self.balance(&ask.query["data"], height.unwrap().parse().unwrap()))
            }
            _ => self.result(method, height.and_then(|height| height.parse().ok())),
        };
        match told {
            Ok(result) => Answer::Json(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(error) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Answer::Status(status, json!({ "jsonrpc": "2.0", "id": id, "error": error }))
            }
        }
    }
}
