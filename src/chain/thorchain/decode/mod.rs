//! From a block and its results to transfers, without io.

use std::{borrow::Cow, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chrono::DateTime;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{
    evidence,
    wire::{WireAttribute, WireBlock, WireEvent, WireResults, WireTxResult},
};
use crate::{
    asset::{Network, address},
    chain::{
        BlockRef, Transfer, TransferAmount, TransferAsset,
        amount::{decimal, moves},
        entries::Place,
    },
};

const NETWORK: Network = Network::Thorchain;
/// RUNE, in units of 1e-8.
const NATIVE_DENOM: &str = "rune";

/// A block without its results.
pub(super) struct Body {
    pub header: BlockRef,
    pub chain_id: String,
    /// Upper case, as explorers write them.
    pub tx_hashes: Vec<String>,
    /// Whether they are the ones that the header commits to.
    pub is_complete: bool,
}

/// The movement of one `transfer` event, before it has a name.
struct Movement {
    from: Option<String>,
    to: String,
    denom: String,
    amount: TransferAmount,
    /// The place of its receiver among those of the event.
    place: usize,
}

/// The error is the name of the field that cannot be read.
pub(super) fn body(wire: &WireBlock<'_>) -> Result<Body, &'static str> {
    let header = &wire.block.header;
    let mut tx_hashes = Vec::new();
    for tx in wire.block.data.txs.iter().flatten() {
        let bytes = BASE64_STANDARD.decode(tx).map_err(|_| "txs")?;
        tx_hashes.push(Sha256::digest(bytes).into());
    }
    let data_hash = hex::encode_upper(evidence::data_hash(&tx_hashes));
    let mined_at = DateTime::parse_from_rfc3339(header.time).map_err(|_| "time")?.to_utc();
    let parent = header.last_block_id.hash;
    Ok(Body {
        header: BlockRef {
            height: header.height.parse().map_err(|_| "height")?,
            hash: hash(wire.block_id.hash).ok_or("block_id.hash")?,
            // A chain's first block has none.
            parent_hash: if parent.is_empty() {
                String::new()
            } else {
                hash(parent).ok_or("last_block_id")?
            },
            mined_at,
        },
        chain_id: header.chain_id.to_owned(),
        is_complete: header.data_hash.eq_ignore_ascii_case(&data_hash),
        tx_hashes: tx_hashes.iter().map(hex::encode_upper).collect(),
    })
}

fn hash(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_uppercase())
}

/// Returns whether a block did anything by itself. THORChain's pays rewards in its end, whatever
/// else happens.
pub(super) fn has_own_events(results: &WireResults<'_>) -> bool {
    own_events(results).next().is_some()
}

/// In the order of execution, which is also the order in which newer versions list them together.
fn own_events<'a>(results: &WireResults<'a>) -> impl Iterator<Item = &'a RawValue> {
    let lists =
        [&results.begin_block_events, &results.end_block_events, &results.finalize_block_events];
    lists.into_iter().flatten().flatten().copied()
}

/// All transfers of a block: those of its transactions, then those of the block itself. The error
/// says how the results contradict the block.
pub(super) fn transfers(body: &Body, results: &WireResults<'_>) -> Result<Vec<Transfer>, String> {
    let empty = Vec::new();
    let outcomes = results.txs_results.as_ref().unwrap_or(&empty);
    if outcomes.len() != body.tx_hashes.len() {
        let (txs, outcomes) = (body.tx_hashes.len(), outcomes.len());
        return Err(format!("{txs} transactions have {outcomes} results"));
    }
    let block_hash = body.header.hash.as_str();
    let height = body.header.height;
    let mut transfers = Vec::new();
    let results_place = Place { network: NETWORK, height, block_hash, kind: "result" };
    for (position, (raw, tx_hash)) in outcomes.iter().zip(&body.tx_hashes).enumerate() {
        let read = || serde_json::from_str::<WireTxResult>(raw.get()).map_err(|e| e.to_string());
        let Some(outcome) = results_place.one(position, read) else { continue };
        if outcome.code != 0 {
            continue;
        }
        let events = outcome.events.unwrap_or_default();
        let gas_used = outcome.gas_used.as_deref().unwrap_or("0");
        // The SDK writes an event for every message it executes. A transaction that the proposer
        // put there itself uses no gas.
        if events.is_empty() && gas_used != "0" {
            return Err(format!("transaction {tx_hash} succeeded without any event"));
        }
        add(&mut transfers, &body.header, tx_hash, tx_hash, &events);
    }
    let of_block: Vec<&RawValue> = own_events(results).collect();
    // No transaction moved it, so the block stands in for one.
    add(&mut transfers, &body.header, &height.to_string(), block_hash, &of_block);
    Ok(transfers)
}

