//! Public identifiers of payouts. All but the event's only select a row of one merchant.

use super::PayoutFamily;
use crate::invoice::id::{bearer, is_bearer};

const ITEM: &str = "mpi_";
const BATCH: &str = "mpb_";
const QUOTE: &str = "mpq_";
/// The prefix of a webhook's event id (spec, "Mass-payout webhooks").
const EVENT: &str = "pzwe_";

/// `mpo_…`, or `empo_…` on EVM networks.
pub fn order(family: PayoutFamily) -> String {
    bearer(family.order_prefix())
}

pub fn item() -> String {
    bearer(ITEM)
}

pub fn batch() -> String {
    bearer(BATCH)
}

pub fn quote() -> String {
    bearer(QUOTE)
}

pub fn event() -> String {
    bearer(EVENT)
}

/// Returns true if `text` can be the id of an order of this family. Other texts need no database
/// query.
pub fn is_order(family: PayoutFamily, text: &str) -> bool {
    is_bearer(family.order_prefix(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_what_they_name_and_families_are_not_confused() {
        let (utxo, evm) = (order(PayoutFamily::Utxo), order(PayoutFamily::Evm));
        assert!(utxo.starts_with("mpo_") && evm.starts_with("empo_"));
        assert!(is_order(PayoutFamily::Utxo, &utxo) && !is_order(PayoutFamily::Evm, &utxo));
        assert!(is_order(PayoutFamily::Evm, &evm) && !is_order(PayoutFamily::Utxo, &evm));
        assert!(event().starts_with("pzwe_") && event().len() == 31);
        assert_ne!(event(), event());
    }
}
