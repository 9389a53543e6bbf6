//! Cells of an export, as CSV and as JSON.

use std::{borrow::Cow, fmt::Write};

use chrono::{DateTime, Utc};

use crate::invoice::payment::iso_8601;

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell<'a> {
    /// The column has no meaning for this row, or the fact was not recorded.
    Empty,
    /// Anything that people chose, and names of ours.
    Text(Cow<'a, str>),
    /// An exact decimal in plain digits.
    Decimal(Cow<'a, str>),
    Integer(i64),
    Time(DateTime<Utc>),
}

impl<'a> Cell<'a> {
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// `Empty` for a missing or empty text.
    pub fn text_or_empty(text: Option<&'a str>) -> Self {
        text.filter(|text| !text.is_empty()).map_or(Self::Empty, Self::text)
    }

    pub fn decimal(digits: impl Into<Cow<'a, str>>) -> Self {
        Self::Decimal(digits.into())
    }

    pub fn decimal_or_empty(digits: Option<impl Into<Cow<'a, str>>>) -> Self {
        digits.map_or(Self::Empty, Self::decimal)
    }

    /// Appends the cell as RFC 4180 has it.
    pub(super) fn write_csv(&self, out: &mut String) {
        match self {
            Self::Empty => {}
            Self::Text(text) => write_text(text, out),
            Self::Decimal(digits) => out.push_str(digits),
            Self::Integer(number) => {
                // Writing to memory cannot fail.
                let _ = write!(out, "{number}");
            }
            Self::Time(instant) => out.push_str(&iso_8601(*instant)),
        }
    }

    /// Exact in every reader: decimals are texts, since many parse a number as a double.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Empty => serde_json::Value::Null,
            Self::Text(text) | Self::Decimal(text) => (**text).into(),
            Self::Integer(number) => (*number).into(),
            Self::Time(instant) => iso_8601(*instant).into(),
        }
    }
}

/// Appends a text: quoted where it holds a separator of any spreadsheet, with `'` before what a
/// spreadsheet would read as a formula.
///
/// A spreadsheet that separates cells by semicolons or tabs sees no quotes in the middle of a line:
/// for it, each of these and each line break begins a cell.
pub(super) fn write_text(text: &str, out: &mut String) {
    if text.bytes().all(is_plain) && !text.starts_with(is_sign) {
        out.push_str(text);
        return;
    }
    let is_quoted = text.contains(['"', ',', ';', '\r', '\n', '\t']);
    if is_quoted {
        out.push('"');
    }
    if text.starts_with(is_sign) || text.starts_with(['\t', '\r', '\n', '\0']) {
        out.push('\'');
    }
    let mut begins = false;
    for (place, letter) in text.char_indices() {
        if begins && place > 0 && is_sign(letter) {
            out.push('\'');
        }
        if letter == '"' {
            out.push('"');
        }
        out.push(letter);
        begins = matches!(letter, ';' | '\t' | '\r' | '\n') || begins && letter == '"';
    }
    if is_quoted {
        out.push('"');
    }
}

/// Bytes of names, hashes and ids: nearly all texts of an export have no others. A spreadsheet
/// reads none of them as more than text, except a sign at the beginning.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'-' | b'.' | b'/' | b':' | b'_')
}

/// Returns whether spreadsheets calculate a cell that begins so (OWASP ASVS 1.2.10). Some read the
/// full-width signs as the ASCII ones.
const fn is_sign(letter: char) -> bool {
    matches!(letter, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn csv(cell: &Cell<'_>) -> String {
        let mut out = String::new();
        cell.write_csv(&mut out);
        out
    }

    #[test]
    fn texts_that_spreadsheets_would_calculate_are_guarded_and_numbers_stay_numbers() {
        for (text, expected) in [
            ("=1+1", "'=1+1"),
            ("+49 30", "'+49 30"),
            ("-17", "'-17"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "\"'\t'=1\""),
            ("\r=1", "\"'\r'=1\""),
            ("\n=1", "\"'\n'=1\""),
            ("＝1", "'＝1"),
            ("a;=1+1", "\"a;'=1+1\""),
            ("a\t=1+1", "\"a\t'=1+1\""),
            ("a;\"=1", "\"a;\"\"'=1\""),
            ("a\r\n-1", "\"a\r\n'-1\""),
            ("a; b-1", "\"a; b-1\""),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("a, b", "\"a, b\""),
            ("Käse ½ 日本", "Käse ½ 日本"),
            ("5 = 5", "5 = 5"),
            ("", ""),
        ] {
            assert_eq!(csv(&Cell::text(text)), expected, "{text:?}");
        }
        assert_eq!(csv(&Cell::decimal("-1.5")), "-1.5");
        assert_eq!(csv(&Cell::Integer(-3)), "-3");
        assert_eq!(csv(&Cell::Empty), "");
    }

    #[test]
    fn json_keeps_texts_as_they_are() {
        assert_eq!(Cell::text("=1").to_json(), "=1");
        assert_eq!(Cell::decimal("0.1").to_json(), "0.1");
        assert_eq!(Cell::Integer(7).to_json(), 7);
        assert!(Cell::Empty.to_json().is_null());
        assert_eq!(Cell::text_or_empty(Some("")), Cell::Empty);
    }

    proptest! {
        /// Read back with the separator of any locale, no cell is a formula; with ours, each text
        /// is one cell.
        #[test]
        fn a_text_is_one_cell_and_no_formula_for_any_reader(
            text in "[-=+@;,\"\t\r\n a'＝]{0,12}", other in "(?s).{0,40}",
        ) {
            // A byte order mark is one only at the beginning of a file, where the heading is.
            let line = format!("1,{},{}\r\n", csv(&Cell::text(&*text)), csv(&Cell::text(&*other)));
            for separator in [b',', b';', b'\t'] {
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(separator)
                    .has_headers(false)
                    .flexible(true)
                    .from_reader(line.as_bytes());
                let records: Vec<_> = reader.records().map(Result::unwrap).collect();
                for cell in records.iter().flatten() {
                    prop_assert!(!cell.starts_with(is_sign), "{:?} in {:?}", cell, line);
                }
                if separator == b',' {
                    let bare = |text: &str| text.replace('\'', "");
                    let read: Vec<_> = records[0].iter().map(bare).collect();
                    prop_assert_eq!(read, ["1".to_owned(), bare(&text), bare(&other)]);
                }
            }
        }
    }
}
