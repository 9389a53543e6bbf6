//! Paying many recipients of a token by one transaction, where the network has the contract for it.
//!
//! An order gives its allowance once, for exactly the rows that wait. After anything unexpected its
//! rows are paid one by one: a contract with other code, an allowance that is not the given one, a
//! call that the node refuses, or one that failed in its block and so paid nobody.

use super::{
    errors::AdvanceError,
    intent::{Intent, Prepared, unsigned},
    order::value_usd,
    wallet::Wallet,
};
use crate::{
    app::{Gateway, payout::payers::Payers},
    chain::{
        ChainError,
        pay::{Means, Output, Payer, Work},
    },
    money::BaseUnits,
    payout::{
        PayoutFamily, eip1559,
        fee::Fee,
        gas::LOW,
        limit::{self, Limits},
        multisend::{self, Act, GAS_PER_ALLOWANCE, ROWS_MAX, ROWS_MIN},
        payment::Purpose,
        quote,
        transfer::address_bytes,
    },
    storage::payouts::{
        PayoutOrder,
        items::{self, ItemRow},
        payments::{self, OpenPayment, Together},
    },
};

/// The next step with rows that wait.
pub(super) enum Plan {
    OneByOne,
    /// Nothing is signed now: an allowance is not final yet, or more gas comes.
    Later,
    /// The contract may move so much first.
    Allow {
        contract: String,
        amount: BaseUnits,
    },
    /// Many at once, by this contract; `waiting` rows of the order are unpaid.
    Together {
        contract: String,
        waiting: usize,
    },
}

impl Gateway {
    fn multisend_of(&self, order: &PayoutOrder) -> Option<String> {
        let is_token = order.family == PayoutFamily::Evm && !order.currency.is_native();
        self.config.chain(order.currency.network).multisend.filter(|_| is_token)
    }

    /// Decides how the next rows are paid; `payable` of them have gas.
    pub(super) async fn plan(
        &self,
        order: &PayoutOrder,
        payable: usize,
        payer: &Payer,
    ) -> Result<Plan, AdvanceError> {
        let (Some(contract), Some(place), Some(token)) =
            (self.multisend_of(order), &order.deposit, order.currency.contract)
        else {
            return Ok(Plan::OneByOne);
        };
        let mut connection = self.db.connection().await?;
        let (sum, waiting) = items::unsigned_sum(&mut connection, order.id).await?;
        let together = payments::together(&mut connection, order.id).await?;
        drop(connection);
        let Together { allowance_open, allowance_given, any_failed } = together;
        if allowance_open {
            return Ok(Plan::Later);
        }
        if any_failed || waiting < ROWS_MIN || !payer.is_multisend(&contract).await? {
            return Ok(Plan::OneByOne);
        }
        let allowed = payer.allowance(token, (&place.address, &contract)).await?;
        if allowed >= sum {
            // For fewer, gas is on its way.
            let enough = payable >= waiting.min(LOW);
            return Ok(if enough { Plan::Together { contract, waiting } } else { Plan::Later });
        }
        // Some tokens take no allowance beside another, and a second one of ours is never needed.
        if allowance_given || !allowed.is_zero() {
            tracing::warn!(order.id = order.order_id, "an allowance is not the one that was given");
            return Ok(Plan::OneByOne);
        }
        Ok(Plan::Allow { contract, amount: sum })
    }

