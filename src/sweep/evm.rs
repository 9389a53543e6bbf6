//! Transactions of accounts on EVM networks.

use super::{
    check::{Fault, GAS_MAX, Pinned, check_rate},
    plan::{Account, Transaction},
};
use crate::{
    asset::catalogue::Currency,
    money::BaseUnits,
    payout::{
        eip1559,
        transfer::{Asset, Output, address_bytes, call},
    },
};

/// The transfer to the treasury, if the settings allow it.
///
/// A rollup's fee for its data is in `fee_max`, and no signature bounds it; the transfer of a coin
/// leaves at least that behind.
pub(super) fn unsigned(
    transaction: &Transaction,
    account: &Account,
    currency: &Currency,
    pinned: &Pinned,
) -> Result<eip1559::Transaction, Fault> {
    check_gas(transaction, account, pinned)?;
    transfer(transaction, account, currency).ok_or(Fault::OtherKind)
}

/// Checks the chain and the gas of an account that sends.
pub(super) fn check_gas(
    transaction: &Transaction,
    account: &Account,
    pinned: &Pinned,
) -> Result<(), Fault> {
    let chain_id = pinned.chain_id.ok_or(Fault::OtherKind)?;
    if account.chain_id != chain_id {
        return Err(Fault::OtherChain { planned: account.chain_id, pinned: chain_id });
    }
    check_rate(account.max_fee.get(), pinned)?;
    if account.gas_limit > GAS_MAX {
        return Err(Fault::TooMuchGas(account.gas_limit));
    }
    let gas_fee = u128::from(account.gas_limit).checked_mul(account.max_fee.get());
    let gas_fee = BaseUnits::new(gas_fee.ok_or(Fault::Sums)?);
    if gas_fee > transaction.fee_max || account.priority_fee > account.max_fee {
        return Err(Fault::Sums);
    }
    Ok(())
}

/// The transaction that a plan describes; `None` if an address is none.
pub(super) fn transfer(
    transaction: &Transaction,
    account: &Account,
    currency: &Currency,
) -> Option<eip1559::Transaction> {
    let asset = match currency.contract {
        None => Asset::Coin,
        Some(contract) => Asset::Token(address_bytes(contract)?),
    };
    let output = Output { to: address_bytes(&transaction.to)?, amount: transaction.amount };
    let (to, value, data) = call(asset, output);
    Some(eip1559::Transaction {
        chain_id: account.chain_id,
        nonce: account.nonce,
        priority_fee: account.priority_fee.get(),
        max_fee: account.max_fee.get(),
        gas_limit: account.gas_limit,
        to,
        value,
        data,
    })
}
