//! What is to be signed for an order: the payment, its purpose and its means.

use uuid::Uuid;

use crate::{
    asset::address,
    chain::{
        ChainError,
        pay::{Means, Output, Payer, Unsigned},
    },
    money::BaseUnits,
    payout::{fee::Fee, payment::Purpose, quote},
    storage::payouts::PayoutOrder,
};

/// The purpose of a signature.
pub(super) struct Intent {
    pub purpose: Purpose,
    /// The rows that it pays.
    pub items: Vec<Uuid>,
    /// The fee that the order keeps for the network beside the amount.
    pub kept: BaseUnits,
    /// The parent, if this is a child that pays for it (CPFP).
    pub parent: Option<Uuid>,
}

/// The constraints that refuse a payment which another worker signed first.
pub(super) const TAKEN: [&str; 4] = [
    "payout_payment_nonce_once",
    "payout_refund_once",
    "payout_input_once",
    "payout_allowance_once",
];

/// Payments that can be signed, and the results of the others.
#[derive(Default)]
pub(super) struct Prepared {
    pub(super) ready: Vec<(Intent, Unsigned)>,
    /// Rows have ended without a payment.
    pub(super) any_failed: bool,
    /// The node's objection to a payment; its row waits.
    pub(super) failure: Option<ChainError>,
}

/// A payment from the order's own address. Its work is the most that was quoted for it.
pub(super) fn unsigned(order: &PayoutOrder, outputs: Vec<Output>, fee: Fee) -> Option<Unsigned> {
    let place = order.deposit.as_ref()?;
    let currency = order.currency;
    Some(Unsigned {
        sender: address::match_key(currency.family(), &place.address),
        nonce: 0,
        outputs,
        means: Means::Transfer,
        contract: currency.contract.map(ToOwned::to_owned),
        work: quote::gas_per_transfer(currency),
        fee,
        spendable: None,
    })
}

/// The most that one unit of work may cost, so that all payments together stay within the quote.
pub(super) fn fee_cap(order: &PayoutOrder, payer: &Payer) -> u128 {
    match payer {
        Payer::Simulated(_) => u128::MAX,
        Payer::Evm(_) | Payer::Utxo(_) => order.quote.fee_rate,
    }
}

/// Returns whether a payment for this purpose may be made by these means.
pub(super) fn fits(means: &Means, purpose: Purpose) -> bool {
    match means {
        Means::Transfer => purpose != Purpose::Allowance,
        Means::Multisend(_) => purpose == Purpose::Pay,
        Means::Allowance { .. } => purpose == Purpose::Allowance,
    }
}
