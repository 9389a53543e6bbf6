//! Words of visitors: a name, an e-mail address, a message. They are kept as plain text on one
//! line, without characters that act on the place where they are shown.

use crate::{account::email, merchant::front::is_invisible};

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 100;
/// Characters of a message.
pub const MESSAGE_CHARS_MAX: usize = 500;

/// Reason why words are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    #[error("the name is longer than {NAME_CHARS_MAX} characters")]
    LongName,
    #[error("the message is longer than {MESSAGE_CHARS_MAX} characters")]
    LongMessage,
    #[error(transparent)]
    Email(#[from] email::InvalidEmail),
}

/// A name on one line; `None` if nothing is left of it.
pub fn name(text: &str) -> Result<Option<String>, WordsError> {
    one_line(text, NAME_CHARS_MAX).map_err(|TooLong| WordsError::LongName)
}

/// A message on one line; `None` if nothing is left of it.
pub fn message(text: &str) -> Result<Option<String>, WordsError> {
    one_line(text, MESSAGE_CHARS_MAX).map_err(|TooLong| WordsError::LongMessage)
}

/// A line of a longer text; empty if nothing is left of it.
pub fn line(text: &str) -> String {
    one_line(text, usize::MAX).ok().flatten().unwrap_or_default()
}

/// An e-mail address in its one spelling; `None` if the field was left empty.
pub fn email(text: &str) -> Result<Option<String>, WordsError> {
    if text.trim().is_empty() { Ok(None) } else { Ok(Some(email::normalised(text)?)) }
}

struct TooLong;

/// Words with single spaces between them: line ends would begin another header of a mail, and
/// marks of direction reverse the text behind them.
fn one_line(text: &str, chars_max: usize) -> Result<Option<String>, TooLong> {
    let kept: String = text.chars().filter(|letter| !is_invisible(*letter)).collect();
    let words = kept.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if line.chars().count() > chars_max {
        return Err(TooLong);
    }
    Ok((!line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_plain_text_on_one_line() {
        for (text, kept) in [
            ("Ada Lovelace", Some("Ada Lovelace")),
            ("  two\r\nBcc: x@evil.example ", Some("two Bcc: x@evil.example")),
            ("tab\tand\0nul\u{85}\u{2028}end", Some("tab and nul end")),
            ("\u{202e}gpj.exe\u{2066}", Some("gpj.exe")),
            ("<b>&amp;", Some("<b>&amp;")),
            ("👩\u{200d}🚀", Some("👩\u{200d}🚀")),
            ("", None),
            (" \u{200b}\u{feff}\n", None),
        ] {
            assert_eq!(message(text).unwrap().as_deref(), kept, "{text:?}");
        }
        assert_eq!(name(&"x".repeat(100)).unwrap().unwrap().len(), 100);
        assert_eq!(name(&"x".repeat(101)), Err(WordsError::LongName));
        assert_eq!(message(&"é".repeat(501)), Err(WordsError::LongMessage));
        assert_eq!(message(&"é\n".repeat(250)).unwrap().unwrap().chars().count(), 499);
    }

    #[test]
    fn an_address_is_one_address_or_refused() {
        assert_eq!(email(" Ada@Example.com").unwrap().as_deref(), Some("ada@example.com"));
        assert_eq!(email(" \n").unwrap(), None);
        for wrong in ["ada", "a@x\r\nBcc: b@y", "a@x,b@y", "\"a b\"@x"] {
            assert!(email(wrong).is_err(), "{wrong:?}");
        }
    }
}
