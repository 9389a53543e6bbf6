//! The masterchain block, the one below it, the shards' blocks that came with it, their
//! transactions in pages, and the owners of the jetton wallets that received messages, fifty a
//! call. No account of ours is requested separately.

use std::collections::HashMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::StatusCode;
use serde_json::{Map, Value, json};
use support::node::stub_node::{Answer, Ask, Node};
use url::form_urlencoded;

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{digest, digits},
};

/// Page size that the adapter requests.
const PAGE: usize = 500;
const SHARDS: usize = 8;
const MASTERCHAIN_SHARD: &str = "8000000000000000";
const USDT: &str = "0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE";
const MINED_AT: u64 = 1_780_000_000;

#[derive(Default)]
pub struct TonBlock {
    /// By path and query.
    texts: HashMap<String, String>,
    /// By address.
    holders: HashMap<String, Holder>,
}

/// A jetton wallet, and its data in a response.
struct Holder {
    wallet: String,
    book: String,
}

/// Each transaction receives tokens for another owner. It is one of the five transactions of a
/// jetton payment, and the most costly one: it brings coins as well, and its contract has to be
/// requested.
pub fn full() -> TonBlock {
    let mut texts = HashMap::new();
    for height in [HEIGHT - 1, HEIGHT] {
        let block = json!({ "blocks": [masterchain_block(height)] });
        texts.insert(question("blocks", &height.to_string(), "0"), block.to_string());
    }
    let shards: Vec<_> = (0..SHARDS).map(shard_block).collect();
    let height = HEIGHT.to_string();
    texts.insert(
        question("masterchainBlockShards", &height, "0"),
        json!({ "blocks": shards }).to_string(),
    );
    for first in (0..TRANSACTIONS).step_by(PAGE) {
        let asked = question("transactionsByMasterchainBlock", &height, &first.to_string());
        texts.insert(asked, page(first).to_string());
    }
    let holders = (0..TRANSACTIONS).map(|number| (account("holder", number), holder(number)));
    TonBlock { texts, holders: holders.collect() }
}

fn question(method: &str, height: &str, offset: &str) -> String {
    format!("/api/v3/{method} of {height} from {offset}")
}

impl Node for TonBlock {
    fn answer(&self, ask: &Ask) -> Answer {
        let asked = |name: &str| ask.query.get(name).map_or("0", String::as_str);
        let text = match ask.path.strip_prefix("/api/v3/").unwrap() {
            "jetton/wallets" => self.holders(ask.uri.query().unwrap()),
            method => self.texts[&question(method, asked("seqno"), asked("offset"))].clone(),
        };
        Answer::Text(StatusCode::OK, text)
    }
}

impl TonBlock {
    /// The adapter requests them in no order, so the response is assembled from texts.
    fn holders(&self, query: &str) -> String {
        let addresses =
            form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "address");
        let found: Vec<_> =
            addresses.map(|(_, address)| &self.holders[&address.to_uppercase()]).collect();
        let joined = |part: fn(&Holder) -> &str| {
            found.iter().map(|holder| part(holder)).collect::<Vec<_>>().join(",")
        };
        let (wallets, book) = (joined(|holder| &holder.wallet), joined(|holder| &holder.book));
        format!(r#"{{"jetton_wallets":[{wallets}],"address_book":{{{book}}},"metadata":{{}}}}"#)
    }
}

fn base64(kind: &str, number: usize) -> String {
    BASE64_STANDARD.encode(digest(kind, number))
}

fn account(kind: &str, number: usize) -> String {
    format!("0:{}", digits(kind, number).to_uppercase())
}

fn block(workchain: i32, shard: &str, height: u64, root_hash: &str, transactions: usize) -> Value {
    json!({
        "workchain": workchain, "shard": shard, "seqno": height, "root_hash": root_hash, "file_hash": root_hash,
        "global_id": -239, "version": 0, "after_merge": false, "before_split": false, "after_split": false,
        "want_merge": true, "want_split": false, "key_block": false, "vert_seqno_incr": false, "flags": 1,
        "gen_utime": MINED_AT.to_string(), "start_lt": "60000000000000", "end_lt": "60000000000100",
        "validator_list_hash_short": 1_212_121, "gen_catchain_seqno": 700_000, "min_ref_mc_seqno": HEIGHT - 3,
        "prev_key_block_seqno": HEIGHT - 9_000, "vert_seqno": 1, "master_ref_seqno": HEIGHT - 1,
        "rand_seed": root_hash, "created_by": root_hash, "tx_count": transactions,
        "masterchain_block_ref": { "workchain": -1, "shard": MASTERCHAIN_SHARD, "seqno": HEIGHT },
        "prev_blocks": [{ "workchain": workchain, "shard": shard, "seqno": height - 1 }],
    })
}

fn masterchain_block(height: u64) -> Value {
    let hash = base64("block", usize::from(height < HEIGHT));
    block(-1, MASTERCHAIN_SHARD, height, &hash, 0)
}

fn shard_block(number: usize) -> Value {
    let shard = format!("{:x}", 0x1000_0000_0000_0000_u64 * (2 * number as u64 + 1));
    block(0, &shard, HEIGHT, &base64("shard", number), TRANSACTIONS / SHARDS)
}

