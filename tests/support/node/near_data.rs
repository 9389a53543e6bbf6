//! A stub of a neardata server: NEAR blocks by height, final ones and optimistic ones.
//!
//! Shapes: the server's documentation and source, and the views of nearcore, which a schema made
//! from nearcore itself reads in a test. Not seen live. Hashes are random, signatures and roots are
//! filler, but the roots over outcomes and the paths to them are real. As on the main network,
//! every block has activity.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::node::{
    stub_chain::{StubBlock, StubChain},
    stub_node::{Answer, Ask, Node},
};

/// Of the main network.
const GENESIS_HEIGHT: u64 = 9_820_210;
const GENESIS_HASH: &str = "EPnLgE7iEq9s7yTkos96M3cWymH5avBAPm3qx3NXqR8H";
const NO_HASH: &str = "11111111111111111111111111111111";
const KEY: &str = "ed25519:HakbHwGjynqqEJ3GMCJwZJAUQenqQMDfA8b4sPQMBtnz";
const SIGNATURE: &str = "ed25519:3XDErgyunAmhzaqie8uNbjPhgZMwjhTXADmfZM7TtdMKXaqawfRJhKCeavsmEe2rrMKeCuLk6ef8uhZT1952Vffi";

/// A receipt that is executed in its block.
#[derive(Debug, Clone)]
pub struct NearReceipt {
    pub id: String,
    pub tx_hash: String,
    pub predecessor: String,
    pub receiver: String,
    pub actions: Vec<Value>,
    pub logs: Vec<String>,
    pub status: Value,
}

impl NearReceipt {
    pub fn new(tx_hash: &str, receiver: &str, actions: Vec<Value>) -> Self {
        Self {
            id: random_hash(),
            tx_hash: tx_hash.to_owned(),
            predecessor: "buyer.near".to_owned(),
            receiver: receiver.to_owned(),
            actions,
            logs: Vec::new(),
            status: json!({ "SuccessValue": "" }),
        }
    }

    /// A routine call of some contract; the same each time that its block is requested.
    fn heartbeat(block_hash: &str) -> Self {
        let call = json!({ "FunctionCall": {
            "method_name": "beat", "args": "e30=", "gas": 1_000_000_000_000_u64, "deposit": "0"
        }});
        let id = bs58::encode(Sha256::digest(block_hash)).into_string();
        Self { id: id.clone(), ..Self::new(&id, "heart.near", vec![call]) }
    }

    /// Execution of a transfer by a token contract, one movement per line.
    pub fn token(tx_hash: &str, contract: &str, movements: &[(String, String)]) -> Self {
        let call = json!({ "FunctionCall": {
            "method_name": "ft_transfer", "args": "e30=", "gas": 30_000_000_000_000_u64, "deposit": "1"
        }});
        let mut receipt = Self::new(tx_hash, contract, vec![call]);
        receipt.logs = movements.iter().map(|(to, amount)| ft_transfer(to, amount)).collect();
        receipt
    }

    /// Execution of `ft_transfer_call` by a token contract to an account without a contract: the
    /// tokens move, and a later receipt returns them.
    pub fn token_and_back(contract: &str, to: &str, amount: &str) -> [Self; 2] {
        let tx_hash = random_hash();
        let args = json!({ "receiver_id": to, "amount": amount, "msg": "" }).to_string();
        let call = json!({ "FunctionCall": {
            "method_name": "ft_transfer_call", "args": BASE64_STANDARD.encode(args),
            "gas": 50_000_000_000_000_u64, "deposit": "1"
        }});
        let back = json!({ "FunctionCall": {
            "method_name": "ft_resolve_transfer", "args": "e30=", "gas": 5_000_000_000_000_u64, "deposit": "0"
        }});
        let mut lent = Self::new(&tx_hash, contract, vec![call]);
        lent.logs = vec![ft_transfer(to, amount)];
        lent.status = json!({ "SuccessReceiptId": random_hash() });
        let mut resolved = Self::new(&tx_hash, contract, vec![back]);
        resolved.predecessor = contract.to_owned();
        resolved.logs = vec![moved(to, "buyer.near", amount)];
        [lent, resolved]
    }
}

pub fn transfer(units: &str) -> Value {
    json!({ "Transfer": { "deposit": units } })
}

