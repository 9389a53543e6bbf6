//! Planning on EVM networks: the tokens of an account first, as far as its coins pay for their gas,
//! then the coins that are left. A token that knows authorizations leaves an address without coins,
//! too: the wallet that pays for gas carries it out.

use std::{cmp::Reverse, collections::BTreeMap};

use rust_decimal::Decimal;
use uuid::Uuid;

use super::{
    SweepError,
    plan::{Found, LOOKED_MAX, Reason},
    plan_index,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::{
        Network,
        address::match_key,
        catalogue::{Catalogue, Currency},
    },
    chain::pay::{Call, EvmPayer, Work},
    money::BaseUnits,
    payout::{
        coins,
        fee::Fee,
        limit::value_usd,
        transfer::{Asset, Output, address_bytes, call},
    },
    storage::{
        StorageError,
        sweeps::{
            NewCoin, NewTransaction,
            candidates::{self, Holding, Place},
        },
    },
    sweep::{
        authorized,
        check::{self, Pinned},
        plan::{Account, Authorization, From, Transaction},
        worth::{is_worth, is_worth_usd},
    },
    x402,
};

/// A rollup's fee for data may rise until the transaction is mined, and no signature bounds it.
const DATA_MARGIN: u128 = 2;
/// Gas of a transfer of coins to an address without code; no transaction takes less.
const PLAIN_GAS: u64 = 21_000;
/// Authorizations of one token and address: one for each time that it was collected there.
const NUMBERS_MAX: u32 = 1_000;

/// Parts that every transaction of the network has in common.
struct Terms<'a> {
    gateway: &'a Gateway,
    payers: &'a Payers,
    network: Network,
    coin: &'static Currency,
    /// USD for a whole coin.
    coin_price: Option<Decimal>,
    pinned: &'a Pinned,
    chain_id: u64,
    fee: Fee,
    /// The newest block, which has no transaction that is not signed yet.
    head: u64,
}

impl Terms<'_> {
    /// The most that so much gas costs, a rollup's data included.
    fn cost(&self, gas: u64) -> BaseUnits {
        let data = self.fee.data.saturating_mul(DATA_MARGIN);
        let gas = u128::from(gas).saturating_mul(self.fee.rate);
        BaseUnits::new(gas.saturating_add(data))
    }
}

/// An account while its transactions are planned.
struct Spender<'a> {
    place: &'a Place,
    key: String,
    nonce: u64,
    /// Its coins that no transaction of the plan takes.
    coins: BaseUnits,
}

/// The wallet that pays for gas, while it is planned with.
struct GasPayer {
    address: String,
    key: String,
    nonce: u64,
    coins: BaseUnits,
}

pub(super) async fn plan(
    gateway: &Gateway,
    pinned: &Pinned,
    (network, payers): (Network, &Payers),
    limit: usize,
) -> Result<Found, SweepError> {
    let coin = Catalogue::get().native(network);
    let mut found = Found::default();
    let mut connection = gateway.db.connection().await?;
    let holdings =
        candidates::holdings(&mut connection, network, &coin.token_id(), LOOKED_MAX).await?;
    drop(connection);
    if holdings.is_empty() {
        return Ok(found);
    }
    let head = payers.payer.head().await?.ok_or(SweepError::NoNode(network))?;
    let fee = payers.payer.fee().await?.unwrap_or_else(|| Fee::of(0));
    let Some(chain_id) = pinned.chain_id else { return Err(SweepError::NoNode(network)) };
    if fee.rate > pinned.fee_rate_max {
        for holding in &holdings {
            found.skip(&holding.token_id, Reason::FeeRate, holding.amount);
        }
        return Ok(found);
    }
    let coin_price = gateway.sweep_price(&coin.token_id()).await?;
    let terms = Terms { gateway, payers, network, coin, coin_price, pinned, chain_id, fee, head };
    let mut gas_payer = gas_payer(&terms).await?;
    for held in &by_size(&holdings) {
        // What is left out takes no room: tokens without gas would keep all others from any plan.
        if held.iter().all(|holding| found.planned(&holding.token_id) >= limit) {
            continue;
        }
        let place = held.first().map(|holding| &holding.place);
        if let Some(place) = place.filter(|place| !gateway.has_key_of(network, place)) {
            for holding in held {
                let named = (place.address.as_str(), holding.amount);
                found.skip_named(&holding.token_id, Reason::OtherKey, named);
            }
            continue;
        }
        plan_account(&terms, held, &mut gas_payer, &mut found).await?;
    }
    Ok(found)
}