/// Adds the movements of `events`. Each movement is named by `owner`, the place of its event, its
/// place in there, and its denomination.
fn add(
    transfers: &mut Vec<Transfer>,
    at: &BlockRef,
    owner: &str,
    tx_hash: &str,
    events: &[&RawValue],
) {
    let (height, block_hash) = (at.height, at.hash.as_str());
    let place = Place { network: NETWORK, height, block_hash, kind: "event" };
    for (position, raw) in events.iter().enumerate() {
        let movements = place.one(position, || movements(raw)).unwrap_or_default();
        transfers.extend(movements.into_iter().map(|movement| {
            let Movement { from, to, denom, amount, place } = movement;
            Transfer {
                key: format!("{owner}:{position}.{place}:{denom}"),
                tx_hash: tx_hash.to_owned(),
                to,
                from,
                asset: if denom == NATIVE_DENOM {
                    TransferAsset::Native
                } else {
                    TransferAsset::Contract(denom)
                },
                amount,
                maturity: 1,
                spends: Arc::default(),
            }
        }));
    }
}

/// The movements of one event; none if it is of another kind.
///
/// A `transfer` event has a receiver, a sender and an amount. Older versions put all transfers of a
/// transaction into one event, one triple after the other.
fn movements(raw: &RawValue) -> Result<Vec<Movement>, String> {
    let event: WireEvent = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    if event.kind != "transfer" {
        return Ok(Vec::new());
    }
    let mut movements = Vec::new();
    let (mut receiver, mut coins): (Option<String>, Option<String>) = (None, None);
    let mut place = 0;
    let mut senders = Vec::new();
    for attribute in &event.attributes {
        match named(attribute) {
            Some((Name::Sender, value)) => {
                senders.push(address::match_key(NETWORK.family(), &value));
                continue;
            }
            Some((Name::Recipient, value)) => receiver = Some(value.into_owned()),
            Some((Name::Amount, value)) => coins = Some(value.into_owned()),
            None => continue,
        }
        if receiver.is_some() && coins.is_some() {
            let (to, coins) = (receiver.take().unwrap_or_default(), coins.take());
            let to = address::match_key(NETWORK.family(), &to);
            for (amount, denom) in parse_coins(&coins.unwrap_or_default())? {
                movements.push(Movement { from: None, to: to.clone(), denom, amount, place });
            }
            place += 1;
        }
    }
    // Attributes may be sorted by name, so of several senders none is certainly a movement's own.
    if let [sender] = senders.as_slice() {
        movements.iter_mut().for_each(|movement| movement.from = Some(sender.clone()));
    }
    Ok(movements)
}

enum Name {
    Sender,
    Recipient,
    Amount,
}

/// The attributes that matter. Up to CometBFT 0.34, both key and value are in base64.
fn named<'a>(attribute: &'a WireAttribute<'_>) -> Option<(Name, Cow<'a, str>)> {
    let value = attribute.value.as_deref().unwrap_or_default();
    let (name, is_encoded) = match attribute.key.as_ref() {
        "sender" => (Name::Sender, false),
        "recipient" => (Name::Recipient, false),
        "amount" => (Name::Amount, false),
        "c2VuZGVy" => (Name::Sender, true),
        "cmVjaXBpZW50" => (Name::Recipient, true),
        "YW1vdW50" => (Name::Amount, true),
        _ => return None,
    };
    if !is_encoded {
        return Some((name, Cow::Borrowed(value)));
    }
    let decoded = BASE64_STANDARD.decode(value).ok().and_then(|text| String::from_utf8(text).ok());
    // Kept as unreadable, so that the triple it belongs to is not paired with the next one.
    Some((name, Cow::Owned(decoded.unwrap_or_else(|| "?".to_owned()))))
}

/// Coins as the SDK writes them: `100rune` or `5btc/btc,100rune`, or nothing. Zero moves nothing
/// and is left out.
fn parse_coins(text: &str) -> Result<Vec<(TransferAmount, String)>, String> {
    let mut coins = Vec::new();
    for coin in text.split(',').filter(|coin| !coin.is_empty()) {
        let digits = coin.len() - coin.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (amount, denom) = coin.split_at(digits);
        let amount = decimal(amount).filter(|_| is_denom(denom));
        let amount = amount.ok_or_else(|| format!("amount {coin}"))?;
        if moves(&amount) {
            coins.push((amount, denom.to_owned()));
        }
    }
    Ok(coins)
}

/// A letter, then letters, digits and the separators of the SDK; THORChain also uses `~` in secured
/// assets.
fn is_denom(text: &str) -> bool {
    text.len() <= 128
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/:._-~".contains(&b))
}

#[cfg(test)]
mod tests;
