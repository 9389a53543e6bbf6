//! How the values in answers are described to machines: the named parts of the OpenAPI document.
//!
//! The lists come from the very vocabularies that write the answers, so a description cannot fall
//! behind.

use serde_json::json;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        extensions::ExtensionsBuilder,
        schema::{
            KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, SchemaType, Type,
        },
    },
};

use super::{
    Status,
    happening::{Advice, Fate, Happening},
};
use crate::asset::{Network, catalogue::Standard};

/// The values of `invoice_type` (spec, "Invoice types").
const INVOICE_TYPES: [&str; 4] = {
    let [payment, donation, subscription, pos] = super::InvoiceType::ALL;
    [payment.as_str(), donation.as_str(), subscription.as_str(), pos.as_str()]
};

/// Describes a type that exists only in documents: its name, and how it is built.
macro_rules! described {
    ($($name:ident => $build:expr;)*) => {$(
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $build.into()
            }
        }

        impl ToSchema for $name {}
    )*};
}
pub(crate) use described;

described! {
    Amount => ObjectBuilder::new()
        .schema_type(Type::Number)
        .description(Some(
            "An exact decimal JSON number in its shortest plain form: no exponent, no trailing zeros. Parse it with a \
             decimal type where the 15 digits of a double are not enough.",
        ))
        .examples([json!(25.1)]);
    DecimalText => ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[0-9]+(\.[0-9]+)?$"))
        .description(Some("An exact decimal in its shortest plain form, as text."))
        .examples([json!("25.1")]);
    SignedDecimalText => ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^-?[0-9]+(\.[0-9]+)?$"))
        .description(Some(
            "An exact decimal in its shortest plain form, as text. Below zero only where a reversal took more than there \
             was.",
        ))
        .examples([json!("25.1")]);
    Instant => ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("ISO 8601 in UTC with milliseconds."))
        .examples([json!("2026-11-21T20:00:00.000Z")]);
    WebAddress => ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::Custom("uri".to_owned())))
        .min_length(Some(1))
        .max_length(Some(2048))
        .description(Some("An absolute http or https URL without user and password."))
        .examples([json!("https://shop.example/ipn")]);
    OptionalWebAddress => OneOfBuilder::new()
        .item(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .format(Some(SchemaFormat::Custom("uri".to_owned())))
                .min_length(Some(1))
                .max_length(Some(2048)),
        )
        .item(ObjectBuilder::new().schema_type(Type::String).max_length(Some(0)))
        .description(Some(
            "An absolute http or https URL without user and password. Empty is the same as absent.",
        ))
        .examples([json!("https://shop.example/ipn")]);
    AmountAsked => ObjectBuilder::new()
        .schema_type(Type::Number)
        .exclusive_minimum(Some(0.0))
        .description(Some("A decimal JSON number above 0, read digit by digit without rounding."))
        .examples([json!(25.1)]);
    Anything => ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([
            Type::String,
            Type::Number,
            Type::Boolean,
            Type::Object,
            Type::Array,
        ]))
        .description(Some("A value of any type."));
    WholeNumber => OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::Integer))
        .item(ObjectBuilder::new().schema_type(Type::String).max_length(Some(0)))
        .description(Some("A whole number of any size. Empty is the same as absent."));
    True => ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .enum_values(Some([true]))
        .description(Some("Always true."));
    False => ObjectBuilder::new()
        .schema_type(Type::Boolean)
        .enum_values(Some([false]))
        .description(Some("Always false."));
    Null => ObjectBuilder::new().schema_type(Type::Null).description(Some("Always null."));
    PaymentStatus => names(Status::ALL.map(Status::for_merchant)).description(Some(
        "`waiting`: nothing counts yet. `partially_paid`: less than the invoice asks for. `finished`: paid in full; an \
         overpayment shows as `actually_paid` above `pay_amount`. `expired`: the payment window ended. `failed`: \
         cancelled. The last three values are final.",
    ));
    BuyerStatusName => names(Status::ALL.map(Status::for_buyer)).description(Some(
        "The status in the buyer's vocabulary. The last four values are final.",
    ));
    HappeningKind => names(Happening::ALL.map(Happening::as_str)).description(Some(
        "`unconfirmed`: seen, and waits for confirmations. `wrong_token`, `wrong_network`, `unknown_token`: something else \
         than what was asked for. `late`: after the end of the invoice. `replaced`: another transaction took its place. \
         `dropped`: its network does not know it any more. `reorganised`: its block left the chain, and it waits for another \
         one. `reversed`: it left the chain after it had been counted. Later releases may add more.",
    ));
    PaymentFate => names(Fate::ALL.map(Fate::as_str)).description(Some(
        "Where the money is. `waiting`: on its way. `kept`: at the merchant's address, not counted for the invoice. `moved`: in \
         the transaction that took its place. `not_sent`: it never arrived. `lost`: no longer the merchant's. `unclear`: it \
         arrived, and nobody vouches for its value.",
    ));
    BuyerAdvice => names(Advice::ALL.map(Advice::as_str)).description(Some(
        "`wait`. `contact_merchant`: write to the merchant, with `reference`. `send_again`: send the amount again if the wallet \
         says that the transaction failed. `nothing`.",
    ));
    InvoiceType => names(INVOICE_TYPES).description(Some(
        "`payment`: a single payment. `donation`: the buyer chooses the amount. `subscription`: a recurring payment. \
         `pos`: a payment at a point-of-sale terminal.",
    ));
    NetworkName => ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "A chain. `x-extensible-enum` lists those of this release; later releases may add more, so accept unknown \
             names.",
        ))
        .examples([json!("polygon")])
        .extensions(Some(
            ExtensionsBuilder::new()
                .add("x-extensible-enum", json!(Network::ALL.map(Network::name)))
                .build(),
        ));
    StandardName => names(Standard::ALL.map(Standard::name)).description(Some(
        "`native` for a chain's own coin, otherwise the token standard.",
    ));
}

/// A text out of a list, each once, in the order in which they first come.
pub(crate) fn names<const N: usize>(all: [&'static str; N]) -> ObjectBuilder {
    let mut once = Vec::new();
    for name in all {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(once))
}
