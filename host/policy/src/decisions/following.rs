//! How far a network's record has followed the network, and when it must begin again with a whole view.

use tenure_ledger::Book;

use super::files::LARGEST;
use super::view::RecordedView;

/// The progress of a network's record.
#[derive(Debug, Default)]
pub(super) struct NetworkFollowing {
    /// The position of the book in the last line with a view; `None` if the next one must be whole.
    at: Option<u64>,
    /// Lines since a file was to begin.
    lines: u32,
    bytes: u64,
    /// Lines to go until a view is tried again, since the last one was too large.
    pause: u32,
}

impl NetworkFollowing {
    /// Whether the next line with a view begins a file.
    fn is_full(&self, most: u32) -> bool {
        self.lines >= most || self.bytes > LARGEST
    }

    /// The view of a book, to be written next; `None` while views are too large.
    pub(super) fn view(&self, book: &Book, most: u32) -> Option<RecordedView> {
        if self.pause > 0 {
            return None;
        }
        let known = self.at.filter(|_| !self.is_full(most));
        Some(match known.and_then(|at| Some((at, book.changes_since(at)?))) {
            Some((after, changes)) => RecordedView::of_changes(after, &changes, book),
            None => {
                book.follow();
                RecordedView::of_whole(book)
            }
        })
    }

    /// A line of so many bytes is on its way to the file.
    pub(super) fn wrote(&mut self, view: Option<&RecordedView>, bytes: usize, most: u32) {
        if view.is_some_and(RecordedView::is_whole) && self.is_full(most) {
            (self.lines, self.bytes) = (0, 0);
        }
        self.lines = self.lines.saturating_add(1);
        self.pause = self.pause.saturating_sub(1);
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if let Some(view) = view {
            self.at = Some(view.is);
        }
    }

    /// A view was too large: none is tried for as many lines as are kept, since each takes its time.
    pub(super) fn too_large(&mut self, most: u32) {
        self.at = None;
        self.pause = most;
    }

    /// A line was lost, so that the changes in the next one would lead from nowhere.
    pub(super) fn lost(&mut self) {
        self.at = None;
    }
}
