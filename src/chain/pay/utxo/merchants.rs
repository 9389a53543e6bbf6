//! Payments from outputs that a merchant owns: checking that they are spendable, building the
//! transaction to sign, and testing if the signed transaction would be accepted.

use std::{collections::HashMap, time::Duration};

use bitcoin::{Amount, OutPoint, ScriptBuf, Transaction, TxOut};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    Book, METHOD_NOT_FOUND, TEST, UtxoPayer, history, narrow,
    search::{self, UNSPENT},
    spend::{self, Lock, SpendError},
};
use crate::{
    chain::{
        ChainError, Located,
        pay::{Means, Output, SignError, Spendable, Unsigned},
        utxo::{coinbase_maturity, locate},
    },
    money::BaseUnits,
    nc_payout::psbt::{Draft, Spent, Unbuildable},
    payout::{
        coins::{HeldCoin, Place},
        fee::Fee,
        quote,
    },
};

const HEADER: &str = "getblockheader";
/// Decimals of all three coins.
const DECIMALS: u32 = 8;
/// Reject reasons of nodes for a transaction that they have already.
const KNOWN: [&str; 2] = ["txn-already-in-mempool", "txn-already-known"];

/// A payment that a merchant requests, with its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    /// Owner of all inputs and recipient of the change.
    pub sender: &'a str,
    pub outputs: &'a [Output],
    /// Inputs as `txid:n`, all of which are spent.
    pub inputs: &'a [String],
    /// Confirmation target in blocks.
    pub blocks: u32,
}

/// A built transaction, with the data for finding it later.
#[derive(Debug, Clone)]
pub struct Drafted {
    pub draft: Draft,
    pub coins: Vec<HeldCoin>,
    /// The newest block, which cannot contain it yet.
    pub begin: Place,
}

/// Reason why no transaction is built.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("the address is locked by something else than one key")]
    NotOneKey,
    #[error("{} of the inputs cannot be spent", .0.len())]
    Inputs(Vec<(String, Unusable)>),
    #[error("the inputs have {has} base units and {needs} are needed with the fee")]
    TooLittle { has: u128, paid: u128, needs: u128 },
    #[error("{} of the outputs are refused by the network", .0.len())]
    Refused(Vec<(usize, String)>),
    #[error(transparent)]
    Sign(#[from] SignError),
    #[error(transparent)]
    Build(#[from] Unbuildable),
    #[error(transparent)]
    Node(#[from] ChainError),
}

/// Reason why an output cannot be spent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("does not exist, or is spent")]
    Gone,
    #[error("is unconfirmed; it can be spent once it is in a block")]
    Unconfirmed,
    #[error("is a miner's reward, which can be spent after {0} blocks")]
    Immature(u64),
    #[error("is not at fromAddress")]
    OtherOwner,
}

/// An output from the node's UTXO set.
struct Held {
    outpoint: String,
    output: TxOut,
    confirmations: u64,
    best_block: String,
}

#[derive(Deserialize)]
struct WireOutput<'a> {
    #[serde(rename = "bestblock")]
    best_block: String,
    confirmations: u64,
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(rename = "scriptPubKey")]
    script: WireScript,
    coinbase: bool,
}

#[derive(Deserialize)]
struct WireScript {
    hex: String,
}

#[derive(Deserialize)]
struct WireHeader {
    height: u64,
}

#[derive(Deserialize)]
struct Verdict {
    allowed: bool,
    #[serde(rename = "reject-reason", default)]
    reason: String,
}

