//! The durable ledger: the checkpoint's writer, and the undoing of abandoned requests.

use std::sync::Arc;

use tenure_checkpoint::Writer;
use tenure_engine::Abandoned;
use tenure_spool::Spool;
use tenure_supervise::{Gate, Handle, Supervisor};

use super::spine::{CNI_SOCKET, Spine};
use crate::parts;
use crate::replay::SpoolReplay;

/// The parts without which nothing can be acknowledged.
pub(super) struct LedgerWing {
    pub(super) checkpoint: Handle,
    pub(super) undo: Handle,
    pub(super) spool: Handle,
    /// Opens once every DEL that was in the spool at the start has been tried.
    pub(super) replayed: Gate,
}

pub(super) fn add(parts: &mut Supervisor, spine: &Spine, writer: Writer, abandoned: Abandoned) -> LedgerWing {
    let engine = &spine.engine;
    let checkpoint =
        parts.essential("checkpoint", parts::CheckpointPart::build(writer, engine.images()), &[]);
    let undo = parts.essential("undo", parts::UndoPart::build(abandoned), &[checkpoint]);
    let replay = SpoolReplay::new(
        Spool::beside(&spine.run_dir.join(CNI_SOCKET)),
        spine.cni.clone(),
        Arc::clone(&spine.metrics),
        Arc::clone(&spine.state_seen),
    );
    let spool = parts::SpoolPart::build(replay);
    let replayed = spool.replayed();
    let spool = parts.restarted("spool", spool, &[undo]);
    LedgerWing { checkpoint, undo, spool, replayed }
}
