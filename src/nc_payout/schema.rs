//! How the words of non-custodial payouts are described to machines, from the very words that write
//! them.

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{ObjectBuilder, Schema, Type},
    },
};

use super::{FeeLevel, State, TransactionState};
use crate::invoice::schema::described;

described! {
    NcState => words(State::ALL.into_iter().map(State::as_str)).description(Some(
        "`awaiting_signature`: sign `unsigned` and submit it before `expiresAt`. `submitted`: the signed bytes are \
         stored and are sent until a block contains them. `confirming`: at least one is in a block. The others never \
         change: `completed`, `partial_failed` (some recipients were paid), `failed` (none was), `expired` and \
         `cancelled` (nothing was signed).",
    ));
    NcStateAsked => words(State::ALL.into_iter().map(State::as_str).chain([""]));
    NcOutputState => words(TransactionState::ALL.into_iter().map(TransactionState::as_str)).description(Some(
        "The state of its transaction: `unsigned`, `signed` (stored, not yet accepted by any node), `sent`, `confirmed` \
         (finally paid) or `failed` (it will never pay).",
    ));
    NcFeeLevel => words(FeeLevel::ALL.into_iter().map(FeeLevel::as_str)).description(Some(
        "How much is offered to the network for fast inclusion in a block.",
    ));
}

fn words(all: impl Iterator<Item = &'static str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(all))
}
