#!/bin/sh
# rustc with the coverage counters that libFuzzer reads, for the crates of this workspace
# (RUSTC_WORKSPACE_WRAPPER).
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
