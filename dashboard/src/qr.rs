//! Codes for cameras, as inline SVG.

use std::fmt::Write;

use askama::filters::Safe;
use qrcodegen::{QrCode, QrCodeEcc};

/// Quiet zone that scanners need, in modules (ISO/IEC 18004).
const QUIET: i32 = 4;

/// The code as one path of dark squares, on white with a margin, in the dark too. `label` is its
/// text for screen readers. Empty if the content is too long, which no address or URI of ours is.
pub fn svg(content: &str, label: &'static str) -> Safe<String> {
    let Ok(code) = QrCode::encode_text(content, QrCodeEcc::Medium) else {
        return Safe(String::new());
    };
    let (side, mut path) = (code.size() + 2 * QUIET, String::new());
    for y in 0..code.size() {
        for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
            let _infallible = write!(path, "M{} {}h1v1h-1z", x + QUIET, y + QUIET);
        }
    }
    Safe(format!(
        "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{label}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path d=\"{path}\"/></svg>"
    ))
}
