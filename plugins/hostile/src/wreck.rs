//! Ways to misbehave that do not end in an answer.

use std::hint::black_box;

use tenure_sdk::warn;

/// Misbehaves by name; a name that it does not know does nothing.
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
        #[expect(clippy::panic, reason = "to panic is this one's purpose")]
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

/// Each step changes what the next one gives, so that no compiler makes a loop of it; none needs memory, so that it is
/// the call stack that ends.
fn recurse(depth: u64, end: u64) -> u64 {
    if depth == end { 0 } else { recurse(depth + 1, end).rotate_left(1) ^ depth }
}
