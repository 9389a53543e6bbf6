//! The QR code of a checkout's address, as inline SVG on white, in the dark too.

use std::fmt::Write;

use askama::filters::Safe;
use qrcodegen::{QrCode, QrCodeEcc};

/// Quiet zone that scanners need, in modules (ISO/IEC 18004).
const QUIET: i32 = 4;

/// `None` if the address is too long for a code, which no configured one is.
pub fn svg(url: &str) -> Option<Safe<String>> {
    let code = QrCode::encode_text(url, QrCodeEcc::Medium).ok()?;
    let (side, mut path) = (code.size() + 2 * QUIET, String::new());
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let run = (x..code.size()).take_while(|at| code.get_module(*at, y)).count();
            let run = i32::try_from(run).unwrap_or(0);
            if run > 0 {
                let (left, top) = (x + QUIET, y + QUIET);
                let _infallible = write!(path, "M{left} {top}h{run}v1h-{run}z");
            }
            x += run.max(1);
        }
    }
    Some(Safe(format!(
        "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"QR code of the checkout\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path d=\"{path}\"/></svg>"
    )))
}
