//! From a block's outcomes to transfers, without io.

use std::{collections::HashSet, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use chrono::DateTime;
use serde_json::value::RawValue;

use super::wire::{
    WireAction, WireCall, WireChunkHeader, WireDocument, WireEvent, WireExecution, WireHeader,
    WireLoan, WireShard, WireSuccess, WireTokenMovement,
};
use crate::{
    asset::Network,
    chain::{
        BlockRef, Transfer, TransferAsset,
        amount::{decimal, moves},
        entries::Place,
    },
};

const NETWORK: Network = Network::Near;
/// The account that gas is refunded from.
const SYSTEM: &str = "system";
const EVENT_PREFIX: &str = "EVENT_JSON:";
/// The method of NEP-141 that moves tokens and asks the receiver's contract whether it keeps them.
const TRANSFER_CALL: &str = "ft_transfer_call";
/// The root over no outcomes at all.
const NO_ROOT: &str = "11111111111111111111111111111111";
/// 32 bytes in base58.
const HASH_CHARS_MAX: usize = 44;

/// The error is the name of the field that cannot be read.
pub(super) fn header(wire: &WireHeader<'_>) -> Result<BlockRef, &'static str> {
    let nanos = wire.timestamp_nanosec.parse().map_err(|_| "timestamp_nanosec")?;
    Ok(BlockRef {
        height: wire.height,
        hash: hash(wire.hash).ok_or("hash")?,
        parent_hash: hash(wire.prev_hash).ok_or("prev_hash")?,
        mined_at: DateTime::from_timestamp_nanos(nanos),
    })
}

fn hash(text: &str) -> Option<String> {
    let is_base58 = text.bytes().all(|b| b.is_ascii_alphanumeric());
    (!text.is_empty() && text.len() <= HASH_CHARS_MAX && is_base58).then(|| text.to_owned())
}

/// Checks that every chunk that the block says it includes is there, and no other is. The error
/// names the one that is not.
pub(super) fn check_chunks(document: &WireDocument<'_>) -> Result<(), String> {
    let included: HashSet<&str> = included(document).map(|chunk| chunk.chunk_hash).collect();
    let wanted = document.block.header.chunks_included;
    if included.len() < wanted {
        return Err(format!("it includes {wanted} chunks and lists {}", included.len()));
    }
    let chunks = document.shards.iter().filter_map(|shard| shard.chunk.as_ref());
    let served: HashSet<&str> = chunks.map(|chunk| chunk.header.chunk_hash).collect();
    if let Some(lost) = included.difference(&served).next() {
        return Err(format!("chunk {lost} is missing"));
    }
    match served.difference(&included).next() {
        Some(stray) => Err(format!("chunk {stray} is not of this block")),
        None => Ok(()),
    }
}

/// The chunks that were made for this block.
fn included<'d, 'a>(
    document: &'d WireDocument<'a>,
) -> impl Iterator<Item = &'d WireChunkHeader<'a>> {
    let height = document.block.header.height;
    document.block.chunks.iter().filter(move |chunk| chunk.height_included == height)
}

/// The shards that made a chunk for the block and, by its report, executed nothing in it.
pub(super) fn quiet_shards(document: &WireDocument<'_>) -> HashSet<u64> {
    let does_nothing = |shard: &&WireShard<'_>| {
        shard.receipt_execution_outcomes.is_empty()
            && shard.chunk.as_ref().is_some_and(|chunk| chunk.transactions.is_empty())
    };
    let quiet = document.shards.iter().filter(does_nothing);
    quiet.filter_map(|shard| Some(shard.chunk.as_ref()?.header.shard_id)).collect()
}

/// One of the `quiet` shards of the block before that executed something in it, as its chunk in
/// `next` says.
pub(super) fn denying(next: &WireDocument<'_>, before: &str, quiet: &HashSet<u64>) -> Option<u64> {
    if next.block.header.prev_hash != before {
        return None;
    }
    let mut chunks = included(next).filter(|chunk| quiet.contains(&chunk.shard_id));
    let denial = chunks.find(|chunk| !matches!(chunk.outcome_root, "" | NO_ROOT))?;
    Some(denial.shard_id)
}

/// Everything that moved, in the order of the shards.
pub(super) fn transfers(document: &WireDocument<'_>) -> Vec<Transfer> {
    let header = &document.block.header;
    let (height, block_hash) = (header.height, header.hash);
    let place = Place { network: NETWORK, height, block_hash, kind: "outcome" };
    let shards = document.shards.iter();
    shards
        .flat_map(|shard| place.each(&shard.receipt_execution_outcomes, execution))
        .flatten()
        .flatten()
        .collect()
}

/// The transfers of one receipt when it was executed.
fn execution(raw: &RawValue) -> Result<Vec<Transfer>, String> {
    let wire: WireExecution = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let (receipt, outcome) = (&wire.receipt, &wire.execution_outcome);
    if receipt.receipt_id != outcome.id {
        return Err(format!("the outcome of {} stands beside {}", outcome.id, receipt.receipt_id));
    }
    if receipt.predecessor_id == SYSTEM || !is_success(outcome.outcome.status) {
        return Ok(Vec::new());
    }
    let actions = actions(&wire)?;
    let mut transfers = native(&wire, &actions)?;
    let lent = Lent::by(&actions);
    for (place, log) in outcome.outcome.logs.iter().enumerate() {
        // Anyone may log anything: a log that does not read as an event of the standard is none.
        transfers.extend(tokens(&wire, &lent, place, log).unwrap_or_default());
    }
    Ok(transfers)
}

fn is_success(status: &RawValue) -> bool {
    let success = serde_json::from_str::<WireSuccess>(status.get());
    success.is_ok_and(|status| status.value.is_some() || status.receipt_id.is_some())
}

/// The receipt's actions in their order; `None` for one without content, such as `CreateAccount`.
fn actions<'a>(wire: &WireExecution<'a>) -> Result<Vec<Option<WireAction<'a>>>, String> {
    let Some(body) = &wire.receipt.receipt.action else { return Ok(Vec::new()) };
    let read = |raw: &&'a RawValue| {
        if raw.get().starts_with('"') {
            return Ok(None);
        }
        serde_json::from_str(raw.get()).map(Some).map_err(|e| e.to_string())
    };
    body.actions.iter().map(read).collect()
}

