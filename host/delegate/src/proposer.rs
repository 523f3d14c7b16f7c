//! The policy that stands for a delegate: it defines the pools of its networks, and proposes nothing itself.

use std::future::ready;
use std::sync::Arc;

use serde_json::{Map, Value};
use tenure_engine::ports::{Answer, Policy};
use tenure_ledger::Book;
use tenure_types::{
    Attributes, Cooling, DELEGATED, DefinedPool, Definition, DelegateName, Error, ErrorCode, Need,
    NetworkConfig, NetworkName, Outcome, PolicyStamp, Pool, PoolName, Request, Result, Supply, agreed,
};

/// Replaces the digest of a delegate that is not pinned.
const UNPINNED: &str = "unpinned";

/// The policy that stands for a delegate.
#[derive(Debug)]
pub(crate) struct Proposer {
    name: DelegateName,
    stamp: Arc<PolicyStamp>,
}

impl Proposer {
    pub(crate) fn new(name: &DelegateName, sha256: Option<&str>) -> Self {
        let digest = sha256.unwrap_or(UNPINNED).into();
        Self { name: name.clone(), stamp: Arc::new(PolicyStamp { name: name.policy(), digest }) }
    }

    /// One pool for each family. The host supplies their ranges: the addresses that the delegate gives.
    fn definition(&self, config: &NetworkConfig) -> Result<Definition> {
        let invalid = |error: &dyn std::fmt::Display| {
            Error::new(ErrorCode::InvalidConfig, format_args!("delegate {}: {error}", self.name))
        };
        let ipam: serde_json::Result<Map<String, Value>> = serde_json::from_str(&config.ipam);
        ipam.map_err(|error| invalid(&format_args!("its configuration is not a JSON object: {error}")))?;
        let pool = |name: &str| {
            let name = PoolName::new(name).map_err(|error| invalid(&error))?;
            let pool = Pool { supply: Supply::Host, need: Need::Optional, ..Pool::new(name) };
            Ok(DefinedPool { pool, ranges: Vec::new() })
        };
        let attributes = Attributes::new([(DELEGATED, self.name.as_str())]);
        Ok(Definition {
            pools: vec![pool(agreed::IPV4)?, pool(agreed::IPV6)?],
            cooling: Cooling::Strict,
            attributes: attributes.map_err(|error| invalid(&error))?,
        })
    }
}

impl Policy for Proposer {
    fn stamp(&self) -> &Arc<PolicyStamp> {
        &self.stamp
    }

    fn delegate(&self) -> Option<&DelegateName> {
        Some(&self.name)
    }

    fn define<'a>(&'a self, _: &'a NetworkName, config: &'a NetworkConfig) -> Answer<'a, Definition> {
        Box::pin(ready(self.definition(config)))
    }

    fn propose<'a>(&'a self, _: &'a Request, _: Arc<Book>, _: Arc<[u8]>) -> Answer<'a, Outcome> {
        let cause = format_args!("delegate {} does not support dry runs", self.name);
        Box::pin(ready(Err(Error::new(ErrorCode::PolicyRefused, cause))))
    }
}
