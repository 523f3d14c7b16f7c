//! The referee: it knows every ledger and every pod, and holds the promises against them after each step.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use super::kinds::{block_of, pool_of};
use super::machine::Machine;
use super::server::{Change, Exclusions, Server, Write};
use crate::agent::ledger::LeaseHold;
use crate::{AddressSpace, IpBlock, MarkAnswer, RangeState, SpaceRange};

/// Excuses that were needed, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Excuses(pub(super) BTreeMap<&'static str, u64>);

/// Checks that no block is usable on two machines, and that nothing is in use in a frozen block.
pub(super) fn check(server: &Server, machines: &[Machine], excuses: &mut Excuses) -> Result<(), String> {
    let sound =
        machines.iter().filter(|machine| machine.is_on && !machine.is_silent && machine.excused.is_none());
    if let Some(machine) = sound.into_iter().find(|machine| is_promised(server, machine)) {
        return Err(format!("a block of {:?} is open, and may be deleted on its answer", machine.me.machine));
    }
    if let Some(machine) = machines.iter().find(|machine| machine.uses_frozen()) {
        return Err(format!("a frozen block of {:?} is in use", machine.me.machine));
    }
    let mut users: BTreeMap<IpNet, Vec<&Machine>> = BTreeMap::new();
    for machine in machines.iter().filter(|machine| machine.is_on) {
        let pods = machine.pods.iter().map(|pod| block_of(*pod));
        let blocks: std::collections::BTreeSet<IpNet> = machine.rows.keys().copied().chain(pods).collect();
        for cidr in blocks.into_iter().filter(|cidr| machine.uses(*cidr)) {
            users.entry(cidr).or_default().push(machine);
        }
    }
    for (cidr, users) in users.iter().filter(|(_, users)| users.len() > 1) {
        match users.iter().find_map(|machine| machine.excused) {
            Some(reason) => *excuses.0.entry(reason).or_default() += 1,
            None => {
                let names: Vec<_> = users.iter().map(|machine| machine.me.machine).collect();
                return Err(format!("{cidr} is usable on two machines, {names:?}"));
            }
        }
    }
    Ok(())
}

/// Whether a block is open of which the API server has the mark and the machine's answer ready.
fn is_promised(server: &Server, machine: &Machine) -> bool {
    let said = server.store.said.get(&machine.me.name);
    let said = said.filter(|said| said.spec.identity.machine == machine.me.machine);
    machine.rows.iter().any(|(cidr, (uid, hold))| {
        let mark =
            server.store.blocks.get(cidr).filter(|block| block.uid == *uid).and_then(|block| block.mark);
        let answer = said.zip(mark).and_then(|(said, mark)| said.spec.ack(*uid, mark.id));
        *hold == LeaseHold::Open && answer.is_some_and(|ack| ack.answer == MarkAnswer::Ready)
    })
}

/// Checks a write that the API server carried out, against the block before: no lease is deleted on a mark that it no longer has.
pub(super) fn written(write: &Write, before: Option<&IpBlock>) -> Result<(), String> {
    match (write, before) {
        (Write::Change(read, Change::Delete | Change::RemoveFinalizer), Some(before))
            if read.mark.is_some_and(|mark| before.mark != Some(mark)) =>
        {
            Err(format!("{} is deleted on a mark that it no longer has", before.cidr))
        }
        _ => Ok(()),
    }
}

/// Checks that no range went of which a node has a lease.
pub(super) fn removed(before: &AddressSpace, server: &Server, machines: &[Machine]) -> Result<(), String> {
    let gone = |id| before.get(id).is_some() && server.store.space.get(id).is_none();
    let blocks = server.store.blocks.values().filter(|block| gone(block.range));
    for block in blocks {
        let has =
            |machine: &&Machine| machine.rows.get(&block.cidr).is_some_and(|(uid, _)| *uid == block.uid);
        if let Some(machine) = machines.iter().find(has) {
            return Err(format!(
                "the range of {} was removed, which {:?} has",
                block.cidr, machine.me.machine
            ));
        }
    }
    Ok(())
}

/// The number of ranges that were closed and are open now.
pub(super) fn reopened(before: &AddressSpace, now: &AddressSpace) -> u64 {
    let is_open = |range: &&SpaceRange| now.get(range.id).is_some_and(|now| now.state == RangeState::Open);
    before.ranges().iter().filter(|range| range.state == RangeState::Closed).filter(is_open).count() as u64
}

