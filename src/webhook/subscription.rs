//! A subscription as its merchant sees it, in the API and in the feed of events; and the renewal in
//! a reminder's IPN.

use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

use crate::invoice::schema;

/// A subscription. Fields are only ever added.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Subscription)]
pub struct SubscriptionBody {
    /// `pzs_` and 26 characters; never changes.
    #[schema(pattern = "^pzs_[0-9a-hjkmnp-tv-z]{26}$")]
    pub subscription_id: String,
    /// The link on whose page it began.
    pub link_id: String,
    /// `active`, `past_due` (not paid three days after the renewal), `cancelled` or `ended` (its
    /// last cycle is over). More may come.
    pub state: String,
    /// Not proven to be the subscriber's.
    pub subscriber_email: String,
    /// Its own: a changed link changes new subscribers only.
    #[schema(value_type = schema::Amount)]
    pub price_amount: Number,
    /// In lower case.
    pub price_currency: String,
    /// `day`, `week`, `month` or `year`.
    pub interval: String,
    /// How many intervals lie between two payments.
    #[schema(minimum = 1)]
    pub interval_count: u32,
    /// Payments after which it ends; null for one without an end.
    #[schema(required)]
    pub cycles_max: Option<u32>,
    /// The newest cycle that is paid, from 1. A late payment covers the period it falls in, so
    /// numbers may be skipped.
    #[schema(minimum = 0)]
    pub subscription_cycle: u32,
    /// The end of that cycle; null once it is over.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub next_renewal_at: Option<String>,
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
}

/// The renewal that a reminder is about.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Renewal)]
pub struct RenewalBody {
    /// The day of the reminder relative to `next_renewal_at`, also if it is sent later.
    #[schema(minimum = -3, maximum = 3)]
    pub day_offset: i8,
    #[schema(value_type = schema::Instant)]
    pub next_renewal_at: String,
    /// The cycle to be paid.
    #[schema(minimum = 2)]
    pub cycle: u32,
    /// The subscriber's own page, where he renews or cancels. Send it to him and to nobody else.
    pub renewal_url: String,
}
