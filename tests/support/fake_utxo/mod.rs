//! A node of bitcoin, litecoin or dogecoin that is none: its blocks need no work and its memory is its disk, but what payments
//! depend on follows the real rules (inputs, signatures, fees, replacement, dust). On demand it fails its callers as nodes and
//! networks do.
//!
//! It stands beside real nodes, never instead of them: `payout::utxo::conformance` holds both to the same behaviour.

mod answers;
mod rules;
mod world;

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{Router, routing::post};
use bitcoin::{Amount, OutPoint, ScriptBuf, TxIn, TxOut, Txid, hashes::Hash};
use gateway::asset::Network;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use self::{
    rules::Rules,
    world::{Named, World},
};

/// A running node. It stops with its runtime.
pub struct FakeUtxo {
    url: String,
    world: Arc<Mutex<World>>,
}

impl FakeUtxo {
    pub async fn start(network: Network, seed: u64) -> Self {
        let world = Arc::new(Mutex::new(World::new(Rules::of(network), seed)));
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/", post(answers::answer)).with_state(world.clone());
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

    /// What miners ask for a virtual byte from now on. What offers less waits, unless it is pulled along.
    pub fn set_price(&self, rate: u64) {
        lock(&self.world).price = rate;
    }

    /// What the node says it takes at least per virtual byte from now on: its mempool is full of better.
    pub fn set_least(&self, rate: u64) {
        lock(&self.world).least = rate;
    }

    /// How many calls were failed so far, in whatever way.
    pub fn failures(&self) -> u64 {
        lock(&self.world).failures
    }

    /// Mines blocks with all that waits and pays the price, after some of what was still on its way.
    pub fn mine(&self, blocks: u64) {
        let mut world = lock(&self.world);
        answers::hear_late(&mut world);
        for _ in 0..blocks {
            let chosen = world.take_chosen();
            world.connect(chosen);
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
        world.connect(vec![Named::new(world::transaction(input, output))]);
    }

    /// Mines what came last of all that waits under another hash: a miner may write signatures of the legacy kind another
    /// way. The hash, and the block's height.
    pub fn mine_rewritten(&self) -> (String, u64) {
        let mut world = lock(&self.world);
        let mut transaction = world.mempool.pop().unwrap().transaction;
        for input in &mut transaction.input {
            let script = [&[0x00], input.script_sig.as_bytes()].concat();
            input.script_sig = ScriptBuf::from_bytes(script);
        }
        world.put_in_block(transaction)
    }

    /// Whoever has the key of `script` takes all that lies there. The hash, and the block's height.
    pub fn take_all(&self, script: &str) -> (String, u64) {
        self.take_all_for(script, "51", 0)
    }

    /// The same for whoever has the key of `to`, who pays `fee` for it.
    pub fn take_all_for(&self, script: &str, to: &str, fee: u64) -> (String, u64) {
        let mut world = lock(&self.world);
        let [script, to] = [script, to].map(|hex| ScriptBuf::from_hex(hex).unwrap());
        let own = world.coins.iter().filter(|(_, output)| output.script_pubkey == script);
        let own: Vec<_> = own.map(|(coin, output)| (*coin, output.value)).collect();
        let value = own.iter().map(|(_, value)| *value).sum::<Amount>() - Amount::from_sat(fee);
        let output = TxOut { value, script_pubkey: to };
        let mut transaction = world::transaction(TxIn::default(), output);
        let input = |(coin, _): &(OutPoint, Amount)| TxIn {
            previous_output: *coin,
            script_sig: ScriptBuf::from_bytes(vec![0x51]),
            ..TxIn::default()
        };
        transaction.input = own.iter().map(input).collect();
        world.mempool.clear();
        world.put_in_block(transaction)
    }

    /// Forgets all that waits for a block.
    pub fn forget(&self) {
        lock(&self.world).mempool.clear();
    }

    /// Forgets what came last of all that waits: a child goes before its parent.
    pub fn forget_last(&self) {
        lock(&self.world).mempool.pop();
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
        let (funding, ours): (Vec<_>, Vec<_>) = back.into_iter().partition(Named::is_unsigned);
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
