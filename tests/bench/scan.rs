//! What reading a block costs: ten thousand transactions beside the node's own answer, and a hundred thousand watched
//! addresses beside none.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::follow_chain::Follower,
    asset::Network,
    chain::{
        ChainSource, Transfer, TransferAmount, TransferAsset, evm::EvmSource, utxo::UtxoSource,
    },
    config::{ChainSettings, ChainSourceKind},
    money::BaseUnits,
};
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    json_rpc,
    scripted_chain::ScriptedChain,
    stub_node::{Answer, Ask, Node, StubNode},
};

use crate::{
    report::{Goal, Report, Rounds},
    world::{World, with_world},
};

const TRANSACTIONS: usize = 10_000;
const HEIGHT: u64 = 1_000;
const SCAN: &str = "scan: a block of 10,000 transactions";
const WATCH: &str = "watch: 100,000 addresses against none, per block";
const MEMORY: &str = "memory: 100,000 watched addresses";
const ADDRESSES: i32 = 100_000;
/// Below what one look reads.
const BLOCKS: u64 = 150;
const TRANSFERS: u64 = 200;
/// For each round of other measures.
const WATCH_ROUNDS: usize = 8;
const SETTLE: Duration = Duration::from_secs(2);

pub async fn run(report: &mut Report) {
    if report.wants(WATCH) || report.wants(MEMORY) {
        watch(report).await;
    }
    if report.wants(SCAN) {
        let rounds = report.rounds;
        let evm = StubNode::start(EvmBlock::full()).await.unwrap();
        let url = evm.url().to_owned().into();
        let source = EvmSource::new(Network::Ethereum, &url).unwrap();
        let asked = [("eth_getBlockByNumber", "tx"), ("eth_getBlockReceipts", "receipts")];
        scan(report, "EVM", rounds, evm.url(), &source, &asked).await;
        for network in [Network::Bitcoin, Network::Dogecoin] {
            let node = StubNode::start(UtxoBlock::full(network)).await.unwrap();
            let url = node.url().to_owned().into();
            let source = UtxoSource::new(network, &url).unwrap();
            let asked = [("getblockhash", "hash"), ("getblock", "block")];
            scan(report, network.name(), rounds, node.url(), &source, &asked).await;
        }
    }
}

/// What our side adds to the node's answers.
async fn scan<S: ChainSource>(
    report: &mut Report,
    family: &str,
    count: usize,
    url: &str,
    source: &S,
    asked: &[(&str, &str)],
) {
    let mut rounds = Rounds::default();
    for round in 0..=count {
        let started = Instant::now();
        for (method, what) in asked {
            json_rpc::fetch(url, method, json!([what])).await.unwrap();
        }
        let answers = milliseconds(started);
        let started = Instant::now();
        let block = source.block(HEIGHT).await.unwrap().unwrap();
        let all = milliseconds(started);
        assert!(block.transfers.len() >= TRANSACTIONS, "{} transfers", block.transfers.len());
        if round > 0 {
            rounds.add((all - answers).max(0.0), answers);
        }
    }
    let limit = "the node's own answers, read and left unread";
    report.value(&format!("{SCAN}, {family}"), "ms", Some(limit), Goal::AtMost(1_000.0), rounds);
}

/// A node with one block, whose answers are texts made beforehand.
struct EvmBlock {
    block: String,
    receipts: String,
}

fn reply(result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 0, "result": result }).to_string()
}

fn hash_of(kind: &str, number: usize) -> String {
    format!("0x{}", hex::encode(Sha256::digest(format!("{kind} {number}"))))
}

