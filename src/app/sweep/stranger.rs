//! Authorizations that somebody else carried out (EIP-3009). Their signature is public once our
//! transaction waits, or once a signed file was seen; whoever has it may send it, and pays the gas.
//! The tokens go to the treasury all the same.

use super::{SweepError, send::wanted};
use crate::{
    app::payout::payers::Payers,
    chain::pay::{Mined, Wanted},
    payout::{batch::Seen, eip1559},
    storage::{StorageError, sweeps::TransactionRow},
    x402::call,
};

/// A block that a reorg replaces may have had the stranger's transaction before ours was planned.
const BLOCKS_BEFORE: u64 = 100;

/// State of an authorization whose own transaction moved nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CarriedOut {
    /// The token has not taken it.
    Not,
    /// This transaction moved exactly what was authorized, and is final.
    By(Mined),
    /// A transaction used it that is not final yet.
    NotFinal,
    /// This one used its nonce, and moved something else.
    Otherwise(String),
    /// The token says that it was used, and the node knows no transaction that did.
    Unknown,
}

pub(super) async fn carried_out(
    transaction: &TransactionRow,
    (payers, required): (&Payers, u64),
) -> Result<CarriedOut, SweepError> {
    let raw = transaction.raw.as_deref().unwrap_or_default();
    let signed = eip1559::read_own(raw).ok().and_then(|signed| call::read(&signed));
    let unreadable = || StorageError::damaged("sweep_transaction", "it calls for no authorization");
    let (token, authorization) = signed.ok_or_else(unreadable)?;
    let node = payers.payer.evm().ok_or(SweepError::NoNode(transaction.network))?;
    if !node.is_used(&token, &authorization.from, &authorization.nonce).await? {
        return Ok(CarriedOut::Not);
    }
    let head = payers.payer.head().await?.unwrap_or_default();
    let planned = u64::try_from(transaction.search_height).unwrap_or_default();
    let first = planned.saturating_sub(BLOCKS_BEFORE);
    let place = (&token, &authorization.from);
    let Some(hash) = node.used_by(place, &authorization.nonce, (first, head)).await? else {
        return Ok(CarriedOut::Unknown);
    };
    // Mined since it was looked for: the next look finds it.
    if transaction.tx_hash.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(&hash)) {
        return Ok(CarriedOut::NotFinal);
    }
    // As a version of ours: the logs must show the same movement, whole blocks and witnesses too.
    let version = Wanted { hashes: vec![hash.clone()], ..wanted(transaction) };
    let standing = payers.standings(&[version], required).await?.into_iter().next();
    let is_final = standing.as_ref().is_some_and(|standing| standing.seen.is_final(required));
    let Some(standing) = standing.filter(|_| is_final) else { return Ok(CarriedOut::NotFinal) };
    Ok(match (standing.seen, standing.mined) {
        (Seen::Mined { succeeded: true, .. }, Some(mined)) => CarriedOut::By(mined),
        (Seen::Unexplained { moved: true, .. }, _) => CarriedOut::Otherwise(hash),
        (Seen::Unexplained { moved: false, .. }, _) => CarriedOut::Unknown,
        _ => CarriedOut::NotFinal,
    })
}