/// The holdings of each account; those with the largest amount of any asset come first.
fn by_size(holdings: &[Holding]) -> Vec<Vec<&Holding>> {
    let mut by_asset: BTreeMap<&str, Vec<&Holding>> = BTreeMap::new();
    let mut by_account: BTreeMap<i64, (usize, Vec<&Holding>)> = BTreeMap::new();
    for holding in holdings {
        by_asset.entry(&holding.token_id).or_default().push(holding);
        let account = by_account.entry(holding.place.index).or_insert((usize::MAX, Vec::new()));
        account.1.push(holding);
    }
    for mut of_asset in by_asset.into_values() {
        of_asset.sort_by_key(|holding| (Reverse(holding.amount), holding.place.index));
        for (rank, holding) in of_asset.into_iter().enumerate() {
            if let Some((best, _)) = by_account.get_mut(&holding.place.index) {
                *best = rank.min(*best);
            }
        }
    }
    let mut accounts: Vec<_> = by_account.into_values().collect();
    // Stable: of equal ranks the lower index comes first.
    accounts.sort_by_key(|(best, _)| *best);
    accounts.into_iter().map(|(_, held)| held).collect()
}

/// The wallet that pays for gas, if one is set and nothing of it is under way.
async fn gas_payer(terms: &Terms<'_>) -> Result<Option<GasPayer>, SweepError> {
    let Some(address) = terms.gateway.config.gas_payer() else { return Ok(None) };
    let key = match_key(terms.network.family(), address);
    let mut connection = terms.gateway.db.connection().await?;
    let is_busy = candidates::is_under_way(&mut connection, terms.network, &key).await?;
    drop(connection);
    let account = terms.payers.payer.account(&key, None).await?;
    if is_busy || account.used_nonces != account.next_nonce {
        return Ok(None);
    }
    let (nonce, coins) = (account.next_nonce, account.coins);
    Ok(Some(GasPayer { address: address.to_owned(), key, nonce, coins }))
}

async fn plan_account(
    terms: &Terms<'_>,
    held: &[&Holding],
    gas_payer: &mut Option<GasPayer>,
    found: &mut Found,
) -> Result<(), SweepError> {
    let Some(place) = held.first().map(|holding| &holding.place) else { return Ok(()) };
    let coin = terms.coin.token_id();
    if let Some(reason) = stays(terms, held, gas_payer.is_some()) {
        for holding in held {
            found.skip(&holding.token_id, reason, holding.amount);
        }
        return Ok(());
    }
    let key = match_key(terms.network.family(), &place.address);
    let account = terms.payers.payer.account(&key, None).await?;
    if account.chain_id != terms.chain_id || account.used_nonces != account.next_nonce {
        for holding in held {
            found.skip(&holding.token_id, Reason::Busy, holding.amount);
        }
        return Ok(());
    }
    let booked = held.iter().find(|holding| holding.token_id == coin);
    let booked = booked.map_or(BaseUnits::ZERO, |holding| holding.amount);
    // Only booked coins pay for gas: the ledger knows of no others.
    let coins = booked.min(account.coins);
    let mut spender = Spender { place, key, nonce: account.next_nonce, coins };
    for holding in held.iter().filter(|holding| holding.token_id != coin) {
        let mut outcome = plan_token(terms, &mut spender, holding, found).await?;
        if let (Err(Reason::NoGas), Some(payer)) = (outcome, gas_payer.as_mut()) {
            outcome = plan_authorized(terms, (&spender, payer), holding, found).await?;
        }
        if let Err(reason) = outcome {
            found.skip(&holding.token_id, reason, holding.amount);
        }
    }
    if booked.is_zero() {
        return Ok(());
    }
    let left = spender.coins;
    if let Err(reason) = plan_coins(terms, &mut spender, found).await? {
        let reason = if account.coins.is_zero() { Reason::Moved } else { reason };
        found.skip(&coin, reason, left);
    }
    Ok(())
}

/// The reason why all of an account stays, where the rows alone say so. There may be thousands of
/// these accounts, and each question takes as long as the node is away.
fn stays(terms: &Terms<'_>, held: &[&Holding], has_gas_payer: bool) -> Option<Reason> {
    let coin = terms.coin.token_id();
    let authorized = x402::token_of(terms.network).map(Currency::token_id);
    let may_move = |holding: &&Holding| {
        holding.token_id == coin || has_gas_payer && Some(&holding.token_id) == authorized.as_ref()
    };
    if !held.iter().any(may_move) {
        return Some(Reason::NoGas);
    }
    let [alone] = held else { return None };
    let least = terms.cost(PLAIN_GAS);
    let is_dust =
        alone.token_id == coin && !is_worth(least, alone.amount, terms.pinned.fee_percent_max);
    is_dust.then_some(Reason::Dear)
}

