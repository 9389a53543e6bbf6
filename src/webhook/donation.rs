//! The metadata of a donation in its webhooks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Words and choices of a donor. Plain text on one line, written by a stranger: escape it wherever
/// you show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Donation)]
pub struct DonationBody {
    /// The link on whose page the donation began.
    pub link_id: String,
    /// Null if the donor gave none, or wants to stay anonymous.
    #[schema(required, max_length = 100)]
    pub donor_name: Option<String>,
    /// Null if the donor gave none, or wants to stay anonymous. It is not proven to be the
    /// donor's.
    #[schema(required, max_length = 254)]
    pub donor_email: Option<String>,
    /// Null if the donor wrote none.
    #[schema(required, max_length = 500)]
    pub message: Option<String>,
    /// True: the donor wants to stay anonymous.
    pub anonymous: bool,
    /// The amount that the page proposed, as text; null if it proposed none. The donor's own choice
    /// is `price_amount`.
    #[schema(required)]
    pub suggested_amount: Option<String>,
    /// The currency of `suggested_amount`; null without it.
    #[schema(required)]
    pub suggested_currency: Option<String>,
}
