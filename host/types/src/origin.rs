//! Where an allocation comes from that no ADD has made.

/// Another IPAM's state, as it was when an allocation was taken over from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The IPAM and where its state lies, such as `host-local /var/lib/cni/networks/pods`.
    pub source: String,
    /// For each address, what tells this claim of it from a later one, such as a file's time of change; empty where nothing does.
    /// It is compared and never read.
    pub claims: Vec<String>,
    /// Why an owner is unknown, and whom the source named; empty where the owner is known.
    pub why: String,
}

impl Origin {
    /// What tells the claim of an allocation's address from a later one, by the address's place in it.
    #[must_use]
    pub fn claim(&self, index: usize) -> Option<&str> {
        self.claims.get(index).map(String::as_str).filter(|claim| !claim.is_empty())
    }
}
