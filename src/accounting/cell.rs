//! Cells of an export, as CSV and as JSON.

use std::fmt::Write;

use chrono::{DateTime, Utc};

use crate::invoice::payment::iso_8601;

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// The column has no meaning for this row, or the fact was not recorded.
    Empty,
    /// Anything that people chose, and names of ours.
    Text(String),
    /// An exact decimal in plain digits.
    Decimal(String),
    Integer(i64),
    Time(DateTime<Utc>),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// `Empty` for a missing or empty text.
    pub fn text_or_empty(text: Option<String>) -> Self {
        text.filter(|text| !text.is_empty()).map_or(Self::Empty, Self::Text)
    }

    pub fn decimal_or_empty(digits: Option<String>) -> Self {
        digits.map_or(Self::Empty, Self::Decimal)
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
            Self::Text(text) | Self::Decimal(text) => text.as_str().into(),
            Self::Integer(number) => (*number).into(),
            Self::Time(instant) => iso_8601(*instant).into(),
        }
    }
}

/// Appends a text: quoted where it holds a separator of any spreadsheet, behind `'` where a
/// spreadsheet would read it as a formula.
pub(super) fn write_text(text: &str, out: &mut String) {
    let guard = if begins_formula(text) { "'" } else { "" };
    // A semicolon or a tab separates cells in some locales, and what follows it begins one.
    if !text.contains(['"', ',', ';', '\r', '\n', '\t']) {
        out.push_str(guard);
        out.push_str(text);
        return;
    }
    out.push('"');
    out.push_str(guard);
    out.push_str(&text.replace('"', "\"\""));
    out.push('"');
}

/// Returns whether spreadsheets would calculate a cell with this text (OWASP ASVS 1.2.10). Some
/// read the full-width signs as the ASCII ones.
fn begins_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠'])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn csv(cell: &Cell) -> String {
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
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("＝1", "'＝1"),
            ("a;=1+1", "\"a;=1+1\""),
            ("a\t=1+1", "\"a\t=1+1\""),
            ("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("a, b", "\"a, b\""),
            ("Käse ½ 日本", "Käse ½ 日本"),
            ("5 = 5", "5 = 5"),
            ("", ""),
        ] {
            assert_eq!(csv(&Cell::text(text)), expected, "{text:?}");
        }
        assert_eq!(csv(&Cell::Decimal("-1.5".into())), "-1.5");
        assert_eq!(csv(&Cell::Integer(-3)), "-3");
        assert_eq!(csv(&Cell::Empty), "");
    }

    #[test]
    fn json_keeps_texts_as_they_are() {
        assert_eq!(Cell::text("=1").to_json(), "=1");
        assert_eq!(Cell::Decimal("0.1".into()).to_json(), "0.1");
        assert_eq!(Cell::Integer(7).to_json(), 7);
        assert!(Cell::Empty.to_json().is_null());
        assert_eq!(Cell::text_or_empty(Some(String::new())), Cell::Empty);
    }

    proptest! {
        /// Read back with the separator of any locale, each text is one cell and no formula.
        #[test]
        fn a_text_is_one_cell_for_every_reader(text in "(?s).{0,40}", other in "(?s).{0,40}") {
            // A byte order mark is one only at the beginning of a file, where the heading stands.
            let line = format!("1,{},{}", csv(&Cell::text(&*text)), csv(&Cell::text(&*other)));
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
            let mut record = csv::StringRecord::new();
            if reader.read_record(&mut record).unwrap() {
                prop_assert_eq!(record.len(), 3);
                for (read, written) in record.iter().skip(1).zip([&text, &other]) {
                    prop_assert_eq!(read.strip_prefix('\'').unwrap_or(read), written.strip_prefix('\'').unwrap_or(written));
                    prop_assert!(!begins_formula(read));
                }
            }
            for separator in [b';', b'\t'] {
                let single = csv(&Cell::text(&*text));
                let mut reader = csv::ReaderBuilder::new()
                    .delimiter(separator).has_headers(false).from_reader(single.as_bytes());
                if reader.read_record(&mut record).unwrap() {
                    prop_assert_eq!(record.len(), 1);
                }
            }
        }
    }
}
