//! The keypad: an amount grows by one key. The page's script does the same without a round trip.

use crate::link::typed;

/// Digits before the point, as an amount that is typed may have.
const WHOLE_DIGITS_MAX: usize = 12;
const PLACES_MAX: usize = 2;

/// The keys in the order of their rows.
pub const KEYS: [&str; 12] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ".", "0", "back"];

/// The amount after `key` was pressed. A key that does not fit changes nothing.
pub fn press(amount: &str, key: &str) -> String {
    let mut text = kept(amount);
    match key {
        "back" => {
            text.pop();
        }
        "." if text.is_empty() => text.push_str("0."),
        "." if !text.contains('.') => text.push('.'),
        _ if key.len() == 1 && key.bytes().all(|byte| byte.is_ascii_digit()) => {
            if text == "0" {
                text.clear();
            }
            let has_room = match text.split_once('.') {
                Some((_, places)) => places.len() < PLACES_MAX,
                None => text.len() < WHOLE_DIGITS_MAX,
            };
            if has_room {
                text.push_str(key);
            }
        }
        _ => {}
    }
    text
}

/// An amount without the point that nothing was typed behind.
pub fn finished(amount: &str) -> &str {
    amount.trim().trim_end_matches(['.', ',', '\u{66b}'])
}

/// Digits and the first point of whatever the field holds.
fn kept(amount: &str) -> String {
    let mut text = String::new();
    for letter in amount.chars().map(typed::plain) {
        let is_point = letter == '.' && !text.contains('.') && !text.is_empty();
        if text.len() <= WHOLE_DIGITS_MAX + PLACES_MAX && (letter.is_ascii_digit() || is_point) {
            text.push(letter);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_grows_by_its_keys_and_never_into_what_cannot_be_charged() {
        for (keys, amount) in [
            (&["1", "2", ".", "5", "0"][..], "12.50"),
            (&["1", "2", ".", "5", "0", "9"], "12.50"),
            (&[".", "5"], "0.5"),
            (&["0", "0", "7"], "7"),
            (&["1", ".", ".", "2"], "1.2"),
            (&["1", "2", "back", "3"], "13"),
            (&["back", "back"], ""),
            (&["1", "x", "", "12", "<"], "1"),
            (&["9"; 14], "999999999999"),
        ] {
            let typed = keys.iter().fold(String::new(), |text, key| press(&text, key));
            assert_eq!(typed, amount, "{keys:?}");
        }
        assert_eq!(press("٢٥٫٥", "1"), "25.51");
        assert_eq!(press("<b>1,5</b>", "2"), "1.52");
        assert_eq!((finished("12."), finished(" 7 "), finished("1.5")), ("12", "7", "1.5"));
    }

    #[test]
    fn every_key_is_known() {
        for key in KEYS {
            assert!(press("12", key) != "12", "{key}");
        }
    }
}
