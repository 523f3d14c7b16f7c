//! Which positions of a subnet are taken.

/// A set of positions below a size.
#[derive(Debug, Clone)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    size: u32,
    used: u32,
}

impl Bitmap {
    pub(super) fn new(size: u32) -> Self {
        Self { words: vec![0; size.div_ceil(64) as usize], size, used: 0 }
    }

    /// The number of positions that are not taken.
    pub(super) fn free(&self) -> u32 {
        self.size - self.used
    }

    /// The number of positions.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Whether a position is taken; positions outside are.
    pub(super) fn is_taken(&self, at: u32) -> bool {
        at >= self.size || self.words.get((at / 64) as usize).is_none_or(|word| word & bit(at) != 0)
    }

    /// Whether all of `count` positions from `at` are free.
    pub(super) fn is_free(&self, at: u32, count: u32) -> bool {
        (at..at.saturating_add(count)).all(|position| !self.is_taken(position))
    }

    /// Takes positions. Those that are taken stay so.
    pub(super) fn take(&mut self, at: u32, count: u32) {
        for position in at..at.saturating_add(count).min(self.size) {
            if let Some(word) = self.words.get_mut((position / 64) as usize)
                && *word & bit(position) == 0
            {
                *word |= bit(position);
                self.used += 1;
            }
        }
    }

    /// Frees positions. Those that are free stay so.
    pub(super) fn release(&mut self, at: u32, count: u32) {
        for position in at..at.saturating_add(count).min(self.size) {
            if let Some(word) = self.words.get_mut((position / 64) as usize)
                && *word & bit(position) != 0
            {
                *word &= !bit(position);
                self.used -= 1;
            }
        }
    }
}

fn bit(at: u32) -> u64 {
    1 << (at % 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_and_releasing_keep_count() {
        let mut bitmap = Bitmap::new(100);
        bitmap.take(62, 4);
        bitmap.take(64, 1);
        assert_eq!((bitmap.free(), bitmap.is_taken(65), bitmap.is_taken(66)), (96, true, false));
        assert!(bitmap.is_free(66, 34) && !bitmap.is_free(66, 35), "nothing is free behind the end");
        bitmap.release(60, 5);
        bitmap.release(60, 5);
        assert_eq!((bitmap.free(), bitmap.is_taken(64), bitmap.is_taken(65)), (99, false, true));
    }
}
