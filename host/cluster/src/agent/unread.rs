//! The warnings about what cannot be read, each once.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::mem;

/// The warnings of each half. The lists of objects are bounded by the API server, so that fewer things than this cannot be read at one time; all that is
/// more is of objects that are gone, of which an agent sees any number over the years.
const HALF: usize = 2048;

/// Warnings that were given, by their hashes. The older half is forgotten as the younger one is full, unless it is met again.
#[derive(Debug, Default)]
pub(crate) struct GivenWarnings {
    younger: BTreeSet<u64>,
    older: BTreeSet<u64>,
}

impl GivenWarnings {
    /// Notes a warning. Returns whether it is news.
    pub(crate) fn note(&mut self, words: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let hash = hasher.finish();
        if self.younger.contains(&hash) {
            return false;
        }
        if self.younger.len() >= HALF {
            self.older = mem::take(&mut self.younger);
        }
        self.younger.insert(hash);
        !self.older.contains(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(given: &GivenWarnings) -> usize {
        given.younger.len() + given.older.len()
    }

    #[test]
    fn a_warning_that_stands_is_given_once_beside_any_number_of_others() {
        let mut given = GivenWarnings::default();
        assert!(given.note("block a"));
        for number in 0..10 * HALF {
            assert!(given.note(&format!("object {number}")));
            assert!(!given.note("block a"), "{number}");
            assert!(count(&given) <= 2 * HALF, "{}", count(&given));
        }
        // One that was not met for so long is news again.
        assert!(given.note("object 0"));
    }
}