    /// Signs the allowance of an order. `None` if the token refuses it.
    pub(super) async fn allow(
        &self,
        order: &PayoutOrder,
        (contract, amount): (String, BaseUnits),
        fee: Fee,
        payers: &Payers,
        wallet: &Wallet,
    ) -> Result<Option<bool>, AdvanceError> {
        let Some(mut payment) = unsigned(order, vec![], fee) else { return Ok(None) };
        payment.means = Means::Allowance { spender: contract, amount };
        payment.work = GAS_PER_ALLOWANCE;
        match payers.works(std::slice::from_ref(&payment)).await?.pop() {
            Some(Ok(Work::Units(work))) if work <= payment.work => payment.work = work,
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(Work::Units(_) | Work::Refused(_))) | None => return Ok(None),
        }
        let (purpose, kept) = (Purpose::Allowance, BaseUnits::ZERO);
        let intent = Intent { purpose, items: vec![], kept, parent: None };
        let ready = vec![(intent, payment)];
        self.sign_and_store(order.id, ready, &payers.payer, wallet).await.map(Some)
    }

    /// One payment of the first rows; `None` if the node refuses it, as for one recipient whom the
    /// token refuses: then the next rows are paid one by one.
    pub(super) async fn prepare_together(
        &self,
        order: &PayoutOrder,
        (payable, waiting): (&[ItemRow], usize),
        (contract, fee): (String, Fee),
        limits: &Limits,
        payers: &Payers,
    ) -> Result<Option<Prepared>, AdvanceError> {
        let amounts: Vec<_> = payable.iter().map(|item| item.net_amount).collect();
        let fits = |sum| limits.exceeded_by(value_usd(order, sum)).is_none();
        let most = limit::rows_that_fit(&amounts, ROWS_MAX, fits).min(payable.len());
        let rows = &payable[..multisend::rows_of_call(waiting, most)];
        if rows.len() < ROWS_MIN {
            return Ok(None);
        }
        let output =
            |item: &ItemRow| Output { address: item.address.clone(), amount: item.net_amount };
        let Some(mut payment) = unsigned(order, rows.iter().map(output).collect(), fee) else {
            return Ok(None);
        };
        payment.means = Means::Multisend(contract);
        let count = u128::try_from(rows.len()).unwrap_or(u128::MAX);
        payment.work = count.saturating_mul(quote::gas_per_transfer(order.currency));
        match payers.works(std::slice::from_ref(&payment)).await?.pop() {
            Some(Ok(Work::Units(work))) if work <= payment.work => payment.work = work,
            Some(Err(error)) if !matches!(error, ChainError::Refused { .. }) => {
                return Err(error.into());
            }
            told => {
                tracing::info!(order.id = order.order_id, ?told, "rows are paid one by one");
                return Ok(None);
            }
        }
        let (purpose, kept) = (Purpose::Pay, BaseUnits::ZERO);
        let items = rows.iter().map(|item| item.id).collect();
        let intent = Intent { purpose, items, kept, parent: None };
        Ok(Some(Prepared { ready: vec![(intent, payment)], ..Prepared::default() }))
    }

    /// The means of a payment that is signed again, with the gas of its first version where that is
    /// no single transfer; `None` if the contract is not the configured one any more.
    pub(super) fn means_again(
        &self,
        order: &PayoutOrder,
        payment: &OpenPayment,
    ) -> Option<(Means, Option<u128>)> {
        let Some(act) = act_of(payment) else { return Some((Means::Transfer, None)) };
        let configured = self.multisend_of(order)?;
        let (contract, means) = match act {
            Act::Pays { contract, .. } => (contract, Means::Multisend(configured.clone())),
            Act::Allows { contract, amount, .. } => {
                (contract, Means::Allowance { spender: configured.clone(), amount })
            }
        };
        (address_bytes(&configured)? == contract).then(|| (means, gas_limit(payment)))
    }
}

fn act_of(payment: &OpenPayment) -> Option<Act> {
    let first = payment.versions.first()?;
    multisend::read(&eip1559::read_own(&first.raw).ok()?)
}

fn gas_limit(payment: &OpenPayment) -> Option<u128> {
    let first = payment.versions.first()?;
    Some(eip1559::read_own(&first.raw).ok()?.gas_limit.into())
}

/// The most work of an open payment of an order, and the number of transfers whose bytes it has at
/// most.
pub(super) fn work_of(order: &PayoutOrder, payment: &OpenPayment) -> (u128, u128) {
    let each = quote::gas_per_transfer(order.currency);
    match act_of(payment) {
        Some(Act::Pays { outputs, .. }) => {
            let rows = u128::try_from(outputs.len()).unwrap_or(u128::MAX);
            (gas_limit(payment).unwrap_or(0).max(each), rows)
        }
        Some(Act::Allows { .. }) | None => (each, 1),
    }
}

/// Returns whether a payment pays several rows, all or none.
pub(super) fn pays_many(payment: &OpenPayment) -> bool {
    matches!(act_of(payment), Some(Act::Pays { .. }))
}

/// Returns whether a payment is one transfer, by which a token's gas is measured.
pub(super) fn is_transfer(payment: &OpenPayment) -> bool {
    act_of(payment).is_none()
}
