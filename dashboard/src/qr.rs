//! Codes for cameras, as inline SVG.

use std::fmt::Write;

use askama::filters::Safe;
use qrcodegen::{QrCode, QrCodeEcc};

/// Quiet zone that scanners need, in modules (ISO/IEC 18004).
const QUIET: i32 = 4;

/// The code as one path of dark runs, on white with a margin, in the dark too. `label` is its text
/// for screen readers. Empty if the content is too long, which no address or URI of ours is.
pub fn svg(content: &str, label: &'static str) -> Safe<String> {
    let Ok(code) = QrCode::encode_text(content, QrCodeEcc::Medium) else {
        return Safe(String::new());
    };
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
    Safe(format!(
        "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{label}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path d=\"{path}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_one_picture_with_a_name() {
        let Safe(picture) = svg("https://pay.example/pay/pzi_0", "QR code of the checkout");
        assert!(picture.starts_with("<svg"));
        assert!(picture.contains("aria-label=\"QR code of the checkout\""));
        let Safe(none) = svg(&"x".repeat(5_000), "too long");
        assert_eq!(none, "");
    }
}
