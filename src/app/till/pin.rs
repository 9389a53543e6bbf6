//! The PIN that a merchant sets for a till, kept as a keyed digest: whoever steals the database
//! cannot search four digits without the master key.

use secrecy::ExposeSecret;

use crate::app::Gateway;
use crate::till::pin::Pin;

const PURPOSE: &[u8] = b"till-pin";

impl Gateway {
    /// The digest under the current master key. After a change of that key the till refuses its
    /// PIN once the old key is gone, until its merchant sets it again.
    pub(in crate::app) fn digest_of_pin(&self, link_id: &str, pin: &Pin) -> [u8; 32] {
        self.master_keys.current().digest(PURPOSE, pin.of_till(link_id).expose_secret().as_bytes())
    }

    pub(super) fn is_pin_of_till(&self, link_id: &str, pin: &Pin, digest: &[u8]) -> bool {
        let text = pin.of_till(link_id);
        self.master_keys.is_digest(PURPOSE, text.expose_secret().as_bytes(), digest)
    }
}
