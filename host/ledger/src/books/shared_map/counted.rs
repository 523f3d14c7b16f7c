//! An iterator that knows how many items are left.

/// An iterator over a known number of items.
#[derive(Debug, Clone)]
pub(super) struct CountedEntries<I> {
    items: I,
    left: usize,
}

impl<I> CountedEntries<I> {
    /// Counts the items of an iterator, which has exactly `left`.
    pub(super) fn new(items: I, left: usize) -> Self {
        Self { items, left }
    }
}

impl<I: Iterator> Iterator for CountedEntries<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for CountedEntries<I> {
    fn next_back(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.items.next_back()
    }
}

impl<I: Iterator> ExactSizeIterator for CountedEntries<I> {}
