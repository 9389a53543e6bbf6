//! Payments on bitcoin, litecoin and dogecoin: one transaction pays a whole batch from the order's
//! own outputs.
//!
//! The node needs no wallet, no index and no key. It serves the mempool, the UTXO set and the
//! content of blocks. A payment is found in the chain by reading the blocks since it was signed.

pub mod transaction;

mod fees;
mod history;
mod merchants;
mod search;
mod sweeps;

use bitcoin::{Transaction, Txid, consensus::encode};
use k256::ecdsa::SigningKey;
use secrecy::SecretString;
use serde::de::IgnoredAny;
use serde_json::json;

pub use self::{
    merchants::{DraftError, Drafted, Unusable, Wish},
    search::Book,
};
/// Inputs and fees of a transaction follow pure rules, which are kept with the other payout rules.
pub use crate::payout::spend;

use self::{
    fees::Fees,
    spend::{Coin, Lock, Pay, SpendError, Sweep, Terms},
    transaction::Replaceable,
};
use super::{Mined, Output, Sent, SignError, SignedTx, Spendable, Standing, Unsigned, Wanted};
use crate::{
    asset::{Family, Network, Realm, address},
    chain::{
        ChainError,
        rpc::{EndpointError, Rpc},
    },
    money::BaseUnits,
    payout::{
        coins::{HeldCoin, Spent},
        fee::Fee,
        recipients,
    },
    storage::Db,
};

const SEND: &str = "sendrawtransaction";
const TEST: &str = "testmempoolaccept";
const HASH: &str = "getblockhash";
const WAITING: &str = "getmempoolentry";

/// Bitcoin's own error codes: not found, refused for its inputs or by policy, and in the chain
/// already.
const NOT_FOUND: i64 = -5;
const MISSING_INPUTS: i64 = -25;
const REJECTED: i64 = -26;
const IN_CHAIN: i64 = -27;
const METHOD_NOT_FOUND: i64 = -32601;

/// Node for payments whose transactions spend an order's own outputs and return the change to it.
pub struct UtxoPayer {
    rpc: Rpc,
    network: Network,
    lock: Lock,
    realm: Realm,
    genesis: String,
    fees: Fees,
    db: Db,
    book: Book,
}

/// Capabilities of a node for payouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Current fee rate, in base units per virtual byte.
    pub fee_rate: u128,
    /// True if the rate is the node's own estimate.
    pub estimates_fees: bool,
    /// True if outputs can be tested before signing.
    pub tests_outputs: bool,
}

impl UtxoPayer {
    /// `genesis` names a test chain by its first block; its addresses are those of regtest.
    /// `fallback` is the fee rate per virtual byte if the node has no estimate.
    pub fn new(
        network: Network,
        url: &SecretString,
        genesis: Option<&str>,
        fallback: u128,
        db: Db,
    ) -> Result<Self, EndpointError> {
        let wrong = || EndpointError::WrongFamily { network };
        let lock = Lock::of(network.family()).ok_or_else(wrong)?;
        let own = crate::chain::utxo::genesis(network).ok_or_else(wrong)?;
        let realm = if genesis.is_some() { Realm::Regtest } else { Realm::Main };
        let genesis = genesis.map_or(own, str::to_ascii_lowercase);
        let fees = Fees::new(network.family(), fallback);
        Ok(Self {
            rpc: Rpc::new(network, url)?,
            network,
            lock,
            realm,
            genesis,
            fees,
            db,
            book: Book::Orders,
        })
    }

    /// True if nodes support replace-by-fee. Otherwise child-pays-for-parent (CPFP) is used.
    pub(super) const fn replaces(&self) -> bool {
        matches!(self.network.family(), Family::Bitcoin)
    }

    pub(super) async fn fee(&self) -> Result<Fee, ChainError> {
        self.fees.rate(&self.rpc).await
    }

    /// Capabilities of its node for payouts.
    pub async fn abilities(&self) -> Result<Abilities, ChainError> {
        let estimates_fees = self.fees.estimate(&self.rpc).await?.is_some();
        let fee_rate = self.fees.rate(&self.rpc).await?.rate;
        let tests_outputs = match self.rpc.call(TEST, json!([[]])).await {
            Err(ChainError::Refused { code, .. }) => code != METHOD_NOT_FOUND,
            result => result.map(|_| true)?,
        };
        Ok(Abilities { fee_rate, estimates_fees, tests_outputs })
    }

    /// Error for requests about an account, which UTXO networks do not have.
    pub(super) fn has_no_accounts(&self) -> ChainError {
        self.rpc.inconsistent("has no accounts")
    }

    /// Amount that one transaction to one address can send from `coins`; nothing if no coin is
    /// worth its fee.
    pub(super) fn sweep(&self, coins: &[HeldCoin], fee: Fee) -> Sweep {
        const LARGEST_SCRIPT: usize = 34;
        let amounts: Vec<_> = coins.iter().filter_map(|coin| narrow(coin.amount)).collect();
        let rate = u64::try_from(fee.rate).unwrap_or(u64::MAX);
        let rates = (rate, self.floor(fee));
        spend::sweep(self.lock, &amounts, LARGEST_SCRIPT, rates).unwrap_or_default()
    }

