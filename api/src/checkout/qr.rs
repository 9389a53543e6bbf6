//! A QR code as inline SVG: one path, no image to load, sharp at any size.

use std::fmt::Write;

use askama::filters::Safe;
use qrcodegen::{QrCode, QrCodeEcc};

/// Quiet zone that scanners need, in modules (ISO/IEC 18004).
const QUIET: i32 = 4;

/// The QR code of `content`; `None` if it is too long, which no address or payment URI is.
///
/// `label` is the text for screen readers.
pub fn svg(content: &str, label: &str) -> Option<Safe<String>> {
    let code = QrCode::encode_text(content, QrCodeEcc::Medium).ok()?;
    let side = code.size() + 2 * QUIET;
    let label = super::markup::escaped(label);
    let path = path(&code);
    Some(Safe(format!(
        "<svg viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"{label}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path stroke=\"#000\" d=\"{path}\"/></svg>"
    )))
}

/// Each run of dark modules is one horizontal line, drawn from the end of the last one: a third of
/// the bytes that squares would take.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let (mut x, mut pen) = (0, None);
        while x < code.size() {
            let run = (x..code.size()).take_while(|at| code.get_module(*at, y)).count();
            let run = i32::try_from(run).unwrap_or(0);
            if run == 0 {
                x += 1;
                continue;
            }
            let _infallible = match pen {
                None => write!(path, "M{} {}.5h{run}", x + QUIET, y + QUIET),
                Some(end) => write!(path, "m{} 0h{run}", x - end),
            };
            x += run;
            pen = Some(x);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_cover_exactly_the_dark_modules() {
        let code =
            QrCode::encode_text("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", QrCodeEcc::Medium);
        let code = code.unwrap();
        let mut dark = Vec::new();
        for row in path(&code).split('M').skip(1) {
            let (start, rest) = row.split_once('h').unwrap();
            let (x, y) = start.split_once(' ').unwrap();
            let y: i32 = y.strip_suffix(".5").unwrap().parse().unwrap();
            let mut x: i32 = x.parse().unwrap();
            for (index, part) in format!("h{rest}").split('h').skip(1).enumerate() {
                let (run, gap) = part.split_once('m').unwrap_or((part, ""));
                let run: i32 = run.parse().unwrap();
                assert!(index == 0 || run > 0);
                dark.extend((x..x + run).map(|x| (x - QUIET, y - QUIET)));
                let gap: i32 = gap.trim_end_matches(" 0").parse().unwrap_or(0);
                x += run + gap;
            }
        }
        let side = code.size();
        let expected: Vec<_> = (0..side)
            .flat_map(|y| (0..side).map(move |x| (x, y)))
            .filter(|(x, y)| code.get_module(*x, *y))
            .collect();
        assert_eq!(dark, expected);
    }

    #[test]
    fn a_uri_too_long_for_a_qr_code_has_none_and_labels_are_escaped() {
        assert!(svg(&"x".repeat(3000), "x").is_none());
        assert!(
            svg("x", "\"><script>").unwrap().0.contains("aria-label=\"&quot;&gt;&lt;script&gt;\"")
        );
    }
}
