//! The form encoding of IPN bodies.
//!
//! The verifier of npm coinpayments-ipn does not hash the bytes that it received: it encodes the
//! parsed fields again, by the rules of JavaScript's `encodeURIComponent` with `+` for a space, and
//! hashes that. So these bytes must be exactly those. Other form encoders escape `! ~ * ' ( )`.

/// Encodes the fields in their order.
pub fn encode<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut body = String::new();
    for (name, value) in fields {
        if !body.is_empty() {
            body.push('&');
        }
        push(&mut body, name);
        body.push('=');
        push(&mut body, value);
    }
    body
}

fn push(body: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b' ' => body.push('+'),
            byte if is_bare(byte) => body.push(char::from(byte)),
            byte => {
                body.push('%');
                body.push(char::from(HEX[usize::from(byte >> 4)]));
                body.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}

const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::form_urlencoded;

    use super::*;

    #[test]
    fn letters_of_javascript_stay_bare_and_all_others_are_escaped_in_upper_case() {
        let fields = [
            ("item_name", "2 × café!"),
            ("custom", "it's (a) *test* ~ok~"),
            ("ov1", "a&b=c+d/e?%"),
            ("wd[1][amount]", ""),
        ];
        assert_eq!(
            encode(fields),
            "item_name=2+%C3%97+caf%C3%A9!&custom=it's+(a)+*test*+~ok~&ov1=a%26b%3Dc%2Bd%2Fe%3F%25&wd%5B1%5D%5Bamount%5D="
        );
        assert_eq!(encode([]), "");
    }

    proptest! {
        #[test]
        fn every_field_is_read_back_as_it_was(
            fields in proptest::collection::vec(("[a-z_]{1,9}", "\\PC{0,20}"), 0..6),
        ) {
            let body = encode(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            let read: Vec<_> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
            prop_assert_eq!(read, fields);
        }
    }
}
