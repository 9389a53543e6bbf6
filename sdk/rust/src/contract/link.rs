//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};

use super::Amount;

/// Words and choices of a donor. Plain text on one line, written by a stranger: escape it wherever
/// you show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Donation {
    /// True: the donor wants to stay anonymous.
    pub anonymous: bool,
    /// Null if the donor gave none, or wants to stay anonymous. It is not proven to be the donor's.
    pub donor_email: Option<String>,
    /// Null if the donor gave none, or wants to stay anonymous.
    pub donor_name: Option<String>,
    /// The link on whose page the donation began.
    pub link_id: String,
    /// Null if the donor wrote none.
    pub message: Option<String>,
    /// The amount that the page proposed, as text; null if it proposed none. The donor's own choice
    /// is `price_amount`.
    pub suggested_amount: Option<String>,
    /// The currency of `suggested_amount`; null without it.
    pub suggested_currency: Option<String>,
}

/// A link to create. Members that are not listed are ignored; null is the same as absent. It
/// describes the input of `parse`, member by member; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewPaymentLink {
    /// The tokens (`code@network`) that its invoices may be paid in, of those that you accept.
    /// Absent: all that you accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<String>>,
    /// Where buyers are redirected once their invoice is cancelled or expired: an http or https
    /// URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Of a subscription: payments after which it ends. Absent: it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles_max: Option<i64>,
    /// Shown below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of a subscription: the unit of the time between two payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Of a subscription: how many of them; 1 if absent. Of days at least 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_count: Option<i64>,
    /// Where the signed IPNs of its invoices are posted. Left out, the merchant's default holds, if
    /// there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipn_callback_url: Option<String>,
    /// The largest amount that visitors may choose; 1,000,000 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_amount: Option<Amount>,
    /// The smallest amount that visitors may choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_amount: Option<Amount>,
    /// Your own reference, which all its invoices carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// Of a till: the PIN of 4 to 8 digits with which its devices are enrolled and unlocked, not
    /// such as 0000 or 1234. Absent: each device chooses its own. It is never shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// The price. Absent: visitors choose the amount. Of a donation the amount that the page
    /// proposes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_amount: Option<Amount>,
    /// `usd`, `eur` or `gbp` in any case.
    pub price_currency: String,
    /// Of a subscription, in the sandbox only: seconds that a day takes, so that a month can be
    /// watched in a minute. Dates stay real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_day_seconds: Option<i64>,
    /// True: one payment uses the link up. Until then all its visitors share one open invoice. Only
    /// for type `payment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    /// Where buyers are redirected once they have paid: an http or https URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
    /// Amounts that the page offers, each with at most two decimals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_amounts: Option<Vec<Amount>>,
    /// Of a till: the IANA name of the time zone in which its day begins; `UTC` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The heading of the page and the description of its invoices; one line.
    pub title: String,
    /// `payment`: a fixed price, or one that the visitor chooses. `donation`: an amount that the
    /// donor chooses, with his name and a message if he likes. `subscription`: a fixed price that
    /// is paid again every interval. `pos`: a till, whose enrolled devices type each amount. It
    /// cannot be changed.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A device to enrol. It describes the input of the endpoint; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewTillDevice {
    /// A name by which you know it, on one line.
    pub name: String,
}

/// A page whose visitors create invoices of their merchant. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentLink {
    /// Null: all that the merchant accepts.
    pub accepted: Option<Vec<String>>,
    /// False: the page takes no payments.
    pub active: bool,
    /// The button as HTML, to be pasted into a page. It needs no script. Empty for a till.
    pub button_html: String,
    /// The picture of a button (SVG) that leads to the page. `?lang=` chooses its language. Empty
    /// for a till, to which no button leads.
    pub button_url: String,
    /// Where buyers are redirected once their invoice is cancelled or expired.
    pub cancel_url: Option<String>,
    pub created_at: String,
    /// Payments after which it ends; null for one without an end.
    pub cycles_max: Option<i64>,
    /// Shown below the title.
    pub description: Option<String>,
    /// Of a till: true if its devices are enrolled with the PIN that you set, false if each chooses
    /// its own. Null for other links.
    pub has_pin: Option<bool>,
    /// Of a subscription; else null, and so are the next ones.
    pub interval: Option<String>,
    /// How many intervals lie between two payments.
    pub interval_count: Option<i64>,
    /// Where the signed IPNs of its invoices are posted.
    pub ipn_callback_url: Option<String>,
    /// `pzl_` and 26 characters; never changes.
    pub link_id: String,
    pub max_amount: Option<Amount>,
    pub min_amount: Option<Amount>,
    /// The merchant's own reference, which all its invoices carry.
    pub order_id: Option<String>,
    /// The price, or of a donation the proposed amount; null where visitors choose.
    pub price_amount: Option<Amount>,
    /// In lower case.
    pub price_currency: String,
    /// Seconds that a day takes in the sandbox; null where it takes a day.
    pub sandbox_day_seconds: Option<i64>,
    /// True: one payment uses the link up.
    pub single_use: bool,
    /// Where buyers are redirected once they have paid.
    pub success_url: Option<String>,
    pub suggested_amounts: Vec<Amount>,
    /// Of a till: the time zone in which its day begins; null is UTC.
    pub time_zone: Option<String>,
    /// The heading of the page and the description of its invoices.
    pub title: String,
    /// As it was created; never changes.
    #[serde(rename = "type")]
    pub kind: String,
    pub updated_at: String,
    /// The page. Whoever has its address may open it.
    pub url: String,
}

