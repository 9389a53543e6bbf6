//! Looks up one transaction, on nodes with and without a transaction index.

use serde::Deserialize;
use serde_json::json;

use super::wire::{GET_HEADER, GET_WAITING, NOT_FOUND};
use crate::chain::{ChainError, Located, rpc::Rpc};

const GET_OUTPUT: &str = "gettxout";
/// Number of outputs that are tried one by one on a node without an index.
const OUTPUTS: u32 = 100;

#[derive(Deserialize)]
struct WireTransaction<'a> {
    #[serde(default, borrow)]
    blockhash: Option<&'a str>,
}

#[derive(Deserialize)]
struct WireHeader {
    height: u64,
    confirmations: i64,
}

#[derive(Deserialize)]
struct WireOutput<'a> {
    bestblock: &'a str,
    confirmations: u64,
}

pub(in crate::chain) async fn locate(rpc: &Rpc, txid: &str) -> Result<Located, ChainError> {
    match rpc.call(GET_WAITING, json!([txid, 1])).await {
        Ok(result) => {
            let found: WireTransaction = rpc.read(GET_WAITING, &result)?;
            let Some(hash) = found.blockhash else { return Ok(Located::Waiting) };
            let header = header(rpc, hash).await?;
            let mined = Located::Mined { height: header.height, failed: false };
            // A node remembers orphaned blocks and their transactions.
            return Ok(if header.confirmations < 1 { Located::Unknown } else { mined });
        }
        Err(ChainError::Refused { code: NOT_FOUND, .. }) => {}
        Err(error) => return Err(error),
    }
    // Without an index a mined transaction is found as long as one of its outputs is unspent, and
    // ours are.
    let places: Vec<_> = (0..OUTPUTS).map(|n| json!([txid, n, false])).collect();
    for result in rpc.batch(GET_OUTPUT, &places).await? {
        if let Some(output) = rpc.read::<Option<WireOutput>>(GET_OUTPUT, &result)? {
            let best = header(rpc, output.bestblock).await?;
            let height = (best.height + 1).saturating_sub(output.confirmations);
            return Ok(Located::Mined { height, failed: false });
        }
    }
    Ok(Located::CannotTell)
}

async fn header(rpc: &Rpc, hash: &str) -> Result<WireHeader, ChainError> {
    let result = rpc.call(GET_HEADER, json!([hash])).await?;
    rpc.read(GET_HEADER, &result)
}