async fn plan_token(
    terms: &Terms<'_>,
    spender: &mut Spender<'_>,
    holding: &Holding,
    found: &mut Found,
) -> Result<Result<(), Reason>, SweepError> {
    let currency = Catalogue::get().by_token_id(&holding.token_id);
    let contract = currency.and_then(|currency| currency.contract).and_then(address_bytes);
    let (Some(currency), Some(contract)) = (currency, contract) else {
        return Ok(Err(Reason::NoRate));
    };
    let account = terms.payers.payer.account(&spender.key, Some(contract)).await?;
    let amount = holding.amount.min(account.tokens);
    if amount.is_zero() {
        return Ok(Err(Reason::Moved));
    }
    if spender.coins.is_zero() {
        return Ok(Err(Reason::NoGas));
    }
    let gas = match gas_of(terms, spender, (Asset::Token(contract), amount)).await? {
        Ok(gas) => gas,
        Err(reason) => return Ok(Err(reason)),
    };
    let cost = terms.cost(gas);
    if cost > terms.pinned.token_fee_max {
        return Ok(Err(Reason::TokenFee));
    }
    if let Err(reason) = is_worth_gas(terms, (currency, amount), cost).await? {
        return Ok(Err(reason));
    }
    let Some(left) = spender.coins.checked_sub(cost) else { return Ok(Err(Reason::NoGas)) };
    draft(terms, spender, (currency, amount), (gas, cost), found)?;
    spender.coins = left;
    Ok(Ok(()))
}

async fn is_worth_gas(
    terms: &Terms<'_>,
    (currency, amount): (&Currency, BaseUnits),
    cost: BaseUnits,
) -> Result<Result<(), Reason>, SweepError> {
    let price = terms.gateway.sweep_price(&currency.token_id()).await?;
    let (Some(price), Some(coin_price)) = (price, terms.coin_price) else {
        return Ok(Err(Reason::NoRate));
    };
    let worth = value_usd(amount, currency.decimals, price);
    let cost_usd = value_usd(cost, terms.coin.decimals, coin_price);
    let is_worth = is_worth_usd(cost_usd, worth, terms.pinned.fee_percent_max);
    Ok(if is_worth { Ok(()) } else { Err(Reason::Dear) })
}

