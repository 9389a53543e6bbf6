//! One target under libFuzzer, named by `FUZZ_TARGET`.

#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).unwrap_or_else(|| panic!("FUZZ_TARGET must be one of {:?}", fuzz::names()))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.check)(data));
