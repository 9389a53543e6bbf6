//! Signed transactions as wallets hand them over: in hex, in base64, or as bytes.

use base64::{Engine, prelude::BASE64_STANDARD};

/// Reads one text. Base64 of a transaction or PSBT is never mistaken for hex: at least one of its
/// first four characters is not a hex digit.
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix("0x") {
        Some(digits) => hex::decode(digits).ok(),
        None => hex::decode(text).ok().or_else(|| BASE64_STANDARD.decode(text).ok()),
    }
}

/// Reads the texts that stand in a file or a field: one in each line, or a list as JSON writes it.
/// An error names the text that cannot be read, counted from 1.
pub fn all_in(text: &str) -> Result<Vec<Vec<u8>>, usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let texts =
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'' | '[' | ']'));
    let texts = texts.filter(|text| !text.is_empty());
    let read = |(position, text): (usize, &str)| {
        let bytes = text.chars().all(is_part).then(|| decoded(text)).flatten();
        bytes.filter(|bytes| !bytes.is_empty()).ok_or(position + 1)
    };
    texts.enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_bytes_are_read_in_each_way_in_which_wallets_write_them() {
        let psbt = [b"psbt\xff".as_slice(), &[7; 20]].concat();
        for raw in [vec![2, 0xf8, 0x6c], vec![2, 0, 0, 0, 0, 1], vec![1, 0, 0, 0, 1], psbt] {
            for text in [
                format!("0x{}", hex::encode(&raw)),
                hex::encode(&raw),
                BASE64_STANDARD.encode(&raw),
            ] {
                assert_eq!(decoded(&text).as_ref(), Some(&raw), "{text}");
            }
        }
        for text in ["zz", "0xzz", "0x1", "cHNidP8=="] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_is_read_line_by_line_and_as_json_writes_it() {
        let two = Ok(vec![vec![2, 0xf8], vec![2, 0xf9]]);
        for text in ["0x02f8\r\n02f9\n", "[\"0x02f8\", \"Avk=\"]", " '02f8','0x02f9', "] {
            assert_eq!(all_in(text), two, "{text}");
        }
        assert_eq!(all_in(" \n"), Ok(vec![]));
        assert_eq!(all_in("0x02f8 {\"signed\"}"), Err(2));
        assert_eq!(all_in("0x02f8\n0x"), Err(2));
    }
}
