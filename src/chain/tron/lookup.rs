//! What people ask about one transaction or one token.

use serde::Deserialize;
use serde_json::json;

use crate::chain::{ChainError, Located, TokenFacts, http::Http};

const INFO: &str = "walletsolidity/gettransactioninfobyid";
const CALL: &str = "walletsolidity/triggerconstantcontract";
/// Whoever asks; a constant call spends nothing.
const NOBODY: &str = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb";
const WORD_DIGITS: usize = 64;

#[derive(Deserialize)]
struct WireInfo<'a> {
    #[serde(default, rename = "blockNumber")]
    block_number: Option<u64>,
    #[serde(default, borrow)]
    result: Option<&'a str>,
    #[serde(default, borrow, rename = "Error")]
    error: Option<&'a str>,
}

#[derive(Deserialize)]
struct WireCall {
    #[serde(default)]
    constant_result: Vec<String>,
    #[serde(default, rename = "Error")]
    error: Option<String>,
}

pub(super) async fn locate(http: &Http, txid: &str) -> Result<Located, ChainError> {
    let answer = http.post(INFO, INFO, &json!({ "value": txid })).await?;
    let info: WireInfo = http.read(INFO, &answer)?;
    if let Some(error) = info.error {
        return Err(http.refused(INFO, 0, error));
    }
    // An empty object is a transaction that no solidified block holds.
    Ok(match info.block_number {
        Some(height) => Located::Mined { height, failed: info.result == Some("FAILED") },
        None => Located::Unknown,
    })
}

pub(super) async fn token(http: &Http, contract: &str) -> Result<TokenFacts, ChainError> {
    let question = json!({
        "owner_address": NOBODY, "contract_address": contract, "function_selector": "decimals()", "visible": true,
    });
    let answer = http.post(CALL, CALL, &question).await?;
    let call: WireCall = http.read(CALL, &answer)?;
    if let Some(error) = call.error {
        return Err(http.refused(CALL, 0, &error));
    }
    let word = call.constant_result.first().filter(|word| word.len() == WORD_DIGITS);
    let decimals = word.and_then(|word| u32::from_str_radix(word.trim_start_matches('0'), 16).ok());
    // What is no contract gives no result at all.
    Ok(TokenFacts { has_code: word.is_some(), decimals })
}
