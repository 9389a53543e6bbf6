//! The signature of the dialect: HMAC-SHA-512 of the raw body, in hex. The same for requests, whose
//! key is the merchant's private key, and for IPNs, whose key is its webhook secret.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha512;

/// Name of the header, in the lower case of HTTP libraries.
pub const HEADER: &str = "hmac";

/// HMAC-SHA-512 over exactly `body`, as 128 lowercase hex characters.
pub fn sign(key: &[u8], body: &[u8]) -> String {
    hex::encode(mac(key, body).finalize().into_bytes())
}

/// Compares in constant time. Hex digits may be in either case.
pub fn is_signature(key: &[u8], body: &[u8], signature: &str) -> bool {
    let Ok(signature) = hex::decode(signature) else { return false };
    mac(key, body).verify_slice(&signature).is_ok()
}

fn mac(key: &[u8], body: &[u8]) -> Hmac<Sha512> {
    let mac = <Hmac<Sha512> as KeyInit>::new_from_slice(key);
    mac.expect("HMAC takes a key of any length").chain_update(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vector of the CoinPayments documentation, "API setup".
    const BODY: &[u8] =
        b"currency=BTC&version=1&cmd=get_callback_address&key=your_api_public_key&format=json";
    const SIGNATURE: &str = "5590eac015e7692902e1a9cd5464f1d305a4b593d2f1343d826ac5affc5ac6f9\
                             60a5167284f9bf31295cba0e04df9d8f7087935b5344c468ccf2dd036e159102";

    #[test]
    fn the_documented_vector() {
        assert_eq!(sign(b"test", BODY), SIGNATURE);
        assert!(is_signature(b"test", BODY, SIGNATURE));
        assert!(is_signature(b"test", BODY, &SIGNATURE.to_uppercase()));
    }

    #[test]
    fn any_other_signature_key_or_body_is_refused() {
        for signature in ["", "5590", "zz", &SIGNATURE[2..], &format!("{SIGNATURE}00")] {
            assert!(!is_signature(b"test", BODY, signature), "{signature}");
        }
        assert!(!is_signature(b"other", BODY, SIGNATURE));
        assert!(!is_signature(b"test", &BODY[1..], SIGNATURE));
    }
}
