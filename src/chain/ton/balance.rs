//! Balances of addresses at the newest block of the index.

use std::collections::HashMap;

use super::{
    index::get,
    wire::{WireAccounts, WireHolders},
};
use crate::{
    asset::address::ton::TonAddress,
    chain::{ChainError, Holdings, TransferAsset, amount, http::Http},
    money::BaseUnits,
};

const ACCOUNTS: &str = "accountStates";
const HOLDERS: &str = "jetton/wallets";
/// Keeps the request line under 8 kB, above which servers may refuse it.
const ADDRESSES_PER_CALL: usize = 50;

/// Balances by address, in the spelling of [`TonAddress::raw`]; a missing address holds nothing.
type Sums = HashMap<String, BaseUnits>;

/// `None` if the index has no such request.
pub(super) async fn holdings(
    http: &Http,
    addresses: &[String],
    assets: &[TransferAsset],
) -> Result<Option<Vec<Holdings>>, ChainError> {
    let mut by_address = vec![Vec::with_capacity(assets.len()); addresses.len()];
    for asset in assets {
        let mut sums = Sums::new();
        for chunk in addresses.chunks(ADDRESSES_PER_CALL) {
            let told = match asset {
                TransferAsset::Native => coins(http, chunk).await?,
                TransferAsset::Contract(master) => tokens(http, chunk, master).await?,
            };
            let Some(told) = told else { return Ok(None) };
            sums.extend(told);
        }
        for (address, held) in addresses.iter().zip(&mut by_address) {
            held.push(Some(sums.get(address).copied().unwrap_or(BaseUnits::ZERO)));
        }
    }
    Ok(Some(by_address))
}

async fn coins(http: &Http, addresses: &[String]) -> Result<Option<Sums>, ChainError> {
    let mut query: Vec<_> = addresses.iter().map(|text| ("address", text.as_str())).collect();
    query.push(("include_boc", "false"));
    let Some(told) = get::<WireAccounts>(http, ACCOUNTS, &query).await? else { return Ok(None) };
    let sums = told.accounts.into_iter().map(|account| {
        let digits = account.balance.as_deref().unwrap_or("0");
        Some((TonAddress::parse(&account.address).ok()?.raw(), amount::units(digits)?))
    });
    let sums: Option<Sums> = sums.collect();
    sums.map(Some).ok_or_else(|| http.malformed(ACCOUNTS, "no balance"))
}

/// The node lists a holder's contract only if the token's master names exactly this contract as the
/// owner's.
async fn tokens(http: &Http, owners: &[String], master: &str) -> Result<Option<Sums>, ChainError> {
    let mut query: Vec<_> = owners.iter().map(|text| ("owner_address", text.as_str())).collect();
    let limit = ADDRESSES_PER_CALL.to_string();
    query.extend([("jetton_address", master), ("limit", &limit)]);
    let Some(told) = get::<WireHolders>(http, HOLDERS, &query).await? else { return Ok(None) };
    let sums = told.jetton_wallets.into_iter().map(|holder| {
        let token = TonAddress::parse(&holder.jetton).ok()?;
        let units = amount::units(holder.balance.as_deref()?)?;
        (token.raw() == master).then_some(())?;
        Some((TonAddress::parse(&holder.owner).ok()?.raw(), units))
    });
    let sums: Option<Sums> = sums.collect();
    sums.map(Some).ok_or_else(|| http.malformed(HOLDERS, "no balance"))
}
