//! Pools that are kept for names, such as those of a cluster's claims: the supplier brings each address for one owner, and it is for nobody else.
//!
//! Their supplier keeps an object for each, so that a restart knows them without it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{Pool, PoolName, Request, Supply, agreed};

use super::EngineCore;

/// The pools of the node that are kept for names.
#[derive(Debug, Default)]
pub(crate) struct KeptPools(BTreeSet<String>);

impl KeptPools {
    /// Whether a pool is one of them.
    pub(crate) fn has(&self, pool: &Pool) -> bool {
        pool.supply == Supply::Host && self.0.contains(pool.name.as_str())
    }

    /// The pools of a network that are for everybody; `None` if all are.
    pub(crate) fn others(&self, book: &Book) -> Option<Arc<[PoolName]>> {
        let others = || book.pools().iter().filter(|pool| !self.has(pool)).map(|pool| pool.name.clone());
        book.pools().iter().any(|pool| self.has(pool)).then(|| others().collect())
    }
}

impl EngineCore {
    /// A request that names no pools, limited to those of a network that are for everybody: a pool may have become a kept one since the facts
    /// about the request were looked up.
    pub(crate) fn for_everybody<'a>(&self, request: &'a Request, book: &Book) -> Cow<'a, Request> {
        let may_be_kept = || book.pools().iter().any(|pool| pool.supply == Supply::Host);
        if request.context.pools.is_some() || !may_be_kept() {
            return Cow::Borrowed(request);
        }
        let Some(others) = self.kept_pools().others(book) else { return Cow::Borrowed(request) };
        let mut limited = request.clone();
        limited.context.pools = Some(others);
        Cow::Owned(limited)
    }

    /// The pools that are kept for names.
    pub(crate) fn kept_pools(&self) -> KeptPools {
        let node = self.committer.node();
        let kept = node.effects.objects().filter(|object| object.kind == agreed::KEPT_POOL);
        KeptPools(kept.map(|object| object.name.clone()).collect())
    }
}
