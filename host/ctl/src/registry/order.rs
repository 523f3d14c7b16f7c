//! The order for the child: one line of JSON on its standard input.

use serde::{Deserialize, Serialize};

/// An order to fetch one thing. It has a password in it, so it is never printed.
#[derive(Serialize, Deserialize)]
pub(super) struct Order {
    /// The reference, with a tag or the manifest's digest, without its scheme.
    pub(super) reference: String,
    pub(super) what: What,
    pub(super) plain_http: bool,
    pub(super) auth: Auth,
    /// How long a connection may take, in seconds.
    pub(super) connect_seconds: u64,
}

/// The object to fetch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// The reference's manifest, or an index.
    Manifest,
    /// A blob of its repository, by its digest.
    Blob(String),
}

/// The credentials of a request.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Auth {
    /// None: the request is anonymous.
    Anonymous,
    /// A user name and a password, or a token in its place.
    Basic(String, String),
}

/// How it failed, as the child's last words.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LastWords {
    /// The error code's name.
    pub(super) code: String,
    pub(super) cause: String,
}
