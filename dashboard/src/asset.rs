//! The style sheet, the script and the icon, embedded in the program, under names with the hashes
//! of their content.

use std::sync::LazyLock;

use axum::{Router, http::header, response::IntoResponse, routing::get};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../assets/dashboard.css");
const SCRIPT: &str = include_str!("../assets/dashboard.js");
const ICON: &str = include_str!("../assets/icon.svg");
const NAME_DIGITS: usize = 12;

/// A browser may keep each for ever, and never mixes two releases.
pub static STYLE_PATH: LazyLock<String> = LazyLock::new(|| named("dashboard", "css", STYLE));
pub static SCRIPT_PATH: LazyLock<String> = LazyLock::new(|| named("dashboard", "js", SCRIPT));
pub static ICON_PATH: LazyLock<String> = LazyLock::new(|| named("icon", "svg", ICON));

fn named(name: &str, kind: &str, content: &str) -> String {
    let mut hash = hex::encode(Sha256::digest(content));
    hash.truncate(NAME_DIGITS);
    format!("/assets/{name}.{hash}.{kind}")
}

pub fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route(&STYLE_PATH, get(|| async { kept("text/css; charset=utf-8", STYLE) }))
        .route(&SCRIPT_PATH, get(|| async { kept("text/javascript; charset=utf-8", SCRIPT) }))
        .route(&ICON_PATH, get(|| async { kept("image/svg+xml", ICON) }))
}

fn kept(kind: &'static str, content: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_stays_small_and_evaluates_nothing() {
        assert!(SCRIPT.len() <= 8 * 1024, "{} bytes", SCRIPT.len());
        for never in ["eval(", "Function(", "innerHTML", "document.write", "http://", "https://"] {
            assert!(!SCRIPT.contains(never), "{never}");
        }
    }
}
