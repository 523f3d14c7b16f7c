//! Deferring DELs and GCs while the state is lost: they go into the spool, as those of a daemon that is down.
//!
//! One rule for both: the spool is in the run directory, which a boot clears just when pods' allocations end, and is replayed once the
//! state is restored or confirmed. Nothing is applied to an unconfirmed state meanwhile, so the right one is recognised when it is put
//! back.

use std::io;
use std::sync::Arc;

use tenure_rpc::cni::{Deferrable, Deferral};
use tenure_rpc::v1::Invocation;
use tenure_spool::{Spool, Verb};
use tenure_types::cni::Configuration;

use crate::state_seen::StateSeen;

/// The spool, for as long as the state is lost.
pub(crate) struct WhileLost {
    spool: Spool,
    state_seen: Arc<StateSeen>,
}

impl WhileLost {
    pub(crate) fn new(spool: Spool, state_seen: Arc<StateSeen>) -> Self {
        Self { spool, state_seen }
    }

    /// Removes the earlier GCs of the same network: the runtime no longer lists what they did not list.
    fn supersede(&self, later: &Invocation, kept: &std::path::Path) -> io::Result<()> {
        let network =
            |call: &Invocation| Configuration::parse(&call.config).ok().map(|config| config.name().clone());
        let of = network(later);
        for path in self.spool.waiting()? {
            if path == kept || Verb::of(&path) != Some(Verb::Gc) {
                continue;
            }
            // What cannot be read is left to the replay, which sets it aside.
            let Ok(earlier) = self.spool.read(&path) else { continue };
            if network(&earlier) == of && earlier.started_at_boot_ns <= later.started_at_boot_ns {
                self.spool.settle(&path)?;
            }
        }
        Ok(())
    }
}

impl Deferral for WhileLost {
    fn is_due(&self) -> bool {
        self.state_seen.is_lost()
    }

    fn keep(&self, verb: Deferrable, call: &Invocation) -> io::Result<()> {
        match verb {
            Deferrable::Del => self.spool.write(call),
            Deferrable::Gc => {
                let kept = self.spool.write_verb(Verb::Gc, call)?;
                if let Err(error) = self.supersede(call, &kept) {
                    tracing::warn!(%error, "cannot remove an earlier GC from the spool; replaying it, too, is harmless");
                }
                Ok(())
            }
        }
    }
}