/// Checks a lease that the operator ended against the machine that held it.
pub(super) fn ended(machines: &[Machine], lease: &IpBlock, excuses: &mut Excuses) -> Result<(), String> {
    let holder = machines.iter().find(|machine| lease.is_held_by(&machine.me.name, machine.me.machine));
    let Some(holder) = holder.filter(|holder| holder.relies_on(lease.cidr, lease.uid)) else { return Ok(()) };
    match holder.excused {
        Some(reason) => {
            *excuses.0.entry(reason).or_default() += 1;
            Ok(())
        }
        None => Err(format!("{} was taken from {:?}, which relies on it", lease.cidr, holder.me.machine)),
    }
}

/// Checks an address that was handed out: it is not excluded on the node, nor of a block of which the node has read that another holder has it.
pub(super) fn given(machine: &Machine, address: IpAddr) -> Result<(), String> {
    match (machine.is_excluded(address), machine.is_others(address)) {
        (true, _) => Err(format!("the excluded address {address} was handed out")),
        (_, true) => Err(format!("the address {address} of another holder's block was handed out")),
        (false, false) => Ok(()),
    }
}

/// Checks the exclusions that a node took: a lower generation than before is the present one of its pool.
pub(super) fn generations(before: &[Exclusions], machine: &Machine, server: &Server) -> Result<(), String> {
    let pools = before.iter().zip(&machine.exclusions).zip(&server.store.pools);
    let is_lower = pools.into_iter().any(|((before, now), pool)| {
        now.generation < before.generation && now.generation != pool.exclusions.generation
    });
    match is_lower {
        true => Err("a node took exclusions of a lower generation".to_owned()),
        false => Ok(()),
    }
}

/// Says what is not settled, if something is: a mark, a deletion, a lease without its ledger, a ledger without its lease,
/// exclusions that are not in force.
pub(super) fn unsettled(server: &Server, machines: &[Machine]) -> Option<String> {
    for block in server.store.blocks.values() {
        let holder = machines.iter().find(|machine| block.is_held_by(&machine.me.name, machine.me.machine));
        let holds = holder.is_some_and(|holder| {
            holder.is_on && holder.rows.get(&block.cidr).is_some_and(|(uid, _)| *uid == block.uid)
        });
        if block.mark.is_some() || block.deleting || !holds {
            let said = server.store.said.get(&block.holder.name);
            return Some(format!(
                "{} of {:?}, {:?}, mark {:?}, cleared {:?}, deleting {}; on {:?}; ledger {:?}; hints {:?}; answers {:?}; held {:?}; node {:?}",
                block.cidr,
                block.holder.machine,
                block.phase,
                block.mark,
                block.cleared,
                block.deleting,
                holder.map(|holder| holder.is_on),
                holder.map(|holder| &holder.rows),
                said.map(|said| &said.status.blocks),
                said.map(|said| &said.spec.acks),
                said.map(|said| &said.spec.held),
                server.store.hosts.get(&block.holder.name),
            ));
        }
    }
    for machine in machines.iter().filter(|machine| machine.is_on) {
        let leased = |(cidr, (uid, _)): (&IpNet, &(crate::Uid, _))| {
            server.store.blocks.get(cidr).is_some_and(|block| block.uid == *uid)
        };
        if !machine.is_settled() || !machine.rows.iter().all(leased) {
            return Some(format!("the ledger of {:?}: {:?}", machine.me.name, machine.rows));
        }
        let pools = machine.rows.keys().map(|cidr| pool_of(*cidr));
        let is_late = |pool: &usize| machine.exclusions[*pool] != server.store.pools[*pool].exclusions;
        if let Some(pool) = pools.into_iter().find(is_late) {
            let known = &machine.exclusions[pool];
            return Some(format!("the exclusions of pool {pool} on {:?}: {known:?}", machine.me.name));
        }
    }
    None
}

/// Whether a node holds a block of which the lease is lost, and whose range is gone: the operator does not believe it, and says so in an event.
pub(super) fn is_disbelieved(server: &Server, machines: &[Machine]) -> bool {
    machines
        .iter()
        .filter(|machine| machine.is_on)
        .flat_map(|machine| machine.rows.keys())
        .any(|cidr| !server.store.blocks.contains_key(cidr) && server.store.space.cell(*cidr).is_none())
}
