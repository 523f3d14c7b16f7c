//! Reading back what the API server knows after the ledger was lost, once it is confirmed that the right one will not be put back. Nothing is written to
//! the node's object before that.
//!
//! The confirmation also says which pods there are, so that what is read back is not in doubt any more: both steps of `tenure_leases::agent::lost` are
//! one here, and a daemon that is killed between two records reads the rest as hints.

use tenure_leases::agent::ledger::{LeaseHold, LedgerBlock};
use tenure_leases::agent::lost::{rebuild, settle};
use tenure_leases::space::overlap;
use tenure_leases::{ClaimTurn, HolderIdentity, LeaseRules, NodeIpamSpec};

use crate::agent::accepting::AgentError;
use crate::agent::core::AgentCore;
use crate::agent::fetch;
use crate::agent::records::{HeldLease, LeaseTurn, loss_key};

/// Makes the records again from NodeIPAM and the IPBlocks.
pub(crate) async fn read_back(core: &AgentCore, me: &HolderIdentity) -> Result<(), AgentError> {
    let object = fetch::node(&core.client, &me.name).await?;
    let said = match object.as_ref().map(NodeIpamSpec::try_from).transpose() {
        Ok(said) => said,
        Err(source) => {
            return Err(fetch::FetchError::Object { what: "the NodeIPAM".to_owned(), source }.into());
        }
    };
    let blocks = fetch::blocks_of(&core.client, &me.name).await?;
    settle_known(core).await?;
    let dropped = core.dropped();
    for (name, block) in &blocks {
        let known = core.leases();
        let is_new = !known.values().any(|lease| overlap(lease.cidr(), block.cidr))
            && !dropped.contains_key(&block.uid);
        let row = rebuild(LeaseRules::ALL, me, block, said.as_ref()).filter(|_| is_new);
        if let (Some(row), Ok(name)) = (row, name.parse()) {
            tracing::warn!(block = %row.cidr, "the API server says that this node holds a block, which the lost ledger does not know");
            let LedgerBlock { uid, hold, .. } = settled(core, row, &block.pool.name).await;
            let (pool, boot) = (block.pool.clone(), Some(core.settings.boot));
            core.record(&HeldLease { name, uid, pool, hold, boot, turn: None }).await?;
        }
    }
    for turn in said.into_iter().flat_map(|said| said.claims) {
        read_back_turn(core, me, turn).await?;
    }
    core.engine.objects_seen(&[], &[loss_key()]).await?;
    core.state().is_lost = false;
    Ok(())
}

/// A row as the addresses in use have it.
async fn settled(core: &AgentCore, row: LedgerBlock, pool: &str) -> LedgerBlock {
    let book = core.book_of(pool).await;
    settle(row, core.usage(pool, row.cidr, book.as_deref()))
}

/// Makes the record of a turn again, if the claim's block still names it.
async fn read_back_turn(core: &AgentCore, me: &HolderIdentity, said: ClaimTurn) -> Result<(), AgentError> {
    let Some(found) = fetch::claimed_block(&core.client, &said.block, said.turn).await? else {
        return Ok(());
    };
    let is_mine = found.turn == Some(said.turn) && found.block.is_held_by(&me.name, me.machine);
    let is_held = core.leases().values().any(|lease| overlap(lease.cidr(), said.block.cidr()));
    if !is_mine || is_held {
        return Ok(());
    }
    tracing::warn!(block = %said.block, "the API server says that this node has the address of a claim, which the lost ledger does not know");
    let ClaimTurn { block: name, turn, pod, guest, .. } = said;
    let guest = guest.map(|guest| guest.uid);
    // The claim's other address, if it has one, is read back beside this one.
    let turn = LeaseTurn { claim: found.claim, uid: found.claim_uid, turn, pod, guest, addresses: 1 };
    let (boot, turn) = (Some(core.settings.boot), Some(turn));
    let (uid, pool, hold) = (found.block.uid, found.block.pool, LeaseHold::Open);
    Ok(core.record(&HeldLease { name, uid, pool, hold, boot, turn }).await?)
}

/// Settles the blocks of an older ledger.
async fn settle_known(core: &AgentCore) -> Result<(), AgentError> {
    for lease in core.leases().into_values() {
        let row = settled(core, core.row(&lease, None), &lease.pool.name).await;
        let is_intent = core.giving_back(lease.cidr()).is_some();
        if !(is_intent && matches!(row.hold, LeaseHold::Frozen(_))) {
            core.set_hold(&lease, row.hold).await?;
        }
    }
    Ok(())
}
