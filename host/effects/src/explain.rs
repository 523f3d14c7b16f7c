//! Explaining: what a plan would be now, and why. Nothing begins.

use std::sync::Arc;

use tenure_engine::{Outlook, Planned};
use tenure_ledger::{Book, Intent, Shelf, Usage};
use tenure_types::{Error, ErrorCode, PoolName, Result, Supply};

use crate::core::Core;
use crate::plan::is_answer;
use crate::wing::Wing;

/// A plan that begins nothing, and what it was made from.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The pools that the host supplies.
    pub pools: Vec<PoolStatus>,
    /// Input of the policy besides the ledger.
    pub outlook: Outlook,
    /// Intents that have begun already, which the policy counts on.
    pub open: Vec<Arc<Intent>>,
    /// Intents that would begin, and refused effects; or `PoolExhausted` or `NotYet` with the policy's words, if more is wanted and
    /// cannot be had.
    pub planned: Result<Planned>,
}

/// A pool that the host supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// Name of the pool.
    pub name: PoolName,
    /// Use of its addresses, without those of draining ranges.
    pub usage: Usage,
    /// The requests that wait for one.
    pub waiting: u32,
}

impl<W: Wing> Core<W> {
    /// Has the policy plan as if it were time to, and begins nothing.
    ///
    /// # Errors
    /// `NoPlan` if the network's policy does not plan, `NotReady` before the wing knows enough, and what the policy fails with.
    pub(crate) async fn explain(&self) -> Result<Explained> {
        let network = &self.tools.network;
        if !self.tools.engine.plans(network).await {
            let words = format!("the policy of network {network} does not plan, or is not loaded");
            return Err(Error::new(ErrorCode::NoPlan, words));
        }
        self.wing.readiness().map_err(|words| Error::new(ErrorCode::NotReady, words))?;
        let book = self.tools.book().await.ok_or_else(|| {
            Error::new(ErrorCode::UnknownNetwork, format!("network {network} does not exist yet"))
        })?;
        let (situation, outlook) =
            self.wing.situation(&book).map_err(|error| Error::new(ErrorCode::Internal, error))?;
        // What is shown of the last plan agrees with this one.
        self.memory().rests = None;
        self.plan_now.notify_one();
        let waiting = self.tools.waiting();
        let pools = pools(&book, waiting);
        drop(book);
        let outside = self.wing.outside(&situation, &self.ids);
        let planned = self.tools.engine.explain_effects(network, outlook.clone(), &outside).await;
        if let Err(error) = &planned
            && !is_answer(error)
        {
            return Err(error.clone());
        }
        Ok(Explained { pools, outlook, open: self.tools.open(), planned })
    }
}

fn pools(book: &Book, waiting: u32) -> Vec<PoolStatus> {
    let pools = book.pools().iter().enumerate().filter(|(_, pool)| pool.supply == Supply::Host);
    let status = |(index, pool): (usize, &tenure_types::Pool)| PoolStatus {
        name: pool.name.clone(),
        usage: book.usage(Shelf::whole(index)),
        waiting,
    };
    pools.map(status).collect()
}
