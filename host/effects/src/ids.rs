//! The ids of intents, which requests to the outside carry so that none does anything twice.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_types::IntentId;

/// Makes ids of intents.
pub trait Ids: Send + Sync {
    /// An id that no node has used before.
    fn new_id(&self) -> IntentId;
}

/// Ids of this node and this start: the node, a random number and a count.
#[derive(Debug)]
pub(crate) struct NumberedIds {
    start: String,
    last: AtomicU64,
}

impl NumberedIds {
    /// `wall` and `seed` differ from one start to the next.
    pub(crate) fn new(node: &str, wall: u64, seed: u64) -> Self {
        let plain: String =
            node.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').take(20).collect();
        Self { start: format!("{plain}-{wall:x}-{seed:x}"), last: AtomicU64::new(0) }
    }
}

impl Ids for NumberedIds {
    #[expect(
        clippy::expect_used,
        reason = "at most 20 + 16 + 16 + 8 letters and digits: a valid id for 4 billion intents"
    )]
    fn new_id(&self) -> IntentId {
        let number = self.last.fetch_add(1, Ordering::Relaxed) % (1 << 32);
        IntentId::new(format!("{}-{number:x}", self.start)).expect("a valid id")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_id_is_valid_and_no_two_are_equal() {
        let ids = NumberedIds::new("i-0123456789abcdef0", u64::MAX >> 20, u64::MAX);
        let (one, two) = (ids.new_id(), ids.new_id());
        assert_ne!(one, two);
        assert!(one.as_str().len() + 8 <= 64, "{one}");
    }
}
