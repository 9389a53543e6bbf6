//! What people ask about one transaction or one token.

use serde::Deserialize;
use serde_json::json;

use super::source::FINALIZED;
use crate::chain::{ChainError, Located, TokenFacts, rpc::Rpc};

const GET_STATUSES: &str = "getSignatureStatuses";
const GET_SUPPLY: &str = "getTokenSupply";
/// What a node says of an account that is not there, or is no mint.
const INVALID_PARAMS: i64 = -32602;

#[derive(Deserialize)]
struct WireStatuses<'a> {
    #[serde(borrow)]
    value: Vec<Option<WireStatus<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireStatus<'a> {
    slot: u64,
    #[serde(default)]
    err: Option<serde_json::Value>,
    #[serde(default)]
    confirmation_status: Option<&'a str>,
}

#[derive(Deserialize)]
struct WireSupply {
    value: WireAmount,
}

#[derive(Deserialize)]
struct WireAmount {
    decimals: u32,
}

pub(super) async fn locate(rpc: &Rpc, signature: &str) -> Result<Located, ChainError> {
    let everything = json!({ "searchTransactionHistory": true });
    let result = rpc.call(GET_STATUSES, json!([[signature], everything])).await?;
    let statuses: WireStatuses = rpc.read(GET_STATUSES, &result)?;
    Ok(match statuses.value.into_iter().next().flatten() {
        Some(status) if status.confirmation_status == Some(FINALIZED) => {
            Located::Mined { height: status.slot, failed: status.err.is_some() }
        }
        Some(_) => Located::Waiting,
        None => Located::Unknown,
    })
}

pub(super) async fn token(rpc: &Rpc, mint: &str) -> Result<TokenFacts, ChainError> {
    match rpc.call(GET_SUPPLY, json!([mint, { "commitment": FINALIZED }])).await {
        Ok(result) => {
            let supply: WireSupply = rpc.read(GET_SUPPLY, &result)?;
            Ok(TokenFacts { has_code: true, decimals: Some(supply.value.decimals) })
        }
        Err(ChainError::Refused { code: INVALID_PARAMS, .. }) => {
            Ok(TokenFacts { has_code: false, decimals: None })
        }
        Err(error) => Err(error),
    }
}
