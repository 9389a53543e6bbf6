//! From a node's answer to transfers, without io.
//!
//! An entry that cannot be read is put aside with a warning and counted; it never stops its block.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use chrono::DateTime;
use serde_json::value::RawValue;
use tracing::warn;

use super::{
    cell,
    wire::{WireBlock, WireHolder, WireMessage, WireTransaction},
};
use crate::{
    asset::{Network, address::ton::TonAddress},
    chain::{
        BlockRef, Transfer, TransferAmount, TransferAsset, coin_slack, entries::count_unreadable,
    },
    money::BaseUnits,
};

/// One transaction of a masterchain block or of a shard block under it.
#[derive(Debug)]
pub(super) struct Transaction {
    hash: String,
    account: TonAddress,
    /// The account that sent the value.
    sender: Option<TonAddress>,
    /// The value that was sent to its account and kept there.
    value: Option<TransferAmount>,
    /// The amount that a holder's contract was instructed to add. Its owner and its token are still
    /// to be asked for.
    tokens: Option<u128>,
}

/// A contract that holds one account's tokens, confirmed by the token's master contract.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    pub owner: TonAddress,
    pub token: TonAddress,
}

impl Transaction {
    pub(super) fn hash(&self) -> &str {
        &self.hash
    }

    /// The contract that was notified of tokens.
    pub(super) fn token_holder(&self) -> Option<TonAddress> {
        self.tokens.map(|_| self.account)
    }
}

/// The header of a masterchain block; the error is the name of the field that cannot be read.
pub(super) fn header(block: &WireBlock, parent_hash: String) -> Result<BlockRef, &'static str> {
    let seconds = block.gen_utime.and_then(|seconds| i64::try_from(seconds).ok());
    Ok(BlockRef {
        height: block.seqno,
        hash: hash(&block.root_hash).ok_or("root_hash")?,
        parent_hash,
        mined_at: seconds
            .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
            .ok_or("gen_utime")?,
    })
}

/// A hash as explorers show it. The node writes it in base64.
pub(super) fn hash(text: &str) -> Option<String> {
    let bytes: [u8; 32] = BASE64_STANDARD.decode(text).ok()?.try_into().ok()?;
    Some(hex::encode(bytes))
}

/// Those of `raw` that can be read, and how many cannot.
pub(super) fn transactions(height: u64, raw: &[&RawValue]) -> (Vec<Transaction>, usize) {
    let mut readable = Vec::with_capacity(raw.len());
    for (position, entry) in raw.iter().enumerate() {
        match transaction(height, entry) {
            Ok(transaction) => readable.push(transaction),
            Err(reason) => {
                let network = Network::Ton;
                count_unreadable(network);
                warn!(
                    %network, height, position, reason,
                    "transaction {position} of a page of block {height} of {network} cannot be read and is left out: {reason}"
                );
            }
        }
    }
    let unreadable = raw.len() - readable.len();
    (readable, unreadable)
}

fn transaction(height: u64, raw: &RawValue) -> Result<Transaction, String> {
    let wire: WireTransaction = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    if wire.mc_block_seqno.is_some_and(|seqno| seqno != height) {
        return Err("it belongs to another block".to_owned());
    }
    let kept = match &wire.in_msg {
        Some(message) if is_kept(&wire, message)? => Some(message),
        _ => None,
    };
    let value = match kept {
        Some(message) => value(message)?.filter(|value| !is_postage(message, value)),
        None => None,
    };
    // A holder's contract that refused its instruction has failed, and then nothing was added.
    let was_done = wire.description.aborted == Some(false);
    Ok(Transaction {
        hash: hash(&wire.hash).ok_or("hash")?,
        account: TonAddress::parse(&wire.account).map_err(|_| "account")?,
        sender: kept.and_then(|message| TonAddress::parse(message.source.as_deref()?).ok()),
        value,
        tokens: kept.filter(|_| was_done).and_then(tokens),
    })
}

