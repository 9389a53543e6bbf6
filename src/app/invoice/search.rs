//! Payments that a merchant looks for: page by page, or by an id, an order id, an address, a
//! transaction, an e-mail address or an amount.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::{Family, address::match_key, catalogue::Catalogue},
    money::{BaseUnits, Price},
    storage::{
        StorageError, invoices,
        payment_search::{self, Filter, FoundPayment, Side, Spellings},
    },
};

/// No id, hash or address is longer; an order id may be.
pub(in crate::app) const WORDS_MAX: usize = 255;
/// Characters of a currency beside an amount: a code and spaces.
const CURRENCY_CHARS_MAX: usize = 12;

impl Gateway {
    /// A page of a merchant's payments on one side of a place, the newest first.
    pub async fn payments_beside(
        &self,
        merchant_id: Uuid,
        filter: &Filter,
        place: (Side, DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<FoundPayment>, StorageError> {
        let mut connection = self.db.connection().await?;
        payment_search::page(&mut connection, merchant_id, filter, place, limit).await
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

/// Spellings under which a text may stand in the rows: addresses as each family compares them;
/// hashes with and without `0x`, in either case; an e-mail address and amounts where the text has
/// their shape.
pub(in crate::app) fn spellings(words: &str) -> Spellings {
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
    let amount = amount(words);
    Spellings {
        match_keys,
        hashes,
        email: words.contains('@').then(|| words.to_lowercase()),
        price: amount.and_then(|text| Price::parse(text).ok()),
        pay_amounts: amount.map(pay_amounts).unwrap_or_default(),
    }
}

/// The number in a text that is a number, with or without a currency before or behind it.
fn amount(words: &str) -> Option<&str> {
    let is_sign = |c: char| c.is_alphabetic() || "$€£ ".contains(c);
    let number = words.trim_matches(is_sign);
    let has_shape = number.chars().all(|c| c.is_ascii_digit() || c == '.')
        && number.starts_with(|c: char| c.is_ascii_digit());
    let around = words.chars().count() - number.chars().count();
    (has_shape && around <= CURRENCY_CHARS_MAX).then_some(number)
}

/// The amount in base units, for each number of decimals that a currency has.
fn pay_amounts(text: &str) -> Vec<BaseUnits> {
    let all = Catalogue::get().all().iter();
    let decimals: BTreeSet<_> = all.map(|currency| u32::from(currency.decimals)).collect();
    decimals.into_iter().filter_map(|decimals| BaseUnits::parse(text, decimals).ok()).collect()
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

    #[test]
    fn an_amount_is_read_with_and_without_its_currency() {
        for (typed, number) in [
            ("25.50", Some("25.50")),
            ("25.50 USDT", Some("25.50")),
            ("$25", Some("25")),
            ("eur 7", Some("7")),
            ("0.00012btc", Some("0.00012")),
            ("pzi_7n4c2v9k1x8m3q6w5e0r2t4y6a", None),
            ("A-25", None),
            ("25,50", None),
            (".5", None),
            ("an order of 25 pieces", None),
            ("somebody@example.com", None),
            ("", None),
        ] {
            assert_eq!(amount(typed), number, "{typed}");
        }
        assert_eq!(amount("1.2.3"), Some("1.2.3"));
        assert!(spellings("1.2.3").price.is_none() && spellings("1.2.3").pay_amounts.is_empty());
        let found = spellings("25.5 usdt");
        assert_eq!(found.price, Price::parse("25.5").ok());
        assert!(found.pay_amounts.contains(&BaseUnits::new(25_500_000)));
        assert_eq!(spellings("A@Example.com").email.as_deref(), Some("a@example.com"));
    }
}
