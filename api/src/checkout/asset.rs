//! Scripts and the icon, embedded in the program. Each name contains the hash of its content, so a
//! browser may cache it for ever and never mixes two releases.

use std::sync::LazyLock;

use axum::http::HeaderValue;
use sha2::{Digest, Sha256};

/// Hex digits of the hash in a name: enough to distinguish releases.
const NAME_DIGITS: usize = 12;

pub struct Asset {
    /// File name, with the hash.
    pub name: String,
    pub content_type: HeaderValue,
    pub body: &'static str,
}

pub struct Assets {
    pub pay: Asset,
    pub choose: Asset,
    pub embed: Asset,
    pub till: Asset,
    pub receipt: Asset,
    pub icon: Asset,
}

pub static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
    pay: script("pay", include_str!("../../assets/pay.js")),
    choose: script("choose", include_str!("../../assets/choose.js")),
    embed: script("embed", include_str!("../../assets/embed.js")),
    till: script("till", include_str!("../../assets/till.js")),
    receipt: script("receipt", include_str!("../../assets/receipt.js")),
    icon: Asset {
        name: named("icon", "svg", ICON),
        content_type: HeaderValue::from_static("image/svg+xml"),
        body: ICON,
    },
});

const ICON: &str = include_str!("../../assets/icon.svg");

pub const JAVASCRIPT: HeaderValue = HeaderValue::from_static("text/javascript; charset=utf-8");

/// The widget script, which shops include by its fixed name.
pub const WIDGET: &str = include_str!("../../assets/widget.js");

/// The style sheet is inlined in the page, which saves a round trip before the first paint.
pub const STYLE: &str = include_str!("../../assets/checkout.css");

impl Assets {
    pub fn find(&self, name: &str) -> Option<&Asset> {
        let all = [&self.pay, &self.choose, &self.embed, &self.till, &self.receipt, &self.icon];
        all.into_iter().find(|one| one.name == name)
    }
}

fn script(stem: &str, body: &'static str) -> Asset {
    Asset { name: named(stem, "js", body), content_type: JAVASCRIPT, body }
}

fn named(stem: &str, extension: &str, body: &str) -> String {
    let mut hash = hex(&Sha256::digest(body));
    hash.truncate(NAME_DIGITS);
    format!("{stem}.{hash}.{extension}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
