//! The answers that a network had for any policy when one decided, as they are recorded: all of them now and then, otherwise what has changed
//! since the decision before.

mod change;
mod outline;

use serde::{Deserialize, Serialize};
use tenure_ledger::{Book, BookChange};

use self::change::ViewedChange;
use self::outline::ViewedOutline;

/// Why a recorded view cannot be used, for people.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnusableView(String);

impl UnusableView {
    pub(super) fn new(cause: impl std::fmt::Display) -> Self {
        Self(cause.to_string())
    }
}

/// The answers that a network had for any policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedView {
    /// Names this view, among those of the same start of the daemon.
    pub(super) is: u64,
    /// The view from which the changes lead to this one; `None` if this is a whole one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<u64>,
    /// The changes since then, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<ViewedChange>,
    /// The whole of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) whole: Option<Box<ViewedOutline>>,
}

impl RecordedView {
    /// The changes that lead from another view to the present one of a book.
    pub(super) fn of_changes(after: u64, changes: &[BookChange], book: &Book) -> Self {
        let changes = changes.iter().map(ViewedChange::from).collect();
        Self { is: book.position(), after: Some(after), changes, whole: None }
    }

    /// Whether it needs no view before it.
    pub(super) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// The whole of what a policy can ask of a book now.
    pub(super) fn of_whole(book: &Book) -> Self {
        let whole = Some(Box::new(ViewedOutline::from(book.outline())));
        Self { is: book.position(), after: None, changes: Vec::new(), whole }
    }
}
