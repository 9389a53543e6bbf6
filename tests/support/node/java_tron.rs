//! A stub of a TRON node's HTTP interface.
//!
//! Shapes: java-tron's documentation and its recorded replies of the Nile test network (beside the
//! adapter). Not seen live. A transaction's id is the hash of its real encoding, so that tronweb
//! can check it; block ids are random after their height.

use std::collections::HashMap;

use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::node::{
    stub_chain::{StubBlock, StubChain},
    stub_node::{Answer, Ask, Node},
};

const GENESIS: &str = "00000000000000001ebf88508a03865c71d452e25f4d51194196a1d22b6653dc";
const USDT: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const SENDER: &str = "41dd791d6b49e190062d650e6a23c575510d35f2f9";
const TRANSFER_TOPIC: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// 2026-11-21, in milliseconds; a transaction's time only has to be part of its encoding.
const SENT_AT: i64 = 1_795_219_200_000;

#[derive(Debug, Clone)]
pub struct TronTx {
    contract: Value,
    raw: Vec<u8>,
    salt: i64,
    pub contract_ret: &'static str,
    pub logs: Vec<Value>,
    pub internals: Vec<Value>,
}

impl TronTx {
    /// TRX from one account to another.
    pub fn transfer(to: &str, sun: i64) -> Self {
        let to = node_hex(to);
        let value = json!({ "amount": sun, "owner_address": SENDER, "to_address": to });
        let encoded = [bytes(1, &unhex(SENDER)), bytes(2, &unhex(&to)), number(3, sun)].concat();
        Self::new("TransferContract", 1, &value, &encoded)
    }

    /// A call of `transfer` at a contract, given by its address without a version. Its effect is
    /// given by the logs.
    pub fn call(contract: &str, logs: Vec<Value>, internals: Vec<Value>) -> Self {
        let contract = format!("41{contract}");
        let data = format!("a9059cbb{:0>64}{:064x}", &SENDER[2..], 5);
        let value = json!({ "data": data, "owner_address": SENDER, "contract_address": contract });
        let encoded =
            [bytes(1, &unhex(SENDER)), bytes(2, &unhex(&contract)), bytes(4, &unhex(&data))]
                .concat();
        Self { logs, internals, ..Self::new("TriggerSmartContract", 31, &value, &encoded) }
    }

    /// A TRC-10 token.
    pub fn asset(to: &str, units: i64) -> Self {
        let to = node_hex(to);
        let name = hex::encode("1002000");
        let value = json!({
            "amount": units, "asset_name": name, "owner_address": SENDER, "to_address": to
        });
        let encoded = [
            bytes(1, b"1002000"),
            bytes(2, &unhex(SENDER)),
            bytes(3, &unhex(&to)),
            number(4, units),
        ];
        Self::new("TransferAssetContract", 2, &value, &encoded.concat())
    }

    /// The contract's value as JSON and as protocol buffers, which must say the same.
    fn new(kind: &str, kind_number: i64, value: &Value, encoded: &[u8]) -> Self {
        let type_url = format!("type.googleapis.com/protocol.{kind}");
        let any = [bytes(1, type_url.as_bytes()), bytes(2, encoded)].concat();
        let contract = [number(1, kind_number), bytes(2, &any)].concat();
        let salt = i64::from(rand::random::<u32>() >> 1);
        let raw = [
            bytes(1, &unhex("1c8b")),
            bytes(4, &unhex("d78785ed02dd918f")),
            number(8, SENT_AT + 60_000),
            bytes(11, &contract),
            number(14, SENT_AT + salt),
        ];
        let parameter = json!({ "value": value, "type_url": type_url });
        Self {
            contract: json!({ "parameter": parameter, "type": kind }),
            raw: raw.concat(),
            salt,
            contract_ret: "SUCCESS",
            logs: Vec::new(),
            internals: Vec::new(),
        }
    }

    #[must_use]
    pub fn failing(mut self, contract_ret: &'static str) -> Self {
        self.contract_ret = contract_ret;
        self
    }

    pub fn id(&self) -> String {
        hex::encode(Sha256::digest(&self.raw))
    }

