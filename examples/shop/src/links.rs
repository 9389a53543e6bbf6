//! The shop's payment links, one of each kind: created when the shop starts for the first time, and
//! found again by their `order_id` and webhook address.

use std::fmt::Write;

use anyhow::Context;
use serde_json::{Value, json};

use crate::gateway::Gateway;

/// A month passes in a minute, so that one can watch the reminders of a subscription.
const SANDBOX_DAY_SECONDS: u32 = 2;

/// Addresses of the shop's links.
#[derive(Default)]
pub struct Links {
    /// The button, as HTML of the gateway.
    pub button: String,
    pub donation: String,
    pub club: String,
    /// The page that makes a browser a device of the till, once; the till itself if no code was to
    /// be had.
    pub till: String,
}

impl Links {
    /// # Errors
    /// If the gateway cannot be reached or refuses a link.
    pub async fn of_shop(gateway: &Gateway, ipn_url: &str) -> anyhow::Result<Self> {
        let known = gateway.call("GET", "/v1/links?limit=100", None).await?;
        let known = known["data"].as_array().cloned().unwrap_or_default();
        let link = async |order_id: &str, terms: Value| {
            let same = |link: &&Value| {
                let is_ours = link["order_id"] == order_id && link["ipn_callback_url"] == ipn_url;
                is_ours && link["active"] == true
            };
            if let Some(found) = known.iter().find(same) {
                return Ok(found.clone());
            }
            let mut terms = terms;
            terms["order_id"] = order_id.into();
            terms["ipn_callback_url"] = ipn_url.into();
            gateway.call("POST", "/v1/links", Some(&terms)).await
        };
        let button = link(
            "demo-button",
            json!({
                "type": "payment", "title": "A gift box of beans", "price_amount": 54, "price_currency": "usd",
            }),
        );
        let donation = link(
            "demo-donation",
            json!({
                "type": "donation", "title": "A roof for the drying beds", "price_currency": "usd",
                "suggested_amounts": [10, 25, 50],
            }),
        );
        let club = link(
            "demo-club",
            json!({
                "type": "subscription", "title": "Coffee club", "price_amount": 24, "price_currency": "usd",
                "interval": "month", "sandbox_day_seconds": SANDBOX_DAY_SECONDS,
            }),
        );
        let till = link(
            "demo-till",
            json!({
                "type": "pos", "title": "The counter", "price_currency": "usd",
            }),
        );
        let (button, donation, club, till) =
            (button.await?, donation.await?, club.await?, till.await?);
        Ok(Self {
            button: text(&button, "button_html")?,
            donation: text(&donation, "url")?,
            club: text(&club, "url")?,
            till: enrolment(gateway, &till).await.or_else(|error| {
                eprintln!("no code for a device of the till: {error:#}");
                text(&till, "url")
            })?,
        })
    }

    /// For the terminal: one line for each kind.
    pub fn listing(&self) -> String {
        let button = self.button.split('"').nth(1).unwrap_or_default();
        let mut lines = String::new();
        let kinds = [
            ("payment", button),
            ("donation", &self.donation),
            ("subscription", &self.club),
            ("till", &self.till),
        ];
        for (kind, url) in kinds.into_iter().filter(|(_, url)| !url.is_empty()) {
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{kind:<13} {url}");
        }
        lines
    }
}

/// A code enrols one browser within 15 minutes, so each start of the shop asks for one.
async fn enrolment(gateway: &Gateway, till: &Value) -> anyhow::Result<String> {
    let path = format!("/v1/links/{}/devices", text(till, "link_id")?);
    let device = gateway.call("POST", &path, Some(&json!({ "name": "Counter" }))).await?;
    text(&device, "enrol_url")
}

fn text(link: &Value, name: &str) -> anyhow::Result<String> {
    let value = link[name].as_str().map(ToOwned::to_owned);
    value.with_context(|| format!("no {name} in the answer"))
}
