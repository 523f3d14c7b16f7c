//! The configuration's files that are not pinned: the name of each stands for what was last taken from it.
//!
//! Who looks at the files, and when, is up to the daemon.

use std::path::Path;
use std::sync::Arc;

use tenure_engine::ports::{Offered, Policy};
use tenure_types::{Error, ErrorCode, PolicyName, PolicyStamp, hold};

use super::Policies;
use crate::loader::{CatalogueSource, Catalogued};

impl Policies {
    /// The configuration's files.
    #[must_use]
    pub fn files(&self) -> Vec<(PolicyName, CatalogueSource)> {
        hold(&self.given).files.clone()
    }

    /// The component that a name stands for; `None` if it is unknown, or if its file has not been read.
    #[must_use]
    pub fn stands_for(&self, name: &PolicyName) -> Option<PolicyStamp> {
        let catalogued = self.bytes.named(name).ok().filter(|catalogued| !catalogued.is_unread());
        catalogued.map(|catalogued| catalogued.stamp.clone())
    }

    /// Makes the name of a watched file stand for a component, which is loaded if it is not yet.
    pub fn set_taken(&self, stamp: &PolicyStamp) {
        self.give(|given| drop(given.taken.insert(stamp.name.clone(), Arc::clone(&stamp.digest))));
    }

    /// Notes why a file cannot be used as it is now; `None` if it can.
    pub fn set_file_problem(&self, name: &PolicyName, problem: Option<String>) {
        let mut given = hold(&self.given);
        match problem {
            Some(problem) => drop(given.problems.insert(name.clone(), problem)),
            None => drop(given.problems.remove(name)),
        }
    }

    /// Why the file of a name cannot be used as it is now.
    pub(super) fn file_problem(&self, name: &PolicyName) -> Option<String> {
        let given = hold(&self.given);
        given.problems.get(name).filter(|_| given.is_configured(name)).cloned()
    }

    /// Reads a policy's file, and the signature beside it. Blocks.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub fn read_file(&self, path: &Path) -> Result<(Vec<u8>, Option<String>), String> {
        let source = CatalogueSource::Watched { path: path.into() };
        let bytes = source.read(self.runtime.limits().component)?.into_owned();
        Ok((bytes, source.signature()))
    }

    /// Refuses what was read from a file if it is an older release than the newest that was accepted under its name. What has no good
    /// signature passes: it is not loaded, and listed with that reason. Blocks.
    ///
    /// # Errors
    /// The reason to refuse it, in words.
    pub fn check_release(
        &self,
        stamp: &PolicyStamp,
        component: &[u8],
        signature: Option<&str>,
    ) -> Result<(), String> {
        let Ok(verified) = self.trusted.check(&stamp.name, component, signature) else { return Ok(()) };
        if !self.trusted.checks() {
            return Ok(());
        }
        let current = self.accepted.check(&stamp.name, &stamp.digest, verified.release.as_ref());
        current.map_err(|cause| format!("policy {stamp}: {cause}"))
    }

    /// Loads what was read from a file. The file's name does not stand for it yet.
    ///
    /// # Errors
    /// `PolicyUntrusted` and `PolicyUnloadable`.
    pub async fn take_file(
        &self,
        name: &PolicyName,
        bytes: Vec<u8>,
        signature: Option<String>,
    ) -> Result<Arc<dyn Policy>, Error> {
        let (sha256, source) = (String::new(), String::new());
        let (name, signature) = (name.clone(), signature.unwrap_or_default());
        let offered = Offered { name, bytes, sha256, signature, source, older: false };
        Ok(self.take(offered).await?.policy)
    }

    /// Refuses the name of a file that has not been read.
    pub(super) fn read_before(&self, catalogued: &Catalogued) -> Result<(), Error> {
        if !catalogued.is_unread() {
            return Ok(());
        }
        let name = &catalogued.stamp.name;
        match self.file_problem(name) {
            Some(problem) => {
                Err(Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {name}: {problem}")))
            }
            None => {
                let cause = format_args!("policy {name}: its file has not been read yet");
                Err(Error::new(ErrorCode::Preparing, cause))
            }
        }
    }
}
