//! The generated messages of package `tenure.v1`, and the client of its service `Claims`.
#![expect(missing_docs, reason = "generated")]

include!("v1/generated.rs");