impl EvmBlock {
    /// Token payments, as most of a busy chain's transactions are.
    fn full() -> Self {
        const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
        const TOKEN: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
        let block_hash = hash_of("block", 0);
        // So many topics set every bit.
        let bloom = format!("0x{}", "ff".repeat(256));
        let word = |kind, number| format!("0x{:0>64}", &hash_of(kind, number)[26..]);
        let transaction = |number: usize| {
            json!({
                "type": "0x2", "chainId": "0x1", "nonce": format!("{number:#x}"), "gas": "0xfde8",
                "maxFeePerGas": "0x4a817c800", "maxPriorityFeePerGas": "0x3b9aca00", "gasPrice": "0x4a817c800",
                "to": TOKEN, "value": "0x0", "accessList": [], "hash": hash_of("tx", number),
                "from": &hash_of("from", number)[..42], "blockHash": block_hash, "blockNumber": "0x3e8",
                "transactionIndex": format!("{number:#x}"), "yParity": "0x1", "v": "0x1",
                "r": hash_of("r", number), "s": hash_of("s", number),
                "input": format!("0xa9059cbb{}{:064x}", &word("to", number)[2..], 25_000_000),
            })
        };
        let receipt = |number: usize| {
            json!({
                "type": "0x2", "status": "0x1", "cumulativeGasUsed": "0xfde8", "logsBloom": bloom,
                "logs": [{
                    "address": TOKEN, "topics": [TRANSFER, word("from", number), word("to", number)],
                    "data": format!("0x{:064x}", 25_000_000), "blockHash": block_hash, "blockNumber": "0x3e8",
                    "blockTimestamp": "0x6a000000", "transactionHash": hash_of("tx", number),
                    "transactionIndex": format!("{number:#x}"), "logIndex": format!("{number:#x}"), "removed": false,
                }],
                "transactionHash": hash_of("tx", number), "transactionIndex": format!("{number:#x}"),
                "blockHash": block_hash, "blockNumber": "0x3e8", "gasUsed": "0xfde8",
                "effectiveGasPrice": "0x4a817c800", "from": &hash_of("from", number)[..42], "to": TOKEN,
                "contractAddress": null,
            })
        };
        let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
        let receipts: Vec<_> = (0..TRANSACTIONS).map(receipt).collect();
        let block = json!({
            "number": "0x3e8", "hash": block_hash, "parentHash": hash_of("block", 1),
            "timestamp": "0x6a000000", "logsBloom": bloom, "transactionsRoot": hash_of("root", 0),
            "transactions": transactions,
        });
        Self { block: reply(&block), receipts: reply(&Value::Array(receipts)) }
    }
}

impl Node for EvmBlock {
    fn answer(&self, ask: &Ask) -> Answer {
        Answer::Text(
            StatusCode::OK,
            match ask.body["method"].as_str() {
                Some("eth_getBlockByNumber") => self.block.clone(),
                Some("eth_getBlockReceipts") => self.receipts.clone(),
                other => panic!("nobody asks {other:?}"),
            },
        )
    }
}

struct UtxoBlock {
    hash: String,
    block: String,
}

impl UtxoBlock {
    /// Payments with one input and change, in the shape of the network's node.
    fn full(network: Network) -> Self {
        let digits = |kind, number| hash_of(kind, number)[2..].to_owned();
        let output = |n: usize, number: usize| {
            let hash = digits("hash", 2 * number + n)[..40].to_owned();
            let script = if network == Network::Dogecoin {
                json!({ "asm": format!("OP_DUP OP_HASH160 {hash} OP_EQUALVERIFY OP_CHECKSIG"),
                    "hex": format!("76a914{hash}88ac"), "reqSigs": 1, "type": "pubkeyhash",
                    "addresses": ["DHy2615XKevE23LVRVZVxGeqxadRGyiFW4"] })
            } else {
                json!({ "asm": format!("0 {hash}"), "desc": format!("addr(bc1q{hash})#00000000"),
                    "hex": format!("0014{hash}"), "address": format!("bc1q{hash}"), "type": "witness_v0_keyhash" })
            };
            json!({ "value": 0.0125, "n": n, "scriptPubKey": script })
        };
        let transaction = |number: usize| {
            json!({
                "txid": digits("tx", number), "hash": digits("wtx", number), "version": 2, "size": 222, "vsize": 141,
                "weight": 561, "locktime": 0,
                "vin": [{ "txid": digits("spent", number), "vout": 1, "scriptSig": { "asm": "", "hex": "" },
                    "txinwitness": [format!("30{}", digits("signature", number)), digits("key", number)],
                    "sequence": 4_294_967_293_u32 }],
                "vout": [output(0, number), output(1, number)], "fee": 0.00001410,
                "hex": digits("raw", number).repeat(7),
            })
        };
        let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
        let hash = digits("block", 0);
        let block = json!({
            "hash": hash, "confirmations": 1, "height": HEIGHT, "version": 536_870_912, "merkleroot": merkle_root(),
            "time": 1_780_000_000, "previousblockhash": digits("block", 1), "nTx": TRANSACTIONS, "tx": transactions,
        });
        Self { hash: reply(&json!(hash)), block: reply(&block) }
    }
}

