//! Payouts on bitcoin-like networks: one transaction that pays all recipients from the outputs that
//! the merchant names.
//!
//! Every build of the payout, the first and all later ones, spends all of these outputs. So no two
//! builds can ever both confirm, even if the merchant broadcasts them directly.

use super::{
    NcPayoutError, RefusingOutput,
    plan::{Built, Plan, Spends},
};
use crate::{
    chain::pay::{
        Output, SignError, UtxoPayer,
        utxo::{DraftError, Drafted, Wish},
    },
    nc_payout::{
        Unsigned,
        psbt::{Unbuildable, check::Signed},
    },
};

/// Builds the transaction, if the named outputs can be spent and suffice.
pub(super) async fn build(node: &UtxoPayer, plan: &Plan<'_>) -> Result<Built, NcPayoutError> {
    if plan.inputs.is_empty() {
        return Err(NcPayoutError::NoInputs);
    }
    let output = |(to, amount): &(&str, _)| Output { address: (*to).to_owned(), amount: *amount };
    let outputs: Vec<_> = plan.outputs.iter().map(output).collect();
    let wish = Wish {
        sender: plan.sender,
        outputs: &outputs,
        inputs: plan.inputs,
        blocks: plan.fee_level.blocks(),
    };
    let Drafted { draft, coins, begin } =
        node.draft(wish).await.map_err(|error| refusal(error, plan))?;
    let transactions = vec![Unsigned::Utxo(Box::new(draft))];
    Ok(Built { chain_id: None, transactions, spends: Some(Spends { coins, begin }) })
}

/// Refuses bytes that the node would not accept, while nothing is stored and the merchant can still
/// rebuild.
pub(super) async fn check_payable(
    node: &UtxoPayer,
    signed: &Signed,
    inputs: &[String],
) -> Result<(), NcPayoutError> {
    match node.objection(&signed.raw, &signed.hash, inputs).await? {
        None => Ok(()),
        Some(reason) => {
            let reason = format!("the network's node refuses it: {reason}");
            Err(NcPayoutError::Rejected(reason))
        }
    }
}

fn refusal(error: DraftError, plan: &Plan<'_>) -> NcPayoutError {
    match error {
        DraftError::NotOneKey => NcPayoutError::NotOneKey,
        DraftError::Inputs(unusable) => NcPayoutError::Inputs(unusable),
        DraftError::TooLittle { has, paid, .. } if has < paid => {
            NcPayoutError::InsufficientFunds { has, needs: paid }
        }
        DraftError::TooLittle { has, needs, .. } => NcPayoutError::InsufficientGas { has, needs },
        DraftError::Refused(refused) => {
            let one = |(place, reason): (usize, String)| {
                let address = plan.outputs.get(place).map(|(address, _)| (*address).to_owned());
                RefusingOutput { row: place + 1, address: address.unwrap_or_default(), reason }
            };
            NcPayoutError::Refused(refused.into_iter().map(one).collect())
        }
        DraftError::Build(Unbuildable::TooLarge) => NcPayoutError::InputsTooLarge,
        DraftError::Sign(SignError::Unsupported) => NcPayoutError::TooLarge,
        error @ (DraftError::Sign(
            SignError::WrongKey | SignError::Spend(_) | SignError::Scattered { .. },
        )
        | DraftError::Build(
            Unbuildable::OtherSpent
            | Unbuildable::OtherLock
            | Unbuildable::Unreadable
            | Unbuildable::NoFee,
        )) => NcPayoutError::Unbuilt(error),
        DraftError::Node(error) => NcPayoutError::Node(error),
    }
}
