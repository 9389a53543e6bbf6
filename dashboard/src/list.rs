//! Places in lists that are ordered by time: opaque cursors in the address of a page.

use chrono::{DateTime, Utc};
use gateway::storage::payment_search::Side;
use url::form_urlencoded;
use uuid::Uuid;

use crate::visit::Visit;

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

/// The place that a page's address asks for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub side: Side,
    pub at: DateTime<Utc>,
    pub id: Uuid,
    is_first: bool,
}

impl Asked {
    /// Reads `newer` or `older` of the page's address.
    pub fn of(visit: &Visit) -> Self {
        let read = |name| visit.asked(name).and_then(place);
        let ((at, id), side, is_first) = match (read("newer"), read("older")) {
            (Some(place), _) => (place, Side::Newer, false),
            (None, Some(place)) => (place, Side::Older, false),
            (None, None) => (newest(), Side::Older, true),
        };
        Self { side, at, id, is_first }
    }

    pub const fn place(self) -> (Side, DateTime<Utc>, Uuid) {
        (self.side, self.at, self.id)
    }
}

/// The addresses of the pages beside one, for `pages.html`.
#[derive(Debug, Default)]
pub struct Pages {
    pub newer: Option<String>,
    pub older: Option<String>,
}

impl Pages {
    /// Cuts what was read, newest first and with one row more than is shown, to one page, and
    /// returns the addresses beside it. They keep the filters.
    pub fn cut<T>(
        rows: &mut Vec<T>,
        asked: Asked,
        path: &str,
        filters: &[(&str, &str)],
        place_of: impl Fn(&T) -> (DateTime<Utc>, Uuid),
    ) -> Self {
        let is_more = rows.len() > ROWS;
        if is_more && asked.side == Side::Newer {
            rows.remove(0);
        }
        rows.truncate(ROWS);
        let (more_older, more_newer) = match asked.side {
            Side::Older => (is_more, !asked.is_first),
            Side::Newer => (true, is_more),
        };
        let address = |side: &str, row: Option<&T>| {
            let (at, id) = place_of(row?);
            let start = format!("{path}?");
            let mut query = form_urlencoded::Serializer::for_suffix(start, path.len() + 1);
            query.append_pair(side, &cursor(at, id));
            query.extend_pairs(filters.iter().filter(|(_, value)| !value.is_empty()));
            Some(query.finish())
        };
        Self {
            newer: address("newer", rows.first()).filter(|_| more_newer),
            older: address("older", rows.last()).filter(|_| more_older),
        }
    }
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

    #[test]
    fn a_page_leads_to_those_beside_it_and_keeps_the_filters() {
        let at = DateTime::from_timestamp_micros(1_790_000_000_000_000).unwrap();
        let rows = |count: usize| (0..count).map(|_| Uuid::now_v7()).collect::<Vec<_>>();
        let asked = |side, is_first| Asked { side, at, id: Uuid::nil(), is_first };
        for (side, is_first, count, newer, older) in [
            (Side::Older, true, 3, false, false),
            (Side::Older, true, ROWS + 1, false, true),
            (Side::Older, false, 3, true, false),
            (Side::Newer, false, 3, false, true),
            (Side::Newer, false, ROWS + 1, true, true),
            (Side::Older, true, 0, false, false),
        ] {
            let mut rows = rows(count);
            let filters = [("status", "paid"), ("q", "")];
            let cut = Pages::cut(&mut rows, asked(side, is_first), "/p", &filters, |id| (at, *id));
            assert_eq!((cut.newer.is_some(), cut.older.is_some()), (newer, older), "{count}");
            assert!(rows.len() <= ROWS);
            if let Some(older) = cut.older {
                let last = cursor(at, rows[rows.len() - 1]);
                assert_eq!(older, format!("/p?older={last}&status=paid"));
            }
        }
    }
}
