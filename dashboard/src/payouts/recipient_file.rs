//! Recipients as they were sent, and what a page says of each row.

use gateway::{
    asset::catalogue::Currency,
    money::BaseUnits,
    payout::{
        csv::{self, Sorted, Unreadable},
        recipients::{Recipient, RowFault, in_coins},
    },
};

use crate::form::Form;

/// Names of the file and of the text area in a form.
const FILE: &str = "file";
const TEXT: &str = "recipients";
/// Good rows that a page repeats.
const SAMPLE: usize = 10;

/// Recipients in CSV: a chosen file, or else the text of the field.
pub struct Sheet {
    bytes: Vec<u8>,
    is_text: bool,
}

impl Sheet {
    pub fn of(form: &Form) -> Self {
        let bytes = match form.file(FILE) {
            Some(file) => file.to_vec(),
            None => form.text(TEXT).as_bytes().to_vec(),
        };
        // A page could not carry the rest back unchanged: browsers and decoders replace it.
        let text = std::str::from_utf8(&bytes).ok();
        let is_text = text.is_some_and(|text| !text.contains(['\0', '\u{fffd}']));
        Self { bytes, is_text }
    }

    /// The rows, and the faults of those that are not even text under the heading.
    pub fn read(&self, rows_max: usize) -> Result<Sorted, Unreadable> {
        if self.bytes.trim_ascii().is_empty() {
            return Err(Unreadable::Empty);
        }
        csv::read_all(&self.bytes, rows_max)
    }

    /// The text to go on with in a page; `None` if it must be mended in the file itself.
    pub fn text(&self) -> Option<&str> {
        let fits = self.is_text && self.bytes.len() <= csv::FILE_BYTES_MAX;
        std::str::from_utf8(&self.bytes).ok().filter(|_| fits)
    }

    pub const fn is_text(&self) -> bool {
        self.is_text
    }
}

/// A row that cannot be paid, with all its faults.
pub struct FaultyRow {
    pub row: u32,
    pub faults: Vec<FaultLine>,
}

/// One fault, in words.
pub struct FaultLine {
    pub text: String,
    /// The beginning of the cell.
    pub value: String,
}

/// A good row, as the page repeats it.
pub struct GoodRow {
    pub row: u32,
    pub address: String,
    pub amount: String,
    pub reference: String,
}

/// The rows of a sheet after they were checked.
pub struct Checked {
    pub faulty: Vec<FaultyRow>,
    pub good: usize,
    pub sum: Option<String>,
    pub sample: Vec<GoodRow>,
}

impl Checked {
    pub fn new(
        currency: &Currency,
        good: &[Recipient],
        sum: BaseUnits,
        faults: impl IntoIterator<Item = RowFault>,
    ) -> Self {
        let one = |recipient: &Recipient| GoodRow {
            row: recipient.row,
            address: recipient.address.clone(),
            amount: in_coins(currency, recipient.amount),
            reference: recipient.reference.clone().unwrap_or_default(),
        };
        Self {
            faulty: by_row(faults),
            good: good.len(),
            sum: Some(in_coins(currency, sum)),
            sample: good.iter().take(SAMPLE).map(one).collect(),
        }
    }

    /// A sheet of which nothing but its faults is known.
    pub fn unread(faults: Vec<RowFault>) -> Self {
        Self { faulty: by_row(faults), good: 0, sum: None, sample: Vec::new() }
    }

    pub const fn is_sound(&self) -> bool {
        self.faulty.is_empty() && self.good > 0
    }
}

/// Faults of one row together, in the order of the rows.
fn by_row(faults: impl IntoIterator<Item = RowFault>) -> Vec<FaultyRow> {
    let mut faults: Vec<_> = faults.into_iter().collect();
    faults.sort_by_key(|fault| fault.row);
    let mut rows: Vec<FaultyRow> = Vec::new();
    for fault in faults {
        let text = format!("{} {}", fault.column.as_str(), fault.reason);
        let line = FaultLine { text, value: fault.value };
        match rows.last_mut().filter(|last| last.row == fault.row) {
            Some(last) => last.faults.push(line),
            None => rows.push(FaultyRow { row: fault.row, faults: vec![line] }),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use gateway::payout::recipients::{Column, Reason};

    use super::*;

    fn sheet(bytes: &[u8]) -> Sheet {
        let mut form = Form::default();
        form.add_file(FILE.to_owned(), bytes.to_vec().into());
        Sheet::of(&form)
    }

    #[test]
    fn a_file_comes_before_the_field_and_what_is_no_text_is_not_carried_on() {
        let mut form = Form::default();
        form.add(TEXT.to_owned(), "address,amount\nA,1".to_owned());
        assert_eq!(Sheet::of(&form).text(), Some("address,amount\nA,1"));
        form.add_file(FILE.to_owned(), b"address,amount\nB,2"[..].into());
        assert_eq!(Sheet::of(&form).read(5).unwrap().rows[0].address, "B");
        for bytes in [&b"address,amount\nA\xe9,1"[..], b"address\0,amount", "a\u{fffd}".as_bytes()]
        {
            assert_eq!(sheet(bytes).text(), None, "{bytes:?}");
        }
        assert_eq!(sheet(b" \r\n").read(5), Err(Unreadable::Empty));
        assert_eq!(sheet(&vec![b'a'; csv::FILE_BYTES_MAX + 1]).text(), None);
    }

    #[test]
    fn all_faults_of_a_row_stand_together() {
        let fault =
            |row, reason| RowFault { row, column: Column::Amount, reason, value: "x".into() };
        let faults =
            [fault(3, Reason::Zero), fault(2, Reason::NotPlain), fault(3, Reason::Missing)];
        let rows = by_row(faults);
        let numbers: Vec<_> = rows.iter().map(|row| (row.row, row.faults.len())).collect();
        assert_eq!(numbers, [(2, 1), (3, 2)]);
        assert_eq!(rows[1].faults[0].text, "amount must be more than zero");
    }
}
