//! The meaning of a text for an operator who got it from a customer, a log or an explorer: which
//! rows it names, and how.

use std::collections::HashSet;

use uuid::Uuid;

use crate::app::{
    Gateway,
    invoice::search::{WORDS_MAX, spellings},
};
use crate::{
    asset::{Network, address},
    mail,
    storage::{
        PgConnection, StorageError,
        find::{FOUND_MAX, FoundRow, merchants, messages, payments, payouts, programs, received},
    },
};

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Payment,
    Subscription,
    PayoutOrder,
    /// A payout that its merchant signs.
    NcPayout,
    /// A resource that a merchant sells to programs.
    Resource,
    /// What a program signed, carried out for it.
    Settlement,
    Deposit,
    Address,
    Webhook,
    /// An event that has no webhook.
    Event,
    Mail,
    /// An e-mail address that servers refused for good.
    Mailbox,
    Merchant,
    Link,
    Device,
    Account,
}

impl Kind {
    /// The word for people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Subscription => "subscription",
            Self::PayoutOrder => "payout order",
            Self::NcPayout => "payout signed by its merchant",
            Self::Resource => "x402 resource",
            Self::Settlement => "x402 settlement",
            Self::Deposit => "deposit",
            Self::Address => "address",
            Self::Webhook => "webhook",
            Self::Event => "event",
            Self::Mail => "mail",
            Self::Mailbox => "mailbox",
            Self::Merchant => "merchant",
            Self::Link => "payment link",
            Self::Device => "device of a till",
            Self::Account => "account of the dashboard",
        }
    }
}

/// The way in which a text names a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    Id,
    OrderId,
    Transaction,
    Address,
    /// The address that a payout pays.
    Recipient,
    Email,
}

impl NamedBy {
    /// The word for people and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::OrderId => "order id",
            Self::Transaction => "transaction",
            Self::Address => "address",
            Self::Recipient => "recipient",
            Self::Email => "e-mail",
        }
    }
}

/// A row that a text names.
#[derive(Debug, Clone)]
pub struct Hit {
    pub kind: Kind,
    pub named_by: NamedBy,
    pub row: FoundRow,
}

/// All rows that a text names, the most exact first.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub hits: Vec<Hit>,
    /// Of a kind there are more than [`FOUND_MAX`], of which the newest are here.
    pub more: bool,
}

impl Found {
    fn add(&mut self, kind: Kind, named_by: NamedBy, rows: Vec<FoundRow>) {
        self.more |= rows.len() > FOUND_MAX;
        let rows = rows.into_iter().take(FOUND_MAX);
        self.hits.extend(rows.map(|row| Hit { kind, named_by, row }));
    }

    /// Leaves the first hit of each row: the order id of a payment may be its e-mail address.
    fn once_each(mut self) -> Self {
        let mut seen = HashSet::new();
        self.hits.retain(|hit| {
            let row = &hit.row;
            seen.insert((hit.kind, row.id.clone(), row.network.clone(), row.about.clone()))
        });
        self
    }
}

/// A text that is worth a search, without the space around it.
fn searched(text: &str) -> Option<&str> {
    let text = text.trim();
    let has_size = !text.is_empty() && text.chars().count() <= WORDS_MAX;
    (has_size && !text.contains('\0')).then_some(text)
}

impl Gateway {
    /// The rows that a text names: by an id of ours, a row's id as messages and logs have it, an
    /// order id, a transaction, an address or an e-mail address.
    pub async fn find(&self, text: &str) -> Result<Found, StorageError> {
        let Some(text) = searched(text) else { return Ok(Found::default()) };
        let mut connection = self.db.connection().await?;
        let mut found = Found::default();
        by_id(&mut connection, text, &mut found).await?;
        let rows = payments::by_order(&mut connection, text).await?;
        found.add(Kind::Payment, NamedBy::OrderId, rows);
        let spelled = spellings(text);
        by_transaction(&mut connection, &spelled.hashes, &mut found).await?;
        let rows = received::addresses(&mut connection, &spelled.match_keys, text).await?;
        found.add(Kind::Address, NamedBy::Address, rows);
        by_recipient(&mut connection, &self.written_addresses(text), &mut found).await?;
        if let Some(email) = &spelled.email {
            by_email(&mut connection, text, email, &mut found).await?;
        }
        Ok(found.once_each())
    }

    /// The payments of an order id, or of another text that is an id of one alone, such as a legacy
    /// `txn_id`; the newest first.
    pub async fn payments_of_order(&self, text: &str) -> Result<Found, StorageError> {
        let Some(text) = searched(text) else { return Ok(Found::default()) };
        let mut connection = self.db.connection().await?;
        let mut found = Found::default();
        let rows = payments::by_id(&mut connection, text, Uuid::parse_str(text).ok()).await?;
        found.add(Kind::Payment, NamedBy::Id, rows);
        let rows = payments::by_order(&mut connection, text).await?;
        found.add(Kind::Payment, NamedBy::OrderId, rows);
        Ok(found.once_each())
    }