/// Returns whether the account kept the value of the message: it came from another account, was not
/// sent back to us by one that refused it, and was not sent back by us. `aborted` is no sign of it.
fn is_kept(tx: &WireTransaction, message: &WireMessage) -> Result<bool, &'static str> {
    if message.source.as_deref().is_none_or(str::is_empty) {
        return Ok(false);
    }
    let has_come_back = message.bounced.ok_or("in_msg.bounced")?;
    let goes_back = tx.out_msgs.iter().any(|out| out.bounced == Some(true));
    Ok(!has_come_back && !goes_back && tx.description.bounce.is_none())
}

/// Returns whether this is the coin that carries the notice of received tokens: wallets send a
/// billionth by custom, and no buyer pays with it. Reported as a payment it would be one in the
/// wrong currency.
fn is_postage(message: &WireMessage, value: &TransferAmount) -> bool {
    matches!(value, TransferAmount::Units(units) if *units <= coin_slack(Network::Ton))
        && body(message).is_some_and(|body| cell::is_transfer_notification(&body))
}

fn value(message: &WireMessage) -> Result<Option<TransferAmount>, &'static str> {
    let Some(digits) = message.value.as_deref() else { return Ok(None) };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("in_msg.value");
    }
    let digits = digits.trim_start_matches('0');
    Ok(match digits.parse() {
        Ok(units) => Some(TransferAmount::Units(BaseUnits::new(units))),
        Err(_) if digits.is_empty() => None,
        Err(_) => Some(TransferAmount::Beyond128Bits(digits.to_owned())),
    })
}

fn tokens(message: &WireMessage) -> Option<u128> {
    cell::internal_transfer(&body(message)?).filter(|units| *units > 0)
}

fn body(message: &WireMessage) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(message.message_content.as_ref()?.body.as_deref()?).ok()
}

/// The holders that the node confirms, by their address.
pub(super) fn holders(wire: Vec<WireHolder>) -> impl Iterator<Item = (TonAddress, Holder)> {
    wire.into_iter().filter_map(|holder| {
        let address = TonAddress::parse(&holder.address).ok()?;
        let owner = TonAddress::parse(&holder.owner).ok()?;
        let token = TonAddress::parse(&holder.jetton).ok()?;
        Some((address, Holder { owner, token }))
    })
}

/// The contracts that took tokens and are not among `holders`, each once.
pub(super) fn unlisted(
    transactions: &[Transaction],
    holders: &HashMap<TonAddress, Holder>,
) -> Vec<TonAddress> {
    let told = transactions.iter().filter_map(Transaction::token_holder);
    let unlisted: HashSet<_> = told.filter(|address| !holders.contains_key(address)).collect();
    unlisted.into_iter().collect()
}

/// Everything that moved: native value first, then tokens, each in the order of the block.
pub(super) fn transfers(
    transactions: &[Transaction],
    holders: &HashMap<TonAddress, Holder>,
) -> Vec<Transfer> {
    let native = transactions.iter().filter_map(|tx| {
        Some(Transfer {
            key: format!("{}:native", tx.hash),
            tx_hash: tx.hash.clone(),
            to: tx.account.raw(),
            from: tx.sender.as_ref().map(TonAddress::raw),
            asset: TransferAsset::Native,
            amount: tx.value.clone()?,
            maturity: 1,
            spends: Arc::default(),
        })
    });
    let tokens = transactions.iter().filter_map(|tx| {
        let holder = holders.get(&tx.account)?;
        Some(Transfer {
            key: format!("{}:jetton", tx.hash),
            tx_hash: tx.hash.clone(),
            to: holder.owner.raw(),
            // The message came from the sender's own holder contract, not from his account.
            from: None,
            asset: TransferAsset::Contract(holder.token.raw()),
            amount: TransferAmount::Units(BaseUnits::new(tx.tokens?)),
            maturity: 1,
            spends: Arc::default(),
        })
    });
    native.chain(tokens).collect()
}
