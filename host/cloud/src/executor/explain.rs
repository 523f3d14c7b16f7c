//! Explaining: what a plan would be now, and why. Nothing begins.

use std::sync::Arc;

use tenure_engine::{Outlook, Planned};
use tenure_ledger::{Book, Intent, Shelf, Usage};
use tenure_types::{Error, ErrorCode, PoolName, Result, Supply};

use super::core::Core;
use super::plan::is_answer;
use crate::guards::Guards;

/// A plan that begins nothing, and what it was made from.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The pools that the host supplies.
    pub pools: Vec<PoolStatus>,
    /// What the policy is told besides the ledger.
    pub outlook: Outlook,
    /// What has begun already, which the policy counts on.
    pub open: Vec<Arc<Intent>>,
    /// What would begin, and what would be refused; or `PoolExhausted` or `NotYet` with the policy's words, if more is wanted and
    /// cannot be had.
    pub planned: Result<Planned>,
}

/// A pool that the host supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// Its name.
    pub name: PoolName,
    /// Its addresses, those of draining ranges left out.
    pub usage: Usage,
    /// The requests that wait for one.
    pub waiting: u32,
}

impl Core {
    /// Has the policy plan as if it were time to, and begins nothing.
    ///
    /// # Errors
    /// `NoCloud` if the network's policy does not plan, `NotReady` before EC2 has said what the node has, and what the policy fails
    /// with.
    pub(super) async fn explain(&self) -> Result<Explained> {
        let network = &self.config.network;
        if !self.engine.plans(network).await {
            let words = format!("the policy of network {network} does not plan, or is not loaded");
            return Err(Error::new(ErrorCode::NoCloud, words));
        }
        if !self.may_plan() {
            let trouble = self.state().seen.trouble().unwrap_or("it has not answered yet").to_owned();
            let words = format!("EC2 has not said yet what this node has: {trouble}");
            return Err(Error::new(ErrorCode::NotReady, words));
        }
        let book = self.book().await.ok_or_else(|| {
            Error::new(ErrorCode::UnknownNetwork, format!("network {network} does not exist yet"))
        })?;
        let (situation, outlook) =
            self.premises(&book).map_err(|error| Error::new(ErrorCode::Internal, error))?;
        let waiting = self.waiting();
        let pools = pools(&book, waiting);
        drop(book);
        let guards = Guards::new(&situation, &*self.witness, &self.ids);
        let planned = self.engine.explain_effects(network, outlook.clone(), &guards).await;
        if let Err(error) = &planned
            && !is_answer(error)
        {
            return Err(error.clone());
        }
        Ok(Explained { pools, outlook, open: situation.open.clone(), planned })
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
