//! Files of payout recipients: each row is parsed or reported with its fault, none is dropped or
//! doubled.

use gateway::payout::csv;

const ROWS_MAX: usize = 200;

pub fn check(data: &[u8]) {
    let Ok(rows) = csv::read(data, ROWS_MAX) else { return };
    assert!(rows.len() <= ROWS_MAX);
    let lines = data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    assert!(rows.len() <= lines, "{} rows from {lines} lines", rows.len());
}
