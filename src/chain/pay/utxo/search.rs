//! Finds a payment by reading blocks.
//!
//! A node without a transaction index cannot look up a mined transaction by its hash. So every
//! block since the signature is read once, with only its transaction hashes, and the position is
//! stored in a row.

use bitcoin::{Transaction, consensus::encode};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{HASH, UtxoPayer};
use crate::{
    chain::{
        ChainError,
        pay::{Mined, Standing, Wanted},
        utxo::{hash_of, is_merkle_root},
    },
    payout::{batch::Seen, coins::Place},
    storage::{
        StorageError, nc_payouts,
        payouts::coins::{self, Search},
        sweeps,
    },
};

/// Kind of the followed transactions, which determines the table with the search position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Book {
    /// Payments of orders, which the gateway signs.
    Orders,
    /// Payouts that merchants sign.
    Merchants,
    /// Collected deposits, which the cold seed signs.
    Sweeps,
}

const TIP: &str = "getblockcount";
pub(super) const BLOCK: &str = "getblock";
pub(super) const UNSPENT: &str = "gettxout";
const INVALID_PARAMETER: i64 = -8;
/// No reorg is deeper: a coinbase could be spent by then.
const BLOCKS_REPLACED_MAX: u64 = 100;
/// Number of blocks after which the search position is stored.
const BLOCKS_PER_NOTE: u64 = 20;

#[derive(Deserialize)]
struct WireBlock {
    hash: String,
    #[serde(default, rename = "previousblockhash")]
    parent: Option<String>,
    #[serde(rename = "merkleroot")]
    merkle_root: String,
    #[serde(rename = "tx")]
    hashes: Vec<String>,
}

pub(super) async fn standing(
    payer: &UtxoPayer,
    payment: &Wanted,
    required: u64,
) -> Result<Standing, ChainError> {
    let nowhere = Standing { seen: Seen::Nowhere, mined: None };
    let Some(mut search) = load(payer, payment).await? else { return Ok(nowhere) };
    let tip = read::<u64>(payer, TIP, json!([])).await?;
    look(payer, &mut search, &payment.hashes, tip).await?;
    let place = &search.place;
    if let Some(hash) = &place.found {
        let depth = (tip + 1).saturating_sub(place.height);
        let fee = search.fees.get(hash).copied().unwrap_or_default();
        let mined = Mined { hash: hash.clone(), height: place.height, fee, gas: None };
        let seen = Seen::Mined { depth, succeeded: true };
        return Ok(Standing { seen, mined: Some(mined) });
    }
    for hash in &payment.hashes {
        if payer.waits(hash).await? {
            return Ok(Standing { seen: Seen::Waiting, mined: None });
        }
    }
    if displaced(payer, &mut search, tip, required).await? {
        return Ok(Standing { seen: Seen::Displaced, mined: None });
    }
    Ok(nowhere)
}

/// True if the node has that transaction in that block, `required` deep.
pub(super) async fn holds(
    payer: &UtxoPayer,
    mined: &Mined,
    required: u64,
) -> Result<bool, ChainError> {
    let tip = read::<u64>(payer, TIP, json!([])).await?;
    if (tip + 1).saturating_sub(mined.height) < required {
        return Ok(false);
    }
    Ok(block(payer, mined.height).await?.hashes.contains(&mined.hash))
}

