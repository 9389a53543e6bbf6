//! A moment in an argument.

use chrono::{DateTime, Utc};

pub fn instant(text: &str) -> Result<DateTime<Utc>, String> {
    let instant = DateTime::parse_from_rfc3339(text);
    instant.map(|at| at.to_utc()).map_err(|_| "not a time such as 2026-01-31T12:00:00Z".to_owned())
}
