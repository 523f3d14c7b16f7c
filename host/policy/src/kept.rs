//! The node's own copies of the components that it has served by.
//!
//! A network goes on being served by the very component that it was last served by, also when the configured file is
//! gone or the daemon carries a newer one.

use std::path::PathBuf;

use crate::private::PrivateDirectory;
use crate::sha256;

/// A directory of components by digest.
#[derive(Debug)]
pub(crate) struct KeptComponents(PrivateDirectory);

impl KeptComponents {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self(PrivateDirectory::new(directory))
    }

    /// A component's bytes, when they are here and still what their name says.
    pub(crate) fn get(&self, digest: &str) -> Option<Vec<u8>> {
        let bytes = self.0.read(&file_name(digest)).ok()?;
        (sha256(&bytes) == digest).then_some(bytes)
    }

    /// Keeps a component. A failure makes the node depend on the component's file, nothing else.
    pub(crate) fn put(&self, digest: &str, bytes: &[u8]) {
        let name = file_name(digest);
        if self.0.has(&name) {
            return;
        }
        if let Err(error) = self.0.write(&name, bytes) {
            tracing::warn!(%error, file = name, "a policy could not be kept");
        }
    }
}

fn file_name(digest: &str) -> String {
    format!("{digest}.wasm")
}
