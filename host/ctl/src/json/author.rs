//! What an author's verb has done.

use serde_json::{Value, json};

use crate::author::Work;

/// The work as JSON.
pub(super) fn work(work: &Work) -> Value {
    match work {
        Work::Created(created) => json!({
            "folder": created.folder,
            "language": created.language,
            "files": created.files,
        }),
        Work::Built(built) => json!({
            "file": built.file,
            "language": built.language,
            "bytes": built.bytes,
            "sha256": built.sha256,
        }),
    }
}
