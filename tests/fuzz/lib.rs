//! Fuzz targets: each takes any bytes, feeds them to code that parses untrusted input, and panics
//! if an invariant breaks.
//!
//! A target checks more than the absence of a crash: a parsed value must stay the same when it is
//! written and parsed again, and an accepted value must be accepted by a second, simpler check.

mod amount;
mod block;
mod body;
mod json;
mod lifecycle;
mod recipients;
mod web_address;

/// A name and the check of the bytes.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub check: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "amount", check: amount::check },
    Target { name: "block", check: block::check },
    Target { name: "body", check: body::check },
    Target { name: "json", check: json::check },
    Target { name: "lifecycle", check: lifecycle::check },
    Target { name: "recipients", check: recipients::check },
    Target { name: "web_address", check: web_address::check },
];

pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}

pub fn names() -> Vec<&'static str> {
    TARGETS.iter().map(|target| target.name).collect()
}
