//! Responses of a fake node, and its faults.

use std::sync::{Arc, Mutex};

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use bitcoin::{OutPoint, Transaction, TxIn, TxOut, Txid, consensus::encode};
use http::StatusCode;
use rand::RngExt;
use serde_json::{Value, json};

use super::{
    lock,
    rules::Refusal,
    world::{Named, World, root},
};

const NOT_FOUND: Refusal = (-5, "not in mempool");
const UNKNOWN_METHOD: Refusal = (-32601, "Method not found");

/// Fate of one call.
enum Fate {
    Answered,
    /// Executed, and the response is lost.
    Lost,
    /// Not executed.
    Unheard,
    /// Executed when the caller no longer waits for the response.
    Late,
    Doubled,
    /// Executed, but reported as already known.
    Known,
    /// Not executed, and reported as in the chain.
    Lied,
}

/// Executes some or all of the late requests.
pub fn hear_late(world: &mut World) {
    for request in std::mem::take(&mut world.late) {
        if !world.unkind || world.random.random_range(0..3) == 0 {
            reply(world, &request);
        } else {
            world.late.push(request);
        }
    }
}

impl World {
    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let number = |at: usize| params[at].as_u64().map(|n| usize::try_from(n).unwrap());
        let text = |at: usize| params[at].as_str().unwrap_or_default().to_owned();
        let txid = |at: usize| text(at).parse::<Txid>().map_err(|_| (-8, "no txid"));
        match method {
            "getblockcount" => Ok(json!(self.tip())),
            "getblockchaininfo" => Ok(self.info()),
            "getblockhash" => {
                let block = number(0).and_then(|height| self.blocks.get(height));
                block.map(|block| json!(block.hash)).ok_or((-8, "Block height out of range"))
            }
            "getblock" => self.block(&text(0), number(1).unwrap_or(1)),
            "getblockheader" => self.block(&text(0), 0),
            "getrawmempool" => Ok(self.mempool.iter().map(|tx| json!(tx.id.to_string())).collect()),
            "getrawtransaction" => {
                let txid = txid(0)?;
                let found = self.mempool.iter().find(|tx| tx.id == txid);
                found.map(shown).ok_or(NOT_FOUND)
            }
            "getmempoolentry" => {
                let txid = txid(0)?;
                let found = self.mempool.iter().find(|tx| tx.id == txid);
                found.map(|tx| json!({ "vsize": tx.transaction.vsize() })).ok_or(NOT_FOUND)
            }
            "gettxout" => {
                let vout = u32::try_from(number(1).unwrap()).unwrap();
                let outpoint = OutPoint { txid: txid(0)?, vout };
                let found = self.coins.get(&outpoint);
                let depth = self.heights.get(&outpoint.txid).map_or(0, |at| self.tip() + 1 - at);
                let seen = |o: &TxOut| json!({ "confirmations": depth, "value": coins(o) });
                Ok(found.map_or(Value::Null, seen))
            }
            "sendrawtransaction" => {
                let transaction = decoded(&text(0))?;
                self.accept(Named::new(transaction)).map(|txid| json!(txid.to_string()))
            }
            "testmempoolaccept" if !self.rules.are_old() => {
                let transaction = decoded(params[0][0].as_str().unwrap_or_default())?;
                let reason = match self.rules.check_outputs(&transaction) {
                    Err((_, reason)) => reason,
                    Ok(()) => "mandatory-script-verify-flag-failed",
                };
                Ok(json!([{ "allowed": false, "reject-reason": reason }]))
            }
            "estimatesmartfee" if self.rules.are_old() => {
                Ok(json!({ "feerate": -1, "blocks": 25 }))
            }
            "estimatesmartfee" => Ok(json!({ "errors": ["Insufficient data"], "blocks": 2 })),
            "getmempoolinfo" => {
                let least = amount(self.rules.relay_rate().max(self.least) * 1_000);
                Ok(json!({ "size": self.mempool.len(), "mempoolminfee": least }))
            }
            _ => Err(UNKNOWN_METHOD),
        }
    }

    fn info(&self) -> Value {
        let (tip, hash) = (self.tip(), &self.blocks[self.tip()].hash);
        let mut info = json!({ "blocks": tip, "headers": tip, "bestblockhash": hash });
        if !self.rules.are_old() {
            info["initialblockdownload"] = json!(false);
        }
        info
    }

    fn block(&self, hash: &str, verbosity: usize) -> Result<Value, Refusal> {
        // Most requests are for a new one.
        let at = self.blocks.iter().rposition(|block| block.hash == hash);
        let at = at.ok_or((-5, "Block not found"))?;
        let block = &self.blocks[at];
        let transactions = block.transactions.iter().map(|tx| match verbosity {
            1 => json!(tx.id.to_string()),
            _ => shown(tx),
        });
        let mut told = json!({
            "hash": block.hash, "height": at, "confirmations": self.tip() + 1 - at,
            "time": block.time, "merkleroot": root(&block.transactions),
        });
        if at > 0 {
            told["previousblockhash"] = json!(self.blocks[at - 1].hash);
        }
        if verbosity > 0 {
            told["tx"] = transactions.collect();
        }
        Ok(told)
    }

    /// Only payment calls fail; the calls of the watcher have tests of their own.
    fn fate(&mut self, method: &str, params: &Value) -> Fate {
        let of_payer = match method {
            "sendrawtransaction" | "getmempoolentry" | "gettxout" | "getblockcount"
            | "estimatesmartfee" | "getmempoolinfo" | "testmempoolaccept" => true,
            "getblock" => params[1] == 1,
            _ => false,
        };
        if !of_payer || !self.unkind {
            return Fate::Answered;
        }
        let is_send = method == "sendrawtransaction";
        let fate = match self.random.random_range(0..100) {
            0..6 => Fate::Lost,
            6..9 => Fate::Unheard,
            9..12 if is_send => Fate::Late,
            12..18 => Fate::Doubled,
            18..26 if is_send => Fate::Known,
            26..30 if is_send => Fate::Lied,
            _ => return Fate::Answered,
        };
        self.failures += 1;
        fate
    }
}