fn native(
    wire: &WireExecution<'_>,
    actions: &[Option<WireAction<'_>>],
) -> Result<Vec<Transfer>, String> {
    let receipt = &wire.receipt;
    let mut transfers = Vec::new();
    for (place, action) in actions.iter().enumerate() {
        let Some(transfer) = action.as_ref().and_then(|action| action.transfer.as_ref()) else {
            continue;
        };
        let amount = decimal(transfer.deposit).ok_or("deposit")?;
        if moves(&amount) {
            let key = format!("{}:{place}", receipt.receipt_id);
            let parties = (Some(receipt.predecessor_id), receipt.receiver_id);
            transfers.push(named(wire, key, parties, TransferAsset::Native, amount));
        }
    }
    Ok(transfers)
}

/// The receiver to which a receipt moves tokens that it may take back.
///
/// `ft_transfer_call` logs its movement at once, and some blocks later another receipt takes back
/// the part that the receiver's contract did not keep. Our addresses have no contract, or one that
/// knows nothing of tokens, so all of it goes back.
enum Lent {
    /// To the receivers that the calls name, none without such a call.
    To(HashSet<String>),
    /// There is such a call, and its receiver cannot be read.
    ToAnybody,
}

impl Lent {
    fn by(actions: &[Option<WireAction<'_>>]) -> Self {
        let calls = actions.iter().flatten().filter_map(|action| action.call.as_ref());
        let lending = calls.filter(|call| call.method_name == TRANSFER_CALL);
        lending.map(receiver).collect::<Option<_>>().map_or(Self::ToAnybody, Self::To)
    }

    /// A batch that both pays and lends to one receiver is taken for a loan: its log does not
    /// distinguish the two.
    fn is_to(&self, account: &str) -> bool {
        match self {
            Self::To(receivers) => receivers.contains(account),
            Self::ToAnybody => true,
        }
    }
}

fn receiver(call: &WireCall<'_>) -> Option<String> {
    let args = BASE64_STANDARD.decode(call.args.as_bytes()).ok()?;
    let args: WireLoan = serde_json::from_slice(&args).ok()?;
    Some(args.receiver_id.into_owned())
}

/// The movements that one line of a contract's log announces, without those that may be taken back.
fn tokens(wire: &WireExecution<'_>, lent: &Lent, place: usize, log: &str) -> Option<Vec<Transfer>> {
    let event: WireEvent = serde_json::from_str(log.strip_prefix(EVENT_PREFIX)?.trim()).ok()?;
    if event.standard != "nep141" || !matches!(event.event.as_ref(), "ft_transfer" | "ft_mint") {
        return None;
    }
    let movements: Vec<WireTokenMovement> = serde_json::from_str(event.data?.get()).ok()?;
    let contract = wire.execution_outcome.outcome.executor_id;
    let mut transfers = Vec::new();
    for (position, movement) in movements.iter().enumerate() {
        let to = movement.new_owner_id.or(movement.owner_id)?;
        let amount = decimal(movement.amount)?;
        if moves(&amount) && !lent.is_to(to) {
            let key = format!("{}:log:{place}.{position}", wire.receipt.receipt_id);
            let asset = TransferAsset::Contract(contract.to_owned());
            transfers.push(named(wire, key, (movement.old_owner_id, to), asset, amount));
        }
    }
    Some(transfers)
}

fn named(
    wire: &WireExecution<'_>,
    key: String,
    (from, to): (Option<&str>, &str),
    asset: TransferAsset,
    amount: crate::chain::TransferAmount,
) -> Transfer {
    let tx_hash = wire.tx_hash.unwrap_or(wire.receipt.receipt_id).to_owned();
    let (from, to) = (from.map(str::to_owned), to.to_owned());
    Transfer { key, tx_hash, to, from, asset, amount, maturity: 1, spends: Arc::default() }
}

#[cfg(test)]
mod tests;
