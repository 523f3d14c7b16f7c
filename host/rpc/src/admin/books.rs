//! The books as they are now.

use std::sync::Arc;

use tenure_engine::Engine;
use tenure_ledger::Book;

/// Every network's book, each of one moment.
pub(super) async fn books(engine: &Engine) -> Vec<Arc<Book>> {
    let mut books = Vec::new();
    for name in engine.network_names() {
        books.extend(engine.book(&name).await);
    }
    books
}
