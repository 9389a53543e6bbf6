//! Operators' lookups of one transaction, one address or one token.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::wire::FINALIZED;
use crate::{
    chain::{BlockRef, ChainError, Held, Located, TokenFacts, TransferAsset, amount, rpc::Rpc},
    money::BaseUnits,
};

const GET_STATUSES: &str = "getSignatureStatuses";
const GET_SUPPLY: &str = "getTokenSupply";
const GET_BALANCE: &str = "getBalance";
const GET_TOKENS: &str = "getTokenAccountsByOwner";
/// A node's error for an account that does not exist, or is not a mint.
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

#[derive(Deserialize)]
struct WireContext {
    slot: u64,
}

#[derive(Deserialize)]
struct WireBalance {
    context: WireContext,
    value: u64,
}

#[derive(Deserialize)]
struct WireAccounts {
    context: WireContext,
    value: Vec<WireAccount>,
}

/// A token account in the `jsonParsed` encoding.
#[derive(Deserialize)]
struct WireAccount {
    account: WireState,
}

#[derive(Deserialize)]
struct WireState {
    data: WireData,
}

#[derive(Deserialize)]
struct WireData {
    parsed: WireParsed,
}

#[derive(Deserialize)]
struct WireParsed {
    info: WireInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInfo {
    token_amount: WireUnits,
}

#[derive(Deserialize)]
struct WireUnits {
    amount: String,
}

/// Holdings at the newest finalized slot, because nodes keep no others. Each response names its
/// slot. `None` if the node has no such methods.
pub(super) async fn holdings(
    rpc: &Rpc,
    at: &BlockRef,
    addresses: &[String],
    assets: &[TransferAsset],
) -> Result<Option<Held>, ChainError> {
    let from = json!({ "commitment": FINALIZED, "minContextSlot": at.height });
    let asks: Vec<_> = addresses.iter().map(|address| json!([address, from])).collect();
    let coins = match rpc.batch(GET_BALANCE, &asks).await {
        Err(refusal) if refusal.lacks_method() => return Ok(None),
        coins => coins?,
    };
    let mut held = Held { up_to: at.height, by_address: Vec::with_capacity(addresses.len()) };
    for (address, coins) in addresses.iter().zip(&coins) {
        let coins: WireBalance = rpc.read(GET_BALANCE, coins)?;
        held.up_to = held.up_to.max(coins.context.slot);
        let mut tokens = tokens(rpc, at, address, assets).await?.into_iter();
        let mut of_address = Vec::with_capacity(assets.len());
        for asset in assets {
            of_address.push(match asset {
                TransferAsset::Native => Some(BaseUnits::new(u128::from(coins.value))),
                TransferAsset::Contract(_) => tokens.next().flatten().map(|(slot, units)| {
                    held.up_to = held.up_to.max(slot);
                    units
                }),
            });
        }
        held.by_address.push(of_address);
    }
    Ok(Some(held))
}

/// Total balance of all accounts of `owner` for each token, and the slot; `None` for a token for
/// which the node serves none.
async fn tokens(
    rpc: &Rpc,
    at: &BlockRef,
    owner: &str,
    assets: &[TransferAsset],
) -> Result<Vec<Option<(u64, BaseUnits)>>, ChainError> {
    let parsed =
        json!({ "commitment": FINALIZED, "minContextSlot": at.height, "encoding": "jsonParsed" });
    let mints = assets.iter().filter_map(|asset| match asset {
        TransferAsset::Native => None,
        TransferAsset::Contract(mint) => Some(mint),
    });
    let asks: Vec<_> = mints.map(|mint| json!([owner, { "mint": mint }, parsed])).collect();
    let answers = rpc.batch_each(GET_TOKENS, &asks).await?;
    answers
        .into_iter()
        .map(|answer| match answer {
            Ok(result) => sum(rpc, &result).map(Some),
            Err(ChainError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        })
        .collect()
}

fn sum(rpc: &Rpc, result: &RawValue) -> Result<(u64, BaseUnits), ChainError> {
    let accounts: WireAccounts = rpc.read(GET_TOKENS, result)?;
    let units = accounts.value.iter().try_fold(BaseUnits::ZERO, |sum, account| {
        sum.checked_add(amount::units(&account.account.data.parsed.info.token_amount.amount)?)
    });
    let units = units.ok_or_else(|| rpc.malformed(GET_TOKENS, "field amount"))?;
    Ok((accounts.context.slot, units))
}
