//! Balances of addresses at the newest block of the index.

use std::collections::HashMap;

use super::{
    source::TonSource,
    wire::{WireAccounts, WireHolders},
};
use crate::{
    asset::address::ton::TonAddress,
    chain::{ChainError, Held, TransferAsset, amount},
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
    source: &TonSource,
    addresses: &[String],
    assets: &[TransferAsset],
) -> Result<Option<Held>, ChainError> {
    let mut by_address = vec![Vec::with_capacity(assets.len()); addresses.len()];
    for asset in assets {
        let mut sums = Sums::new();
        for chunk in addresses.chunks(ADDRESSES_PER_CALL) {
            let told = match asset {
                TransferAsset::Native => coins(source, chunk).await?,
                TransferAsset::Contract(master) => tokens(source, chunk, master).await?,
            };
            let Some(told) = told else { return Ok(None) };
            sums.extend(told);
        }
        for (address, held) in addresses.iter().zip(&mut by_address) {
            held.push(Some(sums.get(address).copied().unwrap_or(BaseUnits::ZERO)));
        }
    }
    // No response names its block; the newest block afterwards is the bound for all of them.
    Ok(Some(Held { up_to: source.newest().await?.seqno, by_address }))
}

async fn coins(source: &TonSource, addresses: &[String]) -> Result<Option<Sums>, ChainError> {
    let mut query: Vec<_> = addresses.iter().map(|text| ("address", text.as_str())).collect();
    query.push(("include_boc", "false"));
    let Some(told) = source.get::<WireAccounts>(ACCOUNTS, &query).await? else { return Ok(None) };
    let sums = told.accounts.into_iter().map(|account| {
        let digits = account.balance.as_deref().unwrap_or("0");
        Some((TonAddress::parse(&account.address).ok()?.raw(), amount::units(digits)?))
    });
    let sums: Option<Sums> = sums.collect();
    sums.map(Some).ok_or_else(|| source.malformed(ACCOUNTS, "no balance"))
}

/// The node lists a holder's contract only if the token's master names exactly this contract as the
/// owner's.
async fn tokens(
    source: &TonSource,
    owners: &[String],
    master: &str,
) -> Result<Option<Sums>, ChainError> {
    let mut query: Vec<_> = owners.iter().map(|text| ("owner_address", text.as_str())).collect();
    let limit = ADDRESSES_PER_CALL.to_string();
    query.extend([("jetton_address", master), ("limit", &limit)]);
    let Some(told) = source.get::<WireHolders>(HOLDERS, &query).await? else { return Ok(None) };
    let sums = told.jetton_wallets.into_iter().map(|holder| {
        let token = TonAddress::parse(&holder.jetton).ok()?;
        let units = amount::units(holder.balance.as_deref()?)?;
        (token.raw() == master).then_some(())?;
        Some((TonAddress::parse(&holder.owner).ok()?.raw(), units))
    });
    let sums: Option<Sums> = sums.collect();
    sums.map(Some).ok_or_else(|| source.malformed(HOLDERS, "no balance"))
}
