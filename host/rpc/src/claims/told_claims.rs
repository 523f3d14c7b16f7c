//! The claims that the reader of a watch of one scope knows, so that it hears of the end of these and of no other scope's claims.

use std::collections::BTreeSet;

use tenure_engine::{Changes, ClaimFilter};
use tenure_ledger::ClaimKey;

/// The reason for the end of a claim that another scope has taken over, as far as the reader is concerned.
const TAKEN_OVER: &str = "scope: another scope of the agent has taken the claim over";

/// The claims that a reader knows.
#[derive(Debug, Default)]
pub(super) struct ToldClaims {
    /// `None` if it has resumed from a version: it may know claims that nobody can tell here.
    known: Option<BTreeSet<ClaimKey>>,
}

impl ToldClaims {
    /// Leaves those changes that are about the claims of a filter.
    pub(super) fn narrow(&mut self, filter: &ClaimFilter, changes: &mut Changes) {
        if *filter == ClaimFilter::All {
            return;
        }
        if changes.is_all {
            self.known = Some(BTreeSet::new());
        }
        let (own, others) = std::mem::take(&mut changes.claims)
            .into_iter()
            .partition(|claimed| filter.admits(&claimed.claim));
        changes.claims = own;
        let taken_over = |key: ClaimKey| (key, TAKEN_OVER.into());
        let others: Vec<tenure_engine::Claimed> = others;
        if !changes.is_all {
            changes.released.extend(others.into_iter().map(|claimed| taken_over(claimed.claim.key)));
        }
        if let Some(known) = &mut self.known {
            changes.released.retain(|(key, _)| known.remove(key));
            known.extend(changes.claims.iter().map(|claimed| claimed.claim.key.clone()));
        }
    }
}
