//! Blocks after a reboot. While the machine was down it may have been fenced, and its blocks leased to another; so no new address comes from a block
//! that was accepted in an earlier boot before the API server has confirmed it.
//!
//! ```text
//!   the daemon starts in a new boot ──▶ the ranges of such blocks drain ──▶ a quorum GET: still this node's ──▶ the record names this boot, they open
//! ```
//!
//! In the same boot, a daemon that starts again continues from its ledger, with or without an API server. A boot that is not known is not the same one:
//! neither the running one, nor that of a record.

use std::collections::BTreeSet;

use ipnet::IpNet;
use tenure_engine::{Engine, Supply};
use tenure_leases::Uid;
use tenure_types::{NetworkName, Result};

use crate::agent::records::leases;
use crate::agent::usage::labelled;

/// The blocks that were not accepted or confirmed in this boot, as far as is known.
pub(crate) fn unconfirmed(engine: &Engine, boot: Option<Uid>) -> BTreeSet<IpNet> {
    let all = leases(engine.objects().iter().map(AsRef::as_ref));
    let earlier = all.into_iter().filter(|(_, lease)| boot.is_none() || lease.boot != boot);
    earlier.map(|(cidr, _)| cidr).collect()
}

/// Lets no new address of these networks come from blocks of an earlier boot. `boot` is the running one, if it is known. Needs no API server, and is
/// due before the first request of a pod is answered.
///
/// # Errors
/// If the ledger cannot be written.
pub async fn hold_back<'a>(
    engine: &Engine,
    networks: impl IntoIterator<Item = &'a NetworkName>,
    boot: Option<Uid>,
) -> Result<()> {
    let unconfirmed = unconfirmed(engine, boot);
    if unconfirmed.is_empty() {
        return Ok(());
    }
    tracing::info!(
        blocks = unconfirmed.len(),
        "the machine was rebooted; no new address comes from its blocks before the API server has confirmed them"
    );
    for network in networks {
        let Some(book) = engine.book(network).await else { continue };
        let open = labelled(&book).filter(|(_, view, cidr)| !view.draining && unconfirmed.contains(cidr));
        let drained: Vec<Supply> = open
            .map(|(pool, view, _)| Supply::Drain {
                pool: pool.name.clone(),
                range: view.range.name().clone(),
                draining: true,
            })
            .collect();
        drop(book);
        if !drained.is_empty() {
            engine.supply(network, &drained).await?;
        }
    }
    Ok(())
}
