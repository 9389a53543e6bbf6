//! The page to go on with after a fresh proof.

use std::fmt;

use gateway::account::Action;

use crate::form::Form;

/// Long enough for every id, short enough for every address.
const ID_CHARS_MAX: usize = 80;
/// The screens with a page for each thing that they list, at `{screen}/{id}`.
pub const SCREENS_OF_THINGS: [&str; 11] = [
    "/payments",
    "/links",
    "/payouts",
    "/events",
    "/operator/merchants",
    "/operator/currencies",
    "/operator/networks",
    "/operator/payouts",
    "/reports",
    "/subscriptions",
    "/x402",
];

/// An action that waits for a fresh proof, and what it acts on: both are names of ours and never an
/// address, so that a link to the page cannot lead anywhere else afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextPage {
    pub action: Action,
    /// What the page of one thing is about, such as an order, as it stands in its address.
    pub id: Option<String>,
}

impl NextPage {
    /// Of an action that was asked for at `path`, such as `/payouts/{id}/confirm`.
    pub fn after(action: Action, path: &str) -> Self {
        let below = path.strip_prefix(action.screen()).and_then(|rest| rest.strip_prefix('/'));
        let id = below.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        Self::new(action, id)
    }

    /// From the fields of [`Self::query`].
    pub fn read(fields: &Form) -> Self {
        let action = fields.filled("for").and_then(|name| name.parse().ok());
        Self::new(action.unwrap_or(Action::AccountView), fields.text("id"))
    }

    fn new(action: Action, id: &str) -> Self {
        let is_id = (1..=ID_CHARS_MAX).contains(&id.len())
            && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let has_page = SCREENS_OF_THINGS.contains(&action.screen());
        Self { action, id: (is_id && has_page).then(|| id.to_owned()) }
    }

    /// The page's own address.
    pub fn path(&self) -> String {
        match &self.id {
            Some(id) => format!("{}/{id}", self.action.screen()),
            None => self.action.screen().to_owned(),
        }
    }

    /// The same as the parameters of an address.
    pub fn query(&self) -> impl fmt::Display {
        let id = self.id.as_ref().map(|id| format!("&id={id}"));
        format!("for={}{}", self.action, id.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> String {
        NextPage::read(&Form::parse(query.as_bytes())).path()
    }

    #[test]
    fn the_page_is_that_of_the_thing_that_was_acted_on() {
        for (action, path, page) in [
            (Action::PayoutRelease, "/operator/payouts/po_1-a/release", "/operator/payouts/po_1-a"),
            (Action::PayoutConfirm, "/payouts/po_1/confirm", "/payouts/po_1"),
            (Action::MerchantCreate, "/operator/merchants", "/operator/merchants"),
            (Action::KeyRotate, "/developers/key", "/developers"),
            (Action::PasskeyRemove, "/account/passkeys/7/remove", "/account"),
        ] {
            let next = NextPage::after(action, path);
            assert_eq!(next.path(), page);
            assert_eq!(read(&next.query().to_string()), page);
        }
    }

    #[test]
    fn no_field_leads_to_another_site_or_page() {
        let long = format!("for=payout.confirm&id={}", "a".repeat(ID_CHARS_MAX + 1));
        for (query, page) in [
            ("for=https://evil.example&id=1", "/account"),
            ("for=payout.confirm&id=..", "/payouts"),
            ("for=payout.confirm&id=a/b", "/payouts"),
            ("for=payout.confirm&id=%2F%2Fevil.example", "/payouts"),
            ("for=payout.confirm&id=a%0d%0aset-cookie:x", "/payouts"),
            ("for=key.rotate&id=1", "/developers"),
            ("for=payout.confirm&id=", "/payouts"),
            (&long, "/payouts"),
        ] {
            assert_eq!(read(query), page, "{query}");
        }
    }
}
