//! The file of an export, piece by piece: its beginning, its lines, its end.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{Cell, Export, Format, Movement, Range, movement};
use crate::invoice::payment::iso_8601;

/// A row of an export before it is chosen and written.
#[derive(Debug, Clone)]
pub struct Line<'a> {
    /// One for each column.
    pub cells: Vec<Cell<'a>>,
    /// Code of its currency; `None` for a token that is not in the catalogue.
    pub currency: Option<&'static str>,
    /// Code of the fiat currency in which it is valued.
    pub fiat: Option<&'a str>,
    pub status: Option<&'static str>,
    /// `None` if no money of the merchant moved.
    pub movement: Option<Movement>,
}

/// The lines that a request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Code of a currency.
    pub currency: Option<String>,
    /// Code of a fiat currency: the lines that are valued in it.
    pub fiat: Option<String>,
    pub status: Option<String>,
}

impl Choice {
    pub fn takes(&self, line: &Line<'_>) -> bool {
        let matches = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        matches(&self.currency, line.currency)
            && matches(&self.fiat, line.fiat)
            && matches(&self.status, line.status)
    }
}

/// A bank statement holds one currency, and its importer would add up two as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the range has values in {first} and in {second}, and a QuickBooks file holds one currency: add currency={first}"
)]
pub struct TwoCurrencies {
    pub first: String,
    pub second: String,
}

/// Writes an export in one format.
#[derive(Debug)]
pub struct Table {
    export: Export,
    format: Format,
    rows: u64,
    /// The fiat currency of the lines so far.
    fiat: Option<String>,
}

impl Table {
    pub const fn new(export: Export, format: Format) -> Self {
        Self { export, format, rows: 0, fiat: None }
    }