/// The line that NEP-141 wants in the log.
pub fn ft_transfer(to: &str, amount: &str) -> String {
    moved("buyer.near", to, amount)
}

fn moved(from: &str, to: &str, amount: &str) -> String {
    let data = json!([{ "old_owner_id": from, "new_owner_id": to, "amount": amount }]);
    let event =
        json!({ "standard": "nep141", "version": "1.0.0", "event": "ft_transfer", "data": data });
    format!("EVENT_JSON:{event}")
}

pub fn random_hash() -> String {
    bs58::encode(rand::random::<[u8; 32]>()).into_string()
}

pub struct NearData {
    pub chain: StubChain<NearReceipt>,
    /// Height below which another server keeps the blocks, as FastNEAR does.
    pub archive_below: Option<u64>,
    /// Height of a block with activity only if a payment is made.
    pub idle_at: Option<u64>,
    /// Height of a block whose second shard has activity only if a payment is made there.
    pub quiet_at: Option<u64>,
    /// Height from which on there are three shards under new numbers but for the first: the second
    /// was split.
    pub resharded_at: Option<u64>,
    /// Number of newest blocks that are not final.
    pub unfinal: usize,
}

/// The shards of a block: their numbers, and the places of those that they were before a split.
type Layout = &'static [(u64, usize)];
const LAYOUT: Layout = &[(0, 0), (1, 1)];
const LAYOUT_AFTER_A_SPLIT: Layout = &[(0, 0), (2, 1), (3, 1)];

impl Default for NearData {
    fn default() -> Self {
        let mut first = [0; 32];
        let length = bs58::decode(GENESIS_HASH).onto(&mut first);
        assert_eq!(length, Ok(32));
        let chain = StubChain::new(GENESIS_HEIGHT, first);
        Self {
            chain,
            archive_below: None,
            idle_at: None,
            quiet_at: None,
            resharded_at: None,
            unfinal: 0,
        }
    }
}

impl NearData {
    fn layout(&self, height: u64) -> Layout {
        if self.resharded_at.is_some_and(|from| height >= from) {
            LAYOUT_AFTER_A_SPLIT
        } else {
            LAYOUT
        }
    }

    /// Receipts that each shard executes; all but the first make no chunk for every third block.
    fn executed(&self, block: &StubBlock<NearReceipt>) -> Vec<Option<Vec<Value>>> {
        let hash = bs58::encode(block.hash).into_string();
        let count = self.layout(block.height).len();
        let (has_others, is_idle) =
            (!block.height.is_multiple_of(3), self.idle_at == Some(block.height));
        let mut shards = vec![Vec::new(); count];
        for (position, receipt) in block.transactions.iter().enumerate() {
            let place = if has_others { position % count } else { 0 };
            shards[place].push(outcome(&hash, receipt));
        }
        for (place, shard) in shards.iter_mut().enumerate() {
            let is_quiet = place == 1 && self.quiet_at == Some(block.height);
            if !is_idle && !is_quiet {
                let other = format!("{hash} of shard {place}");
                shard.push(outcome(&hash, &NearReceipt::heartbeat(&other)));
            }
            prove(shard);
        }
        let made = |(place, shard)| (place == 0 || has_others).then_some(shard);
        shards.into_iter().enumerate().map(made).collect()
    }

    fn document(&self, block: &StubBlock<NearReceipt>) -> Value {
        let hash = bs58::encode(block.hash).into_string();
        let (layout, executed) = (self.layout(block.height), self.executed(block));
        let included: Vec<bool> = executed.iter().map(Option::is_some).collect();
        let parent = self.chain.blocks.iter().find(|parent| parent.hash == block.parent);
        let before = parent.map(|parent| self.executed(parent)).unwrap_or_default();
        let is_split = before.len() != layout.len();
        let chunk = |(place, &(id, parent)): (usize, &(u64, usize))| {
            let height = block.height - u64::from(!included[place]);
            let executed = before.get(if is_split { parent } else { place });
            let root = executed.and_then(Option::as_ref).map_or(NO_HASH.to_owned(), |of| root(of));
            chunk_header(block, id, height, &root)
        };
        let chunks: Vec<Value> = layout.iter().enumerate().map(chunk).collect();
        let shards = executed.into_iter().enumerate().map(|(place, executed)| {
            let outcomes = executed.unwrap_or_default();
            let receipts: Vec<&Value> =
                outcomes.iter().map(|outcome| &outcome["receipt"]).collect();
            let chunk = json!({
                "author": "validator.near", "header": chunks[place], "transactions": [],
                "receipts": receipts
            });
            json!({
                "shard_id": layout[place].0,
                "chunk": if included[place] { chunk } else { Value::Null },
                "receipt_execution_outcomes": outcomes,
                "state_changes": []
            })
        });
        let shards: Vec<Value> = shards.collect();
        json!({
            "block": {
                "author": "validator.near",
                "header": header(block, &hash, &included),
                "chunks": chunks
            },
            "shards": shards
        })
    }