    /// An address as payouts keep it on each network that reads it, and as it was typed.
    fn written_addresses(&self, text: &str) -> Vec<String> {
        let read = |network| address::validate_in(self.realm(network), network, text).ok();
        let mut spellings: Vec<_> = Network::ALL.into_iter().filter_map(read).collect();
        spellings.push(text.to_owned());
        spellings.sort();
        spellings.dedup();
        spellings
    }
}

async fn by_id(
    connection: &mut PgConnection,
    text: &str,
    found: &mut Found,
) -> Result<(), StorageError> {
    let row = Uuid::parse_str(text).ok();
    let mut add = |kind, rows| found.add(kind, NamedBy::Id, rows);
    add(Kind::Payment, payments::by_id(connection, text, row).await?);
    add(Kind::PayoutOrder, payouts::order_by_id(connection, text, row).await?);
    add(Kind::NcPayout, payouts::signed_by_id(connection, text, row).await?);
    add(Kind::Subscription, payments::subscription(connection, text, row).await?);
    add(Kind::Webhook, messages::webhook(connection, text, row).await?);
    add(Kind::Event, messages::event(connection, text).await?);
    add(Kind::Link, merchants::link(connection, text).await?);
    add(Kind::Device, merchants::device(connection, text).await?);
    add(Kind::Merchant, merchants::merchant(connection, text, row).await?);
    add(Kind::Resource, programs::resource(connection, text, row).await?);
    if let Some(row) = row {
        add(Kind::Settlement, programs::settlement(connection, row).await?);
        add(Kind::Deposit, received::deposit(connection, row).await?);
        add(Kind::Mail, messages::mail(connection, row).await?);
    }
    Ok(())
}

async fn by_transaction(
    connection: &mut PgConnection,
    hashes: &[String],
    found: &mut Found,
) -> Result<(), StorageError> {
    let mut add = |kind, rows| found.add(kind, NamedBy::Transaction, rows);
    add(Kind::Deposit, received::deposits_by_transaction(connection, hashes).await?);
    add(Kind::PayoutOrder, payouts::orders_by_transaction(connection, hashes).await?);
    add(Kind::NcPayout, payouts::signed_by_transaction(connection, hashes).await?);
    add(Kind::Settlement, programs::settlements_by_transaction(connection, hashes).await?);
    Ok(())
}

async fn by_recipient(
    connection: &mut PgConnection,
    addresses: &[String],
    found: &mut Found,
) -> Result<(), StorageError> {
    let mut add = |kind, rows| found.add(kind, NamedBy::Recipient, rows);
    add(Kind::PayoutOrder, payouts::orders_by_recipient(connection, addresses).await?);
    add(Kind::NcPayout, payouts::signed_by_recipient(connection, addresses).await?);
    Ok(())
}

async fn by_email(
    connection: &mut PgConnection,
    text: &str,
    email: &str,
    found: &mut Found,
) -> Result<(), StorageError> {
    let mut add = |kind, rows| found.add(kind, NamedBy::Email, rows);
    add(Kind::Account, merchants::account(connection, email).await?);
    add(Kind::Subscription, payments::subscriptions_by_email(connection, email).await?);
    add(Kind::Payment, payments::by_email(connection, email).await?);
    let recipients = [mail::recipient(email).to_vec()];
    add(Kind::Mailbox, messages::refused_mailbox(connection, text, &recipients).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> FoundRow {
        FoundRow {
            id: id.to_owned(),
            merchant_id: None,
            merchant: None,
            state: "paid".to_owned(),
            network: None,
            about: None,
            created_at: None,
        }
    }

    #[test]
    fn a_row_that_is_named_in_two_ways_is_one_hit() {
        let mut found = Found::default();
        found.add(Kind::Payment, NamedBy::Id, vec![row("pzi_1")]);
        found.add(Kind::Payment, NamedBy::OrderId, vec![row("pzi_1"), row("pzi_2")]);
        let found = found.once_each();
        let told: Vec<_> =
            found.hits.iter().map(|hit| (hit.row.id.as_str(), hit.named_by)).collect();
        assert_eq!(told, [("pzi_1", NamedBy::Id), ("pzi_2", NamedBy::OrderId)]);
        assert!(!found.more);
    }

    #[test]
    fn one_row_more_than_are_listed_shows_that_there_are_more() {
        for (rows, more) in [(FOUND_MAX, false), (FOUND_MAX + 1, true)] {
            let mut found = Found::default();
            let rows = (0..rows).map(|n| row(&n.to_string())).collect();
            found.add(Kind::Payment, NamedBy::OrderId, rows);
            assert_eq!((found.hits.len(), found.more), (FOUND_MAX, more));
        }
    }

    #[test]
    fn no_search_is_made_for_what_no_column_holds() {
        assert_eq!(searched("  A-1 "), Some("A-1"));
        for text in ["", "  ", "a\0b", &"x".repeat(WORDS_MAX + 1)] {
            assert_eq!(searched(text), None);
        }
    }
}
