//! From a node's answer to transfers, without io.
//!
//! An entry that cannot be read is put aside with a warning; it never stops its block.

use std::{collections::BTreeMap, sync::Arc};

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use tracing::warn;

use super::wire::{WireBlock, WireMeta, WireTokenBalance, WireTransaction};
use crate::{
    asset::Network,
    chain::{BlockRef, Transfer, TransferAmount, TransferAsset, entries::count_unreadable},
    money::BaseUnits,
};

/// Stands in the hash of a slot without a block, and in no hash of a block.
const SKIPPED_MARK: char = '+';

/// Where a block stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    slot: u64,
    hash: String,
    parent_slot: u64,
    parent_hash: String,
    mined_at: DateTime<Utc>,
}

/// The place of the block of `slot`; the error is the name of the field that cannot be read.
pub(super) fn place(slot: u64, block: &WireBlock<'_>) -> Result<Place, &'static str> {
    if block.blockhash.is_empty() {
        return Err("blockhash");
    }
    if block.parent_slot >= slot && slot > 0 {
        return Err("parentSlot");
    }
    let mined_at = block.block_time.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    Ok(Place {
        slot,
        hash: block.blockhash.clone().into_owned(),
        parent_slot: block.parent_slot,
        parent_hash: block.previous_blockhash.clone().into_owned(),
        mined_at: mined_at.ok_or("blockTime")?,
    })
}

impl Place {
    pub(super) fn header(&self) -> BlockRef {
        let skipped = self.slot.saturating_sub(self.parent_slot + 1);
        BlockRef {
            height: self.slot,
            hash: self.hash.clone(),
            parent_hash: after(&self.parent_hash, skipped),
            mined_at: self.mined_at,
        }
    }

    /// The headers from slot `from` up to this block: those of the slots without a block before it,
    /// and its own. `None` if they are more than `most`.
    pub(super) fn links(&self, from: u64, most: u64) -> Option<Vec<BlockRef>> {
        let first = from.max(self.parent_slot + 1);
        let skipped = (first..self.slot).filter_map(|slot| self.skipped(slot));
        (self.slot.saturating_sub(first) < most).then(|| skipped.chain([self.header()]).collect())
    }

    /// The header that stands for `slot`, if this block shows that there is no block there: it is
    /// later, and its parent is earlier.
    pub(super) fn skipped(&self, slot: u64) -> Option<BlockRef> {
        let distance = slot.checked_sub(self.parent_slot).filter(|distance| *distance > 0)?;
        (slot < self.slot).then(|| BlockRef {
            height: slot,
            hash: after(&self.parent_hash, distance),
            parent_hash: after(&self.parent_hash, distance - 1),
            mined_at: self.mined_at,
        })
    }
}

/// True for the header of a slot without a block.
pub(super) fn is_skipped(header: &BlockRef) -> bool {
    header.hash.contains(SKIPPED_MARK)
}

/// The hash of the slot without a block that comes `skipped` slots after the block `hash`.
fn after(hash: &str, skipped: u64) -> String {
    if skipped == 0 { hash.to_owned() } else { format!("{hash}{SKIPPED_MARK}{skipped}") }
}

/// Everything that moved, in the order of the block; `None` if the node seems to speak of something
/// else.
pub(super) fn transfers(slot: u64, raw: &[&RawValue]) -> Option<Vec<Transfer>> {
    let mut transfers = Vec::new();
    let mut unreadable = 0;
    for (position, entry) in raw.iter().enumerate() {
        match transaction(entry) {
            Ok(paid) => transfers.extend(paid),
            Err(reason) => {
                unreadable += 1;
                let network = Network::Solana;
                count_unreadable(network);
                warn!(
                    %network, slot, position, reason,
                    "transaction {position} of slot {slot} of {network} cannot be read and is left out: {reason}"
                );
            }
        }
    }
    // One odd entry is the chain's, all of them is a node that we do not understand at all.
    (unreadable < 2 || unreadable < raw.len()).then_some(transfers)
}

fn transaction(raw: &RawValue) -> Result<Vec<Transfer>, String> {
    let wire: WireTransaction = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    if wire.meta.err.get() != "null" {
        return Ok(Vec::new());
    }
    let signature = wire.transaction.signatures.first().filter(|text| !text.is_empty());
    let signature = signature.ok_or("signatures")?;
    let (before, after) = (&wire.meta.pre_balances, &wire.meta.post_balances);
    let keys = &wire.transaction.account_keys;
    if keys.len() != before.len() || keys.len() != after.len() {
        return Err("balances".to_owned());
    }
    let native = keys.iter().zip(before.iter().zip(after)).filter_map(|(key, (before, after))| {
        let gained = after.checked_sub(*before).filter(|gained| *gained > 0)?;
        Some(transfer(signature, &key.pubkey, None, u128::from(gained)))
    });
    let tokens = tokens(&wire.meta)?.into_iter().filter_map(|((owner, mint), (before, after))| {
        let gained = after.checked_sub(before).filter(|gained| *gained > 0)?;
        Some(transfer(signature, owner, Some(mint), gained))
    });
    Ok(native.chain(tokens).collect())
}

/// The balances of each owner in each mint before and after, in all accounts of the transaction
/// together.
type Holdings<'a> = BTreeMap<(&'a str, &'a str), (u128, u128)>;

fn tokens<'a>(meta: &'a WireMeta<'_>) -> Result<Holdings<'a>, &'static str> {
    let mut holdings = Holdings::new();
    let mut add = |balances: &'a Option<Vec<WireTokenBalance<'_>>>, is_after: bool| {
        for balance in balances.iter().flatten() {
            let owner = balance.owner.as_deref().ok_or("owner")?;
            let units: u64 = balance.ui_token_amount.amount.parse().map_err(|_| "amount")?;
            let (before, after) = holdings.entry((owner, balance.mint.as_ref())).or_default();
            // A transaction has 256 accounts at most, so 64-bit numbers cannot add up beyond 128
            // bits.
            *(if is_after { after } else { before }) += u128::from(units);
        }
        Ok::<(), &'static str>(())
    };
    add(&meta.pre_token_balances, false)?;
    add(&meta.post_token_balances, true)?;
    Ok(holdings)
}

fn transfer(signature: &str, owner: &str, mint: Option<&str>, units: u128) -> Transfer {
    Transfer {
        key: format!("{signature}:{owner}:{}", mint.unwrap_or("SOL")),
        tx_hash: signature.to_owned(),
        to: owner.to_owned(),
        from: None,
        asset: mint.map_or(TransferAsset::Native, |mint| TransferAsset::Contract(mint.to_owned())),
        amount: TransferAmount::Units(BaseUnits::new(units)),
        maturity: 1,
        spends: Arc::default(),
    }
}
