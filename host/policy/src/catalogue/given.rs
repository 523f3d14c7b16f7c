//! Sources of the catalogue: embedded policies, those that operators have loaded, and the configuration's files.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tenure_ledger::Component;
use tenure_types::{PolicyName, PolicyStamp};

use crate::loader::{CatalogueSource, Catalogued, Rank, Sources};

/// The sources of the catalogue besides the embedded policies.
#[derive(Debug, Default)]
pub(super) struct CatalogueParts {
    /// The configuration's files; they take precedence.
    pub(super) files: Vec<(PolicyName, CatalogueSource)>,
    /// Components that operators have loaded, in the order in which they did.
    pub(super) loaded: Vec<Component>,
    /// The component that the name of each watched file stands for: what was last taken from the file.
    pub(super) taken: HashMap<PolicyName, Arc<str>>,
    /// Why a file cannot be used as it is now.
    pub(super) problems: HashMap<PolicyName, String>,
}

/// The digests of components that are being taken in. A `std::sync::Mutex`, held while a copy is written or removed.
pub(super) type Taking = Arc<Mutex<Vec<Arc<str>>>>;

impl CatalogueParts {
    /// Whether the configuration has a file for a name.
    pub(super) fn is_configured(&self, name: &PolicyName) -> bool {
        self.files.iter().any(|(configured, _)| configured == name)
    }

    /// The digest of a file's component; empty for a watched file that has not been read.
    fn digest(&self, name: &PolicyName, source: &CatalogueSource) -> Arc<str> {
        match source {
            CatalogueSource::File { sha256, .. } => sha256.as_str().into(),
            _ => self.taken.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// A name and the component that it stands for.
pub(super) fn catalogued(
    name: PolicyName,
    source: CatalogueSource,
    digest: Arc<str>,
) -> (PolicyName, Arc<Catalogued>) {
    (name.clone(), Arc::new(Catalogued { stamp: PolicyStamp { name, digest }, source }))
}

/// The embedded policies, those that were loaded, and the files; the later ones replace the earlier ones of their names.
pub(super) fn sources(embedded: &Sources, given: &CatalogueParts) -> Sources {
    let mut sources = embedded.clone();
    sources.extend(given.loaded.iter().map(|component| {
        let Component { policy, source, .. } = component;
        let source = CatalogueSource::Loaded(source.clone());
        catalogued(policy.name.clone(), source, Arc::clone(&policy.digest))
    }));
    sources.extend(
        given
            .files
            .iter()
            .map(|(name, source)| catalogued(name.clone(), source.clone(), given.digest(name, source))),
    );
    sources
}

/// The rank at which a policy from this source is loaded.
pub(super) fn rank(source: &CatalogueSource) -> Rank {
    match source {
        CatalogueSource::Embedded(_) => Rank::Embedded,
        CatalogueSource::File { .. } | CatalogueSource::Watched { .. } | CatalogueSource::Loaded(_) => {
            Rank::Configured
        }
    }
}
