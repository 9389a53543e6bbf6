//! A fake node of bitcoin, litecoin or dogecoin: its blocks need no work and its memory is its
//! disk, but the rules that payments depend on are real (inputs, signatures, fees, replacement,
//! dust). On request it fails calls as nodes and networks do.
//!
//! It complements real nodes, never replaces them: `payout::utxo::conformance` checks both for the
//! same behaviour.

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

    /// Draws all further random choices from `seed`.
    pub fn reseed(&self, seed: u64) {
        lock(&self.world).random = StdRng::seed_from_u64(seed);
    }

    /// Enables or disables faults.
    pub fn set_unkind(&self, unkind: bool) {
        lock(&self.world).unkind = unkind;
    }

    /// Sets the fee rate that miners ask per virtual byte. A transaction below it stays pending,
    /// unless a child pays for it (CPFP).
    pub fn set_price(&self, rate: u64) {
        lock(&self.world).price = rate;
    }

    /// Sets the mempool's minimum fee rate per virtual byte, as if the mempool were full of better
    /// transactions.
    pub fn set_least(&self, rate: u64) {
        lock(&self.world).least = rate;
    }

    /// Number of failed calls so far, of any kind.
    pub fn failures(&self) -> u64 {
        lock(&self.world).failures
    }

    /// Mines blocks with all pending transactions that pay the rate, after some of the delayed
    /// requests.
    pub fn mine(&self, blocks: u64) {
        let mut world = lock(&self.world);
        answers::hear_late(&mut world);
        for _ in 0..blocks {
            let chosen = world.take_chosen();
            world.connect(chosen);
        }
    }

    /// Mines a block that creates `units` for `script`.
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

    /// Mines the last pending transaction under another hash: a miner may re-encode signatures of
    /// the legacy kind (malleability). Returns the hash and the block's height.
    pub fn mine_rewritten(&self) -> (String, u64) {
        let mut world = lock(&self.world);
        let mut transaction = world.mempool.pop().unwrap().transaction;
        for input in &mut transaction.input {
            let script = [&[0x00], input.script_sig.as_bytes()].concat();
            input.script_sig = ScriptBuf::from_bytes(script);
        }
        world.put_in_block(transaction)
    }

    /// Spends all coins of `script`, as a holder of its key could. Returns the hash and the block's
    /// height.
    pub fn take_all(&self, script: &str) -> (String, u64) {
        self.take_all_for(script, "51", 0)
    }

    /// The same in favour of `to`, with a fee of `fee`.
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

    /// Drops the mempool.
    pub fn forget(&self) {
        lock(&self.world).mempool.clear();
    }

    /// Drops the last pending transaction: a child goes before its parent.
    pub fn forget_last(&self) {
        lock(&self.world).mempool.pop();
    }

    /// Replaces the newest `depth` blocks by one more; their transactions become pending again, or
    /// are forgotten.
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
        // Created coins exist only in this node, so they stay.
        let (funding, ours): (Vec<_>, Vec<_>) = back.into_iter().partition(Named::is_unsigned);
        if !funding.is_empty() {
            world.connect(funding);
        }
        if !forget {
            for transaction in ours {
                // A child whose parent came first is accepted after it; a conflicting transaction
                // is dropped, as nodes do.
                let _ = world.accept(transaction);
            }
        }
    }

    /// Number and sum of the payments to a script, in the chain and the mempool.
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

    /// Unspent amount of a script.
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