    fn final_height(&self) -> u64 {
        let newest = self.chain.blocks.len() - 1;
        self.chain.blocks[newest.saturating_sub(self.unfinal)].height
    }

    /// The block at `height`, as a server shows it whose newest block is at `head`.
    fn block(&self, height: u64, head: u64) -> Answer {
        let missing = |error: &str, kind: &str| {
            Answer::Status(StatusCode::NOT_FOUND, json!({ "error": error, "type": kind }))
        };
        if height < GENESIS_HEIGHT {
            return missing("Block height is before the genesis", "BLOCK_HEIGHT_TOO_LOW");
        }
        if self.archive_below.is_some_and(|end| height < end) {
            return Answer::Moved(format!("https://archive.example/v0/block/{height}"));
        }
        match self.chain.at(height) {
            Some(block) if height <= head => Answer::Json(self.document(block)),
            None if height < head => Answer::Json(Value::Null),
            _ if height > head + 10 => {
                missing("The block is too far in the future", "BLOCK_DOES_NOT_EXIST")
            }
            // The server waits until there is such a block.
            _ => Answer::Silence,
        }
    }
}

impl NearData {
    /// Answers `query` as nearcore's own JSON-RPC does. Skipped heights have no state of their own.
    fn query(&self, ask: &Value) -> Value {
        let params = &ask["params"];
        let hash = |block: &&StubBlock<NearReceipt>| {
            params["block_id"] == bs58::encode(block.hash).into_string()
        };
        let told = match self.chain.blocks.iter().find(hash) {
            Some(block) => self.state(params, block.height),
            None => Err("UNKNOWN_BLOCK"),
        };
        match told {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": ask["id"], "result": result }),
            Err(name) => json!({ "jsonrpc": "2.0", "id": ask["id"], "error": {
                "name": "HANDLER_ERROR", "cause": { "name": name, "info": {} },
                "code": -32000, "message": "Server error", "data": "said in prose"
            }}),
        }
    }

    fn state(&self, params: &Value, height: u64) -> Result<Value, &'static str> {
        let account = params["account_id"].as_str().unwrap();
        if params["request_type"] == "view_account" {
            let amount = self.received(account, height);
            return match amount {
                0 => Err("UNKNOWN_ACCOUNT"),
                _ => Ok(json!({
                    "amount": amount.to_string(), "locked": "0", "code_hash": NO_HASH,
                    "storage_usage": 182, "storage_paid_at": 0, "block_height": height
                })),
            };
        }
        assert_eq!(params["method_name"], "ft_balance_of");
        let arguments = BASE64_STANDARD.decode(params["args_base64"].as_str().unwrap()).unwrap();
        let arguments: Value = serde_json::from_slice(&arguments).unwrap();
        let owner = arguments["account_id"].as_str().unwrap();
        let units = json!(self.tokens(account, owner, height).to_string()).to_string();
        Ok(json!({ "result": units.into_bytes(), "logs": [], "block_height": height }))
    }

    fn done(&self, height: u64) -> impl Iterator<Item = &NearReceipt> {
        let blocks = self.chain.blocks.iter().filter(move |block| block.height <= height);
        blocks.flat_map(|b| &b.transactions).filter(|r| r.status["SuccessValue"].is_string())
    }

    /// Without gas refunds: an account that sends nothing gets none.
    fn received(&self, account: &str, height: u64) -> u128 {
        let own = self.done(height).filter(|r| r.receiver == account && r.predecessor != "system");
        let actions = own.flat_map(|receipt| &receipt.actions);
        actions.filter_map(|a| a["Transfer"]["deposit"].as_str()?.parse::<u128>().ok()).sum()
    }

    fn tokens(&self, contract: &str, owner: &str, height: u64) -> u128 {
        let lines = self.done(height).filter(|r| r.receiver == contract).flat_map(|r| &r.logs);
        let events = lines.filter_map(|line| line.strip_prefix("EVENT_JSON:"));
        let events = events.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let moved = events.filter(|e| e["standard"] == "nep141" && e["event"] == "ft_transfer");
        let data = moved.map(|event| event["data"][0].clone());
        let own = data.filter(|data| data["new_owner_id"] == owner);
        own.filter_map(|data| data["amount"].as_str()?.parse::<u128>().ok()).sum()
    }
}

