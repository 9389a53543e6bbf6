//! The chain of a fake node, and its mempool.

use std::collections::{HashMap, HashSet};

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness,
    absolute::LockTime,
    hashes::{Hash, sha256d},
    merkle_tree::calculate_root,
    transaction::Version,
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value;

use super::rules::{Refusal, Rules};

pub struct World {
    pub rules: Rules,
    pub random: StdRng,
    /// Set while calls may fail.
    pub unkind: bool,
    pub failures: u64,
    /// Calls whose callers no longer wait, and which still arrive.
    pub late: Vec<Value>,
    /// Fee rate per virtual byte that miners ask.
    pub price: u64,
    /// Minimum fee rate per virtual byte, if above the policy's.
    pub least: u64,
    pub blocks: Vec<Block>,
    pub mempool: Vec<Named>,
    /// Unspent outputs of the chain.
    pub coins: HashMap<OutPoint, TxOut>,
    /// The height of every transaction in the chain.
    pub heights: HashMap<Txid, usize>,
    /// Number and sum of the payments to each script in the chain.
    pub paid: HashMap<ScriptBuf, (u32, u64)>,
}

pub struct Block {
    pub hash: String,
    pub time: u64,
    pub transactions: Vec<Named>,
    /// The spent outputs.
    spent: Vec<(OutPoint, TxOut)>,
}

#[derive(Clone)]
pub struct Named {
    pub id: Txid,
    pub transaction: Transaction,
}

impl Named {
    pub fn new(transaction: Transaction) -> Self {
        Self { id: transaction.compute_txid(), transaction }
    }

    fn outputs(&self) -> impl Iterator<Item = (OutPoint, &TxOut)> {
        let place = |(vout, output)| (OutPoint { txid: self.id, vout }, output);
        (0..).zip(&self.transaction.output).map(place)
    }

    fn inputs(&self) -> impl Iterator<Item = OutPoint> {
        self.transaction.input.iter().map(|input| input.previous_output)
    }

    fn size(&self) -> u64 {
        u64::try_from(self.transaction.vsize()).unwrap()
    }

    /// Returns true for a created coin, which has no owner.
    pub fn is_unsigned(&self) -> bool {
        let input = &self.transaction.input[0];
        input.witness.is_empty() && input.script_sig.is_empty()
    }
}

impl World {
    pub fn new(rules: Rules, seed: u64) -> Self {
        let mut world = Self {
            rules,
            random: StdRng::seed_from_u64(seed),
            unkind: false,
            failures: 0,
            late: vec![],
            price: 0,
            least: 0,
            blocks: vec![],
            mempool: vec![],
            coins: HashMap::new(),
            heights: HashMap::new(),
            paid: HashMap::new(),
        };
        world.connect(vec![]);
        world
    }

    pub fn tip(&self) -> usize {
        self.blocks.len() - 1
    }

    pub fn connect(&mut self, transactions: Vec<Named>) {
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

    /// Puts any transaction into a block. Returns its hash and the block's height.
    pub fn put_in_block(&mut self, transaction: Transaction) -> (String, u64) {
        let named = Named::new(transaction);
        let hash = named.id.to_string();
        self.connect(vec![named]);
        (hash, u64::try_from(self.tip()).unwrap())
    }

    /// Removes the newest block and returns its transactions.
    pub fn disconnect(&mut self) -> Vec<Named> {
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

    /// Removes every pending transaction that pays the rate, alone or together with its ancestors
    /// and descendants.
    pub fn take_chosen(&mut self) -> Vec<Named> {
        let mut chosen = HashSet::new();
        for one in &self.mempool {
            let package = self.with_ancestors(one);
            let fees: u64 = package.iter().filter_map(|tx| self.fee_of(tx)).sum();
            let size: u64 = package.iter().map(|tx| tx.size()).sum();
            if fees >= size * self.price {
                chosen.extend(package.iter().map(|tx| tx.id));
            }
        }
        let waiting = std::mem::take(&mut self.mempool);
        let (chosen, left) = waiting.into_iter().partition(|tx| chosen.contains(&tx.id));
        self.mempool = left;
        chosen
    }

    /// The transaction with all its pending ancestors.
    fn with_ancestors<'a>(&'a self, one: &'a Named) -> Vec<&'a Named> {
        let mut package = vec![one];
        // Its ancestors came before it.
        for older in self.mempool.iter().rev() {
            let needed = |tx: &&Named| tx.inputs().any(|coin| coin.txid == older.id);
            if package.iter().any(needed) {
                package.push(older);
            }
        }
        package
    }

    /// Returns an output of the chain or the mempool, spent in the mempool or not.
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

    /// Reason why an output cannot be spent: old nodes distinguish if other outputs of the same
    /// transaction still can.
    fn missing(&self, coin: OutPoint) -> Refusal {
        let sibling = |other: &OutPoint| other.txid == coin.txid;
        if self.rules.are_old() && self.coins.keys().any(sibling) {
            return (-26, "bad-txns-inputs-spent");
        }
        (-25, "bad-txns-inputs-missingorspent")
    }

    /// Accepts or refuses a transaction as nodes do.
    pub fn accept(&mut self, new: Named) -> Result<Txid, Refusal> {
        if self.heights.contains_key(&new.id)
            && new.outputs().any(|(coin, _)| self.coins.contains_key(&coin))
        {
            return Err((-27, "Transaction outputs already in utxo set"));
        }
        if self.mempool.iter().any(|waiting| waiting.id == new.id) {
            return Ok(new.id);
        }
        self.rules.check_outputs(&new.transaction)?;
        let spent = |coin| self.coin(coin).ok_or_else(|| self.missing(coin));
        let spent = new.inputs().map(spent).collect::<Result<Vec<_>, _>>()?;
        self.rules.check_signatures(&new.transaction, &spent)?;
        let fee = self.fee_of(&new).ok_or((-25, "bad-txns-in-belowout"))?;
        self.rules.check_fee(&new.transaction, fee)?;
        self.replace(&new, fee)?;
        let id = new.id;
        self.mempool.push(new);
        Ok(id)
    }

    /// Removes the transactions in conflict and their descendants, if the new one pays enough for
    /// that.
    fn replace(&mut self, new: &Named, fee: u64) -> Result<(), Refusal> {
        let inputs: HashSet<_> = new.inputs().collect();
        let mut out = HashSet::new();
        let mut fees = 0;
        for waiting in &self.mempool {
            let conflicts = waiting.inputs().any(|coin| inputs.contains(&coin));
            let builds_on = waiting.inputs().any(|coin| out.contains(&coin.txid));
            let yields = waiting.transaction.input.iter().any(|i| i.sequence.is_rbf());
            if conflicts && !(self.rules.replaces() && yields) {
                return Err((-26, "txn-mempool-conflict"));
            }
            if conflicts || builds_on {
                out.insert(waiting.id);
                fees += self.fee_of(waiting).unwrap_or(0);
            }
        }
        if !out.is_empty() && fee < fees + new.size() {
            return Err((-26, "insufficient fee"));
        }
        self.mempool.retain(|waiting| !out.contains(&waiting.id));
        Ok(())
    }
}

pub fn transaction(input: TxIn, output: TxOut) -> Transaction {
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: vec![output],
    }
}

pub fn root(transactions: &[Named]) -> String {
    let root = calculate_root(transactions.iter().map(|tx| tx.id.to_raw_hash()));
    root.unwrap().to_string()
}
