//! The current books.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::Book;

/// The book of every network. Each is consistent in itself, but they are not read at the same moment.
pub(super) async fn books(engine: &Engine) -> Vec<Arc<Book>> {
    let mut books = Vec::new();
    for name in engine.network_names() {
        books.extend(engine.book(&name).await);
    }
    books
}
