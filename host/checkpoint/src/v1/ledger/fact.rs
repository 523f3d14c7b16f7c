//! A fact of the log.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure_ledger::LedgerFact;
use tenure_types::{Generation, PoolName, RangeName};

use super::network::StoredNetwork;
use super::quarantine::{StoredMark, StoredSubject};
use crate::v1::allocation::{StoredAllocation, StoredPlace};
use crate::v1::json;
use crate::v1::range::{StoredMoment, StoredRange};
use crate::v1::shared::Shared;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact<'a> {
    #[serde(borrow)]
    Defined(StoredNetwork<'a>),
    Removed {
        #[serde(borrow)]
        network: Cow<'a, str>,
        at: StoredMoment,
    },
    Importing {
        #[serde(borrow)]
        network: Cow<'a, str>,
        under_way: bool,
        at: StoredMoment,
    },
    RangeAdded {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: StoredRange<'a>,
        at: StoredMoment,
    },
    RangeDraining {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: Cow<'a, str>,
        draining: bool,
        at: StoredMoment,
    },
    RangeRemoved {
        #[serde(borrow)]
        network: Cow<'a, str>,
        #[serde(borrow)]
        pool: Cow<'a, str>,
        #[serde(borrow)]
        range: Cow<'a, str>,
        at: StoredMoment,
    },
    #[serde(borrow)]
    Allocated(Box<StoredAllocation<'a>>),
    Renewed {
        #[serde(borrow)]
        network: Cow<'a, str>,
        generation: u64,
        requested_at: StoredMoment,
        #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
        netns: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns_seen: Option<StoredPlace>,
    },
    Released {
        #[serde(borrow)]
        network: Cow<'a, str>,
        generation: u64,
        at: StoredMoment,
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
    Quarantined {
        #[serde(borrow)]
        network: Cow<'a, str>,
        of: StoredSubject,
        #[serde(borrow)]
        mark: StoredMark<'a>,
    },
    QuarantineLifted {
        #[serde(borrow)]
        network: Cow<'a, str>,
        of: StoredSubject,
        at: StoredMoment,
        #[serde(borrow)]
        reason: Cow<'a, str>,
    },
}

fn pool_name(text: &str) -> Result<PoolName, String> {
    PoolName::new(text).map_err(|error| error.to_string())
}

fn range_name(text: &str) -> Result<RangeName, String> {
    RangeName::new(text).map_err(|error| error.to_string())
}

pub(in crate::v1) fn encode(fact: &LedgerFact) -> Vec<u8> {
    json(&match fact {
        LedgerFact::Defined(network) => StoredFact::Defined(network.as_ref().into()),
        LedgerFact::Removed { network, at } => {
            StoredFact::Removed { network: network.as_str().into(), at: (*at).into() }
        }
        LedgerFact::Importing { network, under_way, at } => StoredFact::Importing {
            network: network.as_str().into(),
            under_way: *under_way,
            at: (*at).into(),
        },
        LedgerFact::RangeAdded { network, pool, range, at } => StoredFact::RangeAdded {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_ref().into(),
            at: (*at).into(),
        },
        LedgerFact::RangeDraining { network, pool, range, draining, at } => StoredFact::RangeDraining {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_str().into(),
            draining: *draining,
            at: (*at).into(),
        },
        LedgerFact::RangeRemoved { network, pool, range, at } => StoredFact::RangeRemoved {
            network: network.as_str().into(),
            pool: pool.as_str().into(),
            range: range.as_str().into(),
            at: (*at).into(),
        },
        LedgerFact::Allocated(allocation) => StoredFact::Allocated(Box::new(allocation.as_ref().into())),
        LedgerFact::Renewed { network, generation, requested_at, netns, netns_seen } => StoredFact::Renewed {
            network: network.as_str().into(),
            generation: generation.0,
            requested_at: (*requested_at).into(),
            netns: (&**netns).into(),
            netns_seen: netns_seen.map(StoredPlace::from),
        },
        LedgerFact::Released { network, generation, at, reason } => StoredFact::Released {
            network: network.as_str().into(),
            generation: generation.0,
            at: (*at).into(),
            reason: (&**reason).into(),
        },
        LedgerFact::Quarantined { network, subject, mark } => StoredFact::Quarantined {
            network: network.as_str().into(),
            of: (*subject).into(),
            mark: mark.into(),
        },
        LedgerFact::QuarantineLifted { network, subject, at, reason } => StoredFact::QuarantineLifted {
            network: network.as_str().into(),
            of: (*subject).into(),
            at: (*at).into(),
            reason: (&**reason).into(),
        },
    })
}

pub(in crate::v1) fn decode(text: &str) -> Result<LedgerFact, String> {
    decode_sharing(text, &mut Shared::default())
}

pub(super) fn decode_sharing(text: &str, shared: &mut Shared) -> Result<LedgerFact, String> {
    Ok(match serde_json::from_str(text).map_err(|error| error.to_string())? {
        StoredFact::Defined(network) => LedgerFact::Defined(Arc::new(network.try_into()?)),
        StoredFact::Removed { network, at } => {
            LedgerFact::Removed { network: shared.network(&network)?, at: at.into() }
        }
        StoredFact::Importing { network, under_way, at } => {
            LedgerFact::Importing { network: shared.network(&network)?, under_way, at: at.into() }
        }
        StoredFact::RangeAdded { network, pool, range, at } => LedgerFact::RangeAdded {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: Box::new(range.try_into()?),
            at: at.into(),
        },
        StoredFact::RangeDraining { network, pool, range, draining, at } => LedgerFact::RangeDraining {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: range_name(&range)?,
            draining,
            at: at.into(),
        },
        StoredFact::RangeRemoved { network, pool, range, at } => LedgerFact::RangeRemoved {
            network: shared.network(&network)?,
            pool: pool_name(&pool)?,
            range: range_name(&range)?,
            at: at.into(),
        },
        StoredFact::Allocated(allocation) => LedgerFact::Allocated(Arc::new(allocation.read(shared)?)),
        StoredFact::Renewed { network, generation, requested_at, netns, netns_seen } => LedgerFact::Renewed {
            network: shared.network(&network)?,
            generation: Generation(generation),
            requested_at: requested_at.into(),
            netns: netns.into(),
            netns_seen: netns_seen.map(Into::into),
        },
        StoredFact::Released { network, generation, at, reason } => LedgerFact::Released {
            network: shared.network(&network)?,
            generation: Generation(generation),
            at: at.into(),
            reason: reason.into(),
        },
        StoredFact::Quarantined { network, of, mark } => LedgerFact::Quarantined {
            network: shared.network(&network)?,
            subject: of.try_into()?,
            mark: mark.into(),
        },
        StoredFact::QuarantineLifted { network, of, at, reason } => LedgerFact::QuarantineLifted {
            network: shared.network(&network)?,
            subject: of.try_into()?,
            at: at.into(),
            reason: reason.into(),
        },
    })
}
