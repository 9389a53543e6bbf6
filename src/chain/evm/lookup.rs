//! Operators' lookups of one transaction, one address or one token. The watcher does not use them.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{balance, quantity};
use crate::{
    chain::{BlockRef, ChainError, Held, Holdings, Located, TokenFacts, TransferAsset, rpc::Rpc},
    money::BaseUnits,
};

const GET_RECEIPT: &str = "eth_getTransactionReceipt";
const GET_TRANSACTION: &str = "eth_getTransactionByHash";
const GET_CODE: &str = "eth_getCode";
const CALL: &str = "eth_call";

/// `balanceOf(address)` and `decimals()`.
const BALANCE_OF: &str = "0x70a08231";
const DECIMALS: &str = "0x313ce567";
const WORD_DIGITS: usize = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePlace<'a> {
    block_number: &'a str,
    #[serde(default)]
    status: Option<&'a str>,
}

pub(super) async fn locate(rpc: &Rpc, tx_hash: &str) -> Result<Located, ChainError> {
    let result = rpc.call(GET_RECEIPT, json!([tx_hash])).await?;
    if let Some(place) = rpc.read::<Option<WirePlace>>(GET_RECEIPT, &result)? {
        let height = quantity::number(place.block_number);
        let height = height.ok_or_else(|| rpc.malformed(GET_RECEIPT, "field blockNumber"))?;
        let failed = place.status.and_then(quantity::number) == Some(0);
        return Ok(Located::Mined { height, failed });
    }
    let result = rpc.call(GET_TRANSACTION, json!([tx_hash])).await?;
    Ok(if result.get() == "null" { Located::Unknown } else { Located::Waiting })
}

/// Holdings of each address at the block `at`.
pub(super) async fn holdings(
    rpc: &Rpc,
    at: &BlockRef,
    addresses: &[String],
    assets: &[TransferAsset],
) -> Result<Held, ChainError> {
    let mut by_address = Vec::with_capacity(addresses.len());
    for address in addresses {
        by_address.push(holdings_of(rpc, at, address, assets).await?);
    }
    Ok(Held { up_to: at.height, by_address })
}

/// Reads each asset separately: a contract with an invalid response must not hide the others.
async fn holdings_of(
    rpc: &Rpc,
    at: &BlockRef,
    address: &str,
    assets: &[TransferAsset],
) -> Result<Holdings, ChainError> {
    let native = balance::by_question(rpc, at, &[address.to_owned()]).await?;
    let owner = balance::digits(rpc.network(), address)?;
    let block = json!({ "blockHash": at.hash });
    let contracts = assets.iter().filter_map(|asset| match asset {
        TransferAsset::Native => None,
        TransferAsset::Contract(contract) => Some(contract),
    });
    let calls: Vec<_> = contracts
        .map(|contract| {
            let data = format!("{BALANCE_OF}{owner:0>WORD_DIGITS$}");
            json!([{ "to": contract, "data": data }, block])
        })
        .collect();
    let mut answers = rpc.batch_each(CALL, &calls).await?.into_iter();
    let mut held = Vec::with_capacity(assets.len());
    for asset in assets {
        held.push(match asset {
            TransferAsset::Native => native.first().copied(),
            TransferAsset::Contract(_) => match answers.next() {
                Some(Ok(result)) => units(&result),
                Some(Err(ChainError::Refused { .. })) | None => None,
                Some(Err(error)) => return Err(error),
            },
        });
    }
    Ok(held)
}

/// Result of a call as one word. Without a contract the result is empty, and the balance zero.
fn units(result: &RawValue) -> Option<BaseUnits> {
    let digits = balance::words(result)?;
    if digits.is_empty() {
        return Some(BaseUnits::ZERO);
    }
    (digits.len() == WORD_DIGITS).then(|| quantity::units(&digits)).flatten()
}

pub(super) async fn token(rpc: &Rpc, contract: &str) -> Result<TokenFacts, ChainError> {
    let code = rpc.call(GET_CODE, json!([contract, "latest"])).await?;
    let has_code = balance::words(&code).is_some_and(|digits| !digits.is_empty());
    let call = json!([{ "to": contract, "data": DECIMALS }, "latest"]);
    let decimals = match rpc.call(CALL, call).await {
        Ok(result) => balance::words(&result)
            .filter(|digits| digits.len() == WORD_DIGITS)
            .and_then(|digits| quantity::units(&digits))
            .and_then(|units| u32::try_from(units.get()).ok()),
        Err(ChainError::Refused { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(TokenFacts { has_code, decimals })
}
