//! A node of bitcoin that is none: its blocks need no work and its memory is its disk, but what payments depend on follows
//! the real rules (inputs, signatures, fees, replacement, dust). On demand it fails its callers as nodes and networks do.
//!
//! It stands beside bitcoind, never instead of it: `payout::utxo::conformance` holds both to the same behaviour.

use std::{
    collections::{HashMap, HashSet},
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use bitcoin::{
    Amount, OutPoint, PublicKey, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
    absolute::LockTime,
    consensus::encode,
    ecdsa::Signature,
    hashes::{Hash, sha256d},
    merkle_tree::calculate_root,
    secp256k1::{Message, Secp256k1},
    sighash::SighashCache,
    transaction::Version,
};
use http::StatusCode;
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

const DUST: u64 = 294;
const NOT_FOUND: (i64, &str) = (-5, "not in mempool");

/// A running node. It stops with its runtime.
pub struct FakeUtxo {
    url: String,
    world: Arc<Mutex<World>>,
}

struct World {
    random: StdRng,
    /// Whether callers are failed.
    unkind: bool,
    failures: u64,
    /// Calls on whose answers nobody waits any more, and which still arrive.
    late: Vec<Value>,
    blocks: Vec<Block>,
    mempool: Vec<Named>,
    /// Outputs of the chain that no block spends.
    coins: HashMap<OutPoint, TxOut>,
    /// The height of every transaction in the chain.
    heights: HashMap<Txid, usize>,
    /// How often the chain pays each script, and how much in sum.
    paid: HashMap<ScriptBuf, (u32, u64)>,
}

struct Block {
    hash: String,
    time: u64,
    transactions: Vec<Named>,
    /// What it spends.
    spent: Vec<(OutPoint, TxOut)>,
}

#[derive(Clone)]
struct Named {
    id: Txid,
    transaction: Transaction,
}

impl Named {
    fn new(transaction: Transaction) -> Self {
        Self { id: transaction.compute_txid(), transaction }
    }

    fn outputs(&self) -> impl Iterator<Item = (OutPoint, &TxOut)> {
        let place = |(vout, output)| (OutPoint { txid: self.id, vout }, output);
        (0..).zip(&self.transaction.output).map(place)
    }

    fn inputs(&self) -> impl Iterator<Item = OutPoint> {
        self.transaction.input.iter().map(|input| input.previous_output)
    }
}

type Refusal = (i64, &'static str);

/// What becomes of one call.
enum Fate {
    Answered,
    /// Done, and the answer is lost.
    Lost,
    /// Not even done.
    Unheard,
    /// Done when nobody waits for the answer any more.
    Late,
    Doubled,
    /// Done, but said to have been known already.
    Known,
    /// Not done, and said to stand in the chain.
    Lied,
}

impl FakeUtxo {
    pub async fn start(seed: u64) -> Self {
        let mut world = World {
            random: StdRng::seed_from_u64(seed),
            unkind: false,
            failures: 0,
            late: vec![],
            blocks: vec![],
            mempool: vec![],
            coins: HashMap::new(),
            heights: HashMap::new(),
            paid: HashMap::new(),
        };
        world.connect(vec![]);
        let world = Arc::new(Mutex::new(world));
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/", post(answer)).with_state(world.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, world }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn genesis(&self) -> String {
        lock(&self.world).blocks[0].hash.clone()
    }

    /// From here on every chance is drawn from `seed`.
    pub fn reseed(&self, seed: u64) {
        lock(&self.world).random = StdRng::seed_from_u64(seed);
    }

    /// Whether callers are failed from now on.
    pub fn set_unkind(&self, unkind: bool) {
        lock(&self.world).unkind = unkind;
    }

    /// How many calls were failed so far, in whatever way.
    pub fn failures(&self) -> u64 {
        lock(&self.world).failures
    }

    /// Mines blocks with all that waits, after some of what was still on its way.
    pub fn mine(&self, blocks: u64) {
        let mut world = lock(&self.world);
        world.hear_late();
        for _ in 0..blocks {
            let waiting = std::mem::take(&mut world.mempool);
            world.connect(waiting);
        }
    }

    /// Mines a block that pays `units` to `script` out of nowhere.
    pub fn fund(&self, script: &str, units: u64) {
        let mut world = lock(&self.world);
        let random = world.random.random();
        let input = TxIn {
            previous_output: OutPoint { txid: Txid::from_byte_array(random), vout: 0 },
            ..TxIn::default()
        };
        let script_pubkey = ScriptBuf::from_hex(script).unwrap();
        let output = TxOut { value: Amount::from_sat(units), script_pubkey };
        world.connect(vec![Named::new(transaction(input, output))]);
    }

    /// Forgets all that waits for a block.
    pub fn forget(&self) {
        lock(&self.world).mempool.clear();
    }

    /// Replaces the newest `depth` blocks by one more; what stood in them waits again, or is forgotten.
    pub fn reorganise(&self, depth: usize, forget: bool) {
        let mut world = lock(&self.world);
        let mut back = Vec::new();
        for _ in 0..depth {
            let undone = world.disconnect();
            back.splice(0..0, undone.into_iter().skip(1));
        }
        for _ in 0..=depth {
            world.connect(vec![]);
        }
        let held = std::mem::take(&mut world.mempool);
        back.extend(held);
        // What came out of nowhere is known to nobody else, so it stays.
        let (funding, ours): (Vec<_>, Vec<_>) =
            back.into_iter().partition(|tx| tx.transaction.input[0].witness.is_empty());
        if !funding.is_empty() {
            world.connect(funding);
        }
        if !forget {
            for transaction in ours {
                // A child whose parent came first is taken after it; what conflicts is dropped, as nodes do.
                let _ = world.accept(transaction);
            }
        }
    }

    /// How often a script is paid by the chain and by what waits, and how much in sum.
    pub fn paid(&self, script: &str) -> (u32, u64) {
        let world = lock(&self.world);
        let script = ScriptBuf::from_hex(script).unwrap();
        let (mut count, mut sum) = world.paid.get(&script).copied().unwrap_or_default();
        for output in world.mempool.iter().flat_map(|tx| &tx.transaction.output) {
            if output.script_pubkey == script {
                count += 1;
                sum += output.value.to_sat();
            }
        }
        (count, sum)
    }

    /// What lies unspent under a script.
    pub fn unspent(&self, script: &str) -> u64 {
        let world = lock(&self.world);
        let script = ScriptBuf::from_hex(script).unwrap();
        let own = world.coins.values().filter(|output| output.script_pubkey == script);
        own.map(|output| output.value.to_sat()).sum()
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().expect("nothing panics while it holds this")
}

fn transaction(input: TxIn, output: TxOut) -> Transaction {
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: vec![output],
    }
}

impl World {
    fn tip(&self) -> usize {
        self.blocks.len() - 1
    }

    fn hear_late(&mut self) {
        for request in std::mem::take(&mut self.late) {
            if !self.unkind || self.random.random_range(0..3) == 0 {
                reply(self, &request);
            } else {
                self.late.push(request);
            }
        }
    }

    fn connect(&mut self, transactions: Vec<Named>) {
        let parent = self.blocks.last().map_or_else(|| "00".repeat(32), |b| b.hash.clone());
        let mut noise = vec![0_u8; 20];
        self.random.fill_bytes(&mut noise);
        let input = TxIn {
            script_sig: ScriptBuf::from_bytes(noise),
            sequence: Sequence::MAX,
            witness: Witness::new(),
            previous_output: OutPoint::null(),
        };
        let nobody = ScriptBuf::from_bytes(vec![0x51]);
        let reward = TxOut { value: Amount::from_sat(5_000_000_000), script_pubkey: nobody };
        let mut all = vec![Named::new(transaction(input, reward))];
        all.extend(transactions);
        let hash = sha256d::Hash::hash(format!("{parent}{}", root(&all)).as_bytes()).to_string();
        let height = self.blocks.len();
        let time = 1_700_000_000 + 600 * u64::try_from(height).unwrap();
        let mut spent = Vec::new();
        for one in &all {
            self.heights.insert(one.id, height);
            spent.extend(one.inputs().filter_map(|coin| self.coins.remove_entry(&coin)));
            for (coin, output) in one.outputs() {
                self.coins.insert(coin, output.clone());
                let paid = self.paid.entry(output.script_pubkey.clone()).or_default();
                *paid = (paid.0 + 1, paid.1 + output.value.to_sat());
            }
        }
        self.blocks.push(Block { hash, time, transactions: all, spent });
    }

    /// Takes the newest block off and returns what stood in it.
    fn disconnect(&mut self) -> Vec<Named> {
        let block = self.blocks.pop().unwrap();
        for one in &block.transactions {
            self.heights.remove(&one.id);
            for (coin, output) in one.outputs() {
                self.coins.remove(&coin);
                let paid = self.paid.get_mut(&output.script_pubkey).unwrap();
                *paid = (paid.0 - 1, paid.1 - output.value.to_sat());
            }
        }
        let made_here = |coin: &OutPoint| block.transactions.iter().any(|tx| tx.id == coin.txid);
        let older = block.spent.into_iter().filter(|(coin, _)| !made_here(coin));
        self.coins.extend(older);
        block.transactions
    }

    /// An output of the chain or of what waits, whether something that waits spends it or not.
    fn coin(&self, coin: OutPoint) -> Option<TxOut> {
        let waiting = || self.mempool.iter().flat_map(Named::outputs);
        let found = self.coins.get(&coin).or_else(|| Some(waiting().find(|o| o.0 == coin)?.1));
        found.cloned()
    }

    fn fee_of(&self, one: &Named) -> Option<u64> {
        let value = |coin| Some(self.coin(coin)?.value.to_sat());
        let inputs: Option<u64> = one.inputs().map(value).sum();
        inputs?.checked_sub(one.outputs().map(|(_, output)| output.value.to_sat()).sum())
    }

    /// Takes a transaction as nodes do, or says no as they do.
    fn accept(&mut self, new: Named) -> Result<Txid, Refusal> {
        const SPENT: Refusal = (-25, "bad-txns-inputs-missingorspent");
        if self.heights.contains_key(&new.id) {
            let known = new.outputs().any(|(coin, _)| self.coins.contains_key(&coin));
            return Err(if known {
                (-27, "Transaction outputs already in utxo set")
            } else {
                SPENT
            });
        }
        if self.mempool.iter().any(|waiting| waiting.id == new.id) {
            return Ok(new.id);
        }
        if new.transaction.output.iter().any(|output| output.value.to_sat() < DUST) {
            return Err((-26, "dust"));
        }
        let spent: Option<Vec<_>> = new.inputs().map(|coin| self.coin(coin)).collect();
        check_signatures(&new.transaction, &spent.ok_or(SPENT)?)?;
        let fee = self.fee_of(&new).ok_or((-25, "bad-txns-in-belowout"))?;
        let size = u64::try_from(new.transaction.vsize()).unwrap();
        if fee < size {
            return Err((-26, "min relay fee not met"));
        }
        self.replace(&new, fee, size)?;
        let id = new.id;
        self.mempool.push(new);
        Ok(id)
    }

    /// Takes out what a transaction conflicts with and all that builds on it, if it offers enough for that.
    fn replace(&mut self, new: &Named, fee: u64, size: u64) -> Result<(), Refusal> {
        let inputs: HashSet<_> = new.inputs().collect();
        let mut out = HashSet::new();
        let mut fees = 0;
        for waiting in &self.mempool {
            let conflicts = waiting.inputs().any(|coin| inputs.contains(&coin));
            let builds_on = waiting.inputs().any(|coin| out.contains(&coin.txid));
            if conflicts && !waiting.transaction.input.iter().any(|i| i.sequence.is_rbf()) {
                return Err((-26, "txn-mempool-conflict"));
            }
            if conflicts || builds_on {
                out.insert(waiting.id);
                fees += self.fee_of(waiting).unwrap_or(0);
            }
        }
        if !out.is_empty() && fee < fees + size {
            return Err((-26, "insufficient fee"));
        }
        self.mempool.retain(|waiting| !out.contains(&waiting.id));
        Ok(())
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        let number = |at: usize| params[at].as_u64().map(|n| usize::try_from(n).unwrap());
        let text = |at: usize| params[at].as_str().unwrap_or_default().to_owned();
        let txid = |at: usize| text(at).parse::<Txid>().map_err(|_| (-8, "no txid"));
        match method {
            "getblockcount" => Ok(json!(self.tip())),
            "getblockchaininfo" => Ok(json!({
                "blocks": self.tip(), "headers": self.tip(), "initialblockdownload": false,
                "bestblockhash": self.blocks[self.tip()].hash,
            })),
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
            "testmempoolaccept" => {
                let transaction = decoded(params[0][0].as_str().unwrap_or_default())?;
                let dust = transaction.output.iter().any(|output| output.value.to_sat() < DUST);
                let reason = if dust { "dust" } else { "mandatory-script-verify-flag-failed" };
                Ok(json!([{ "allowed": false, "reject-reason": reason }]))
            }
            "estimatesmartfee" => Ok(json!({ "errors": ["Insufficient data"], "blocks": 2 })),
            "getmempoolinfo" => {
                let fee: Value = serde_json::from_str("0.00001000").unwrap();
                Ok(json!({ "size": self.mempool.len(), "mempoolminfee": fee }))
            }
            _ => Err((-32601, "Method not found")),
        }
    }

    fn block(&self, hash: &str, verbosity: usize) -> Result<Value, Refusal> {
        // It is mostly a new one that is asked for.
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

    /// Only what pays is failed; what watches has tests of its own.
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

fn root(transactions: &[Named]) -> String {
    let root = calculate_root(transactions.iter().map(|tx| tx.id.to_raw_hash()));
    root.unwrap().to_string()
}

fn decoded(text: &str) -> Result<Transaction, Refusal> {
    let bytes = hex::decode(text).map_err(|_| (-22, "TX decode failed"))?;
    encode::deserialize(&bytes).map_err(|_| (-22, "TX decode failed"))
}

/// Every input carries its key's signature over the whole transaction.
fn check_signatures(transaction: &Transaction, spent: &[TxOut]) -> Result<(), Refusal> {
    const WRONG: Refusal = (-26, "mandatory-script-verify-flag-failed");
    let secp = Secp256k1::verification_only();
    let mut cache = SighashCache::new(transaction);
    for (n, (input, coin)) in transaction.input.iter().zip(spent).enumerate() {
        let witness: Vec<_> = input.witness.iter().collect();
        let [signature, key] = witness[..] else { return Err(WRONG) };
        let signature = Signature::from_slice(signature).map_err(|_| WRONG)?;
        let key = PublicKey::from_slice(key).map_err(|_| WRONG)?;
        let hash = key.wpubkey_hash().map_err(|_| WRONG)?;
        if coin.script_pubkey != ScriptBuf::new_p2wpkh(&hash) {
            return Err(WRONG);
        }
        let digest = cache
            .p2wpkh_signature_hash(n, &coin.script_pubkey, coin.value, signature.sighash_type)
            .map_err(|_| WRONG)?;
        let message = Message::from_digest(digest.to_byte_array());
        secp.verify_ecdsa(&message, &signature.signature, &key.inner).map_err(|_| WRONG)?;
    }
    Ok(())
}

/// As nodes write amounts.
fn coins(output: &TxOut) -> Value {
    let units = output.value.to_sat();
    let text = format!("{}.{:08}", units / 100_000_000, units % 100_000_000);
    serde_json::from_str(&text).unwrap()
}

fn shown(named: &Named) -> Value {
    let output = |(n, o): (usize, &TxOut)| json!({ "n": n, "value": coins(o), "scriptPubKey": { "hex": hex::encode(o.script_pubkey.as_bytes()) } });
    let outputs: Vec<_> = named.transaction.output.iter().enumerate().map(output).collect();
    json!({ "txid": named.id.to_string(), "vin": [], "vout": outputs })
}

async fn answer(State(world): State<Arc<Mutex<World>>>, body: Bytes) -> Response {
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
