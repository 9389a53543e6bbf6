//! Fields of a request, from its form or its query.

use std::collections::BTreeMap;

use gateway::{legacy::Refusal, money::Price};
use url::form_urlencoded;

/// Characters of the code of a currency.
pub const CODE_CHARS_MAX: usize = 32;

/// As PHP reads a form: of fields with one name the last one counts, and `+` and `%20` are spaces.
#[derive(Debug, Default)]
pub struct Params(BTreeMap<String, String>);

impl Params {
    pub fn parse(form: &[u8]) -> Self {
        Self(form_urlencoded::parse(form).into_owned().collect())
    }

    /// Adds a field, as if it had been sent.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// The text of a field, without space around it; `None` if it is absent or empty.
    ///
    /// The limit counts characters. NUL is refused because PostgreSQL cannot store it.
    pub fn text(&self, name: &'static str, chars_max: usize) -> Result<Option<String>, Refusal> {
        let Some(text) = self.0.get(name).map(|text| text.trim()) else { return Ok(None) };
        if text.contains('\0') || text.chars().count() > chars_max {
            return Err(Refusal::Field(name));
        }
        Ok(Some(text).filter(|text| !text.is_empty()).map(ToOwned::to_owned))
    }

    /// The field as it was sent; empty if it is absent.
    pub fn raw(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// A field that is 0 or 1, and 0 if it is absent. Anything else is 1: for the form of an answer
    /// that is good enough.
    pub fn flag(&self, name: &str) -> bool {
        !is_one_of(self.raw(name), &["", "0", "false"])
    }

    /// A yes or no that moves money; no if it is absent. Clients in other languages send their own
    /// words, such as `False` and `None`, and one that is neither is refused.
    pub fn switch(&self, name: &'static str) -> Result<bool, Refusal> {
        let text = self.raw(name);
        if is_one_of(text, &["", "0", "false", "no", "off", "none", "null"]) {
            Ok(false)
        } else if is_one_of(text, &["1", "true", "yes", "on"]) {
            Ok(true)
        } else {
            Err(Refusal::Field(name))
        }
    }

    /// A whole number, or `default` for anything else.
    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.raw(name).trim().parse().unwrap_or(default)
    }

    /// A price; `None` if it is absent or empty.
    pub fn price(&self, name: &'static str) -> Result<Option<Price>, Refusal> {
        let text = self.raw(name).trim();
        if text.is_empty() {
            return Ok(None);
        }
        Price::parse(text).map(Some).map_err(|_| Refusal::Amount)
    }

    /// All fields, for a page that sends them again.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_brackets_and_repeats_are_read_as_php_reads_them() {
        let params = Params::parse(b"a=1+2%203&a=4+5%206&wd%5Bwd1%5D%5Bamount%5D=0.1&e=&all=1&n=x");
        assert_eq!(params.raw("a"), "4 5 6");
        assert_eq!(params.raw("wd[wd1][amount]"), "0.1");
        assert_eq!(params.text("e", 9).unwrap(), None);
        assert!(params.flag("all") && !params.flag("e") && !params.flag("absent"));
        assert_eq!((params.number("all", 25), params.number("n", 25)), (1, 25));
    }

    #[test]
    fn words_of_other_languages_never_switch_money_on() {
        let read = |text: &str| {
            let mut params = Params::default();
            params.set("auto_confirm", text);
            params.switch("auto_confirm")
        };
        for no in ["", " ", "0", "False", "FALSE", "no", "Off", "None", "null"] {
            assert_eq!(read(no), Ok(false), "{no}");
        }
        for yes in ["1", " 1 ", "True", "true", "YES", "on"] {
            assert_eq!(read(yes), Ok(true), "{yes}");
        }
        for neither in ["2", "-1", "00", "1.0", "nil", "y", "1\0"] {
            assert_eq!(read(neither), Err(Refusal::Field("auto_confirm")), "{neither}");
        }
        assert_eq!(Params::default().switch("auto_confirm"), Ok(false));
        let params = Params::parse(b"full=FALSE&all=True");
        assert!(!params.flag("full") && params.flag("all"));
    }

    #[test]
    fn a_text_that_cannot_be_stored_is_refused_by_its_name() {
        let params = Params::parse(b"custom=a%00b&invoice=12345");
        assert_eq!(params.text("custom", 9), Err(Refusal::Field("custom")));
        assert_eq!(params.text("invoice", 4), Err(Refusal::Field("invoice")));
        assert_eq!(params.text("invoice", 5).unwrap().as_deref(), Some("12345"));
        assert_eq!(params.price("invoice").unwrap().unwrap().to_decimal(), "12345");
        assert_eq!(params.price("custom"), Err(Refusal::Amount));
    }
}