fn decoded(text: &str) -> Result<Transaction, Refusal> {
    let bytes = hex::decode(text).map_err(|_| (-22, "TX decode failed"))?;
    encode::deserialize(&bytes).map_err(|_| (-22, "TX decode failed"))
}

/// As nodes write amounts.
fn amount(units: u64) -> Value {
    let text = format!("{}.{:08}", units / 100_000_000, units % 100_000_000);
    serde_json::from_str(&text).unwrap()
}

fn coins(output: &TxOut) -> Value {
    amount(output.value.to_sat())
}

fn input(input: &TxIn) -> Value {
    let (script, from) = (hex::encode(input.script_sig.as_bytes()), input.previous_output);
    if from.is_null() {
        return json!({ "coinbase": script, "sequence": input.sequence.0 });
    }
    let (txid, script) = (from.txid.to_string(), json!({ "hex": script }));
    json!({ "txid": txid, "vout": from.vout, "scriptSig": script, "sequence": input.sequence.0 })
}

fn shown(named: &Named) -> Value {
    let output = |(n, o): (usize, &TxOut)| json!({ "n": n, "value": coins(o), "scriptPubKey": { "hex": hex::encode(o.script_pubkey.as_bytes()) } });
    let outputs: Vec<_> = named.transaction.output.iter().enumerate().map(output).collect();
    let inputs: Vec<_> = named.transaction.input.iter().map(input).collect();
    let (version, locktime) = (named.transaction.version.0, named.transaction.lock_time);
    json!({
        "txid": named.id.to_string(), "version": version, "locktime": locktime.to_consensus_u32(),
        "vin": inputs, "vout": outputs,
    })
}

pub async fn answer(State(world): State<Arc<Mutex<World>>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    if let Value::Array(requests) = &request {
        let replies: Vec<_> = requests.iter().map(|one| reply(&mut lock(&world), one)).collect();
        return axum::Json(replies).into_response();
    }
    let method = request["method"].as_str().unwrap_or_default();
    let fate = lock(&world).fate(method, &request["params"]);
    let nobody = || (StatusCode::BAD_GATEWAY, "lost").into_response();
    let id = request["id"].clone();
    let refused = |code: i64, message: &str| {
        let error = json!({ "code": code, "message": message });
        axum::Json(json!({ "id": id, "result": null, "error": error })).into_response()
    };
    match fate {
        Fate::Answered => {}
        Fate::Unheard => return nobody(),
        Fate::Lied => return refused(-27, "Transaction outputs already in utxo set"),
        Fate::Late => {
            lock(&world).late.push(request);
            return nobody();
        }
        Fate::Doubled => drop(reply(&mut lock(&world), &request)),
        Fate::Lost => {
            reply(&mut lock(&world), &request);
            return nobody();
        }
        Fate::Known => {
            reply(&mut lock(&world), &request);
            return refused(-26, "txn-already-known");
        }
    }
    axum::Json(reply(&mut lock(&world), &request)).into_response()
}

fn reply(world: &mut World, request: &Value) -> Value {
    match world.call(request["method"].as_str().unwrap_or_default(), &request["params"]) {
        Ok(result) => json!({ "id": request["id"], "result": result, "error": null }),
        Err((code, message)) => {
            let error = json!({ "code": code, "message": message });
            json!({ "id": request["id"], "result": null, "error": error })
        }
    }
}