    fn script(&self, text: &str) -> Result<Vec<u8>, SignError> {
        // A real address pays the same script on a test chain, where only its spelling differs.
        let script = |realm| address::script_of(self.network, realm, text);
        script(self.realm).or_else(|| script(Realm::Main)).ok_or(SignError::Unsupported)
    }

    fn pays(&self, outputs: &[Output]) -> Result<Vec<Pay>, SignError> {
        let pay = |output: &Output| {
            let amount = narrow(output.amount).ok_or(SignError::Unsupported)?;
            Ok(Pay { script: self.script(&output.address)?, amount })
        };
        outputs.iter().map(pay).collect()
    }

    /// Lowest fee rate to which a new payment may be reduced.
    fn floor(&self, fee: Fee) -> u64 {
        let least = u64::try_from(fee.rate_least).unwrap_or(u64::MAX);
        least.max(spend::fee_rate_floor(self.network.family()))
    }

    fn terms(&self, payment: &Unsigned, spendable: &Spendable, own: &[u8]) -> Option<Terms> {
        let family = self.network.family();
        // A payment that must spend every coin supports an already signed one as far as it can, so
        // the higher floor of new payments does not apply.
        let is_first = !spendable.every_coin;
        let floor = if is_first { self.floor(payment.fee) } else { spend::fee_rate_floor(family) };
        Some(Terms {
            lock: Lock::of_script(own)?,
            fee_rate: u64::try_from(payment.fee.rate).ok()?,
            fee_extra: narrow(spendable.fee_extra)?,
            fee_max: narrow(spendable.fee_max)?,
            fee_rate_floor: floor,
            fee_limit: narrow(spendable.fee_limit)?,
            dust: narrow(recipients::least_output(family))?,
            every_coin: spendable.every_coin,
            change_script_bytes: own.len(),
        })
    }

    /// The unsigned transaction that pays `outputs`, its plan, and the script of its inputs.
    fn bare(
        &self,
        payment: &Unsigned,
        outputs: &[Pay],
    ) -> Result<(Transaction, spend::Spend, Vec<u8>), SignError> {
        let spendable = payment.spendable.as_ref().ok_or(SignError::Unsupported)?;
        let own = self.script(&payment.sender)?;
        let terms = self.terms(payment, spendable, &own).ok_or(SignError::Unsupported)?;
        let coins: Option<Vec<_>> = spendable.coins.iter().map(coin).collect();
        let coins = coins.ok_or(SignError::Unsupported)?;
        let plan = spend::plan(&coins, outputs, &terms);
        let plan = plan.map_err(|error| unplanned(error, &coins, outputs, &terms))?;
        let replaceable = if self.replaces() { Replaceable::Yes } else { Replaceable::No };
        let bare = transaction::unsigned(&plan, outputs, &own, replaceable)?;
        Ok((bare, plan, own))
    }

    pub(super) fn sign(&self, key: &SigningKey, payment: &Unsigned) -> Result<SignedTx, SignError> {
        let outputs = self.pays(&payment.outputs)?;
        let (bare, plan, own) = self.bare(payment, &outputs)?;
        let signed = transaction::sign(bare, &plan, self.lock, &own, key)?;
        let change_n = u32::try_from(outputs.len()).map_err(|_| SignError::Unsupported)?;
        let spent = Spent {
            coins: plan.coins.iter().map(row).collect(),
            fee: BaseUnits::new(plan.fee.into()),
            change: plan.change.map(|amount| (change_n, BaseUnits::new(amount.into()))),
        };
        let hash = signed.compute_txid().to_string();
        Ok(SignedTx { raw: encode::serialize(&signed), hash, spent: Some(spent) })
    }

    /// Outputs that the node would not relay, by position, with the reasons.
    ///
    /// The node tests unsigned transactions: it checks outputs before signatures, so a refused
    /// output changes its response. But so does an output that makes the fee too small for a full
    /// mempool, and a failed row is never paid, so only reasons that concern outputs are believed.
    /// No transaction that could be broadcast leaves the gateway. Dogecoin's nodes have no such
    /// test.
    pub(super) async fn refused(
        &self,
        payment: &Unsigned,
    ) -> Result<Vec<(usize, String)>, ChainError> {
        let Ok(outputs) = self.pays(&payment.outputs) else { return Ok(vec![]) };
        let Some(without) = self.verdict(payment, &[]).await? else { return Ok(vec![]) };
        let blamed = |said: &String| *said != without && spend::blames_an_output(said);
        if !self.verdict(payment, &outputs).await?.is_some_and(|said| blamed(&said)) {
            return Ok(vec![]);
        }
        let mut refused = Vec::new();
        for (place, output) in outputs.iter().enumerate() {
            let said = self.verdict(payment, std::slice::from_ref(output)).await?;
            refused.extend(said.filter(blamed).map(|reason| (place, reason)));
        }
        Ok(refused)
    }

