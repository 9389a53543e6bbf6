//! Request schemas for the OpenAPI document. They describe, member by member, the bodies that
//! [`request`](super::request) reads; nothing is deserialized into them.

use gateway::{invoice::schema as values, payout::schema};
use utoipa::ToSchema;

/// An order to create. Its recipients are either in `items` or in `csv`. Members that are
/// not listed are ignored; null is the same as absent.
#[derive(ToSchema)]
#[schema(as = NewPayout, rename_all = "camelCase")]
pub struct New {
    /// A network of this family.
    #[schema(min_length = 1, max_length = 2048, examples("polygon"))]
    pub network: String,
    /// A currency's code, or its symbol on this network.
    #[schema(min_length = 1, max_length = 2048, examples("usdtmatic"))]
    pub currency: String,
    /// At most 1000 recipients, on EVM networks 2000.
    #[schema(min_items = 1, max_items = 2000)]
    pub items: Option<Vec<NewItem>>,
    /// The text of a file, as it would be sent as `text/csv`.
    #[schema(max_length = 1_048_576)]
    pub csv: Option<String>,
    /// `sender` if absent.
    #[schema(value_type = Option<schema::FeeBearer>)]
    pub fee_mode: Option<String>,
    /// The address for refunds. Without it a refund waits for an operator.
    #[schema(max_length = 2048)]
    pub refund_address: Option<String>,
    /// Plain text for the merchant's own use.
    #[schema(max_length = 255)]
    pub label: Option<String>,
    /// The URL for this order's webhooks, instead of the one in the merchant's settings.
    #[schema(value_type = Option<values::WebAddress>)]
    pub callback_url: Option<String>,
    #[schema(value_type = Option<schema::Metadata>)]
    pub metadata: Option<String>,
}

/// One recipient. Rows with equal content each need a `reference` of their own.
#[derive(ToSchema)]
#[schema(as = NewPayoutItem, rename_all = "camelCase")]
pub struct NewItem {
    /// On the order's network.
    #[schema(examples("0x52908400098527886E0F7030069857D2E4169EE7"))]
    pub address: String,
    /// Whole coins, as a number or as text. Either this or `amountRaw`.
    #[schema(value_type = Option<schema::WholeCoins>)]
    pub amount: Option<String>,
    /// Base units. Either this or `amount`.
    pub amount_raw: Option<String>,
    /// The merchant's own reference, unique within the order. It must not start like a formula
    /// (`=`, `+`, `-`, `@`).
    pub reference: Option<String>,
    /// The merchant's own note, with the limits of `reference`, but it need not be unique.
    pub memo: Option<String>,
}

/// A CSV file and the order's other fields.
#[derive(ToSchema)]
#[schema(as = NewPayoutForm, rename_all = "camelCase")]
pub struct Form {
    /// The recipients, as in a body of `text/csv`.
    #[schema(value_type = String, format = Binary)]
    pub file: Vec<u8>,
    /// A network of this family.
    pub network: String,
    /// A currency's code, or its symbol on this network.
    pub currency: String,
    /// `sender`, if absent, or `recipient`.
    pub fee_mode: Option<String>,
    /// The address for refunds. Without it a refund waits for an operator.
    pub refund_address: Option<String>,
    /// Plain text for the merchant's own use, at most 255 characters.
    pub label: Option<String>,
    /// The URL for this order's webhooks, instead of the one in the merchant's settings.
    pub callback_url: Option<String>,
    /// The text of a JSON object of at most 4096 bytes.
    pub metadata: Option<String>,
}

/// The quote or the total that is confirmed. Without a body, or with an empty object, the order is
/// confirmed as it is.
#[derive(ToSchema)]
#[schema(as = ConfirmPayout, rename_all = "camelCase")]
pub struct Confirm {
    /// If sent, the order is confirmed only if this is still its quote.
    #[schema(min_length = 1, max_length = 64)]
    pub quote_id: Option<String>,
    /// If sent, the order is confirmed only if its `totalToSendRaw` equals this.
    #[schema(min_length = 1, max_length = 39)]
    pub accept_total_raw: Option<String>,
}
