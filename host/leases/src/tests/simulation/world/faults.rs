//! Everything that breaks.

use std::sync::Arc;

use super::{NODES, World, evidence};
use crate::operator::fence::NodeEvidence;
use crate::{HolderIdentity, MachineHash, Uid};

/// An operator begins again.
pub(in crate::tests::simulation) const NEW_LEADER: u64 = 2;

/// The store is restored.
pub(in crate::tests::simulation) const RESTORE: u64 = 6;

/// A Node is deleted.
pub(in crate::tests::simulation) const DELETED_NODE: u64 = 8;

/// A machine gets another identity. It comes in a focus alone.
pub(in crate::tests::simulation) const OTHER_IDENTITY: u64 = 14;

impl World {
    pub(super) fn fault(&mut self) {
        let index = self.pick(self.machines.len());
        let kind = match self.focus.faults {
            [] => self.random.below(14),
            focus => match self.random.below(3) {
                0 => self.random.below(14),
                _ => focus[self.pick(focus.len())],
            },
        };
        match kind {
            0 => self.machines[index].restart(),
            1 => self.machines[index].is_cut = !self.machines[index].is_cut,
            NEW_LEADER => {
                let leader = self.pick(2);
                self.replace_leader(leader);
            }
            3 => self.server.compact(),
            4 => self.reboot(index),
            5 if self.machines[index].is_on => self.machines[index].lose_ledger(),
            RESTORE | 12 => self.restore(),
            7 => self.fence(index),
            DELETED_NODE => self.delete_node(index),
            9 => self.not_ready(index),
            10 => self.replace(index),
            11 => self.overwrite(index),
            OTHER_IDENTITY => self.change_identity(index),
            _ if self.has_host(index) => self.register_again(index),
            _ => {}
        }
    }

    pub(super) fn has_host(&self, index: usize) -> bool {
        let me = &self.machines[index].me;
        self.server.store.hosts.get(&me.name).is_some_and(|host| host.machine == me.machine)
    }

    /// A machine is switched off, or on again.
    pub(super) fn reboot(&mut self, index: usize) {
        if self.machines[index].is_on && self.random.below(2) == 0 {
            self.machines[index].switch_off();
            return;
        }
        let boot = self.server.uid();
        self.machines[index].boot(boot);
        match self.server.store.hosts.get(&self.machines[index].me.name).copied() {
            Some(host) if host.machine == self.machines[index].me.machine => {
                let name = Arc::clone(&self.machines[index].me.name);
                let host = NodeEvidence { boot, out_of_service: false, fenced: None, ..host };
                self.server.set_host(&name, Some(host));
            }
            None => self.register(index),
            // Another machine has its name: it is not let in.
            Some(_) => self.machines[index].switch_off(),
        }
    }

    /// Somebody deletes a node's words, or writes over them as a replacement does. If the store has lost one of its leases, nothing else tells of it.
    fn overwrite(&mut self, index: usize) {
        let is_whole = self.has_all_leases(index);
        let machine = &mut self.machines[index];
        if machine.is_on && !is_whole {
            machine.is_silent = true;
            self.restored = Some(self.now);
        }
        let (name, deletes) = (Arc::clone(&machine.me.name), self.random.below(2) == 0);
        self.server.overwrite(&name, deletes);
    }

    /// Whether the store has every lease of a machine.
    fn has_all_leases(&self, index: usize) -> bool {
        let leased = |uid: &Uid| self.server.store.blocks.values().any(|block| block.uid == *uid);
        self.machines[index].rows.values().all(|(uid, _)| leased(uid))
    }

    /// The store is restored. That takes minutes: calls under way fail, and watches break.
    pub(super) fn restore(&mut self) {
        let Some(snapshot) = self.snapshot.take() else { return };
        self.tally.restores += 1;
        let hosts = self.server.store.hosts.clone();
        self.now += 61 + self.random.below(600);
        let bump = self.random.below(2) == 0;
        self.server.restore(snapshot, bump);
        self.late.clear();
        for leader in 0..2 {
            // Without the server, a leader cannot renew its Lease, and starts again.
            match self.random.below(2) {
                0 => self.replace_leader(leader),
                _ => self.leaders[leader].plans.clear(),
            }
        }
        for machine in &mut self.machines {
            machine.is_silent = machine.is_on;
        }
        self.restored = Some(self.now);
        if self.focus.stragglers {
            let (index, seconds) = (self.pick(self.machines.len()), 30 + self.random.below(30));
            self.machines[index].is_cut = true;
            self.straggler = Some((index, self.now + seconds));
        }
        for (name, host) in hosts {
            self.server.set_host(&name, Some(host));
        }
    }

    /// Somebody attests that a machine is off, by the taint or by the annotation.
    pub(super) fn fence(&mut self, index: usize) {
        if !self.has_host(index) || (self.machines[index].is_on && !self.may_excuse) {
            return;
        }
        let name = Arc::clone(&self.machines[index].me.name);
        let host = self.server.store.hosts[&name];
        let taint = self.random.below(2) == 0;
        let fenced = if taint { host.fenced } else { Some(host.uid) };
        self.server.set_host(
            &name,
            Some(NodeEvidence { out_of_service: taint || host.out_of_service, fenced, ..host }),
        );
        if self.machines[index].is_on {
            self.machines[index].excused = Some("a false attestation");
        }
    }

    /// Somebody deletes a Node, that of a machine with a lost lease if there is one: nothing but the machine's words tells of such a lease.
    pub(super) fn delete_node(&mut self, index: usize) {
        let is_bereft = |index: &usize| {
            self.machines[*index].is_on && self.has_host(*index) && !self.has_all_leases(*index)
        };
        let index = (0..self.machines.len()).find(is_bereft).unwrap_or(index);
        let living = self.machines[index].is_on;
        if self.has_host(index) && (!living || self.may_excuse) {
            let name = Arc::clone(&self.machines[index].me.name);
            self.server.set_host(&name, None);
        }
    }

    /// The kubelet falls silent, or speaks again. Nothing follows from it.
    pub(super) fn not_ready(&mut self, index: usize) {
        if self.has_host(index) {
            let name = Arc::clone(&self.machines[index].me.name);
            let host = self.server.store.hosts[&name];
            self.server.set_host(&name, Some(NodeEvidence { ready: !host.ready, ..host }));
        }
    }

    /// A new machine takes the place of one that is off, under its name.
    pub(super) fn replace(&mut self, index: usize) {
        if !self.machines[index].is_on && self.has_host(index) && self.machines.len() < 2 * NODES {
            let name = Arc::clone(&self.machines[index].me.name);
            self.join(name);
        }
    }

    /// A machine gets another name, or other ids, and keeps its ledger. Its Node of before is gone.
    fn change_identity(&mut self, index: usize) {
        if !self.machines[index].is_on || !self.has_host(index) {
            return;
        }
        let new = self.server.uid();
        let me = HolderIdentity { uid: new, ..self.machines[index].me.clone() };
        let me = match self.random.below(2) {
            0 => {
                self.server.set_host(&me.name, None);
                HolderIdentity { name: format!("n{}", new.0).into(), ..me }
            }
            _ => HolderIdentity { machine: MachineHash(new.0), ..me },
        };
        self.server.set_host(&me.name, Some(evidence(&me)));
        self.machines[index].rename(me);
    }

    /// A kubelet registers under a new uid, in the same boot.
    pub(super) fn register_again(&mut self, index: usize) {
        if self.machines[index].is_on {
            self.register(index);
        }
    }
}
