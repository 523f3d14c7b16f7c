//! The record of what was pulled into a directory: the reference of each component, and its digest.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_types::{Error, ErrorCode, PolicyName};

use super::MODE;
use crate::verbs::install::place;

/// The record's name in the directory.
const NAME: &str = "pulled.json";

/// A component that was pulled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PulledComponent {
    reference: String,
    sha256: String,
}

/// The record on disk.
#[derive(Debug)]
pub(super) struct PullRecord {
    path: PathBuf,
    components: BTreeMap<PolicyName, PulledComponent>,
}

impl PullRecord {
    /// Reads a directory's record. One that is missing or torn only has everything pulled again.
    ///
    /// # Errors
    /// `InputOutput` if it cannot be read.
    pub(super) fn open(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(NAME);
        let text = place::content(&path)?.unwrap_or_default();
        Ok(Self { path, components: serde_json::from_slice(&text).unwrap_or_default() })
    }

    /// The policies in the directory.
    pub(super) fn names(&self) -> impl Iterator<Item = PolicyName> + use<> {
        self.components.keys().cloned().collect::<Vec<_>>().into_iter()
    }

    /// The digest of a policy's component, if it was pulled by this reference.
    pub(super) fn digest(&self, name: &PolicyName, reference: &str) -> Option<String> {
        let component = self.components.get(name).filter(|component| component.reference == reference)?;
        Some(component.sha256.clone())
    }

    /// The reference by which a policy was pulled; empty if none was.
    pub(super) fn reference(&self, name: &PolicyName) -> String {
        self.components.get(name).map(|component| component.reference.clone()).unwrap_or_default()
    }

    /// Notes a component that is in its place.
    ///
    /// # Errors
    /// `InputOutput` if the record cannot be written.
    pub(super) fn note(&mut self, name: &PolicyName, reference: &str, sha256: &str) -> Result<(), Error> {
        let component = PulledComponent { reference: reference.to_owned(), sha256: sha256.to_owned() };
        self.components.insert(name.clone(), component);
        self.save()
    }

    /// Forgets a component; returns its reference.
    ///
    /// # Errors
    /// `InputOutput` if the record cannot be written.
    pub(super) fn forget(&mut self, name: &PolicyName) -> Result<String, Error> {
        let reference = self.components.remove(name).map(|component| component.reference);
        self.save()?;
        Ok(reference.unwrap_or_default())
    }

    fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(&self.components)
            .map_err(|error| Error::new(ErrorCode::Internal, error))?;
        place::write(&self.path, &text, MODE)
    }
}