/// Changes of a link. What is absent stays; null removes a value that need not be there. It
/// describes the input of `changes`; nothing is read into it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PaymentLinkChanges {
    /// The tokens (`code@network`) that new invoices may be paid in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Vec<String>>,
    /// False switches the link off. Its open invoices can still be paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_url: Option<String>,
    /// Shown below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipn_callback_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_amount: Option<Amount>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_amount: Option<Amount>,
    /// Your own reference, which new invoices carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_id: Option<String>,
    /// Of a till: the PIN of devices that are enrolled from now on; null leaves it to each of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// New invoices cost this; those that exist keep their price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_amount: Option<Amount>,
    /// `usd`, `eur` or `gbp` in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_currency: Option<String>,
    /// True: one payment uses the link up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single_use: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_amounts: Option<Vec<Amount>>,
    /// Of a till: the IANA name of the time zone in which its day begins; null is `UTC`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The heading of the page and the description of new invoices; one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// One page of links.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentLinkList {
    pub data: Vec<PaymentLink>,
    /// Links per page, after clamping.
    pub limit: i64,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Links on all pages.
    pub total: i64,
}

/// The renewal that a reminder is about.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renewal {
    /// The cycle to be paid.
    pub cycle: i64,
    /// The day of the reminder relative to `next_renewal_at`, also if it is sent later.
    pub day_offset: i64,
    pub next_renewal_at: String,
    /// The subscriber's own page, where he renews or cancels. Send it to him and to nobody else.
    pub renewal_url: String,
}

/// A subscription. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subscription {
    pub created_at: String,
    /// Payments after which it ends; null for one without an end.
    pub cycles_max: Option<i64>,
    /// `day`, `week`, `month` or `year`.
    pub interval: String,
    /// How many intervals lie between two payments.
    pub interval_count: i64,
    /// The link on whose page it began.
    pub link_id: String,
    /// The end of that cycle; null once it is over.
    pub next_renewal_at: Option<String>,
    /// Its own: a changed link changes new subscribers only.
    pub price_amount: Amount,
    /// In lower case.
    pub price_currency: String,
    /// `active`, `past_due` (not paid three days after the renewal), `cancelled` or `ended` (its
    /// last cycle is over). More may come.
    pub state: String,
    /// Not proven to be the subscriber's.
    pub subscriber_email: String,
    /// The newest cycle that is paid, from 1. A late payment covers the period it falls in, so
    /// numbers may be skipped.
    pub subscription_cycle: i64,
    /// `pzs_` and 26 characters; never changes.
    pub subscription_id: String,
    pub updated_at: String,
}

/// One page of subscriptions, the newest first. Each was paid at least once.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubscriptionList {
    pub data: Vec<Subscription>,
    /// True if there are older ones: ask again with `after` = `next`.
    pub has_more: bool,
    /// The last one of this page; null if it is empty.
    pub next: Option<String>,
}

/// A device of a till. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillDevice {
    pub created_at: String,
    /// `pzd_` and 26 characters; never changes.
    pub device_id: String,
    /// The code was used then; null before.
    pub enrolled_at: Option<String>,
    /// Its name.
    pub name: String,
    /// It was revoked then; null if it was not.
    pub revoked_at: Option<String>,
    /// Its last use, to the minute; null before the first.
    pub seen_at: Option<String>,
    /// `waiting` for its code, `expired` without it, `enrolled`, `locked` by too many wrong PINs,
    /// `revoked`.
    pub state: String,
}

/// The devices of a till: those in use first, each group the newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillDeviceList {
    pub data: Vec<TillDevice>,
}

/// A code that enrols one browser as a device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TillEnrolment {
    /// The code, shown this once. It enrols one browser.
    pub code: String,
    /// The code is good until then.
    pub code_expires_at: String,
    /// `pzd_` and 26 characters; never changes.
    pub device_id: String,
    /// The enrolment page with the code filled in, to be opened on the device or shown to its
    /// camera as a QR code. It is as secret as the code.
    pub enrol_url: String,
    /// Its name.
    pub name: String,
}