    /// Amount of TRX or of a token that it brings to `account`, computed from its own content.
    fn brings(&self, account: &str, token: Option<&str>) -> u128 {
        let value = &self.contract["parameter"]["value"];
        let number = |value: &Value| u128::from(value.as_u64().unwrap_or(0));
        match token {
            None if self.contract["type"] == "TransferContract"
                && value["to_address"] == account =>
            {
                number(&value["amount"])
            }
            None => {
                let own = |internal: &&Value| {
                    internal["transferTo_address"] == account
                        && internal["note"] == hex::encode("call")
                        && internal["rejected"] != true
                };
                let values = self.internals.iter().filter(own).map(|i| &i["callValueInfo"][0]);
                values.filter(|v| v["tokenId"].is_null()).map(|v| number(&v["callValue"])).sum()
            }
            Some(token) => {
                let word = |log: &Value, n: usize| log["topics"][n].as_str().map(str::to_owned);
                let own = |log: &&Value| {
                    log["address"] == token
                        && word(log, 0).as_deref() == Some(TRANSFER_TOPIC)
                        && word(log, 2) == Some(format!("{}{}", "0".repeat(24), &account[2..]))
                        && word(log, 3).is_none()
                };
                let data = self.logs.iter().filter(own).filter_map(|log| log["data"].as_str());
                let amounts = data.filter(|data| data.len() == 64);
                amounts.filter_map(|data| u128::from_str_radix(data, 16).ok()).sum()
            }
        }
    }

    fn is_plain(&self) -> bool {
        self.contract["type"] != "TriggerSmartContract"
    }

    fn transaction(&self) -> Value {
        json!({
            "ret": [{ "contractRet": self.contract_ret }],
            "signature": ["00".repeat(65)],
            "txID": self.id(),
            "raw_data": {
                "contract": [self.contract],
                "ref_block_bytes": "1c8b",
                "ref_block_hash": "d78785ed02dd918f",
                "expiration": SENT_AT + 60_000,
                "timestamp": SENT_AT + self.salt
            },
            "raw_data_hex": hex::encode(&self.raw)
        })
    }

    fn info(&self, block: &StubBlock<Self>) -> Value {
        let mut info = json!({
            "id": self.id(),
            "fee": 267_000,
            "blockNumber": block.height,
            "blockTimeStamp": block.mined_at.timestamp_millis(),
            "contractResult": [""],
            "receipt": { "net_fee": 267_000 }
        });
        if !self.is_plain() {
            info["receipt"]["result"] = json!(self.contract_ret);
            info["contract_address"] =
                self.contract["parameter"]["value"]["contract_address"].clone();
            if self.contract_ret != "SUCCESS" {
                info["result"] = json!("FAILED");
                info["resMessage"] = json!(hex::encode("REVERT opcode executed"));
            }
        }
        // Empty lists are left out.
        for (name, list) in [("log", &self.logs), ("internal_transactions", &self.internals)] {
            if !list.is_empty() {
                info[name] = json!(list);
            }
        }
        info
    }
}

/// A token's `Transfer` event. `amount` is 64 hex digits.
pub fn transfer_log(contract: &str, to: &str, amount: &str) -> Value {
    let word = |address: &str| format!("{}{address}", "0".repeat(24));
    let topics = [TRANSFER_TOPIC.to_owned(), word(&SENDER[2..]), word(&node_hex(to)[2..])];
    json!({ "address": contract, "topics": topics, "data": amount })
}

/// Movement of TRX, or of another asset, by a contract, as `note` says.
pub fn internal(to: &str, value: &Value, note: &str) -> Value {
    json!({
        "hash": hex::encode(rand::random::<[u8; 32]>()),
        "caller_address": SENDER,
        "transferTo_address": node_hex(to),
        "callValueInfo": [value],
        "note": hex::encode(note)
    })
}

/// `41` and 20 bytes, in hex, of an address in base58.
pub fn node_hex(address: &str) -> String {
    hex::encode(bs58::decode(address).with_check(None).into_vec().unwrap())
}

fn unhex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

/// A field of protocol buffers that holds a number.
fn number(field: u64, value: i64) -> Vec<u8> {
    [varint(field << 3), varint(u64::try_from(value).unwrap())].concat()
}

/// A field of protocol buffers that holds bytes.
fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [&varint(field << 3 | 2), &varint(value.len() as u64), value].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut encoded = Vec::new();
    while value >= 128 {
        encoded.push(value.to_le_bytes()[0] | 128);
        value >>= 7;
    }
    encoded.push(value.to_le_bytes()[0]);
    encoded
}

pub struct JavaTron {
    pub chain: StubChain<TronTx>,
    /// Newest blocks that are not solidified yet.
    pub unsolidified: u64,
    /// Of the tokens there are, by their contracts without a version.
    pub decimals: HashMap<String, u8>,
}

impl Default for JavaTron {
    fn default() -> Self {
        let first = unhex(GENESIS).try_into().unwrap();
        let decimals = HashMap::from([(USDT.to_owned(), 6)]);
        Self { chain: StubChain::new(0, first), unsolidified: 0, decimals }
    }
}

