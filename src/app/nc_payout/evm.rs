//! Payouts on EVM networks: the sender's balance, his next nonces, and the gas of each transfer,
//! asked of the network's node.

use super::{
    NcPayoutError, RefusingOutput,
    plan::{Built, Plan},
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    asset::{address, catalogue::Currency},
    chain::pay::{Account, Call, Payer, Wanted, Work},
    money::BaseUnits,
    nc_payout::{Unsigned, build::Fees},
    payout::{
        batch::Seen,
        eip1559::{Signed, Transaction},
        transfer::{self, Asset, Output},
    },
    storage::nc_payouts::{self, NcPayout},
};

impl Gateway {
    /// Builds one transaction for each output, if the sender can pay them.
    pub(super) async fn build_evm(
        &self,
        payers: &Payers,
        plan: &Plan<'_>,
    ) -> Result<Built, NcPayoutError> {
        let node = &payers.payer;
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
        let gas = gas_of(plan, payers.gas(plan.sender, &calls).await?)?;
        let nonces = self.nonces(plan, &account).await?;
        let most = self.config.chain(plan.currency.network).fee_rate_max;
        let (base, tip) = (account.base_fee, account.tip);
        let fees = plan.fee_level.fees(base, tip).within(most, base, tip);
        let asked = base.saturating_add(tip);
        let Fees { priority_fee, max_fee } =
            fees.ok_or(NcPayoutError::FeeTooHigh { asked, most })?;
        let transaction = |((call, gas_limit), nonce)| {
            let Call { to, value, data } = call;
            let chain_id = account.chain_id;
            Transaction { chain_id, nonce, priority_fee, max_fee, gas_limit, to, value, data }
        };
        let transactions: Vec<_> =
            calls.into_iter().zip(gas).zip(nonces).map(transaction).collect();
        check_gas(&transactions, &account)?;
        let transactions = transactions.into_iter().map(Unsigned::Evm).collect();
        Ok(Built { chain_id: Some(account.chain_id), transactions, spends: None })
    }

    /// One for each output: the next ones, or those of the earlier build. Once one of them was
    /// used, by whatever waits or stands in a block, others would let both builds pay.
    async fn nonces(&self, plan: &Plan<'_>, account: &Account) -> Result<Vec<u64>, NcPayoutError> {
        let next = self.next_nonce(plan, account).await?;
        if plan.nonces.is_empty() {
            return Ok((next..).take(plan.outputs.len()).collect());
        }
        match plan.nonces.iter().find(|nonce| **nonce < next) {
            Some(nonce) => Err(NcPayoutError::NonceUsed(*nonce)),
            None => Ok(plan.nonces.to_vec()),
        }
    }

    /// Transactions that were submitted and wait are counted too, whether a node has them or not.
    async fn next_nonce(&self, plan: &Plan<'_>, account: &Account) -> Result<u64, NcPayoutError> {
        let mut connection = self.db.connection().await?;
        let network = plan.currency.network;
        let ours = nc_payouts::highest_open_nonce(&mut connection, network, plan.sender).await?;
        Ok(account.next_nonce.max(ours.map_or(0, |nonce| nonce.saturating_add(1))))
    }

    /// Refuses bytes that no node would take, while nothing is stored and the merchant can still
    /// build anew.
    pub(super) async fn check_payable(
        &self,
        node: &Payer,
        payout: &NcPayout,
        signed: &[Signed],
    ) -> Result<(), NcPayoutError> {
        let asset = asset_of(payout.currency)?;
        let account = node.account(&payout.sender, contract_of(asset)).await?;
        let used: Vec<_> =
            signed.iter().filter(|signed| signed.transaction.nonce < account.next_nonce).collect();
        if !used.is_empty() {
            return are_ours(node, &used).await;
        }
        let transactions: Vec<_> = signed.iter().map(|one| one.transaction.clone()).collect();
        check_fee(&transactions, &account)?;
        if let Asset::Token(_) = asset {
            check_tokens(&transactions, &account)?;
        }
        check_gas(&transactions, &account)
    }
}

