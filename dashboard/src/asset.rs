//! The style sheet, embedded in the program, under a name with the hash of its content.

use std::sync::LazyLock;

use axum::{http::header, response::IntoResponse};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("../assets/dashboard.css");
const NAME_DIGITS: usize = 12;

/// A browser may keep it for ever, and never mixes two releases.
pub static STYLE_PATH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = hex::encode(Sha256::digest(STYLE));
    hash.truncate(NAME_DIGITS);
    format!("/assets/dashboard.{hash}.css")
});

pub async fn style() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, STYLE)
}
