//! Where payments on an EVM network stand, by their receipts. One look is a handful of requests,
//! however many payments it is about.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, de::IgnoredAny};
use serde_json::json;

use super::{
    EvmPayer, Mined, Standing, Wanted,
    erc20::{self, Kept, Log, Promise},
    evm::{BLOCK, Head},
    fees::wide,
};
use crate::{
    chain::{ChainError, evm::quantity},
    money::BaseUnits,
    payout::batch::Seen,
};

const RECEIPT: &str = "eth_getTransactionReceipt";
const TRANSACTION: &str = "eth_getTransactionByHash";
const COUNT: &str = "eth_getTransactionCount";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receipt<'a> {
    block_hash: &'a str,
    block_number: &'a str,
    status: &'a str,
    gas_used: &'a str,
    effective_gas_price: &'a str,
    /// The fee that a rollup takes for its data on the first layer.
    #[serde(default)]
    l1_fee: Option<&'a str>,
    #[serde(borrow, default)]
    logs: Vec<Log<'a>>,
}

/// Blocks that the chain holds now, and its newest.
struct Chain {
    hashes: BTreeMap<u64, String>,
    head: u64,
}

impl EvmPayer {
    /// Where payments stand, in their order; `required` is the depth that counts as final.
    pub(super) async fn standings(
        &self,
        payments: &[&Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        let found = self.mined(payments, required).await?;
        let missed = without(payments, found.iter().map(Option::is_some));
        let mut others = self.unmined(&missed, required).await?.into_iter();
        Ok(found.into_iter().filter_map(|standing| standing.or_else(|| others.next())).collect())
    }

    /// Those that the chain holds, by any of their versions; the end of one is held against its
    /// block.
    pub(super) async fn mined(
        &self,
        payments: &[&Wanted],
        required: u64,
    ) -> Result<Vec<Option<Standing>>, ChainError> {
        let mut standings = self.received(payments).await?;
        self.prove(payments, &mut standings, required).await?;
        Ok(standings)
    }

    /// The same by the receipts alone.
    async fn received(&self, payments: &[&Wanted]) -> Result<Vec<Option<Standing>>, ChainError> {
        let hashes: Vec<_> = payments.iter().flat_map(|one| &one.hashes).map(|h| [h]).collect();
        let results = self.rpc.batch(RECEIPT, &hashes).await?;
        let mut receipts = Vec::with_capacity(results.len());
        for result in &results {
            receipts.push(self.rpc.read::<Option<Receipt>>(RECEIPT, result)?);
        }
        let heights = receipts.iter().flatten().map(|receipt| self.height_of(receipt));
        let heights = heights.collect::<Result<Vec<_>, _>>()?;
        if heights.is_empty() {
            return Ok(vec![None; payments.len()]);
        }
        let chain = self.chain_at(heights).await?;
        let mut receipts = receipts.iter();
        let mut standings = Vec::with_capacity(payments.len());
        for payment in payments {
            let mut standing = None;
            for (hash, receipt) in payment.hashes.iter().zip(receipts.by_ref()) {
                if let (None, Some(receipt)) = (&standing, receipt) {
                    standing = self.judge(payment, hash, receipt, &chain)?;
                }
            }
            standings.push(standing);
        }
        Ok(standings)
    }

    fn height_of(&self, receipt: &Receipt<'_>) -> Result<u64, ChainError> {
        quantity::number(receipt.block_number).ok_or_else(|| self.malformed(RECEIPT))
    }

    /// Read after the receipts: a block that was reorganised away meanwhile is not in the chain
    /// then.
    async fn chain_at(&self, mut heights: Vec<u64>) -> Result<Chain, ChainError> {
        heights.sort_unstable();
        heights.dedup();
        let ask = |height: &u64| json!([format!("{height:#x}"), false]);
        let asks: Vec<_> = heights.iter().map(ask).collect();
        let results = self.rpc.batch(BLOCK, &asks).await?;
        let mut hashes = BTreeMap::new();
        for (height, result) in heights.into_iter().zip(&results) {
            let block: Option<Head> = self.rpc.read(BLOCK, result)?;
            let block =
                block.ok_or_else(|| self.rpc.inconsistent(format!("has no block {height}")))?;
            hashes.insert(height, block.hash.to_owned());
        }
        let (head, ..) = self.head("latest").await?;
        Ok(Chain { hashes, head })
    }

    /// `None` if the receipt is of an orphaned block, which proves nothing.
    fn judge(
        &self,
        payment: &Wanted,
        hash: &str,
        receipt: &Receipt<'_>,
        chain: &Chain,
    ) -> Result<Option<Standing>, ChainError> {
        let height = self.height_of(receipt)?;
        let is_there = |own: &String| own.eq_ignore_ascii_case(receipt.block_hash);
        if !chain.hashes.get(&height).is_some_and(is_there) {
            return Ok(None);
        }
        let unreadable = || self.malformed(RECEIPT);
        let gas = wide(receipt.gas_used).ok_or_else(unreadable)?;
        let price = wide(receipt.effective_gas_price).ok_or_else(unreadable)?;
        let l1_fee = receipt.l1_fee.and_then(wide).unwrap_or(0);
        let fee = gas.checked_mul(price).and_then(|fee| fee.checked_add(l1_fee));
        let fee = BaseUnits::new(fee.ok_or_else(unreadable)?);
        let succeeded = quantity::number(receipt.status).ok_or_else(unreadable)? == 1;
        let depth = (chain.head + 1).saturating_sub(height);
        let seen = verdict(payment, succeeded, &receipt.logs, depth);
        let gas = u64::try_from(gas).ok();
        let mined = Mined { hash: hash.to_owned(), height, fee, gas };
        Ok(Some(Standing { seen, mined: Some(mined) }))
    }

    /// Those that no block holds: they wait, or their nonce was used by something else, or they are
    /// nowhere.
    async fn unmined(
        &self,
        payments: &[&Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        let waits = self.waiting(payments).await?;
        let lost = without(payments, waits.iter().copied());
        let mut displaced = self.displaced(&lost, required).await?.into_iter();
        let waiting = Standing { seen: Seen::Waiting, mined: None };
        let standing = |waits| if waits { Some(waiting.clone()) } else { displaced.next() };
        Ok(waits.into_iter().filter_map(standing).collect())
    }

    async fn waiting(&self, payments: &[&Wanted]) -> Result<Vec<bool>, ChainError> {
        let hashes: Vec<_> = payments.iter().flat_map(|one| &one.hashes).map(|h| [h]).collect();
        let mut results = self.rpc.batch(TRANSACTION, &hashes).await?.into_iter();
        let mut waiting = Vec::with_capacity(payments.len());
        for payment in payments {
            let mut waits = false;
            for result in results.by_ref().take(payment.hashes.len()) {
                waits |= self.rpc.read::<Option<IgnoredAny>>(TRANSACTION, &result)?.is_some();
            }
            waiting.push(waits);
        }
        Ok(waiting)
    }

    /// The standing of a payment that is neither in a block nor waits: displaced once its nonce is
    /// used as of a block that is final.
    async fn displaced(
        &self,
        payments: &[&Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        let mut used: HashMap<&str, Option<u64>> = HashMap::new();
        for payment in payments {
            if !used.contains_key(payment.sender.as_str()) {
                let count = self.final_count(&payment.sender, required).await?;
                used.insert(&payment.sender, count);
            }
        }
        let is_used = |payment: &Wanted| {
            used.get(payment.sender.as_str()).copied().flatten().is_some_and(|n| n > payment.nonce)
        };
        let gone = without(payments, payments.iter().map(|payment| !is_used(payment)));
        // They may have been mined since they were looked for.
        let mut late = self.mined(&gone, required).await?.into_iter();
        let standing = |payment: &&Wanted| {
            let seen = if is_used(payment) { Seen::Displaced } else { Seen::Nowhere };
            let late = if is_used(payment) { late.next().flatten() } else { None };
            late.unwrap_or(Standing { seen, mined: None })
        };
        Ok(payments.iter().map(standing).collect())
    }

    /// The number of nonces of `sender` that are used as of a block that is final; `None` while the
    /// chain is that short.
    async fn final_count(&self, sender: &str, required: u64) -> Result<Option<u64>, ChainError> {
        let (head, ..) = self.head("latest").await?;
        let Some(height) = (head + 1).checked_sub(required.max(1)) else { return Ok(None) };
        let result = self.rpc.call(COUNT, json!([sender, format!("{height:#x}")])).await?;
        let count: &str = self.rpc.read(COUNT, &result)?;
        quantity::number(count).map(Some).ok_or_else(|| self.malformed(COUNT))
    }
}

/// Reads the result of a payment in a block of that depth from its logs. Every version of a payment
/// does the same, so the bytes of any contain the promised result.
pub(super) fn verdict(payment: &Wanted, succeeded: bool, logs: &[Log<'_>], depth: u64) -> Seen {
    let kept = match Promise::of(&payment.raw) {
        Some(promise) if succeeded => erc20::kept(&promise, &payment.sender, logs),
        Some(_) | None => Kept::Yes,
    };
    match kept {
        Kept::Yes => Seen::Mined { depth, succeeded },
        Kept::NoLog => Seen::Unexplained { depth, moved: false },
        Kept::Otherwise => Seen::Unexplained { depth, moved: true },
    }
}

/// The payments without an answer: `told` has one flag for each, in their order.
fn without<'a>(payments: &[&'a Wanted], told: impl Iterator<Item = bool>) -> Vec<&'a Wanted> {
    payments.iter().zip(told).filter(|(_, told)| !told).map(|(payment, _)| *payment).collect()
}
