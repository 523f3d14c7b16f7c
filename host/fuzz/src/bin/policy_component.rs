//! [`policy_component`](tenure_fuzz::policy_component), driven by libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tenure_fuzz::policy_component(data));