fn header(block: &StubBlock<NearReceipt>, hash: &str, included: &[bool]) -> Value {
    let parent = bs58::encode(block.parent).into_string();
    let nanos = block.mined_at.timestamp_nanos_opt().unwrap();
    json!({
        "approvals": [SIGNATURE, null],
        "block_body_hash": NO_HASH,
        "block_merkle_root": NO_HASH,
        "block_ordinal": block.height - 7,
        "challenges_result": [],
        "challenges_root": NO_HASH,
        "chunk_endorsements": [[255], [255]],
        "chunk_headers_root": NO_HASH,
        "chunk_mask": included,
        "chunk_receipts_root": NO_HASH,
        "chunk_tx_root": NO_HASH,
        "chunks_included": included.iter().filter(|included| **included).count(),
        "epoch_id": NO_HASH,
        "epoch_sync_data_hash": null,
        "gas_price": "100000000",
        "hash": hash,
        "height": block.height,
        "last_ds_final_block": parent,
        "last_final_block": parent,
        "latest_protocol_version": 79,
        "next_bp_hash": NO_HASH,
        "next_epoch_id": NO_HASH,
        "outcome_root": NO_HASH,
        "prev_hash": parent,
        "prev_height": block.parent_height,
        "prev_state_root": NO_HASH,
        "random_value": NO_HASH,
        "rent_paid": "0",
        "signature": SIGNATURE,
        "timestamp": nanos,
        "timestamp_nanosec": nanos.to_string(),
        "total_supply": "1262919042297474047563013263170871",
        "validator_proposals": [],
        "validator_reward": "0"
    })
}

fn chunk_header(
    block: &StubBlock<NearReceipt>,
    shard: u64,
    height_included: u64,
    outcome_root: &str,
) -> Value {
    let seed = format!("{height_included} {shard} {}", hex::encode(block.hash));
    json!({
        "balance_burnt": "2406840937500000000000",
        "bandwidth_requests": null,
        "chunk_hash": bs58::encode(Sha256::digest(seed)).into_string(),
        "congestion_info": null,
        "encoded_length": 8,
        "encoded_merkle_root": NO_HASH,
        "gas_limit": 1_000_000_000_000_000_u64,
        "gas_used": 24_068_409_375_000_u64,
        "height_created": height_included,
        "height_included": height_included,
        "outcome_root": outcome_root,
        "outgoing_receipts_root": NO_HASH,
        "prev_block_hash": bs58::encode(block.parent).into_string(),
        "prev_state_root": NO_HASH,
        "rent_paid": "0",
        "shard_id": shard,
        "signature": SIGNATURE,
        "tx_root": NO_HASH,
        "validator_proposals": [],
        "validator_reward": "0"
    })
}

fn outcome(block_hash: &str, receipt: &NearReceipt) -> Value {
    json!({
        "execution_outcome": {
            "block_hash": block_hash,
            "id": receipt.id,
            "outcome": {
                "executor_id": receipt.receiver,
                "gas_burnt": 223_182_562_500_u64,
                "logs": receipt.logs,
                "metadata": { "gas_profile": [], "version": 3 },
                "receipt_ids": [],
                "status": receipt.status,
                "tokens_burnt": "22318256250000000000"
            },
            "proof": []
        },
        "receipt": {
            "predecessor_id": receipt.predecessor,
            "priority": 0,
            "receipt": { "Action": {
                "actions": receipt.actions,
                "gas_price": "103000000",
                "input_data_ids": [],
                "is_promise_yield": false,
                "output_data_receivers": [],
                "signer_id": "buyer.near",
                "signer_public_key": KEY
            }},
            "receipt_id": receipt.id,
            "receiver_id": receipt.receiver
        },
        "tx_hash": receipt.tx_hash
    })
}

