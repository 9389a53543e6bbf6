//! Recipients from a file (RFC 4180): UTF-8 with or without a byte order mark, `,` or `;`, any line
//! ends.

use csv::{ByteRecord, ReaderBuilder, WriterBuilder};

use super::recipients::{Amount, Column, FAULTS_MAX, Reason, Row, RowFault, shown};

pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Content of `template.csv`.
pub const TEMPLATE: &str = "address,amount,reference,memo\r\n";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const HEADING_ROW: u32 = 1;

/// Reason why a file has no rows to check.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("the file is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the file has more than {0} rows")]
    TooManyRows(usize),
    #[error("the file has no rows below its heading")]
    Empty,
    #[error("the file cannot be read as it is")]
    Faults(Vec<RowFault>),
}

/// The rows of a file that are text under a known heading, and the faults of the others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sorted {
    pub rows: Vec<Row>,
    pub faults: Vec<RowFault>,
}

/// Reads the rows of a file. The only check so far is that they are text under a known heading.
pub fn read(file: &[u8], rows_max: usize) -> Result<Vec<Row>, Unreadable> {
    let Sorted { rows, faults } = sorted(file, rows_max, FAULTS_MAX)?;
    if !faults.is_empty() {
        return Err(Unreadable::Faults(faults));
    }
    if rows.is_empty() { Err(Unreadable::Empty) } else { Ok(rows) }
}

/// Reads the rows of a file as [`read`] does, with every fault, beside the rows that have none. A
/// fault of the heading is one of the whole file.
pub fn read_all(file: &[u8], rows_max: usize) -> Result<Sorted, Unreadable> {
    let sorted = sorted(file, rows_max, usize::MAX)?;
    let is_empty = sorted.rows.is_empty() && sorted.faults.is_empty();
    if is_empty { Err(Unreadable::Empty) } else { Ok(sorted) }
}

fn sorted(file: &[u8], rows_max: usize, faults_max: usize) -> Result<Sorted, Unreadable> {
    if file.len() > FILE_BYTES_MAX {
        return Err(Unreadable::TooLarge);
    }
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(file))
        .has_headers(false)
        .flexible(true)
        .from_reader(file);
    let (mut columns, mut rows, mut faults) = (None, vec![], vec![]);
    let mut record = ByteRecord::new();
    let mut lines = Lines { file, counted_to: 0, ended: 0 };
    // Reading from memory cannot fail, and a flexible reader accepts any number of cells.
    while reader.read_byte_record(&mut record).unwrap_or(false) {
        let Some(columns) = &columns else {
            columns = Some(heading(&record)?);
            continue;
        };
        let number = lines.first_of(&record, reader.position().byte());
        if rows.len() + faults.len() >= rows_max {
            return Err(Unreadable::TooManyRows(rows_max));
        }
        match row(number, columns, &record) {
            Ok(row) => rows.push(row),
            Err(fault) => faults.push(fault),
        }
        if faults.len() >= faults_max {
            break;
        }
    }
    Ok(Sorted { rows, faults })
}

/// Counts the lines of a file as its records are read, blank ones included.
struct Lines<'a> {
    file: &'a [u8],
    counted_to: usize,
    ended: usize,
}

impl Lines<'_> {
    /// The line in which the record that ends before byte `end` begins.
    fn first_of(&mut self, record: &ByteRecord, end: u64) -> u32 {
        let end = usize::try_from(end).map_or(self.file.len(), |end| end.min(self.file.len()));
        // The reader stops between the two characters of a line end.
        let between = self.file[..end].ends_with(b"\r") && self.file[end..].starts_with(b"\n");
        let end = end + usize::from(between);
        let passed = &self.file[self.counted_to..end];
        let before = passed.len() - passed.iter().rev().take_while(|b| is_line_end(**b)).count();
        let within: usize = record.iter().map(line_ends).sum();
        let line = self.ended + line_ends(&passed[..before]) - within.min(self.ended) + 1;
        self.ended += line_ends(passed);
        self.counted_to = end;
        u32::try_from(line).unwrap_or(u32::MAX)
    }
}

const fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Line ends of all three kinds.
fn line_ends(text: &[u8]) -> usize {
    let alone =
        |(index, byte): &(usize, &u8)| **byte == b'\n' || text.get(index + 1) != Some(&b'\n');
    text.iter().enumerate().filter(|(_, byte)| is_line_end(**byte)).filter(alone).count()
}