impl UtxoPayer {
    /// Follows transactions that merchants sign, with this time limit for each response of the
    /// node.
    #[must_use]
    pub fn for_merchants(mut self, deadline: Duration) -> Self {
        self.book = Book::Merchants;
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    /// Builds the requested payment, if all its named inputs can be spent and suffice.
    pub async fn draft(&self, wish: Wish<'_>) -> Result<Drafted, DraftError> {
        self.check_chain().await?;
        let own = self.script(wish.sender)?;
        let lock = Lock::of_script(&own).ok_or(DraftError::NotOneKey)?;
        // Read before the inputs are checked: blocks up to this one cannot contain a transaction
        // that is not built yet.
        let begin = search::tip(self).await?;
        let held = self.held(wish.inputs, &own).await?;
        let coins: Vec<_> = held.iter().map(row).collect();
        let payment = self.payment(&wish, &coins).await?;
        let outputs = self.pays(&payment.outputs)?;
        let (transaction, ..) = match self.bare(&payment, &outputs) {
            Ok(bare) => bare,
            Err(SignError::Spend(SpendError::TooLittle)) => {
                return Err(self.too_little(&payment, &outputs, &own)?);
            }
            Err(error) => return Err(error.into()),
        };
        let refused = self.refused(&payment).await?;
        if !refused.is_empty() {
            return Err(DraftError::Refused(refused));
        }
        let mut spent = self.spent(lock, held).await?;
        let inputs = transaction.input.iter().map(|input| spent.remove(&input.previous_output));
        let inputs: Option<Vec<_>> = inputs.collect();
        let draft = Draft::new(transaction, inputs.ok_or(Unbuildable::OtherSpent)?)?;
        Ok(Drafted { draft, coins, begin })
    }

    /// The reason why the node would refuse these bytes; `None` if it would accept them or has
    /// them. Nothing is sent.
    pub async fn objection(
        &self,
        raw: &[u8],
        hash: &str,
        inputs: &[String],
    ) -> Result<Option<String>, ChainError> {
        self.check_chain().await?;
        let reason = match self.rpc.call(TEST, json!([[hex::encode(raw)]])).await {
            Ok(result) => {
                let verdicts: Vec<Verdict> = self.rpc.read(TEST, &result)?;
                let verdict = verdicts.into_iter().next();
                let verdict = verdict.ok_or_else(|| self.rpc.malformed(TEST, "no verdict"))?;
                (!verdict.allowed).then_some(verdict.reason)
            }
            // Dogecoin's nodes have no such test, so the inputs are checked.
            Err(ChainError::Refused { code: METHOD_NOT_FOUND, .. }) => {
                let gone = self.unspent(inputs).await?.iter().any(Option::is_none);
                gone.then(|| "an input is spent already".to_owned())
            }
            Err(error) => return Err(error),
        };
        match reason {
            Some(reason) if !KNOWN.contains(&reason.as_str()) && !self.has(hash).await? => {
                Ok(Some(reason))
            }
            Some(_) | None => Ok(None),
        }
    }

    /// True if a transaction is in the mempool or in the chain: its merchant may have broadcast it
    /// directly.
    async fn has(&self, hash: &str) -> Result<bool, ChainError> {
        Ok(match locate(&self.rpc, hash).await? {
            Located::Waiting | Located::Mined { .. } => true,
            Located::Unknown | Located::CannotTell => false,
        })
    }

    pub(super) async fn unspent(
        &self,
        outpoints: &[String],
    ) -> Result<Vec<Option<Box<RawValue>>>, ChainError> {
        let places = outpoints.iter().map(|outpoint| {
            let place: Option<OutPoint> = outpoint.parse().ok();
            let place = place.ok_or_else(|| self.rpc.malformed(UNSPENT, "no outpoint of ours"))?;
            // Includes the mempool: an output spent there counts as spent.
            Ok(json!([place.txid.to_string(), place.vout, true]))
        });
        let places: Vec<_> = places.collect::<Result<_, ChainError>>()?;
        let answers = self.rpc.batch(UNSPENT, &places).await?;
        Ok(answers.into_iter().map(|raw| Some(raw).filter(|raw| raw.get() != "null")).collect())
    }

    /// The named outputs, if `own` locks all of them and all can be spent now.
    async fn held(&self, outpoints: &[String], own: &[u8]) -> Result<Vec<Held>, DraftError> {
        let (mut held, mut unusable) = (Vec::with_capacity(outpoints.len()), Vec::new());
        for (outpoint, found) in outpoints.iter().zip(self.unspent(outpoints).await?) {
            match found.map(|raw| self.read_held(outpoint, &raw, own)).transpose()? {
                Some(Ok(one)) => held.push(one),
                Some(Err(reason)) => unusable.push((outpoint.clone(), reason)),
                None => unusable.push((outpoint.clone(), Unusable::Gone)),
            }
        }
        if unusable.is_empty() { Ok(held) } else { Err(DraftError::Inputs(unusable)) }
    }

    fn read_held(
        &self,
        outpoint: &str,
        raw: &RawValue,
        own: &[u8],
    ) -> Result<Result<Held, Unusable>, ChainError> {
        let wire: WireOutput = self.rpc.read(UNSPENT, raw)?;
        let amount = BaseUnits::parse(wire.value.get(), DECIMALS).ok().and_then(narrow);
        let script = hex::decode(&wire.script.hex).ok();
        let (Some(amount), Some(script)) = (amount, script) else {
            return Err(self.rpc.malformed(UNSPENT, "an output cannot be read"));
        };
        let maturity = coinbase_maturity(self.network).filter(|_| wire.coinbase).unwrap_or(0);
        if script != own {
            return Ok(Err(Unusable::OtherOwner));
        }
        if wire.confirmations == 0 {
            return Ok(Err(Unusable::Unconfirmed));
        }
        if wire.confirmations < maturity {
            return Ok(Err(Unusable::Immature(maturity - wire.confirmations)));
        }
        let (script_pubkey, value) = (ScriptBuf::from_bytes(script), Amount::from_sat(amount));
        Ok(Ok(Held {
            outpoint: outpoint.to_owned(),
            output: TxOut { script_pubkey, value },
            confirmations: wire.confirmations,
            best_block: wire.best_block,
        }))
    }

    /// The requested payment, which spends every coin and is limited only by their total.
    async fn payment(&self, wish: &Wish<'_>, coins: &[HeldCoin]) -> Result<Unsigned, ChainError> {
        let asked = self.fees.rate_within(&self.rpc, wish.blocks).await?;
        let (_, most) = quote::fee_rate_bounds(self.network.family());
        let spendable = Spendable {
            coins: coins.to_vec(),
            every_coin: true,
            fee_extra: BaseUnits::ZERO,
            fee_max: BaseUnits::new(u64::MAX.into()),
            fee_limit: BaseUnits::new(u64::MAX.into()),
        };
        Ok(Unsigned {
            sender: wish.sender.to_owned(),
            nonce: 0,
            outputs: wish.outputs.to_vec(),
            means: Means::Transfer,
            contract: None,
            work: 0,
            fee: Fee::of(asked.rate.min(most)),
            spendable: Some(spendable),
        })
    }

    fn too_little(
        &self,
        payment: &Unsigned,
        outputs: &[spend::Pay],
        own: &[u8],
    ) -> Result<DraftError, SignError> {
        let spendable = payment.spendable.as_ref().ok_or(SignError::Unsupported)?;
        let terms = self.terms(payment, spendable, own).ok_or(SignError::Unsupported)?;
        let needs = spend::needs(spendable.coins.len(), outputs, &terms)?;
        let has = spendable.coins.iter().map(|coin| coin.amount.get()).sum();
        let paid = payment.outputs.iter().map(|output| output.amount.get()).sum();
        Ok(DraftError::TooLittle { has, paid, needs: needs.into() })
    }

    /// Previous-output data that signatures need: the outputs themselves, or the whole transactions
    /// that created them.
    async fn spent(
        &self,
        lock: Lock,
        held: Vec<Held>,
    ) -> Result<HashMap<OutPoint, Spent>, DraftError> {
        let (mut spent, mut heights) = (HashMap::with_capacity(held.len()), HashMap::new());
        for held in held {
            let place: OutPoint = held.outpoint.parse().map_err(|_| Unbuildable::OtherSpent)?;
            let transaction = match lock {
                Lock::Witness => None,
                Lock::Legacy => Some(self.history_of(place, &held, &mut heights).await?),
            };
            spent.insert(place, Spent { output: held.output, transaction });
        }
        Ok(spent)
    }

    /// The transaction that created an output; `heights` caches the heights of the newest blocks,
    /// mostly one for all.
    async fn history_of(
        &self,
        place: OutPoint,
        held: &Held,
        heights: &mut HashMap<String, u64>,
    ) -> Result<Transaction, ChainError> {
        let best = match heights.get(&held.best_block) {
            Some(height) => *height,
            None => {
                let header: WireHeader =
                    search::read(self, HEADER, json!([held.best_block])).await?;
                heights.insert(held.best_block.clone(), header.height);
                header.height
            }
        };
        history::transaction(self, place.txid, (best + 1).saturating_sub(held.confirmations)).await
    }
}

fn row(held: &Held) -> HeldCoin {
    let amount = BaseUnits::new(held.output.value.to_sat().into());
    HeldCoin { outpoint: held.outpoint.clone(), amount }
}
