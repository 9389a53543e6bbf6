//! Building: what the sender has, what his next nonces are, and what each transfer takes, asked of the network's node.

use std::time::Duration;

use super::{NcPayoutError, RefusingOutput};
use crate::{
    app::Gateway,
    asset::{Network, address, catalogue::Currency},
    chain::{
        UnusableSource,
        pay::{Account, Call, EvmPayer, Payer, SimulatedPayer, Work},
    },
    config::ChainSourceKind,
    money::BaseUnits,
    nc_payout::{
        FeeLevel,
        build::{self, Fees},
    },
    payout::{
        PayoutFamily,
        eip1559::Transaction,
        transfer::{self, Asset, Output},
    },
    storage::nc_payouts,
};

/// Building asks twice, and a request lasts at most 12 seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

/// What is asked for.
pub(super) struct Plan<'a> {
    pub currency: &'static Currency,
    /// As `match_key` spells it.
    pub sender: &'a str,
    pub fee_level: FeeLevel,
    /// Recipients as wallets write them.
    pub outputs: Vec<(&'a str, BaseUnits)>,
}

/// Transactions to be signed, in the order of the outputs.
pub(super) struct Built {
    pub chain_id: u64,
    pub transactions: Vec<Transaction>,
}

impl Gateway {
    /// The node of a network on which such payouts can be made.
    pub(super) fn nc_node(&self, network: Network) -> Result<Payer, NcPayoutError> {
        if PayoutFamily::of(network) != Some(PayoutFamily::Evm) {
            return Err(NcPayoutError::UnsupportedNetwork);
        }
        let chain = self.config.chain(network);
        match chain.source {
            ChainSourceKind::Simulated => {
                Ok(Payer::Simulated(SimulatedPayer::new(network, self.db.clone())))
            }
            ChainSourceKind::Node => {
                let url = chain.rpc_url.as_ref().ok_or(UnusableSource::NoUrl(network))?;
                let payer = EvmPayer::new(network, url, chain.chain_id)?;
                Ok(Payer::Evm(payer.with_deadline(ANSWER_WITHIN)))
            }
            ChainSourceKind::Off => Err(NcPayoutError::UnsupportedNetwork),
        }
    }

    /// Builds the transactions that pay `plan`, if the sender can.
    pub(super) async fn build_nc_payout(&self, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
        let node = self.nc_node(plan.currency.network)?;
        let asset = asset_of(plan.currency)?;
        let account = node.account(plan.sender, contract_of(asset)).await?;
        let outputs = plan.outputs.iter().map(|(to, amount)| output(to, *amount));
        let outputs: Vec<_> = outputs.collect::<Result<_, _>>()?;
        check_funds(asset, &outputs, &account)?;
        let calls: Vec<_> = outputs
            .iter()
            .map(|output| {
                let (to, value, data) = transfer::call(asset, *output);
                Call { to, value, data }
            })
            .collect();
        let gas = gas_of(plan, node.gas(plan.sender, &calls).await?)?;
        let first = self.next_nonce(plan, &account).await?;
        let Fees { priority_fee, max_fee } = plan.fee_level.fees(account.base_fee, account.tip);
        let transaction = |((call, gas_limit), nonce)| {
            let Call { to, value, data } = call;
            let chain_id = account.chain_id;
            Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data }
        };
        let transactions: Vec<_> =
            calls.into_iter().zip(gas).zip(first..).map(transaction).collect();
        check_gas(&transactions, &account)?;
        Ok(Built { chain_id: account.chain_id, transactions })
    }

    /// What is submitted and waits is counted too, whether a node has it or not.
    async fn next_nonce(&self, plan: &Plan<'_>, account: &Account) -> Result<u64, NcPayoutError> {
        let mut connection = self.db.connection().await?;
        let network = plan.currency.network;
        let ours = nc_payouts::highest_open_nonce(&mut connection, network, plan.sender).await?;
        Ok(account.next_nonce.max(ours.map_or(0, |nonce| nonce.saturating_add(1))))
    }
}

/// The coin, or the token by its contract.
pub(super) fn asset_of(currency: &Currency) -> Result<Asset, NcPayoutError> {
    match currency.contract {
        None => Ok(Asset::Coin),
        Some(contract) => {
            let bytes = transfer::address_bytes(&address::match_key(currency.family(), contract));
            bytes.map(Asset::Token).ok_or(NcPayoutError::UnsupportedCurrency)
        }
    }
}

pub(super) const fn contract_of(asset: Asset) -> Option<[u8; 20]> {
    match asset {
        Asset::Coin => None,
        Asset::Token(contract) => Some(contract),
    }
}

fn output(to: &str, amount: BaseUnits) -> Result<Output, NcPayoutError> {
    let to = transfer::address_bytes(to).ok_or(NcPayoutError::UnsupportedNetwork)?;
    Ok(Output { to, amount })
}

/// Whether the sender has what he wants to pay.
fn check_funds(asset: Asset, outputs: &[Output], account: &Account) -> Result<(), NcPayoutError> {
    let add = |sum: BaseUnits, output: &Output| sum.checked_add(output.amount);
    let needs = outputs.iter().try_fold(BaseUnits::ZERO, add).ok_or(NcPayoutError::TooLarge)?;
    let has = match asset {
        Asset::Coin => account.coins,
        Asset::Token(_) => account.tokens,
    };
    if has < needs { Err(NcPayoutError::insufficient_funds(has, needs)) } else { Ok(()) }
}

/// Whether the sender can pay for all transactions and for what the network may take.
pub(super) fn check_gas(
    transactions: &[Transaction],
    account: &Account,
) -> Result<(), NcPayoutError> {
    let fee = build::network_fee(transactions).ok_or(NcPayoutError::TooLarge)?;
    let add = |sum: BaseUnits, of: &Transaction| sum.checked_add(BaseUnits::new(of.value));
    let needs = transactions.iter().try_fold(fee, add).ok_or(NcPayoutError::TooLarge)?;
    let has = account.coins;
    if has < needs { Err(NcPayoutError::insufficient_gas(has, needs)) } else { Ok(()) }
}

/// What each transfer may take; recipients that refuse are told all together, before anybody signs anything.
fn gas_of(plan: &Plan<'_>, works: Vec<Work>) -> Result<Vec<u64>, NcPayoutError> {
    let (mut gas, mut refused) = (Vec::with_capacity(works.len()), Vec::new());
    for (row, (work, (address, _))) in (1..).zip(works.into_iter().zip(&plan.outputs)) {
        match work {
            Work::Units(units) => {
                gas.push(u64::try_from(units).map_err(|_| NcPayoutError::TooLarge)?);
            }
            Work::Refused(reason) => {
                refused.push(RefusingOutput { row, address: (*address).to_owned(), reason });
            }
        }
    }
    if refused.is_empty() { Ok(gas) } else { Err(NcPayoutError::Refused(refused)) }
}
