//! Which of an agent's claims a caller is interested in.

use tenure_ledger::Claim;
use tenure_types::ScopeName;

/// The claims of an agent that a caller is interested in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ClaimFilter {
    /// Claims of all scopes.
    #[default]
    All,
    /// Claims of one scope; with `None`, those without a scope.
    Scope(Option<ScopeName>),
}

impl ClaimFilter {
    /// Whether it lets a claim through.
    #[must_use]
    pub fn admits(&self, claim: &Claim) -> bool {
        match self {
            Self::All => true,
            Self::Scope(scope) => *scope == claim.wish.claimant.scope,
        }
    }
}
