//! Refusals of payouts, as sentences for people.

use gateway::{
    app::{nc_payout::NcPayoutError, payout::PayoutError},
    payout::csv::Unreadable,
};

use crate::problem::Problem;

/// An error's text as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let end = if text.ends_with(['.', '?']) { None } else { Some('.') };
    first.into_iter().chain(letters).chain(end).collect()
}

/// A file in another encoding, or with bytes that no page carries back unchanged.
pub const NOT_TEXT: &str =
    "The file is not UTF-8 text. Save it as “CSV UTF-8” in your spreadsheet, then choose it again.";

pub fn of_file(error: &Unreadable) -> String {
    match error {
        Unreadable::TooLarge => "The file is larger than 1 MiB. Split it into several orders.",
        Unreadable::TooManyRows(most) => {
            return format!(
                "There are more than {most} rows, the most of one order. Split them into several."
            );
        }
        Unreadable::Empty => {
            "There are no recipients yet. Choose a file or paste rows below a heading."
        }
        Unreadable::Faults(_) => {
            "The heading cannot be read. The first line must name the columns: address and amount, \
             and optionally reference and memo."
        }
    }
    .to_owned()
}

/// The sentence of a refusal; an error for what the merchant can do nothing about.
pub fn of_order(error: PayoutError) -> Result<String, Problem> {
    let text = match error {
        PayoutError::NotFound => return Err(Problem::NotFound),
        PayoutError::Storage(error) | PayoutError::Unclear(error) => return Err(error.into()),
        PayoutError::NoAddress(error) => {
            tracing::error!(%error, "a payout order could not get an address");
            "No deposit address can be given on this network now. Ask the operator."
        }
        PayoutError::Disabled => "The operator has not switched payouts on.",
        PayoutError::UnsupportedNetwork => "There are no payouts on this network here.",
        PayoutError::UnsupportedCurrency => "This currency is not offered on this network.",
        PayoutError::RefundAddress(error) => {
            return Ok(sentence(&format!("the refund address {error}")));
        }
        PayoutError::OwnRefundAddress => {
            "The refund address belongs to this gateway: a refund would come back as a deposit. Name one \
             of your own."
        }
        PayoutError::Suspended => "The merchant is suspended. Ask the operator.",
        PayoutError::IdempotencyConflict => {
            "This form has created an order already, and now holds something else. Look at the list, then \
             open a new form."
        }
        PayoutError::InvalidState(state) => {
            let state = crate::names::spaced(state.as_str());
            return Ok(format!("The order is {state} by now, so this cannot be done any more."));
        }
        PayoutError::QuoteExpired => {
            "The quote has expired. Refresh it, compare, and confirm the new one."
        }
        PayoutError::QuoteChanged { .. } => {
            "The quote has changed since you saw it. Compare the new one below, and confirm it."
        }
        PayoutError::DepositDetected => "A deposit was detected already: the quote stays as it is.",
        PayoutError::NoFreshRate(_) => {
            "There is no fresh exchange rate at the moment. Try again in a minute."
        }
        PayoutError::NoFreshFee => {
            "The network's fees are not known at the moment. Try again in a minute."
        }
        error @ (PayoutError::Rows(_)
        | PayoutError::AboveLimit(_)
        | PayoutError::Quote(_)
        | PayoutError::TooManyOpen(_)) => return Ok(sentence(&error.to_string())),
    };
    Ok(text.to_owned())
}

/// The same of a payout that the merchant signs.
pub fn of_nc(error: NcPayoutError) -> Result<String, Problem> {
    let text = match error {
        NcPayoutError::NotFound => return Err(Problem::NotFound),
        NcPayoutError::Storage(error) => return Err(error.into()),
        NcPayoutError::Unbuilt(_) => {
            tracing::error!(%error, "a non-custodial payout could not be built");
            return Err(Problem::Broken);
        }
        // The reasons of nodes may hold their addresses.
        NcPayoutError::Node(_) | NcPayoutError::Source(_) => {
            tracing::warn!(%error, "a node failed while a payout was built");
            "The network's node does not answer. Try again in a minute."
        }
        NcPayoutError::FromAddress(error) => {
            return Ok(sentence(&format!("the paying address {error}")));
        }
        NcPayoutError::NotOneKey => {
            "The paying address must be locked by one key: P2WPKH or P2PKH."
        }
        NcPayoutError::NoInputs => {
            "Name the outputs of the paying address that are to be spent, one txid:n in each line."
        }
        NcPayoutError::IdempotencyConflict => {
            "This form has built a payout already, and now holds something else. Look at the list, then \
             open a new form."
        }
        NcPayoutError::InvalidState(state) => {
            let state = crate::names::spaced(state.as_str());
            return Ok(format!("The payout is {state} by now, so this cannot be done any more."));
        }
        NcPayoutError::Inputs(inputs) => {
            let inputs = inputs.iter().map(|(input, why)| format!("{input} {why}"));
            return Ok(sentence(&inputs.collect::<Vec<_>>().join("; ")));
        }
        NcPayoutError::Refused(outputs) => {
            let one = |output: &gateway::app::nc_payout::RefusingOutput| {
                format!("{} refuses the transfer ({})", output.address, output.reason)
            };
            return Ok(sentence(&outputs.iter().map(one).collect::<Vec<_>>().join("; ")));
        }
        error @ (NcPayoutError::UnsupportedNetwork
        | NcPayoutError::UnsupportedCurrency
        | NcPayoutError::Rows(_)
        | NcPayoutError::InputsTooLarge
        | NcPayoutError::TooLarge
        | NcPayoutError::InsufficientFunds { .. }
        | NcPayoutError::InsufficientGas { .. }
        | NcPayoutError::FeeTooHigh { .. }
        | NcPayoutError::Suspended
        | NcPayoutError::Expired
        | NcPayoutError::NonceUsed(_)
        | NcPayoutError::Mismatch(_)
        | NcPayoutError::PsbtMismatch(_)
        | NcPayoutError::Rejected(_)) => return Ok(sentence(&error.to_string())),
    };
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use gateway::payout::State;

    use super::*;

    #[test]
    fn a_refusal_is_a_sentence() {
        for error in [
            PayoutError::TooManyOpen(3),
            PayoutError::Suspended,
            PayoutError::InvalidState(State::PartialFailed),
            PayoutError::QuoteExpired,
        ] {
            let text = of_order(error).unwrap();
            let begins = text.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit());
            assert!(begins && text.ends_with('.'), "{text}");
        }
        assert!(matches!(of_order(PayoutError::NotFound), Err(Problem::NotFound)));
        let error = NcPayoutError::InsufficientFunds { has: 1, needs: 2 };
        assert_eq!(of_nc(error).unwrap(), "1 base units are available and 2 are needed.");
    }
}
