//! Payments that a merchant looks for: page by page, or by an id, an order id, an address or a
//! transaction.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::{Family, address::match_key},
    invoice::Status,
    storage::{
        StorageError, invoices,
        payment_search::{self, FoundPayment, Side, Spellings},
    },
};

/// No id, hash or address is longer; an order id may be.
const WORDS_MAX: usize = 255;

impl Gateway {
    /// A page of a merchant's payments on one side of a place, the newest first.
    pub async fn payments_beside(
        &self,
        merchant_id: Uuid,
        status: Option<Status>,
        place: (Side, DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<FoundPayment>, StorageError> {
        let mut connection = self.db.connection().await?;
        payment_search::page(&mut connection, merchant_id, status, place, limit).await
    }

    /// The payments that a text names, the newest first.
    pub async fn payments_named(
        &self,
        merchant_id: Uuid,
        words: &str,
    ) -> Result<Vec<FoundPayment>, StorageError> {
        let words = words.trim();
        if words.is_empty() || words.chars().count() > WORDS_MAX || words.contains('\0') {
            return Ok(Vec::new());
        }
        let mut connection = self.db.connection().await?;
        payment_search::named(&mut connection, merchant_id, words, &spellings(words)).await
    }

    /// Returns whether the merchant has an invoice with this `payment_id`; no order id counts.
    pub async fn has_payment(
        &self,
        merchant_id: Uuid,
        payment_id: &str,
    ) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let invoice = invoices::by_payment_id(&mut connection, payment_id).await?;
        Ok(invoice.is_some_and(|invoice| invoice.merchant_id == merchant_id))
    }
}

/// Addresses as each family compares them, and hashes with and without `0x`, in either case.
fn spellings(words: &str) -> Spellings {
    let mut match_keys: Vec<_> =
        Family::ALL.into_iter().map(|family| match_key(family, words)).collect();
    let lower = words.to_ascii_lowercase();
    let bare = lower.strip_prefix("0x").unwrap_or(&lower);
    let mut hashes =
        vec![words.to_owned(), bare.to_owned(), format!("0x{bare}"), bare.to_ascii_uppercase()];
    for list in [&mut match_keys, &mut hashes] {
        list.sort();
        list.dedup();
    }
    Spellings { match_keys, hashes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_found_however_an_explorer_writes_it() {
        for typed in ["0xABCD", "abcd", "ABCD", "0xabcd"] {
            let hashes = spellings(typed).hashes;
            for stored in ["0xabcd", "abcd", "ABCD"] {
                assert!(hashes.contains(&stored.to_owned()), "{typed} {stored}");
            }
        }
    }
}