/// Gives each outcome of a shard its Merkle path to the root.
pub fn prove(outcomes: &mut [Value]) {
    for outcome in &mut *outcomes {
        outcome["execution_outcome"]["proof"] = json!([]);
    }
    let mut level: Vec<(Vec<u8>, Vec<usize>)> =
        outcomes.iter().enumerate().map(|(place, outcome)| (leaf(outcome), vec![place])).collect();
    while level.len() > 1 {
        let pairs = level.chunks(2).map(|pair| {
            let [(left, of_left), (right, of_right)] = pair else { return pair[0].clone() };
            for (places, other, direction) in [(of_left, right, "Right"), (of_right, left, "Left")]
            {
                let step = json!({ "direction": direction, "hash": base58(other) });
                for place in places {
                    let proof = &mut outcomes[*place]["execution_outcome"]["proof"];
                    proof.as_array_mut().unwrap().push(step.clone());
                }
            }
            (sha256(&[left.clone(), right.clone()].concat()), [&of_left[..], of_right].concat())
        });
        level = pairs.collect();
    }
}

/// The root that the first outcome leads to.
fn root(outcomes: &[Value]) -> String {
    let Some(first) = outcomes.first() else { return NO_HASH.to_owned() };
    let steps = first["execution_outcome"]["proof"].as_array().unwrap();
    base58(&steps.iter().fold(leaf(first), |below, step| {
        sha256(&[below, unbase58(step["hash"].as_str().unwrap())].concat())
    }))
}

/// As `to_hashes` of nearcore: id, outcome, and the lines of the log.
fn leaf(outcome: &Value) -> Vec<u8> {
    let told = &outcome["execution_outcome"];
    let of = &told["outcome"];
    let status = &of["status"];
    let status = if status.is_string() {
        vec![0]
    } else if !status["Failure"].is_null() {
        vec![1]
    } else if let Some(id) = status["SuccessReceiptId"].as_str() {
        [vec![3], unbase58(id)].concat()
    } else {
        let value = BASE64_STANDARD.decode(status["SuccessValue"].as_str().unwrap()).unwrap();
        [vec![2], with_length(&value)].concat()
    };
    let receipts = of["receipt_ids"].as_array().unwrap();
    let encoded = [
        u32::try_from(receipts.len()).unwrap().to_le_bytes().to_vec(),
        receipts.iter().flat_map(|id| unbase58(id.as_str().unwrap())).collect(),
        of["gas_burnt"].as_u64().unwrap().to_le_bytes().to_vec(),
        of["tokens_burnt"].as_str().unwrap().parse::<u128>().unwrap().to_le_bytes().to_vec(),
        with_length(of["executor_id"].as_str().unwrap().as_bytes()),
        status,
    ];
    let logs = of["logs"].as_array().unwrap();
    let mut hashes = vec![unbase58(told["id"].as_str().unwrap()), sha256(&encoded.concat())];
    hashes.extend(logs.iter().map(|line| sha256(line.as_str().unwrap().as_bytes())));
    let count = u32::try_from(hashes.len()).unwrap().to_le_bytes();
    sha256(&[count.to_vec(), hashes.concat()].concat())
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_le_bytes()[..], bytes].concat()
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

fn unbase58(text: &str) -> Vec<u8> {
    bs58::decode(text).into_vec().unwrap()
}

impl Node for NearData {
    fn answer(&self, ask: &Ask) -> Answer {
        // Another program on another address in the world; here one stub is both.
        if ask.body["method"] == "query" {
            return Answer::Json(self.query(&ask.body));
        }
        let (last, newest) = (self.final_height(), self.chain.head().height);
        match ask.path.as_str() {
            "/v0/last_block/final" => return Answer::Moved(format!("/v0/block/{last}")),
            "/v0/last_block/optimistic" => return Answer::Moved(format!("/v0/block_opt/{newest}")),
            _ => {}
        }
        let height_in = |path| ask.path.strip_prefix(path).and_then(|height| height.parse().ok());
        match (height_in("/v0/block/"), height_in("/v0/block_opt/")) {
            (Some(height), _) => self.block(height, last),
            (_, Some(height)) => self.block(height, newest),
            _ => Answer::Status(StatusCode::NOT_FOUND, json!("no such path")),
        }
    }
}
