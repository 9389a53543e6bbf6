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
        .description(Some("A whole number of base units, as text: of the currency's, unless it says otherwise."))
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
        "`draft`: quoted. `pending_deposit`: confirmed, waits for its money. `funded`: enough has come. `processing`: \
         recipients are being paid. `completed`: all are paid. `partial_failed`: ended, and at least one was not paid. \
         `expired`: not confirmed, or not funded, in time. `cancelled`. The last four never change.",
    ));
    OrderStateAsked => names_or_empty(State::ALL.map(State::as_str));
    ItemStateAsked => names_or_empty(ItemState::ALL.map(ItemState::as_str));
    FundingStatus => names(Funding::ALL.map(Funding::as_str)).description(Some(
        "What has come: `detected` is seen but not yet confirmed, the last three are confirmed.",
    ));
    FeeBearer => names(FeeMode::ALL.map(FeeMode::as_str)).description(Some(
        "`sender`: the fees come on top. `recipient`: they are taken evenly out of the recipients' amounts.",
    ));
    BatchStateName => names(BatchState::ALL.map(BatchState::as_str)).description(Some(
        "`signing`: some of it is signed, not all is sent. `failed`: ended, and at least one of its rows was not paid. \
         The last two never change.",
    ));
    ItemStateName => names(ItemState::ALL.map(ItemState::as_str)).description(Some(
        "The last two never change.",
    ));
    RefundState => names(order::RefundState::ALL.map(order::RefundState::as_str)).description(Some(
        "`held`: a person must decide, because no `refundAddress` was given or it could not be paid.",
    ));
    Canceller => names(CancelledBy::ALL.map(CancelledBy::as_str)).description(Some("Who cancelled it; null unless somebody did."));
    EventName => names(EventType::ALL.map(EventType::as_str)).description(Some("What happened."));
}

/// For queries, where empty is the same as absent.
fn names_or_empty<const N: usize>(all: [&'static str; N]) -> ObjectBuilder {
    let values = all.into_iter().chain([""]);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values))
}
