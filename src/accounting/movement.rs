//! One movement of money, as the importers of other products take it.

use chrono::{DateTime, Utc};
use rust_decimal::{Decimal, RoundingStrategy};

use super::{Format, cell::write_text};

/// Decimal places of an amount of a bank statement.
const CENTS: u32 = 2;

/// Money that reached the merchant, or left him.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    pub at: DateTime<Utc>,
    /// Whole coins, with a minus sign for money that left.
    pub amount: String,
    pub symbol: &'static str,
    /// Its value at that moment, with the sign of `amount`, and the code of the fiat currency.
    pub fiat: Option<(String, String)>,
    pub tx_hash: Option<String>,
    pub description: String,
}

/// The headings of each product's template.
pub(super) const fn heading(format: Format) -> &'static str {
    match format {
        Format::Koinly => {
            "Koinly Date,Amount,Currency,Label,TxHash,Net Worth Amount,Net Worth Currency,Description"
        }
        Format::Cointracker => {
            "Date,Received Quantity,Received Currency,Sent Quantity,Sent Currency,Fee Amount,Fee Currency,Tag"
        }
        Format::Quickbooks => "Date,Description,Amount",
        Format::Csv | Format::Json | Format::Ndjson => "",
    }
}

impl Movement {
    /// Appends the movement as a line of the product's file, without the line's end.
    pub(super) fn write(&self, format: Format, out: &mut String) {
        match format {
            Format::Koinly => self.write_koinly(out),
            Format::Cointracker => self.write_cointracker(out),
            Format::Quickbooks => self.write_quickbooks(out),
            Format::Csv | Format::Json | Format::Ndjson => {}
        }
    }

    /// Amounts with a sign; the label is the reader's to choose.
    fn write_koinly(&self, out: &mut String) {
        out.push_str(&self.at.format("%Y-%m-%d %H:%M UTC").to_string());
        out.push(',');
        out.push_str(&self.amount);
        out.push(',');
        write_text(self.symbol, out);
        out.push_str(",,");
        write_text(self.tx_hash.as_deref().unwrap_or_default(), out);
        out.push(',');
        if let Some((value, currency)) = &self.fiat {
            out.push_str(value.trim_start_matches('-'));
            out.push(',');
            out.push_str(&currency.to_ascii_uppercase());
        } else {
            out.push(',');
        }
        out.push(',');
        write_text(&self.description, out);
    }

    /// Received and sent have columns of their own; an amount there has no sign.
    fn write_cointracker(&self, out: &mut String) {
        out.push_str(&self.at.format("%m/%d/%Y %H:%M:%S").to_string());
        let (sent, amount) =
            self.amount.strip_prefix('-').map_or((false, &*self.amount), |amount| (true, amount));
        if sent {
            out.push_str(",,");
        }
        out.push(',');
        out.push_str(amount);
        out.push(',');
        write_text(self.symbol, out);
        out.push_str(if sent { ",,," } else { ",,,,," });
    }

    /// A bank statement is in fiat; without a value the cell is empty, so that the import stops at
    /// it instead of reading zero.
    fn write_quickbooks(&self, out: &mut String) {
        out.push_str(&self.at.format("%m/%d/%Y").to_string());
        out.push(',');
        write_text(&self.description, out);
        out.push(',');
        let cents = self.fiat.as_ref().and_then(|(value, _)| in_cents(value));
        out.push_str(&cents.unwrap_or_default());
    }
}

fn in_cents(value: &str) -> Option<String> {
    let value: Decimal = value.parse().ok()?;
    let mut cents = value.round_dp_with_strategy(CENTS, RoundingStrategy::MidpointAwayFromZero);
    cents.rescale(CENTS);
    if cents.is_zero() {
        cents.set_sign_positive(true);
    }
    Some(cents.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn movement(amount: &str, value: Option<&str>) -> Movement {
        Movement {
            at: "2026-03-09T08:05:07.999Z".parse().unwrap(),
            amount: amount.to_owned(),
            symbol: "USDT",
            fiat: value.map(|value| (value.to_owned(), "eur".to_owned())),
            tx_hash: Some("0xab".to_owned()),
            description: "payment pzi_1, order 7".to_owned(),
        }
    }

    fn line(format: Format, movement: &Movement) -> String {
        let mut out = String::new();
        movement.write(format, &mut out);
        out
    }

    /// The templates of the products' help pages: dates, headings, signs.
    #[test]
    fn files_follow_the_templates_of_their_products() {
        let (came, left) = (movement("1.5", Some("1.355")), movement("-2", Some("-1.8")));
        let unvalued = movement("3", None);
        for (format, of, expected) in [
            (
                Format::Koinly,
                &came,
                "2026-03-09 08:05 UTC,1.5,USDT,,0xab,1.355,EUR,\"payment pzi_1, order 7\"",
            ),
            (
                Format::Koinly,
                &left,
                "2026-03-09 08:05 UTC,-2,USDT,,0xab,1.8,EUR,\"payment pzi_1, order 7\"",
            ),
            (
                Format::Koinly,
                &unvalued,
                "2026-03-09 08:05 UTC,3,USDT,,0xab,,,\"payment pzi_1, order 7\"",
            ),
            (Format::Cointracker, &came, "03/09/2026 08:05:07,1.5,USDT,,,,,"),
            (Format::Cointracker, &left, "03/09/2026 08:05:07,,,2,USDT,,,"),
            (Format::Quickbooks, &came, "03/09/2026,\"payment pzi_1, order 7\",1.36"),
            (Format::Quickbooks, &left, "03/09/2026,\"payment pzi_1, order 7\",-1.80"),
            (Format::Quickbooks, &unvalued, "03/09/2026,\"payment pzi_1, order 7\","),
        ] {
            assert_eq!(line(format, of), expected, "{format}");
            let commas = |text: &str| text.replace(", order", " order").matches(',').count();
            assert_eq!(commas(&line(format, of)), commas(heading(format)), "{format}");
        }
        assert_eq!(in_cents("-0.001").as_deref(), Some("0.00"));
    }
}
