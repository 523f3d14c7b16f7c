#!/bin/sh
# Compiles a package of this workspace with LLVM's coverage pass: what `cargo fuzz` requests from a nightly compiler, without the
# sanitizers. Cargo calls it, as RUSTC_WORKSPACE_WRAPPER, for the workspace's own packages only: inputs are sought by the way they
# take through our code, and what it depends on is shared with the development build.
set -eu
case " $* " in
# What runs while the fuzzers are built has no libFuzzer in it.
*" --crate-name build_script_"* | *" --crate-name tenure_sdk_build "* | *" --crate-type proc-macro "*) exec "$@" ;;
esac
exec "$@" --cfg fuzzing \
    -C passes=sancov-module \
    -C llvm-args=-sanitizer-coverage-level=4 \
    -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
    -C llvm-args=-sanitizer-coverage-pc-table \
    -C llvm-args=-sanitizer-coverage-trace-compares