    /// Rows that were written.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    pub fn begin(&self, out: &mut String) {
        match self.format {
            Format::Csv => {
                let names: Vec<_> = self.export.columns().iter().map(|(name, _)| *name).collect();
                out.push_str(&names.join(","));
                out.push_str("\r\n");
            }
            Format::Json => {
                let columns = self.export.columns().iter();
                let fields: Vec<_> = columns
                    .map(|(name, kind)| json!({ "name": name, "type": kind.as_str() }))
                    .collect();
                out.push_str("{\"fields\":");
                out.push_str(&Value::from(fields).to_string());
                out.push_str(",\"data\":[");
            }
            Format::Ndjson => {}
            Format::Koinly | Format::Cointracker | Format::Quickbooks => {
                out.push_str(movement::heading(self.format));
                out.push_str("\r\n");
            }
        }
    }

    /// Appends a line; a file of movements leaves out lines that are none.
    pub fn line(&mut self, line: &Line<'_>, out: &mut String) -> Result<(), TwoCurrencies> {
        match self.format {
            Format::Csv => {
                for (index, cell) in line.cells.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    cell.write_csv(out);
                }
                out.push_str("\r\n");
            }
            Format::Json => {
                if self.rows > 0 {
                    out.push(',');
                }
                let cells: Vec<_> = line.cells.iter().map(Cell::to_json).collect();
                out.push_str(&Value::from(cells).to_string());
            }
            Format::Ndjson => {
                for (index, ((name, _), cell)) in
                    self.export.columns().iter().zip(&line.cells).enumerate()
                {
                    out.push_str(if index == 0 { "{\"" } else { ",\"" });
                    out.push_str(name);
                    out.push_str("\":");
                    out.push_str(&cell.to_json().to_string());
                }
                out.push_str("}\n");
            }
            Format::Koinly | Format::Cointracker | Format::Quickbooks => {
                let Some(movement) = &line.movement else { return Ok(()) };
                self.check_currency(movement)?;
                movement.write(self.format, out);
                out.push_str("\r\n");
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn check_currency(&mut self, movement: &Movement) -> Result<(), TwoCurrencies> {
        let Some((_, second)) =
            movement.fiat.as_ref().filter(|_| self.format == Format::Quickbooks)
        else {
            return Ok(());
        };
        let first = self.fiat.get_or_insert_with(|| second.clone());
        if first == second {
            return Ok(());
        }
        Err(TwoCurrencies { first: first.clone(), second: second.clone() })
    }

    pub fn end(&self, range: &Range, generated_at: DateTime<Utc>, out: &mut String) {
        if self.format != Format::Json {
            return;
        }
        let rest = json!({
            "from": iso_8601(range.from), "to": iso_8601(range.to), "generated_at": iso_8601(generated_at),
        });
        out.push(']');
        if let Some(members) = rest.to_string().strip_prefix('{') {
            out.push(',');
            out.push_str(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fee(amount: &str) -> Line<'_> {
        let at: DateTime<Utc> = "2026-03-09T08:05:07.125Z".parse().unwrap();
        Line {
            cells: vec![
                Cell::Time(at),
                Cell::text("pzo_1"),
                Cell::text("network"),
                Cell::text("usdtmatic"),
                Cell::decimal(amount),
                Cell::Empty,
                Cell::text("=0"),
            ],
            currency: Some("usdtmatic"),
            fiat: Some("usd"),
            status: None,
            movement: None,
        }
    }

    fn written(format: Format, lines: &[Line<'_>]) -> (String, u64) {
        let range = Range::parse("2026-03-01", "2026-04-01").unwrap();
        let mut table = Table::new(Export::Fees, format);
        let mut out = String::new();
        table.begin(&mut out);
        for line in lines {
            table.line(line, &mut out).unwrap();
        }
        table.end(&range, "2026-04-02T00:00:00Z".parse().unwrap(), &mut out);
        (out, table.rows())
    }

    #[test]
    fn a_file_has_its_heading_even_without_rows() {
        let heading = "date_utc,source_id,kind,currency,amount,fiat_value,tx_hash\r\n";
        assert_eq!(written(Format::Csv, &[]), (heading.to_owned(), 0));
        let (file, rows) = written(Format::Csv, &[fee("-1.5")]);
        let row = "2026-03-09T08:05:07.125Z,pzo_1,network,usdtmatic,-1.5,,'=0\r\n";
        assert_eq!((file, rows), (format!("{heading}{row}"), 1));
        assert_eq!(written(Format::Ndjson, &[]).0, "");
    }

    #[test]
    fn json_states_the_columns_the_range_and_the_time() {
        let (file, rows) = written(Format::Json, &[fee("1"), fee("2")]);
        let json: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(rows, 2);
        assert_eq!(json["fields"][0], json!({ "name": "date_utc", "type": "time" }));
        assert_eq!(json["data"][1][4], "2");
        assert_eq!(json["data"][1][6], "=0");
        assert_eq!(json["from"], "2026-03-01T00:00:00.000Z");
        assert_eq!(json["to"], "2026-04-01T00:00:00.000Z");
        assert_eq!(json["generated_at"], "2026-04-02T00:00:00.000Z");
        let (file, _) = written(Format::Json, &[]);
        let json: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(json["data"], json!([]));
        let (file, _) = written(Format::Ndjson, &[fee("1"), fee("2")]);
        assert!(file.starts_with(r#"{"date_utc":"2026-03-09T08:05:07.125Z","source_id":"pzo_1""#));
        let lines: Vec<Value> =
            file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["amount"], "2");
        assert!(lines[0]["fiat_value"].is_null());
    }

    fn moved(fiat: &str) -> Line<'_> {
        let movement = Movement {
            at: "2026-03-09T08:05:07Z".parse().unwrap(),
            amount: "1".to_owned(),
            symbol: "USDT",
            fiat: Some(("1".to_owned(), fiat.to_owned())),
            tx_hash: None,
            description: String::new(),
        };
        Line { fiat: Some(fiat), movement: Some(movement), ..fee("1") }
    }

    #[test]
    fn a_bank_statement_never_mixes_currencies() {
        let mut table = Table::new(Export::Payments, Format::Quickbooks);
        let mut out = String::new();
        table.line(&moved("eur"), &mut out).unwrap();
        // No movement, no line.
        table.line(&fee("1"), &mut out).unwrap();
        assert_eq!(table.rows(), 1);
        let mixed = table.line(&moved("usd"), &mut out).unwrap_err();
        assert_eq!((&*mixed.first, &*mixed.second), ("eur", "usd"));
        let mut table = Table::new(Export::Payments, Format::Koinly);
        for fiat in ["eur", "usd"] {
            table.line(&moved(fiat), &mut out).unwrap();
        }
    }

    #[test]
    fn a_choice_takes_the_lines_that_match_all_of_it() {
        let line = Line { status: Some("finished"), ..fee("1") };
        let some = |text: &str| Some(text.to_owned());
        for (currency, fiat, status, taken) in [
            (None, None, None, true),
            (some("usdtmatic"), some("usd"), some("finished"), true),
            (some("btc"), None, None, false),
            (None, some("eur"), None, false),
            (None, None, some("expired"), false),
        ] {
            assert_eq!(Choice { currency, fiat, status }.takes(&line), taken);
        }
        let bare = Line { currency: None, fiat: None, status: None, ..fee("1") };
        assert!(!Choice { currency: some("btc"), ..Choice::default() }.takes(&bare));
    }
}