    /// The node's reason against an unsigned transaction with these outputs and our change; `None`
    /// if it has no such test, or they cannot be paid.
    async fn verdict(
        &self,
        payment: &Unsigned,
        outputs: &[Pay],
    ) -> Result<Option<String>, ChainError> {
        #[derive(serde::Deserialize)]
        struct Verdict {
            #[serde(rename = "reject-reason", default)]
            reason: String,
        }
        let Ok((bare, ..)) = self.bare(payment, outputs) else { return Ok(None) };
        let raw = hex::encode(encode::serialize(&bare));
        let result = match self.rpc.call(TEST, json!([[raw]])).await {
            Err(ChainError::Refused { code: METHOD_NOT_FOUND, .. }) => return Ok(None),
            result => result?,
        };
        let verdicts: Vec<Verdict> = self.rpc.read(TEST, &result)?;
        Ok(verdicts.into_iter().next().map(|verdict| verdict.reason))
    }

    pub(super) async fn send(&self, raw: &[u8], hash: &str) -> Result<Sent, ChainError> {
        self.check_chain().await?;
        match self.rpc.call(SEND, json!([hex::encode(raw)])).await {
            Ok(result) => {
                let told: &str = self.rpc.read(SEND, &result)?;
                if told.eq_ignore_ascii_case(hash) {
                    Ok(Sent::Taken)
                } else {
                    Err(self.rpc.inconsistent(format!("took {hash} as {told}")))
                }
            }
            Err(ChainError::Refused { code: IN_CHAIN, .. }) => Ok(Sent::Taken),
            // Old nodes give this code for transactions that they have already.
            Err(ChainError::Refused { code: MISSING_INPUTS | REJECTED, reason, .. }) => {
                Ok(if self.waits(hash).await? { Sent::Taken } else { Sent::Refused(reason) })
            }
            Err(ChainError::Refused { reason, .. }) => Ok(Sent::Refused(reason)),
            Err(error) => Err(error),
        }
    }

    async fn check_chain(&self) -> Result<(), ChainError> {
        let result = self.rpc.call(HASH, json!([0])).await?;
        let found: &str = self.rpc.read(HASH, &result)?;
        if found.eq_ignore_ascii_case(&self.genesis) {
            return Ok(());
        }
        let (network, found) = (self.network, found.chars().take(64).collect());
        Err(ChainError::WrongChain { network, expected: self.genesis.clone(), found })
    }

    /// True if the transaction is in the node's mempool.
    async fn waits(&self, hash: &str) -> Result<bool, ChainError> {
        match self.rpc.call(WAITING, json!([hash])).await {
            Ok(result) => self.rpc.read::<IgnoredAny>(WAITING, &result).map(|_| true),
            Err(ChainError::Refused { code: NOT_FOUND, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn standing(
        &self,
        payment: &Wanted,
        required: u64,
    ) -> Result<Standing, ChainError> {
        search::standing(self, payment, required).await
    }

    /// The transaction `id` in the block at `height`.
    pub(super) async fn transaction(
        &self,
        id: Txid,
        height: u64,
    ) -> Result<Transaction, ChainError> {
        history::transaction(self, id, height).await
    }

    /// Script of a sender's outputs.
    pub(super) fn own_script(&self, sender: &str) -> Option<Vec<u8>> {
        self.script(sender).ok()
    }

    /// True if this node's chain has spent an input of the payment, and has none of the payment's
    /// outputs.
    pub(super) async fn misses_inputs(&self, payment: &Wanted) -> Result<bool, ChainError> {
        search::misses_inputs(self, payment).await
    }

    /// True if this node has a transaction in the block that another node named, `required` deep.
    pub(super) async fn holds(&self, mined: &Mined, required: u64) -> Result<bool, ChainError> {
        search::holds(self, mined, required).await
    }
}

/// Adds to the error, where the payment may choose its coins, the deposit that would help.
fn unplanned(error: SpendError, coins: &[Coin], outputs: &[Pay], terms: &Terms) -> SignError {
    let deposit = match error {
        SpendError::FeeTooHigh | SpendError::TooManyCoins if !terms.every_coin => {
            spend::one_more(coins, outputs, terms)
        }
        SpendError::FeeTooHigh
        | SpendError::TooManyCoins
        | SpendError::TooLittle
        | SpendError::Nothing => None,
    };
    deposit.map_or(SignError::Spend(error), |deposit| SignError::Scattered { error, deposit })
}

fn coin(row: &HeldCoin) -> Option<Coin> {
    Some(Coin { outpoint: row.outpoint.clone(), amount: narrow(row.amount)? })
}

fn row(coin: &Coin) -> HeldCoin {
    HeldCoin { outpoint: coin.outpoint.clone(), amount: BaseUnits::new(coin.amount.into()) }
}

fn narrow(amount: BaseUnits) -> Option<u64> {
    u64::try_from(amount.get()).ok()
}
