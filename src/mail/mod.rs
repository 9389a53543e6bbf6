//! Mails to buyers (receipts, and reminders of renewals) and to owners of merchants (announcements
//! of operators).
//!
//! Addresses of buyers come from strangers, who may enter anybody's. So nothing that a stranger
//! wrote is in a mail, budgets bound the mails of one address and one link ([`budget`]), and a
//! reminder carries a [`Token`] that stops the next. [`compose`] writes the texts, [`schedule`]
//! decides attempts, and [`standing`] whether a mail is sent at all.

pub mod budget;
pub mod compose;
pub mod schedule;
pub mod standing;
mod texts;
mod token;
mod vocabulary;

pub use crate::locale::Language;
pub use token::Token;
pub use vocabulary::MailKind;

use sha2::{Digest, Sha256};

/// Hash by which an address is known after it was deleted. It can be guessed from a list of
/// addresses: it serves counting, not secrecy.
pub fn recipient(address: &str) -> [u8; 32] {
    Sha256::digest(address.as_bytes()).into()
}
