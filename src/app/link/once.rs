//! The same form twice makes one draft: a double click, or a page that is sent again.

use sha2::{Digest, Sha256};

use crate::storage::{PgConnection, StorageError, idempotency, links::Link};

/// Characters of a form's `once`; the page's own are fewer.
const ONCE_CHARS_MAX: usize = 64;

/// A form as it is known again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Once {
    key: String,
    sha256: [u8; 32],
}

/// An earlier order with the same form.
pub(super) enum Earlier {
    /// Its `payment_id`.
    Same(String),
    /// There is none; this one is to be kept if it can be known again.
    New(Option<Once>),
}

/// Finds the order that the form `name` made before with the same values. The caller holds the lock
/// of the link. Other values under the same name are another order, which is not kept.
pub(super) async fn earlier(
    tx: &mut PgConnection,
    link: &Link,
    name: &str,
    values: &[&str],
) -> Result<Earlier, StorageError> {
    let Some(once) = Once::of(&link.link_id, name, values) else { return Ok(Earlier::New(None)) };
    let stored = idempotency::find(tx, link.merchant_id, &once.key).await?;
    Ok(match stored {
        None => Earlier::New(Some(once)),
        Some(stored) if stored.request_sha256 == once.sha256 => Earlier::Same(stored.response),
        Some(_) => Earlier::New(None),
    })
}

impl Once {
    /// `None` for a form without a name, or with one that is longer than those of our pages.
    fn of(link_id: &str, name: &str, values: &[&str]) -> Option<Self> {
        let named = (1..=ONCE_CHARS_MAX).contains(&name.chars().count());
        // No header can begin with U+0001, so no Idempotency-Key of a merchant can be this one.
        named.then(|| Self { key: format!("\u{1}{link_id}:{name}"), sha256: sha256(values) })
    }

    /// Keeps the draft that the form made.
    pub(super) async fn keep(
        &self,
        tx: &mut PgConnection,
        link: &Link,
        payment_id: &str,
    ) -> Result<(), StorageError> {
        let (merchant, key) = (link.merchant_id, &self.key);
        if idempotency::insert(tx, merchant, key, &self.sha256, payment_id).await? {
            Ok(())
        } else {
            let reason = "an answer appeared under the link's lock";
            Err(StorageError::damaged("idempotency", reason))
        }
    }
}

/// A hash of the values. Each says its length, so that no two forms run together into one.
fn sha256(values: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(value.len().to_string());
        hash.update([b':']);
        hash.update(value);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_known_again_by_its_link_its_name_and_its_values() {
        let first = Once::of("pzl_a", "x", &["10", ""]);
        assert!(first.is_some());
        assert_eq!(first, Once::of("pzl_a", "x", &["10", ""]));
        for other in [
            Once::of("pzl_b", "x", &["10", ""]),
            Once::of("pzl_a", "y", &["10", ""]),
            Once::of("pzl_a", "x", &["1", "0"]),
            Once::of("pzl_a", "x", &["", "10"]),
        ] {
            assert!(other.is_some() && other != first, "{other:?}");
        }
        for unusable in [String::new(), "x".repeat(ONCE_CHARS_MAX + 1)] {
            assert_eq!(Once::of("pzl_a", &unusable, &["10"]), None);
        }
    }

    #[test]
    fn the_longest_key_fits_into_its_column() {
        let once = Once::of(&crate::link::new_id(), &"é".repeat(ONCE_CHARS_MAX), &[]).unwrap();
        assert!(once.key.chars().count() <= 255);
    }
}
