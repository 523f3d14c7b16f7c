//! The origin of imported allocations.

/// The other IPAM's state behind an imported allocation, as of the import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The IPAM and the location of its state, such as `host-local /var/lib/cni/networks/pods`.
    pub source: String,
    /// For each address, a value that distinguishes this claim of it from a later one, such as a file's change time;
    /// empty if there is none. Only compared for equality, never interpreted.
    pub claims: Vec<String>,
    /// Why the owner is unknown, and whom the source named; empty if the owner is known.
    pub why: String,
}

impl Origin {
    /// The value that distinguishes the claim of the address at `index` from a later one.
    #[must_use]
    pub fn claim(&self, index: usize) -> Option<&str> {
        self.claims.get(index).map(String::as_str).filter(|claim| !claim.is_empty())
    }
}
