//! Places in lists that are ordered by time: opaque cursors in the address of a page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// Rows of one page.
pub const ROWS: usize = 25;
/// One more than is shown says whether there are more.
pub const ROWS_AND_NEXT: i64 = 26;

/// Writes a place as a cursor.
pub fn cursor(at: DateTime<Utc>, id: Uuid) -> String {
    format!("{}-{}", at.timestamp_micros(), id.simple())
}

/// Reads a cursor; `None` for anything else.
pub fn place(cursor: &str) -> Option<(DateTime<Utc>, Uuid)> {
    let (at, id) = cursor.rsplit_once('-')?;
    let at = DateTime::from_timestamp_micros(at.parse().ok()?)?;
    Some((at, Uuid::try_parse(id).ok()?))
}

/// Behind the newest row there is.
pub fn newest() -> (DateTime<Utc>, Uuid) {
    // PostgreSQL's timestamps end in the year 294276, chrono's earlier: any far date will do.
    (DateTime::from_timestamp(32_503_680_000, 0).unwrap_or(DateTime::<Utc>::MAX_UTC), Uuid::max())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let (at, id) =
            (DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(), Uuid::now_v7());
        assert_eq!(place(&cursor(at, id)), Some((at, id)));
        for wrong in ["", "-", "1-", "-1", "x-0", "99999999999999999999-0", "1-0"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
