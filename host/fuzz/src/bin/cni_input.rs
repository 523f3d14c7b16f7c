//! [`cni_input`](tenure_fuzz::cni_input), driven by libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tenure_fuzz::cni_input(data));
