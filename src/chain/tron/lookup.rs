//! Operators' lookups of one transaction, one address or one token.

use serde::Deserialize;
use serde_json::json;

use crate::{
    asset::address,
    chain::{
        ChainError, Holdings, Located, TokenFacts, TransferAmount, TransferAsset, evm::quantity,
        http::Http,
    },
    money::BaseUnits,
};

const INFO: &str = "walletsolidity/gettransactioninfobyid";
const CALL: &str = "walletsolidity/triggerconstantcontract";
const ACCOUNT: &str = "walletsolidity/getaccount";
/// Caller of constant calls, which spend nothing, so any address will do.
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
    // An empty object stands for a transaction that is in no solidified block.
    Ok(match info.block_number {
        Some(height) => Located::Mined { height, failed: info.result == Some("FAILED") },
        None => Located::Unknown,
    })
}

/// The word that a contract's function returns; `None` if there is no contract, or it has no such
/// function.
async fn call(
    http: &Http,
    contract: &str,
    function: &str,
    parameter: &str,
) -> Result<Option<String>, ChainError> {
    let question = json!({
        "owner_address": NOBODY, "contract_address": contract, "function_selector": function, "parameter": parameter,
        "visible": true,
    });
    let answer = http.post(CALL, CALL, &question).await?;
    let call: WireCall = http.read(CALL, &answer)?;
    if let Some(error) = call.error {
        return Err(http.refused(CALL, 0, &error));
    }
    Ok(call.constant_result.into_iter().next().filter(|word| word.len() == WORD_DIGITS))
}

pub(super) async fn token(http: &Http, contract: &str) -> Result<TokenFacts, ChainError> {
    let word = call(http, contract, "decimals()", "").await?;
    let decimals = word.as_ref().and_then(|word| quantity::number(&format!("0x{word}")));
    let decimals = decimals.and_then(|decimals| u32::try_from(decimals).ok());
    Ok(TokenFacts { has_code: word.is_some(), decimals })
}

#[derive(Deserialize)]
struct WireAccount {
    /// Omitted if it is zero; all fields are omitted if there is no account.
    #[serde(default)]
    balance: u64,
    #[serde(default, rename = "Error")]
    error: Option<String>,
}

/// Holdings at the newest solidified block, which the responses do not name.
pub(super) async fn holdings(
    http: &Http,
    address: &str,
    assets: &[TransferAsset],
) -> Result<Holdings, ChainError> {
    let mut held = Vec::with_capacity(assets.len());
    for asset in assets {
        held.push(match asset {
            TransferAsset::Native => Some(coins(http, address).await?),
            TransferAsset::Contract(contract) => {
                let owner = address::tron::hash(address);
                let owner = owner
                    .ok_or_else(|| http.inconsistent(format!("{address} is not an address")))?;
                let owner = format!("{:0>WORD_DIGITS$}", hex::encode(owner));
                let word = call(http, contract, "balanceOf(address)", &owner).await?;
                let amount = word.and_then(|word| quantity::amount_in_word(&format!("0x{word}")));
                amount.and_then(TransferAmount::units)
            }
        });
    }
    Ok(held)
}

async fn coins(http: &Http, address: &str) -> Result<BaseUnits, ChainError> {
    let question = json!({ "address": address, "visible": true });
    let answer = http.post(ACCOUNT, ACCOUNT, &question).await?;
    let account: WireAccount = http.read(ACCOUNT, &answer)?;
    match account.error {
        Some(error) => Err(http.refused(ACCOUNT, 0, &error)),
        None => Ok(BaseUnits::new(u128::from(account.balance))),
    }
}
