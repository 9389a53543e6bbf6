//! The kinds of payments and fees in exports.

use crate::{ledger::EntryKind, money::BaseUnits, vocabulary::vocabulary};

vocabulary! {
    /// The part that a deposit plays for its invoice.
    pub enum PaymentKind: "kind of payment" {
        /// The first one.
        Payment = "payment",
        /// A further one.
        Topup = "topup",
        /// The one that brought more than the invoice takes.
        Overpayment = "overpayment",
        /// After the invoice's end.
        Late = "late",
        /// In another currency of the catalogue.
        WrongToken = "wrong_token",
        /// Of a program for a resource; no invoice stands behind it.
        X402 = "x402",
    }
}

vocabulary! {
    /// The purpose of a fee.
    pub enum FeeKind: "kind of fee" {
        Network = "network",
        Service = "service",
        /// Of moving deposits to the treasury. The operator's treasury pays it, so that no
        /// merchant's export has one.
        Sweep = "sweep",
    }
}

/// The kind of a deposit; `None` if entries of this kind book no deposit of an invoice.
pub fn of_payment(booked: EntryKind, is_first: bool, is_excess: bool) -> Option<PaymentKind> {
    if booked == EntryKind::Deposit {
        return Some(if is_excess {
            PaymentKind::Overpayment
        } else if is_first {
            PaymentKind::Payment
        } else {
            PaymentKind::Topup
        });
    }
    [
        (EntryKind::LateDeposit, PaymentKind::Late),
        (EntryKind::ForeignDeposit, PaymentKind::WrongToken),
        (EntryKind::X402Payment, PaymentKind::X402),
    ]
    .into_iter()
    .find_map(|(entry, kind)| (entry == booked).then_some(kind))
}

/// The parts of a booked fee. The ledger has one amount for both fees of a quote; any other amount
/// (that of a refund, or a part that came back) is a network fee.
pub fn parts_of_fee(
    booked: BaseUnits,
    network_fee: BaseUnits,
    service_fee: BaseUnits,
) -> Vec<(FeeKind, BaseUnits)> {
    let is_quoted = network_fee.checked_add(service_fee) == Some(booked);
    let parts = if is_quoted {
        vec![(FeeKind::Network, network_fee), (FeeKind::Service, service_fee)]
    } else {
        vec![(FeeKind::Network, booked)]
    };
    parts.into_iter().filter(|(_, amount)| !amount.is_zero()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_deposit_has_the_kind_of_its_part() {
        use EntryKind::{Deposit, Excess, ForeignDeposit, LateDeposit, PayoutDeposit, X402Payment};
        for (booked, is_first, is_excess, kind) in [
            (Deposit, true, false, Some(PaymentKind::Payment)),
            (Deposit, false, false, Some(PaymentKind::Topup)),
            (Deposit, true, true, Some(PaymentKind::Overpayment)),
            (Deposit, false, true, Some(PaymentKind::Overpayment)),
            (LateDeposit, true, false, Some(PaymentKind::Late)),
            (ForeignDeposit, true, true, Some(PaymentKind::WrongToken)),
            (X402Payment, true, false, Some(PaymentKind::X402)),
            (PayoutDeposit, true, false, None),
            (Excess, true, false, None),
        ] {
            assert_eq!(of_payment(booked, is_first, is_excess), kind, "{booked}");
        }
    }

    proptest! {
        #[test]
        fn parts_of_a_fee_sum_to_it(network in 0_u64.., service in 0_u64.., other in 0_u64..) {
            let units = |amount: u64| BaseUnits::new(amount.into());
            let quoted = BaseUnits::new(u128::from(network) + u128::from(service));
            for booked in [quoted, units(other)] {
                let parts = parts_of_fee(booked, units(network), units(service));
                let sum: u128 = parts.iter().map(|(_, amount)| amount.get()).sum();
                prop_assert_eq!(sum, booked.get());
                prop_assert!(parts.iter().all(|(_, amount)| !amount.is_zero()));
            }
        }
    }
}