impl JavaTron {
    fn block(block: &StubBlock<TronTx>) -> Value {
        let transactions: Vec<Value> = block.transactions.iter().map(TronTx::transaction).collect();
        let root = if transactions.is_empty() { "00" } else { "fa" };
        let mut answer = json!({
            "blockID": block_id(block.height, &block.hash),
            "block_header": {
                "raw_data": {
                    "number": block.height,
                    "txTrieRoot": root.repeat(32),
                    "witness_address": "41b2f713d57dbcec679d93a8849fa0cd0e4db594ba",
                    "parentHash": block_id(block.parent_height, &block.parent),
                    "version": 34,
                    "timestamp": block.mined_at.timestamp_millis()
                },
                "witness_signature": "00".repeat(65)
            }
        });
        // Zeros and empty lists are left out.
        if block.height == 0 {
            let data = answer["block_header"]["raw_data"].as_object_mut().unwrap();
            data.remove("number");
        }
        if !transactions.is_empty() {
            answer["transactions"] = transactions.into();
        }
        answer
    }

    fn result(&self, ask: &Ask) -> Option<Value> {
        let (side, method) = ask.path.trim_start_matches('/').split_once('/')?;
        let head = self.chain.head().height;
        let newest = if side == "walletsolidity" { head - self.unsolidified } else { head };
        let visible = self.chain.blocks.iter().filter(|block| block.height <= newest);
        let wanted = ask.body["num"].as_u64().unwrap_or(0);
        let mut visible = visible.rev();
        match method {
            "getnowblock" => visible.next().map(Self::block),
            "getblockbynum" => {
                let block = visible.find(|block| block.height == wanted);
                Some(block.map_or(json!({}), Self::block))
            }
            "gettransactioninfobyblocknum" => {
                let block = visible.find(|block| block.height == wanted && wanted > 0);
                let infos = |block: &StubBlock<TronTx>| {
                    block.transactions.iter().map(|tx| tx.info(block)).collect::<Vec<_>>()
                };
                Some(block.map_or(json!({}), |block| infos(block).into()))
            }
            "gettransactioninfobyid" => {
                let id = ask.body["value"].as_str()?;
                let info = |block: &StubBlock<TronTx>| {
                    let tx = block.transactions.iter().find(|tx| tx.id() == id);
                    tx.map(|tx| tx.info(block))
                };
                Some(visible.find_map(info).unwrap_or(json!({})))
            }
            "getaccount" => Some(self.account(ask.body["address"].as_str()?, newest)),
            "triggerconstantcontract" => Some(self.call(&ask.body, newest)),
            _ => None,
        }
    }

    /// TRX and tokens received by an account in successful transactions of blocks up to `newest`.
    fn received(&self, address: &str, newest: u64, token: Option<&str>) -> u128 {
        let blocks = self.chain.blocks.iter().filter(|block| block.height <= newest);
        let done = blocks.flat_map(|b| &b.transactions).filter(|tx| tx.contract_ret == "SUCCESS");
        done.map(|tx| tx.brings(&node_hex(address), token)).sum()
    }

    /// Empty for an account without payments; zeros are left out.
    fn account(&self, address: &str, newest: u64) -> Value {
        match self.received(address, newest, None) {
            0 => json!({}),
            balance => json!({ "address": address, "balance": u64::try_from(balance).unwrap() }),
        }
    }

    fn call(&self, body: &Value, newest: u64) -> Value {
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        let contract = node_hex(text("contract_address"));
        let word = match (text("function_selector"), self.decimals.get(&contract[2..])) {
            (_, None) => {
                let message = hex::encode("No contract or not a valid smart contract");
                let result = json!({ "code": "CONTRACT_VALIDATE_ERROR", "message": message });
                return json!({ "result": result });
            }
            ("decimals()", Some(decimals)) => u128::from(*decimals),
            ("balanceOf(address)", Some(_)) => {
                let owner: [u8; 20] = unhex(&text("parameter")[24..]).try_into().unwrap();
                let owner = gateway::asset::address::tron::encode(&owner);
                self.received(&owner, newest, Some(&contract[2..]))
            }
            (other, Some(_)) => panic!("no contract here has {other}"),
        };
        json!({ "result": { "result": true }, "constant_result": [format!("{word:064x}")] })
    }
}

fn block_id(height: u64, hash: &[u8; 32]) -> String {
    format!("{height:016x}{}", hex::encode(&hash[8..]))
}

impl Node for JavaTron {
    fn answer(&self, ask: &Ask) -> Answer {
        match self.result(ask) {
            Some(result) => Answer::Json(result),
            None => Answer::Text(StatusCode::NOT_FOUND, "not found".to_owned()),
        }
    }
}