/// The merchant may have handed his transactions in himself. Any other transaction in their place
/// ends them.
async fn are_ours(node: &Payer, used: &[&Signed]) -> Result<(), NcPayoutError> {
    let wanted: Vec<_> = used.iter().map(|signed| wanted(signed)).collect();
    // That they are there is enough. Nothing is asked to be final, so no block is read whole while
    // the merchant waits.
    let standings = node.standings(&wanted, u64::MAX).await?;
    for (signed, standing) in used.iter().zip(&standings) {
        if matches!(standing.seen, Seen::Nowhere | Seen::Displaced) {
            let nonce = signed.transaction.nonce;
            let reason = format!(
                "nonce {nonce} of fromAddress was used by another transaction meanwhile; cancel the payout and create it again"
            );
            return Err(NcPayoutError::Rejected(reason));
        }
    }
    Ok(())
}

fn wanted(signed: &Signed) -> Wanted {
    Wanted {
        sender: signed.sender.clone(),
        nonce: signed.transaction.nonce,
        hashes: vec![signed.hash.clone()],
        raw: signed.raw.clone(),
    }
}

/// The coin, or the token by its contract.
fn asset_of(currency: &Currency) -> Result<Asset, NcPayoutError> {
    match currency.contract {
        None => Ok(Asset::Coin),
        Some(contract) => {
            let bytes = transfer::address_bytes(&address::match_key(currency.family(), contract));
            bytes.map(Asset::Token).ok_or(NcPayoutError::UnsupportedCurrency)
        }
    }
}

const fn contract_of(asset: Asset) -> Option<[u8; 20]> {
    match asset {
        Asset::Coin => None,
        Asset::Token(contract) => Some(contract),
    }
}

fn output(to: &str, amount: BaseUnits) -> Result<Output, NcPayoutError> {
    let to = transfer::address_bytes(to).ok_or(NcPayoutError::UnsupportedNetwork)?;
    Ok(Output { to, amount })
}

/// Checks that the sender has the amount he wants to pay.
fn check_funds(asset: Asset, outputs: &[Output], account: &Account) -> Result<(), NcPayoutError> {
    let add = |sum: BaseUnits, output: &Output| sum.checked_add(output.amount);
    let needs = outputs.iter().try_fold(BaseUnits::ZERO, add).ok_or(NcPayoutError::TooLarge)?;
    let has = match asset {
        Asset::Coin => account.coins,
        Asset::Token(_) => account.tokens,
    };
    if has < needs { Err(NcPayoutError::insufficient_funds(has, needs)) } else { Ok(()) }
}

/// Checks that the sender can pay for all transactions and for the most that the network may take.
fn check_gas(transactions: &[Transaction], account: &Account) -> Result<(), NcPayoutError> {
    let add = |sum: BaseUnits, of: &Transaction| {
        sum.checked_add(of.fee_max()?)?.checked_add(BaseUnits::new(of.value))
    };
    let needs = transactions.iter().try_fold(BaseUnits::ZERO, add);
    let needs = needs.ok_or(NcPayoutError::TooLarge)?;
    let has = account.coins;
    if has < needs { Err(NcPayoutError::insufficient_gas(has, needs)) } else { Ok(()) }
}

/// The gas that each transfer may take; recipients that refuse are reported all together, before
/// the merchant signs anything.
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

/// A fee below the one that every block asks keeps a transaction out of all of them.
fn check_fee(transactions: &[Transaction], account: &Account) -> Result<(), NcPayoutError> {
    let base = account.base_fee;
    match transactions.iter().find(|transaction| transaction.max_fee < base) {
        None => Ok(()),
        Some(low) => Err(NcPayoutError::Rejected(format!(
            "the network asks {base} wei per gas by now, and {} were signed; refresh the payout",
            low.max_fee
        ))),
    }
}

fn check_tokens(transactions: &[Transaction], account: &Account) -> Result<(), NcPayoutError> {
    let needs = transactions.iter().try_fold(BaseUnits::ZERO, |sum, transaction| {
        let (_, output) = transfer::paid(transaction)?;
        sum.checked_add(output.amount)
    });
    let needs = needs.ok_or(NcPayoutError::TooLarge)?;
    let has = account.tokens;
    if has < needs { Err(NcPayoutError::insufficient_funds(has, needs)) } else { Ok(()) }
}