/// Of the ids of the block's transactions, whose texts are written backwards.
fn merkle_root() -> String {
    let id = |number| -> Vec<u8> {
        Sha256::digest(format!("tx {number}")).iter().rev().copied().collect()
    };
    let mut level: Vec<Vec<u8>> = (0..TRANSACTIONS).map(id).collect();
    while level.len() > 1 {
        let join = |pair: &[Vec<u8>]| {
            let last = &pair[pair.len() - 1];
            Sha256::digest(Sha256::digest([pair[0].as_slice(), last].concat())).to_vec()
        };
        level = level.chunks(2).map(join).collect();
    }
    level[0].reverse();
    hex::encode(&level[0])
}

impl Node for UtxoBlock {
    fn answer(&self, ask: &Ask) -> Answer {
        Answer::Text(
            StatusCode::OK,
            match ask.body["method"].as_str() {
                Some("getblockhash") => self.hash.clone(),
                Some("getblock") => self.block.clone(),
                other => panic!("nobody asks {other:?}"),
            },
        )
    }
}

/// Blocks full of payments to others, read with and without a crowd of addresses of ours. Most of it is one commit a block,
/// which a disk does now faster and now slower, so the rounds are short and many.
async fn watch(report: &mut Report) {
    let count = report.rounds * WATCH_ROUNDS;
    with_world(&[], |crowd| async move {
        with_world(&[], |nobody| async move {
            let before = resident();
            fill(&crowd).await;
            let mut crowd = Watcher::new(crowd).await;
            tokio::time::sleep(SETTLE).await;
            let mut memory = Rounds::default();
            memory.add_alone(resident() - before);
            let mut nobody = Watcher::new(nobody).await;
            let mut rounds = Rounds::default();
            for round in 0..=count {
                // Each goes first as often as the other: who goes second finds everything warm.
                let early =
                    if round.is_multiple_of(2) { None } else { Some(nobody.per_block().await) };
                let with = crowd.per_block().await;
                let without = match early {
                    Some(took) => took,
                    None => nobody.per_block().await,
                };
                if round > 0 {
                    rounds.add(with, without);
                }
            }
            let limit = "the same blocks, watching nobody";
            report.ratio(WATCH, "ms", limit, Goal::AtMost(1.1), rounds);
            report.value(MEMORY, "MB", None, Goal::AtMost(50.0), memory);
        })
        .await;
    })
    .await;
}

/// Addresses given over the last months, by the way.
async fn fill(world: &World) {
    let query = "insert into deposit_address (id, family, address, match_key, derivation_index, network, created_at)
         select gen_random_uuid(), 'evm', address, address, nextval('address_index_evm'), 'polygon',
                now() - n * interval '1 minute'
         from (select n, '0x' || md5(n::text) || substr(md5('b' || n), 1, 8) as address from generate_series(1, $1) as n) as made";
    sqlx::query(query).bind(ADDRESSES).execute(&mut world.connect().await).await.unwrap();
    world.run("vacuum analyze deposit_address").await;
}

struct Watcher {
    world: Arc<World>,
    chain: ScriptedChain,
    follower: Follower<ScriptedChain>,
    paid: u64,
}

impl Watcher {
    /// One that has its addresses already.
    async fn new(world: Arc<World>) -> Self {
        let settings = ChainSettings {
            source: ChainSourceKind::Node,
            ..world.gateway.config.chain(Network::Polygon)
        };
        let chain = ScriptedChain::new(Network::Polygon, HEIGHT);
        let follower = Follower::new(chain.clone(), settings);
        let mut watcher = Self { world, chain, follower, paid: 0 };
        // The first look begins at the head and reads no block.
        watcher.follower.look(&watcher.world.gateway).await.unwrap();
        watcher.per_block().await;
        watcher
    }

    /// Milliseconds.
    async fn per_block(&mut self) -> f64 {
        for _ in 0..BLOCKS {
            let paid = self.paid;
            let transfer = |n: u64| Transfer {
                key: format!("{paid}:{n}"),
                tx_hash: paid.to_string(),
                to: format!("0x{paid:020x}{n:020x}"),
                asset: TransferAsset::Native,
                amount: TransferAmount::Units(BaseUnits::new(5)),
                maturity: 1,
            };
            let transfers = (0..TRANSFERS).map(transfer).collect();
            self.paid += 1;
            self.chain.script().mine(0, transfers);
        }
        let started = Instant::now();
        let look = self.follower.look(&self.world.gateway).await.unwrap();
        let took = milliseconds(started);
        assert!(look.complete && u64::from(look.blocks) >= BLOCKS - 1, "{look:?}");
        took / BLOCKS as f64
    }
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}

/// Megabytes of this process that are in RAM.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes as f64 / 1024.0
}
