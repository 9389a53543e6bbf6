//! Mass payouts, from the upload to the last confirmation.

mod accounts;
mod ambiguous;
mod api;
mod balance;
mod conformance;
mod data_fee;
mod deadline;
mod doubt;
mod dust;
mod estimates;
mod fees;
mod funding;
mod held;
mod journey;
mod killed;
mod limits;
mod limits_of_merchants;
mod many;
mod multisend;
pub mod node;
mod on_a_node;
mod poison;
mod races;
mod reorg;
mod rotated;
mod settle;
mod tokens;
mod told;
mod two_payers;
mod unused;
pub mod utxo;
mod webhook;
mod witness;

/// The two families.
pub const UTXO: &str = "/v1/mass-payout";
pub const EVM: &str = "/v1/evm-mass-payout";
pub const LTC: &str = "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9";
pub const LTC_REFUND: &str = "ltc1qqqqsyqcyq5rqwzqfpg9scrgwpugpzysn3s44dy";

/// Two recipients on polygon, in a token of six places.
pub fn two_rows() -> serde_json::Value {
    serde_json::json!({
        "network": "polygon", "currency": "usdtmatic", "refundAddress": support::shop::payouts::evm_address(900),
        "items": [
            { "address": support::shop::payouts::evm_address(1), "amount": "10", "reference": "a" },
            { "address": support::shop::payouts::evm_address(2), "amountRaw": "2500000", "reference": "b" },
        ],
    })
}