/// A token of an address without coins, if it knows authorizations and the wallet that pays for gas
/// has enough.
async fn plan_authorized(
    terms: &Terms<'_>,
    (spender, payer): (&Spender<'_>, &mut GasPayer),
    holding: &Holding,
    found: &mut Found,
) -> Result<Result<(), Reason>, SweepError> {
    let currency = x402::token_of(terms.network);
    let currency = currency.filter(|currency| currency.token_id() == holding.token_id);
    let contract = currency.and_then(|currency| currency.contract).and_then(address_bytes);
    let (Some(currency), Some(contract), Some(node)) =
        (currency, contract, terms.payers.payer.evm())
    else {
        return Ok(Err(Reason::NoGas));
    };
    let account = terms.payers.payer.account(&spender.key, Some(contract)).await?;
    let amount = holding.amount.min(account.tokens);
    let cost = terms.cost(x402::call::GAS_MAX);
    if cost > terms.pinned.token_fee_max {
        return Ok(Err(Reason::TokenFee));
    }
    if let Err(reason) = is_worth_gas(terms, (currency, amount), cost).await? {
        return Ok(Err(reason));
    }
    let Some(left) = payer.coins.checked_sub(cost) else { return Ok(Err(Reason::NoGas)) };
    let Some((name, version)) = node.domain(&contract).await? else {
        return Ok(Err(Reason::NoGas));
    };
    let holder = address_bytes(&spender.key).ok_or(SweepError::NoNode(terms.network))?;
    let Some(number) = next_number(node, terms.chain_id, &contract, &holder).await? else {
        return Ok(Err(Reason::Refused));
    };
    let from = Authorization {
        address: spender.place.address.clone(),
        index: plan_index(spender.place)?,
        name,
        version,
        number,
        gas_payer: account_of(terms, (&payer.address, 0), payer.nonce, x402::call::GAS_MAX),
    };
    let moved = Moved { currency, amount, fee_max: cost, holder: spender.place };
    let sender = (payer.key.clone(), payer.nonce);
    store(terms, &moved, (From::Authorization(from), sender, true), found);
    payer.nonce += 1;
    payer.coins = left;
    Ok(Ok(()))
}

/// The number of the first authorization that the token has not taken; `None` beyond any number
/// that is in use.
async fn next_number(
    node: &EvmPayer,
    chain_id: u64,
    token: &[u8; 20],
    holder: &[u8; 20],
) -> Result<Option<u32>, SweepError> {
    for number in 0..NUMBERS_MAX {
        let nonce = authorized::nonce(chain_id, token, holder, number);
        if !node.is_used(token, holder, &nonce).await? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

async fn plan_coins(
    terms: &Terms<'_>,
    spender: &mut Spender<'_>,
    found: &mut Found,
) -> Result<Result<(), Reason>, SweepError> {
    let one = BaseUnits::new(1);
    let gas = match gas_of(terms, spender, (Asset::Coin, one)).await? {
        Ok(gas) => gas,
        Err(reason) => return Ok(Err(reason)),
    };
    let cost = terms.cost(gas);
    let whole = spender.coins;
    let amount = whole.remaining_after(cost);
    if amount.is_zero() || !is_worth(cost, whole, terms.pinned.fee_percent_max) {
        return Ok(Err(Reason::Dear));
    }
    draft(terms, spender, (terms.coin, amount), (gas, cost), found)?;
    spender.coins = BaseUnits::ZERO;
    Ok(Ok(()))
}

/// The gas of a transfer to the treasury, as the node estimates it, with a margin.
async fn gas_of(
    terms: &Terms<'_>,
    spender: &Spender<'_>,
    (asset, amount): (Asset, BaseUnits),
) -> Result<Result<u64, Reason>, SweepError> {
    let to = address_bytes(&terms.pinned.treasury).ok_or(SweepError::NoNode(terms.network))?;
    let (to, value, data) = call(asset, Output { to, amount });
    let works = terms.payers.gas(&spender.key, &[Call { to, value, data }]).await?;
    Ok(match works.into_iter().next() {
        Some(Work::Units(gas)) => {
            u64::try_from(gas).ok().filter(|gas| *gas <= check::GAS_MAX).ok_or(Reason::Refused)
        }
        Some(Work::Refused(_)) | None => Err(Reason::Refused),
    })
}

fn draft(
    terms: &Terms<'_>,
    spender: &mut Spender<'_>,
    (currency, amount): (&Currency, BaseUnits),
    (gas_limit, fee_max): (u64, BaseUnits),
    found: &mut Found,
) -> Result<(), StorageError> {
    let place = (spender.place.address.as_str(), plan_index(spender.place)?);
    let account = account_of(terms, place, spender.nonce, gas_limit);
    let moved = Moved { currency, amount, fee_max, holder: spender.place };
    let sender = (spender.key.clone(), spender.nonce);
    store(terms, &moved, (From::Account(account), sender, false), found);
    spender.nonce += 1;
    Ok(())
}

fn account_of(
    terms: &Terms<'_>,
    (address, index): (&str, u32),
    nonce: u64,
    gas_limit: u64,
) -> Account {
    Account {
        address: address.to_owned(),
        index,
        chain_id: terms.chain_id,
        nonce,
        gas_limit,
        max_fee: BaseUnits::new(terms.fee.rate),
        priority_fee: BaseUnits::new(terms.fee.tip.min(terms.fee.rate)),
    }
}

/// Amount that a transaction moves from an address, and the most that it costs.
struct Moved<'a> {
    currency: &'a Currency,
    amount: BaseUnits,
    fee_max: BaseUnits,
    holder: &'a Place,
}

/// Adds a transaction to the plan; `sender` is the account that sends it, with its nonce.
fn store(
    terms: &Terms<'_>,
    moved: &Moved<'_>,
    (from, sender, relayed): (From, (String, u64), bool),
    found: &mut Found,
) {
    let planned = Transaction {
        network: terms.network,
        asset: moved.currency.token_id(),
        to: terms.pinned.treasury.clone(),
        amount: moved.amount,
        fee_max: moved.fee_max,
        from,
    };
    // The first of its coins is at the address; a nonce of the wallet that pays is its row's.
    let name = check::coins(&planned).into_iter().next().unwrap_or_default();
    let coin = NewCoin { name, address_id: moved.holder.address_id, amount: moved.amount };
    let row = NewTransaction {
        id: Uuid::now_v7(),
        network: terms.network,
        token_id: planned.asset.clone(),
        account: Some(sender),
        relayed,
        recipient: planned.to.clone(),
        amount: moved.amount,
        fee_max: moved.fee_max,
        begin: coins::Place { height: terms.head, ..coins::Place::default() },
        coins: vec![coin],
    };
    found.drafts.push((planned, row));
}