/// True if the chain has spent an input of the payment and has none of its outputs: another
/// transaction made a double-spend.
///
/// The search position belongs to the node that pays, so a witness decides by its unspent outputs
/// alone. A payment whose outputs have all been spent looks the same; but then the node that pays
/// would have found it.
pub(super) async fn misses_inputs(payer: &UtxoPayer, payment: &Wanted) -> Result<bool, ChainError> {
    let Ok(ours) = encode::deserialize::<Transaction>(&payment.raw) else { return Ok(false) };
    for hash in &payment.hashes {
        for n in 0..ours.output.len() {
            if is_unspent(payer, hash, n).await? {
                return Ok(false);
            }
        }
    }
    for input in &ours.input {
        let (hash, n) = (input.previous_output.txid.to_string(), input.previous_output.vout);
        if !is_unspent(payer, &hash, n).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if an output is in the chain and unspent by any block.
async fn is_unspent(
    payer: &UtxoPayer,
    hash: &str,
    n: impl serde::Serialize,
) -> Result<bool, ChainError> {
    let result = payer.rpc.call(UNSPENT, json!([hash, n, false])).await?;
    Ok(payer.rpc.read::<Option<serde::de::IgnoredAny>>(UNSPENT, &result)?.is_some())
}

/// Reads the blocks up to `tip` that were not read yet, and stops at one that contains the payment.
async fn look(
    payer: &UtxoPayer,
    search: &mut Search,
    wanted: &[String],
    tip: u64,
) -> Result<(), ChainError> {
    let before = search.place.clone();
    let outcome = read_on(payer, search, wanted, tip).await;
    // The position is kept even if the node failed at the next block: otherwise a node with
    // occasional failures would never let a long search finish.
    if search.place != before {
        save(payer, search).await?;
    }
    outcome
}

async fn read_on(
    payer: &UtxoPayer,
    search: &mut Search,
    wanted: &[String],
    tip: u64,
) -> Result<(), ChainError> {
    while let Some(hash) = &search.place.hash
        && hash_at(payer, search.place.height).await?.as_ref() != Some(hash)
    {
        let height = search.place.height.saturating_sub(BLOCKS_REPLACED_MAX);
        search.place = Place { height, ..Place::default() };
    }
    // In a reorg the chain can be shorter for a moment, on the way to a longer branch.
    search.place.height = search.place.height.min(tip);
    while search.place.found.is_none() && search.place.height < tip {
        let height = search.place.height + 1;
        let block = block(payer, height).await?;
        if search.place.hash.is_some() && block.parent != search.place.hash {
            return Err(payer.rpc.inconsistent(format!("block {height} was replaced meanwhile")));
        }
        let found = wanted.iter().find(|hash| block.hashes.contains(hash)).cloned();
        let missing_since = search.place.missing_since.filter(|_| found.is_none());
        search.place = Place { height, hash: Some(block.hash), found, missing_since };
        if height.is_multiple_of(BLOCKS_PER_NOTE) {
            save(payer, search).await?;
        }
    }
    Ok(())
}

/// True if another transaction spent an input of the payment, `required` blocks ago.
///
/// The payment may have been mined since the tip was read, so a missing input is at first only
/// recorded, and the payment is looked for in the following blocks.
async fn displaced(
    payer: &UtxoPayer,
    search: &mut Search,
    tip: u64,
    required: u64,
) -> Result<bool, ChainError> {
    let mut missing = false;
    for outpoint in &search.inputs {
        let Some((hash, n)) = outpoint.split_once(':') else { continue };
        let Ok(n) = n.parse::<u32>() else { continue };
        missing |= !is_unspent(payer, hash, n).await?;
    }
    let since = search.place.missing_since.filter(|_| missing);
    let since = since.or_else(|| missing.then_some(tip + 1));
    if since != search.place.missing_since {
        search.place.missing_since = since;
        save(payer, search).await?;
    }
    Ok(since.is_some_and(|since| tip + 1 >= since + required.max(1)))
}

async fn block(payer: &UtxoPayer, height: u64) -> Result<WireBlock, ChainError> {
    let gone = || payer.rpc.inconsistent(format!("has no block {height} any more"));
    let hash = hash_at(payer, height).await?.ok_or_else(gone)?;
    let block: WireBlock = read(payer, BLOCK, json!([hash, 1])).await?;
    if block.hash != hash || !is_merkle_root(&block.hashes, &block.merkle_root) {
        let reason = format!("block {height} is not the one its header commits to");
        return Err(payer.rpc.inconsistent(reason));
    }
    Ok(block)
}

/// The newest block, from which the search for a transaction that is not signed yet starts.
pub(super) async fn tip(payer: &UtxoPayer) -> Result<Place, ChainError> {
    let height = read::<u64>(payer, TIP, json!([])).await?;
    let hash = hash_at(payer, height).await?;
    Ok(Place { height, hash, ..Place::default() })
}

/// The hash of the canonical block at `height`; `None` above the tip.
pub(super) async fn hash_at(payer: &UtxoPayer, height: u64) -> Result<Option<String>, ChainError> {
    match read::<String>(payer, HASH, json!([height])).await {
        Ok(text) => {
            let hash = hash_of(&text).ok_or_else(|| payer.rpc.malformed(HASH, "no hash"))?;
            Ok(Some(hash))
        }
        Err(ChainError::Refused { code: INVALID_PARAMETER, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn read<T: serde::de::DeserializeOwned>(
    payer: &UtxoPayer,
    method: &'static str,
    params: serde_json::Value,
) -> Result<T, ChainError> {
    let result: Box<RawValue> = payer.rpc.call(method, params).await?;
    payer.rpc.read(method, &result)
}

async fn load(payer: &UtxoPayer, payment: &Wanted) -> Result<Option<Search>, ChainError> {
    let loading = async {
        let mut connection = payer.db.connection().await?;
        let (network, sender) = (payer.network, &payment.sender);
        match (payer.book, payment.hashes.first()) {
            (Book::Orders, _) => {
                coins::search(&mut connection, network, sender, payment.nonce).await
            }
            (Book::Merchants, Some(hash)) => {
                nc_payouts::coins::search(&mut connection, network, sender, hash).await
            }
            (Book::Sweeps, Some(hash)) => {
                sweeps::following::search(&mut connection, network, hash).await
            }
            (Book::Merchants | Book::Sweeps, None) => Ok(None),
        }
    };
    loading.await.map_err(|error| unreachable(payer, &error))
}

async fn save(payer: &UtxoPayer, search: &Search) -> Result<(), ChainError> {
    let saving = async {
        let mut connection = payer.db.connection().await?;
        let (id, place) = (search.id, &search.place);
        match payer.book {
            Book::Orders => coins::save_place(&mut connection, id, place).await,
            Book::Merchants => nc_payouts::coins::save_place(&mut connection, id, place).await,
            Book::Sweeps => sweeps::following::save_place(&mut connection, id, place).await,
        }
    };
    saving.await.map_err(|error| unreachable(payer, &error))
}

fn unreachable(payer: &UtxoPayer, error: &StorageError) -> ChainError {
    ChainError::Unreachable { network: payer.network, reason: error.to_string() }
}
