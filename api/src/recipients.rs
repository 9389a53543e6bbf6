//! Recipients, as all payout APIs read them from JSON.

use gateway::payout::recipients::{Amount, Row};
use serde::Deserialize;
use serde_json::value::RawValue;

/// One entry of a list of recipients.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry<'a> {
    #[serde(default)]
    address: Option<String>,
    #[serde(default, borrow)]
    amount: Option<&'a RawValue>,
    #[serde(default)]
    amount_raw: Option<String>,
    #[serde(default)]
    reference: Option<String>,
    #[serde(default, borrow)]
    memo: Option<&'a RawValue>,
}

impl Entry<'_> {
    /// Memo of the entry, where recipients have one. An error names the fault of the memo.
    pub fn memo(&self) -> Result<Option<String>, &'static str> {
        let Some(raw) = self.memo else { return Ok(None) };
        let text: String = serde_json::from_str(raw.get()).map_err(|_| "memo must be a string")?;
        Ok(given(Some(text)))
    }

    /// The row with this number, unchecked and without a memo. An error names the fault of an entry
    /// that cannot be read.
    pub fn into_row(self, number: u32) -> Result<Row, &'static str> {
        let amount = match (self.amount, self.amount_raw) {
            (Some(_), Some(_)) => return Err("send either amount or amountRaw"),
            (None, Some(units)) => Amount::Units(units),
            (None, None) => Amount::Whole(String::new()),
            (Some(raw), None) => Amount::Whole(match raw.get() {
                text if text.starts_with('"') => {
                    serde_json::from_str(text).map_err(|_| "amount must be a string")?
                }
                number if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                    number.to_owned()
                }
                _ => return Err("amount must be a string or a number"),
            }),
        };
        Ok(Row {
            number,
            address: self.address.unwrap_or_default(),
            amount,
            reference: given(self.reference),
            memo: None,
            network: None,
            currency: None,
        })
    }
}

/// Treats an empty text as absent.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(json: &str) -> Result<Row, &'static str> {
        serde_json::from_str::<Entry>(json).unwrap().into_row(1)
    }

    #[test]
    fn an_amount_keeps_the_digits_in_which_it_was_sent() {
        let whole = |text: &str| Ok(Amount::Whole(text.to_owned()));
        for (json, amount) in [
            (r#"{ "amount": 1.50 }"#, whole("1.50")),
            (r#"{ "amount": "1.50" }"#, whole("1.50")),
            (r#"{ "amount": -1 }"#, whole("-1")),
            (r#"{ "amountRaw": "7" }"#, Ok(Amount::Units("7".to_owned()))),
            // A row without an amount is reported together with all other faults of the rows.
            (r#"{ "amount": null }"#, whole("")),
            (r#"{ "amount": 1, "amountRaw": "7" }"#, Err("send either amount or amountRaw")),
            (r#"{ "amount": [1] }"#, Err("amount must be a string or a number")),
        ] {
            assert_eq!(row(json).map(|row| row.amount), amount, "{json}");
        }
        assert_eq!(row(r#"{ "amount": 1, "reference": "" }"#).unwrap().reference, None);
    }

    #[test]
    fn a_memo_must_be_text_in_the_formats_that_have_one() {
        let entry = |json| serde_json::from_str::<Entry>(json).unwrap();
        assert_eq!(entry(r#"{ "memo": "x" }"#).memo(), Ok(Some("x".to_owned())));
        assert_eq!(entry(r#"{ "memo": null }"#).memo(), Ok(None));
        assert!(entry(r#"{ "memo": 1 }"#).memo().is_err());
        assert!(row(r#"{ "memo": 1, "amount": 1 }"#).is_ok());
    }
}
