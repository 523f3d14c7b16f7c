//! Ways to misbehave that produce no answer.

use std::hint::black_box;

use tenure_sdk::warn;

/// Misbehaves by name; an unknown name does nothing.
pub(crate) fn wreck(name: &str) {
    match name {
        "spin" => loop {
            black_box(());
        },
        "grow" => {
            let mut hoard = Vec::new();
            loop {
                hoard.push(black_box(vec![1_u8; 1 << 20]));
            }
        }
        "recurse" => {
            black_box(recurse(0, black_box(u64::MAX)));
        }
        "trap" => std::process::abort(),
        #[expect(clippy::panic, reason = "panicking is its purpose")]
        "panic" => {
            std::panic::set_hook(Box::new(|panic| warn(&panic.to_string())));
            panic!("as told")
        }
        "huge-text" => {
            black_box("x".repeat(64 << 20));
        }
        "chatter" => loop {
            warn(black_box("blah"));
        },
        _ => {}
    }
}

/// Recurses. Each step changes the result, so that the compiler cannot make a loop of it; no step allocates memory,
/// so that the call stack overflows.
fn recurse(depth: u64, end: u64) -> u64 {
    if depth == end { 0 } else { recurse(depth + 1, end).rotate_left(1) ^ depth }
}
