//! [`log_recovery`](tenure_fuzz::log_recovery), driven by libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tenure_fuzz::log_recovery(data));
