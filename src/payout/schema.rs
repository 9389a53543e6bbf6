//! How the values of payouts are described to machines, from the very words that write them.

use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type},
    },
};

use super::{
    EventType, FeeMode, Funding, PayoutFamily, State,
    batch::{BatchState, ItemState},
    lifecycle::CancelledBy,
    order,
};
use crate::invoice::schema::{described, names};

described! {
    RawAmount => ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9]{1,39}$"))
        .description(Some("A whole number of base units of the currency, as text, unless the field says otherwise."))
        .examples([json!("12500000")]);
    WholeCoins => OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::String))
        .item(ObjectBuilder::new().schema_type(Type::Number))
        .description(Some("An amount in whole coins: digits and at most one point."))
        .examples([json!("1.5")]);
    Metadata => ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::FreeForm(true)))
        .description(Some("Any object of at most 4096 bytes, kept as it was written."))
        .examples([json!({ "run": "2026-11" })]);
    FamilyName => names(PayoutFamily::ALL.map(PayoutFamily::as_str)).description(Some(
        "`utxo`: bitcoin, litecoin, dogecoin. `evm`: the EVM networks.",
    ));
    OrderState => names(State::ALL.map(State::as_str)).description(Some(
        "`draft`: quoted. `pending_deposit`: confirmed, waits for its deposit. `funded`: fully funded. `processing`: \
         recipients are being paid. `completed`: all are paid. `partial_failed`: ended with at least one unpaid recipient. \
         `expired`: not confirmed, or not funded, in time. `cancelled`: by its merchant or an \
         operator. The last four states are final.",
    ));
    OrderStateAsked => names_or_empty(State::ALL.map(State::as_str));
    ItemStateAsked => names_or_empty(ItemState::ALL.map(ItemState::as_str));
    FundingStatus => names(Funding::ALL.map(Funding::as_str)).description(Some(
        "The deposits so far: `detected` means seen but not yet confirmed; with the last three values they are confirmed.",
    ));
    FeeBearer => names(FeeMode::ALL.map(FeeMode::as_str)).description(Some(
        "`sender`: the fees are added to the total. `recipient`: they are deducted evenly from the recipients' amounts.",
    ));
    BatchStateName => names(BatchState::ALL.map(BatchState::as_str)).description(Some(
        "`signing`: partly signed, not completely sent. `failed`: ended with at least one unpaid row. `confirmed` and \
         `failed` are final.",
    ));
    ItemStateName => names(ItemState::ALL.map(ItemState::as_str)).description(Some(
        "The last two never change.",
    ));
    RefundState => names(order::RefundState::ALL.map(order::RefundState::as_str)).description(Some(
        "`held`: an operator must decide, because there is no `refundAddress` or the refund failed.",
    ));
    Canceller => names(CancelledBy::ALL.map(CancelledBy::as_str)).description(Some("Who cancelled the order; null if nobody did."));
    EventName => names(EventType::ALL.map(EventType::as_str)).description(Some("What happened."));
}

/// For queries, where empty is the same as absent.
fn names_or_empty<const N: usize>(all: [&'static str; N]) -> ObjectBuilder {
    let values = all.into_iter().chain([""]);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values))
}
