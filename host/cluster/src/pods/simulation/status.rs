//! The words of an API server that does not do as it was asked.

use serde_json::{Value, json};

use super::server::NAMESPACE;

/// A failure of the connection.
pub(super) type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

/// An error, as the API server words it.
pub(super) fn error(code: u16, reason: &str, details: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": format!("{code} in namespace {NAMESPACE}"),
        "reason": reason,
        "details": details,
        "code": code,
    })
}
