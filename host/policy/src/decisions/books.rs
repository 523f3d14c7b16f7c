//! Networks as they were when recorded decisions were made, for those who read the decisions in order.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp};

use super::decision::RecordedDecision;
use super::view::{RecordedView, UnusableView};

/// The book of each network, as of the last decision that was read. They know what a policy can ask, and no owners.
#[derive(Debug)]
pub struct RecordedBooks {
    books: HashMap<String, (u64, Arc<Book>)>,
    /// The policy named by allocations that are older than the record.
    policy: Arc<PolicyStamp>,
}

impl RecordedBooks {
    /// No books yet.
    ///
    /// # Errors
    /// `Internal`, never in practice.
    pub fn new() -> Result<Self, Error> {
        let name = PolicyName::new("recorded").map_err(|error| Error::new(ErrorCode::Internal, error))?;
        Ok(Self { books: HashMap::new(), policy: Arc::new(PolicyStamp { name, digest: "".into() }) })
    }

    /// The network of a decision as it was then. `None` if the record does not tell, such as one of an older version, or one of
    /// which lines were lost.
    ///
    /// # Errors
    /// `InputOutput` if the record contradicts itself.
    pub fn at(&mut self, decision: &RecordedDecision) -> Result<Option<Arc<Book>>, Error> {
        let Some(view) = &decision.view else { return Ok(None) };
        self.follow(&decision.network, view).map_err(|error| {
            let cause = format_args!("decision {}: its view of the network: {error}", decision.number);
            Error::new(ErrorCode::InputOutput, cause)
        })
    }

    fn follow(&mut self, network: &str, view: &RecordedView) -> Result<Option<Arc<Book>>, UnusableView> {
        if let Some(whole) = &view.whole {
            let book = Arc::new(whole.book(&self.policy)?);
            self.books.insert(network.to_owned(), (view.is, Arc::clone(&book)));
            return Ok(Some(book));
        }
        let Some((at, book)) = self.books.get_mut(network) else { return Ok(None) };
        if view.after != Some(*at) {
            return Ok(None);
        }
        let changed = Arc::make_mut(book);
        for change in &view.changes {
            let change = change.read(&changed.name().clone(), &self.policy)?;
            changed.take_over(&change).map_err(UnusableView::new)?;
        }
        *at = view.is;
        Ok(Some(Arc::clone(book)))
    }
}