/// One entry of the list of all accounts mentioned.
fn named(address: &str, interface: &str) -> (String, Value) {
    let text = format!("EQ{}", &address[2..48]);
    (
        address.to_owned(),
        json!({ "user_friendly": text, "domain": null, "interfaces": [interface] }),
    )
}

fn page(first: usize) -> Value {
    let numbers = first..first + PAGE;
    let holders = numbers.clone().map(|number| named(&account("holder", number), "jetton_wallet"));
    let owners = numbers.clone().map(|number| named(&account("owner", number), "wallet_v4r2"));
    let book: Map<_, _> = holders.chain(owners).collect();
    json!({ "transactions": numbers.map(transaction).collect::<Value>(), "address_book": book })
}

fn holder(number: usize) -> Holder {
    let (address, owner) = (account("holder", number), account("owner", number));
    let wallet = json!({
        "address": address, "balance": "25000000", "owner": owner, "jetton": USDT,
        "last_transaction_lt": "60000000000001", "code_hash": base64("code", 0), "data_hash": base64("data", number),
    });
    let book = [named(&address, "jetton_wallet"), named(&owner, "wallet_v4r2")];
    let book = book.map(|(address, entry)| format!(r#""{address}":{entry}"#)).join(",");
    Holder { wallet: wallet.to_string(), book }
}

fn transaction(number: usize) -> Value {
    let (holder, owner) = (account("holder", number), account("owner", number));
    let told = message(&account("sender", number), &holder, "0x178d4519", &deposit(number));
    let notice = message(&holder, &owner, "0x7362d09c", &deposit(number));
    let excess = message(&holder, &account("payer", number), "0xd53276db", &deposit(number));
    json!({
        "account": holder, "hash": base64("tx", number), "lt": "60000000000001", "now": MINED_AT,
        "mc_block_seqno": HEIGHT, "trace_id": base64("trace", number), "prev_trans_hash": base64("before", number),
        "prev_trans_lt": "59000000000001", "orig_status": "active", "end_status": "active", "total_fees": "3951630",
        "total_fees_extra_currencies": {}, "description": description(),
        "block_ref": { "workchain": 0, "shard": "1000000000000000", "seqno": HEIGHT },
        "in_msg": told, "out_msgs": [notice, excess], "account_state_before": state("old", number),
        "account_state_after": state("new", number), "emulated": false,
    })
}

/// Description of a contract that ran and sent two messages.
fn description() -> Value {
    let none = BASE64_STANDARD.encode([0; 32]);
    json!({
        "type": "ord", "aborted": false, "destroyed": false, "credit_first": false,
        "storage_ph": { "storage_fees_collected": "12345", "status_change": "unchanged" },
        "credit_ph": { "credit": "56880400" },
        "compute_ph": {
            "skipped": false, "success": true, "msg_state_used": false, "account_activated": false,
            "gas_fees": "3705200", "gas_used": "9263", "gas_limit": "142201", "mode": 0, "exit_code": 0,
            "vm_steps": 254, "vm_init_state_hash": none, "vm_final_state_hash": none,
        },
        "action": {
            "success": true, "valid": true, "no_funds": false, "status_change": "unchanged",
            "total_fwd_fees": "802139", "total_action_fees": "267369", "result_code": 0, "tot_actions": 2,
            "spec_actions": 0, "skipped_actions": 0, "msgs_created": 2, "action_list_hash": none,
            "tot_msg_size": { "cells": "3", "bits": "2050" },
        },
    })
}

fn state(when: &str, number: usize) -> Value {
    json!({
        "hash": base64(when, number), "balance": "24450000", "extra_currencies": {}, "account_status": "active",
        "frozen_hash": null, "data_hash": base64("data", number), "code_hash": base64("code", 0),
    })
}

fn message(from: &str, to: &str, opcode: &str, body: &str) -> Value {
    let hash = BASE64_STANDARD.encode(&to.as_bytes()[2..34]);
    json!({
        "hash": hash, "source": from, "destination": to, "value": "56880400", "value_extra_currencies": {},
        "fwd_fee": "266669", "ihr_fee": "0", "created_lt": "60000000000000", "created_at": MINED_AT.to_string(),
        "opcode": opcode, "ihr_disabled": true, "bounce": true, "bounced": false, "import_fee": null,
        "message_content": { "hash": hash, "body": body, "decoded": null }, "init_state": null,
    })
}

/// `internal_transfer` of TEP-74 in a bag of one cell. Two addresses and a forwarded amount follow
/// the units.
fn deposit(number: usize) -> String {
    let rest = format!("{}{}", digits("sender", number), digits("payer", number));
    let data = format!("178d4519{number:016x}4{:08x}{rest}{:09x}", 25_000_000, 1);
    let data = hex::decode(data).unwrap();
    let (length, size) = (u8::try_from(2 * data.len()), u8::try_from(data.len() + 2));
    let head = [0xb5, 0xee, 0x9c, 0x72, 1, 1, 1, 1, 0, size.unwrap(), 0, 0, length.unwrap()];
    BASE64_STANDARD.encode([head.as_slice(), &data].concat())
}