/// Writes a file in the form that spreadsheets read.
pub fn write<const N: usize>(
    heading: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut writer = WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    // Writing to memory cannot fail, and all records have as many cells.
    let mut kept = writer.write_record(heading).is_ok();
    for row in rows {
        kept &= writer.write_record(row).is_ok();
    }
    debug_assert!(kept, "a record was not written");
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The separator that the heading uses more often.
fn delimiter(file: &[u8]) -> u8 {
    let heading = file.split(|b| matches!(b, b'\n' | b'\r')).next().unwrap_or_default();
    let count = |wanted: u8| heading.iter().filter(|b| **b == wanted).count();
    if count(b';') > count(b',') { b';' } else { b',' }
}

fn heading(record: &ByteRecord) -> Result<Vec<Column>, Unreadable> {
    let (mut columns, mut faults) = (Vec::new(), Vec::new());
    for cell in record {
        let name = String::from_utf8_lossy(cell);
        let column = column(&name);
        let reason = if matches!(column, Column::Other(_)) {
            Some(Reason::UnknownColumn)
        } else {
            columns.contains(&column).then_some(Reason::RepeatedColumn)
        };
        if let Some(reason) = reason {
            faults.push(RowFault {
                row: HEADING_ROW,
                column: column.clone(),
                reason,
                value: shown(&name),
            });
        }
        columns.push(column);
    }
    for needed in [Column::Address, Column::Amount] {
        if !columns.contains(&needed) {
            let value = String::new();
            faults.push(RowFault {
                row: HEADING_ROW,
                column: needed,
                reason: Reason::Missing,
                value,
            });
        }
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(columns) } else { Err(Unreadable::Faults(faults)) }
}

fn column(name: &str) -> Column {
    match name.trim().to_ascii_lowercase().as_str() {
        "address" | "wallet" | "destination" => Column::Address,
        "amount" | "sum" => Column::Amount,
        "reference" | "external_id" => Column::Reference,
        "memo" | "note" | "comment" => Column::Memo,
        "network" => Column::Network,
        "currency" => Column::Currency,
        _ => Column::Other(shown(name)),
    }
}

fn row(number: u32, columns: &[Column], record: &ByteRecord) -> Result<Row, RowFault> {
    let fault = |column: &Column, reason, value| RowFault {
        row: number,
        column: column.clone(),
        reason,
        value,
    };
    if record.len() != columns.len() {
        let cells = format!("{} cells, {} expected", record.len(), columns.len());
        return Err(fault(&Column::Row, Reason::Ragged, cells));
    }
    let mut row = Row {
        number,
        address: String::new(),
        amount: Amount::Whole(String::new()),
        reference: None,
        memo: None,
        network: None,
        currency: None,
    };
    for (column, cell) in columns.iter().zip(record) {
        let text = std::str::from_utf8(cell)
            .map_err(|_| fault(column, Reason::NotText, shown(&String::from_utf8_lossy(cell))))?;
        let text = text.trim();
        let given = || (!text.is_empty()).then(|| text.to_owned());
        match column {
            Column::Address => text.clone_into(&mut row.address),
            Column::Amount => row.amount = Amount::Whole(text.to_owned()),
            Column::Reference => row.reference = given(),
            Column::Memo => row.memo = given(),
            Column::Network => row.network = given(),
            Column::Currency => row.currency = given(),
            Column::Row | Column::Other(_) => {}
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Cells = (u32, String, String, Option<String>, Option<String>);

    fn parsed(text: &[u8]) -> Vec<Cells> {
        let rows = read(text, 10).unwrap();
        rows.into_iter()
            .map(|row| {
                let Amount::Whole(amount) = row.amount else { unreachable!() };
                (row.number, row.address, amount, row.reference, row.memo)
            })
            .collect()
    }

    fn said(text: &[u8]) -> String {
        match read(text, 3).unwrap_err() {
            Unreadable::Faults(faults) => faults
                .iter()
                .map(|f| format!("{} {}: {} [{}]\n", f.row, f.column.as_str(), f.reason, f.value))
                .collect(),
            whole @ (Unreadable::TooLarge | Unreadable::TooManyRows(_) | Unreadable::Empty) => {
                whole.to_string()
            }
        }
    }

    #[test]
    fn spreadsheets_of_all_kinds_are_read_alike() {
        let expected = [
            (2, "A".to_owned(), "1.5".to_owned(), Some("r, 1".to_owned()), None),
            (3, "B".to_owned(), "2".to_owned(), None, Some("say \"hi\"\nand go".to_owned())),
        ];
        for text in [
            "address,amount,reference,memo\nA,1.5,\"r, 1\",\nB,2,,\"say \"\"hi\"\"\nand go\"\n",
            "\u{feff}Address;AMOUNT;external_id;Note\r\nA;1.5;\"r, 1\";\r\nB;2;;\"say \"\"hi\"\"\nand go\"\r\n",
            "memo,sum,wallet,reference\r,1.5,A,\"r, 1\"\r\"say \"\"hi\"\"\nand go\",2 , B,",
        ] {
            assert_eq!(parsed(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn an_unreadable_cell_is_reported_by_row_and_column() {
        assert_eq!(said(b""), "the file has no rows below its heading");
        assert_eq!(said(b"address,amount\n"), "the file has no rows below its heading");
        assert_eq!(
            said(b"wallet,amout\nA,1\n"),
            "1 amout: is an unknown column [amout]\n1 amount: is missing []\n"
        );
        assert_eq!(said(b"address,amount,wallet\n"), "1 address: appears twice [wallet]\n");
        assert_eq!(
            said(b"address,amount\nA\nB,1,2\n"),
            "2 row: has a different number of cells than the heading [1 cells, 2 expected]\n3 row: has a different number of cells than the heading [3 cells, 2 expected]\n"
        );
        assert_eq!(
            said(b"address,amount\nA\xff,1\n"),
            "2 address: is not UTF-8 text [A\u{fffd}]\n"
        );
        assert_eq!(said(b"address,amount\nA,1\nB,1\nC,1\nD,1\n"), "the file has more than 3 rows");
        assert_eq!(read(&vec![b'a'; FILE_BYTES_MAX + 1], 3), Err(Unreadable::TooLarge));
    }

    #[test]
    fn good_rows_are_kept_beside_all_faults_of_the_others() {
        let read = read_all(b"address,amount\nA,1\nB\n\xff,2\nC,3\n", 4).unwrap();
        let good: Vec<_> = read.rows.iter().map(|row| (row.number, row.address.as_str())).collect();
        let faulty: Vec<_> = read.faults.iter().map(|fault| fault.row).collect();
        assert_eq!((good, faulty), (vec![(2, "A"), (5, "C")], vec![3, 4]));
        let many = format!("address,amount\n{}", "B\n".repeat(150));
        assert_eq!(read_all(many.as_bytes(), 150).unwrap().faults.len(), 150);
        assert_eq!(read_all(many.as_bytes(), 149), Err(Unreadable::TooManyRows(149)));
        assert_eq!(read_all(b"address,amount\n", 4), Err(Unreadable::Empty));
    }

    #[test]
    fn rows_are_counted_as_an_editor_counts_lines() {
        assert_eq!(parsed(b"address,amount\n\n\nA,1\n")[0].0, 4);
        assert_eq!(parsed(b"address,amount\rA,1\rB,1")[1].0, 3);
    }

    #[test]
    fn the_template_has_a_heading_that_is_read() {
        assert_eq!(
            read(format!("{TEMPLATE}A,1,,\r\n").as_bytes(), 10).map(|rows| rows.len()),
            Ok(1)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let with_heading = [b"address,amount\n".as_slice(), &bytes].concat();
            if let Ok(rows) = read(&with_heading, 5) {
                prop_assert!(!rows.is_empty() && rows.len() <= 5);
            }
            let _ = read(&bytes, 5);
        }

        /// No row is lost, doubled or read as another.
        #[test]
        fn every_written_value_is_read_back(cells in proptest::collection::vec(("[^\u{0}]{1,12}", "[0-9.]{1,9}"), 1..10)) {
            let mut writer = WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(vec![]);
            writer.write_record(["address", "amount"]).unwrap();
            for (address, amount) in &cells {
                writer.write_record([address, amount]).unwrap();
            }
            let rows = read(&writer.into_inner().unwrap(), 10).unwrap();
            let read: Vec<_> = rows.into_iter().map(|row| (row.address, row.amount)).collect();
            let written: Vec<_> = cells.into_iter().map(|(a, n)| (a.trim().to_owned(), Amount::Whole(n))).collect();
            prop_assert_eq!(read, written);
        }
    }
}
