//! [`policy_answer`](tenure_fuzz::policy_answer), driven by libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tenure_fuzz::policy_answer(data));
