//! The knowledge of the agent besides the ledger. A restart forgets it; everything here is found again, or may begin again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use tenure_leases::agent::ledger::BlockUsage;
use tenure_leases::agent::settings::{SettingsVerdict, take_settings};
use tenure_leases::{HolderIdentity, MarkAck, MarkId, NodeIpamSpec, NodeIpamStatus, PoolKey, Uid};
use tenure_types::{NetworkName, PoolName};

use crate::agent::asked::{AskedClaim, ShownClaim};
use crate::agent::hesitation::Hesitations;
use crate::agent::pool_looks::PoolLooks;
use crate::agent::records::HeldLease;
use crate::agent::refused::RefusedBlocks;
use crate::agent::settings::{PoolFamily, cluster_pool};
use crate::agent::undeclared::CutWords;
use crate::agent::unread::GivenWarnings;
use crate::convert::ReadStatus;
use crate::objects::node::{NodeIPAM, NodeIPAMStatus, PoolSettings, WaitingEntry};
use crate::pools::ClaimName;

/// A pool of the cluster, as its object was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClusterPool {
    pub(crate) key: PoolKey,
    /// The prefix length of a block of each family of which the pool has a CIDR.
    pub(crate) units: BTreeMap<PoolFamily, u8>,
    /// The generation of its spec when it was read.
    pub(crate) generation: i64,
}

/// The time after which a list without an answer is a trouble.
const LATE_LIST: Duration = Duration::from_secs(15);

/// The outcome of a frozen block, for its intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrozenOutcome {
    /// The lease is over.
    Released,
    /// The operator took its mark back.
    Reopened,
}

/// The agent's state.
#[derive(Debug, Default)]
pub(crate) struct AgentState {
    pub(crate) identity: Option<HolderIdentity>,
    pub(crate) pools: BTreeMap<String, ClusterPool>,
    /// The settings of each pool that are in force.
    pub(crate) in_force: BTreeMap<Uid, PoolSettings>,
    /// Blocks of which the pool no longer has the CIDR, by the last hint at each: they keep their exclusions and their gateway.
    pub(crate) leaving: BTreeSet<IpNet>,
    /// The same of the addresses of claims, by the names of their blocks.
    pub(crate) leaving_claims: BTreeSet<String>,
    /// Pools of which a lower generation is told than is in force, to be read from the API server.
    pub(crate) doubted_pools: BTreeSet<Uid>,
    /// Blocks to which their pool's settings cannot be applied, each with the reason.
    pub(crate) unapplied: BTreeMap<IpNet, String>,
    /// Pools and families of which the last block was given back at once.
    pub(crate) refused: RefusedBlocks,
    /// The hints that were not followed.
    pub(crate) hesitations: Hesitations,
    /// The looks for pools that are not there.
    pub(crate) pool_looks: PoolLooks,
    /// The node's object, as the watch shows it.
    pub(crate) object: Option<Arc<NodeIPAM>>,
    /// The status of that object, as far as it could be read.
    pub(crate) told: NodeIpamStatus,
    /// Answers to marks of that status that could not be read.
    pub(crate) refused_marks: Vec<MarkAck>,
    /// The warnings about objects and parts of them that could not be read.
    pub(crate) unread: GivenWarnings,
    /// Whether the watch has listed the object since it was last interrupted.
    pub(crate) is_listed: bool,
    /// Since when the object is being listed, by the boot clock.
    pub(crate) listing_since: Option<Duration>,
    /// The reason for which the last list failed.
    pub(crate) unlisted: Option<String>,
    /// Blocks of an earlier boot that the API server has not confirmed in this one.
    pub(crate) unconfirmed: BTreeSet<IpNet>,
    /// Blocks to be compared after a relist.
    pub(crate) to_compare: BTreeSet<IpNet>,
    /// The next time at which each block may be compared, by the boot clock, and the comparisons without a change so far.
    pub(crate) compared: BTreeMap<IpNet, (Duration, u32)>,
    /// Answers that are not in the ledger: refusals, and ready for leases that the node does not have.
    pub(crate) answers: BTreeMap<Uid, MarkAck>,
    /// The blocks that each pool should have in all, by open intents.
    pub(crate) wants: BTreeMap<PoolName, u32>,
    /// Since when a block has been asked for, by the boot clock.
    pub(crate) waits_since: BTreeMap<PoolName, Duration>,
    /// The slowest lease so far, from the wish to the record.
    pub(crate) slowest: Duration,
    /// Blocks that each network's last plan offers.
    pub(crate) offered: BTreeMap<NetworkName, BTreeSet<IpNet>>,
    /// Since when a block has been empty, by the boot clock: after a restart from then on.
    pub(crate) idle_since: BTreeMap<IpNet, Duration>,
    /// Since when no network of the node can hand out addresses of an empty block, by the boot clock.
    pub(crate) unneeded_since: BTreeMap<IpNet, Duration>,
    /// The use of blocks in networks that are not their pool's.
    pub(crate) elsewhere: BTreeMap<IpNet, BlockUsage>,
    /// The present mark of each frozen block.
    pub(crate) frozen: BTreeMap<IpNet, MarkId>,
    pub(crate) outcomes: BTreeMap<IpNet, FrozenOutcome>,
    /// The last written half of the object.
    pub(crate) written: Option<NodeIpamSpec>,
    /// The part of it that the API server has; `None`: all of it.
    pub(crate) cut: Option<CutWords>,
    pub(crate) next_write: Duration,
    /// The time until which the first words after a start wait for the first plans, by the boot clock.
    pub(crate) first_words: Option<Duration>,
    pub(crate) writes: u64,
    /// Failed calls of the API server, by what they were for.
    pub(crate) failed_calls: BTreeMap<&'static str, u64>,
    /// Interruptions of the watch of the node's object.
    pub(crate) interruptions: u64,
    /// The claims that pods of this node ask for.
    pub(crate) asked: BTreeMap<ClaimName, AskedClaim>,
    /// The IPAMClaims whose addresses are this node's, as they were read last for a pod.
    pub(crate) shown: BTreeMap<ClaimName, ShownClaim>,
    /// The claims whose address was taken lately, each with the pod that it was taken for, and when by the boot clock.
    pub(crate) taken: BTreeMap<ClaimName, (String, Duration)>,
    /// The failure of the last pass.
    pub(crate) trouble: Option<String>,
    /// The ledger was lost, and the records of the API server have not been read back.
    pub(crate) is_lost: bool,
}

impl AgentState {
    /// Whether the cluster's pool, as it was read, has no addresses of the family of this pool of the engine.
    pub(crate) fn lacks_family(&self, pool: &PoolName) -> bool {
        let found = cluster_pool(pool).and_then(|(name, family)| Some((self.pools.get(name)?, family)));
        found.is_some_and(|(pool, family)| !pool.units.contains_key(&family))
    }

    /// The trouble with the list of the node's object, without which nothing is asked and nothing said. A watch that ends now and then is not one.
    pub(crate) fn list_trouble(&self, now: Duration) -> Option<String> {
        let is_late = self.listing_since.is_some_and(|since| now.saturating_sub(since) >= LATE_LIST);
        let late = || format!("the list of the node's object has no answer after {} s", LATE_LIST.as_secs());
        self.unlisted.clone().or_else(|| is_late.then(late))
    }

    fn status(&self) -> Option<&NodeIPAMStatus> {
        self.object.as_ref()?.status.as_ref()
    }

    /// The operator's word about the pools that grant nothing.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &WaitingEntry> {
        self.status().into_iter().flat_map(|status| &status.waiting)
    }

    /// Whether the operator says that a pool of this name, which the node still demands, is gone.
    pub(crate) fn is_gone(&self, pool: &str) -> bool {
        self.waiting().any(|entry| entry.pool == pool && entry.reason == "PoolGone")
    }

    /// Whether a pool may have families that are not known: it was not read, or it had not all of these when it was. An edit changes the generation, which
    /// the operator's half has for each pool that the node demands or holds a block of.
    pub(crate) fn may_have_got(&self, pool: &str, families: &BTreeSet<PoolFamily>) -> bool {
        let Some(known) = self.pools.get(pool) else { return true };
        let told = self.in_force.get(&known.key.uid).map(|settings| settings.generation);
        told != Some(known.generation) && families.iter().any(|family| !known.units.contains_key(family))
    }

    /// Whether a pool may have lost its last CIDR of a family since it was read: it was edited, and the operator has no range open to grant of.
    pub(crate) fn may_have_lost(&self, pool: &str) -> bool {
        let Some(known) = self.pools.get(pool) else { return false };
        let told = self.in_force.get(&known.key.uid).map(|settings| settings.generation);
        let waits = || self.waiting().any(|entry| entry.pool == pool && entry.reason == "OperatorWaits");
        told.is_some_and(|told| told != known.generation) && waits()
    }

    /// The reason and the message for which an engine pool gets no block.
    pub(crate) fn pool_waits_for(&self, pool: &PoolName) -> Option<(String, String)> {
        let (name, family) = cluster_pool(pool)?;
        let mut about = self.waiting().filter(|entry| entry.pool == name && entry.family == family.name());
        about.next().map(|entry| (entry.reason.clone(), entry.message.clone()))
    }

    /// The reason and the message of the operator's condition `Ready`, if it is False.
    pub(crate) fn waits_for(&self) -> Option<(String, String)> {
        let conditions = self.status()?.conditions.iter();
        let ready = conditions
            .into_iter()
            .find(|condition| condition.type_ == "Ready" && condition.status == "False")?;
        Some((ready.reason.clone(), ready.message.clone()))
    }

    /// Counts a call that failed.
    pub(crate) fn count_failure(&mut self, call: Option<&'static str>) {
        if let Some(call) = call {
            *self.failed_calls.entry(call).or_default() += 1;
        }
    }

    /// Says once that an object, or a part of one, cannot be read, such as one with words of a later version.
    pub(crate) fn warn_unread(&mut self, what: &str, error: &impl fmt::Display) {
        if self.unread.note(&format!("{what}: {error}")) {
            tracing::warn!(what, %error, "this version cannot read a part of what the cluster says, and goes on without it");
        }
    }

    /// Says once that the definition in the API server lacks fields.
    pub(crate) fn warn_undeclared(&mut self, fields: &BTreeSet<String>) {
        let fields = fields.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        if self.unread.note(&format!("undeclared: {fields}")) {
            tracing::warn!(
                fields,
                "the definition of NodeIPAM in the API server lacks fields that this version writes; the rest is written without them until this version's definitions are applied"
            );
        }
    }

    /// Has the agent write its half again if somebody else did.
    pub(crate) fn forget_written_if_other(&mut self, object: &NodeIPAM) {
        let shown = NodeIpamSpec::try_from(object).ok();
        let stored = self.cut.as_ref().map_or(self.written.as_ref(), |cut| cut.stored.as_ref());
        if shown.as_ref() != stored {
            self.written = None;
        }
    }

    /// Takes in the object as the watch shows it; `None` if there is none.
    pub(crate) fn see(&mut self, object: Option<NodeIPAM>) {
        let ReadStatus { told, refused, errors } = object.as_ref().map(ReadStatus::of).unwrap_or_default();
        (self.told, self.refused_marks) = (told, refused);
        for error in errors {
            self.warn_unread("the status of the node's object", &error);
        }
        let status = object.as_ref().and_then(|object| object.status.as_ref());
        if status != self.status() {
            // The operator may have answered what pods wait for.
            self.asked.values_mut().for_each(|asked| asked.looks.hurry());
        }
        if object.is_some() {
            let told = &self.told;
            self.hesitations.look_again(|uid| told.blocks.iter().any(|hint| hint.uid == uid));
        }
        self.object = object.map(Arc::new);
        self.note_leaving();
        self.doubted_pools.clear();
        for (uid, pool) in self.told_pools() {
            self.take_settings(uid, pool, None);
        }
    }

    /// Notes which blocks leave with their CIDR, and which do not. Without a hint, such as while the lease is lost, it stays as it was.
    fn note_leaving(&mut self) {
        let Some(status) = self.object.as_ref().and_then(|object| object.status.as_ref()) else { return };
        self.leaving_claims = status.claims_leaving.iter().cloned().collect();
        for hint in &status.blocks {
            let Ok(cidr) = hint.cidr.parse() else { continue };
            if hint.leaving {
                self.leaving.insert(cidr);
            } else {
                self.leaving.remove(&cidr);
            }
        }
    }

    /// Whether the pool no longer has the CIDR of a lease.
    pub(crate) fn leaves(&self, lease: &HeldLease) -> bool {
        match &lease.turn {
            None => self.leaving.contains(&lease.cidr()),
            Some(_) => self.leaving_claims.contains(&lease.name.to_string()),
        }
    }

    /// The pools' settings as the operator tells them.
    fn told_pools(&self) -> Vec<(Uid, PoolSettings)> {
        let told = self.status().into_iter().flat_map(|status| &status.pools);
        let read = |pool: &PoolSettings| Some((pool.uid.parse().ok()?, pool.clone()));
        told.filter(|pool| pool.generation > 0).filter_map(read).collect()
    }

    /// The told settings of the pools that are to be read from the API server first.
    pub(crate) fn doubted_settings(&self) -> Vec<(Uid, PoolSettings)> {
        let told = self.told_pools().into_iter();
        told.filter(|(uid, _)| self.doubted_pools.contains(uid)).collect()
    }

    /// Puts told settings in force, unless the pool is to be read first; `stored` is its generation if it was.
    pub(crate) fn take_settings(&mut self, uid: Uid, told: PoolSettings, stored: Option<i64>) {
        let number = |generation: i64| u64::try_from(generation).unwrap_or_default();
        let known = self.in_force.get(&uid).map(|known| number(known.generation));
        self.doubted_pools.remove(&uid);
        match take_settings(known, number(told.generation), stored.map(number)) {
            SettingsVerdict::Take => drop(self.in_force.insert(uid, told)),
            SettingsVerdict::Look => drop(self.doubted_pools.insert(uid)),
            SettingsVerdict::Keep => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(generation: i64) -> Option<NodeIPAM> {
        let pool = json!({ "name": "blue", "uid": Uid(7).to_string(), "generation": generation });
        let object = json!({
            "apiVersion": "ipam.tenure.dev/v1alpha1",
            "kind": "NodeIPAM",
            "metadata": { "name": "n1" },
            "spec": { "nodeUID": Uid(1).to_string(), "machine": "0".repeat(32), "bootID": Uid(2).to_string() },
            "status": { "pools": [pool] },
        });
        Some(serde_json::from_value(object).unwrap())
    }

    fn in_force(state: &AgentState) -> i64 {
        state.in_force[&Uid(7)].generation
    }

    #[test]
    fn a_list_that_fails_or_does_not_come_is_a_trouble() {
        let at = Duration::from_secs;
        let mut state = AgentState { listing_since: Some(at(100)), ..AgentState::default() };
        assert_eq!(state.list_trouble(at(114)), None);
        assert_eq!(
            state.list_trouble(at(115)).unwrap(),
            "the list of the node's object has no answer after 15 s"
        );
        state.unlisted = Some("refused".to_owned());
        assert_eq!(state.list_trouble(at(101)).unwrap(), "refused");
        assert_eq!(AgentState::default().list_trouble(at(999)), None);
    }

    #[test]
    fn words_that_the_definition_has_cut_are_not_somebody_elses() {
        let heard = |call: &str| {
            let mut object = told(1).unwrap();
            object.spec.heard = Some(call.to_owned());
            object
        };
        let (whole, cut) = (heard("0000000000000007"), told(1).unwrap());
        let words = |object: &NodeIPAM| NodeIpamSpec::try_from(object).ok();
        let mut state = AgentState { written: words(&whole), ..AgentState::default() };
        state.forget_written_if_other(&whole);
        assert!(state.written.is_some());
        state.cut = Some(CutWords { stored: words(&cut), until: Duration::MAX });
        state.forget_written_if_other(&cut);
        assert!(state.written.is_some());
        state.forget_written_if_other(&heard("0000000000000008"));
        assert!(state.written.is_none());
    }

    #[test]
    fn a_lower_generation_is_in_force_once_the_pool_itself_has_it() {
        let mut state = AgentState::default();
        state.see(told(5));
        state.see(told(3));
        assert_eq!((in_force(&state), state.doubted_settings().len()), (5, 1));
        // A deposed operator's hint: the pool is still at 6.
        let (uid, settings) = state.doubted_settings().remove(0);
        state.take_settings(uid, settings.clone(), Some(6));
        assert_eq!((in_force(&state), state.doubted_settings().len()), (5, 0));
        // A restored store: the pool is at 3.
        state.see(told(3));
        state.take_settings(uid, settings, Some(3));
        assert_eq!((in_force(&state), state.doubted_settings().len()), (3, 0));
        state.see(told(4));
        assert_eq!(in_force(&state), 4);
    }
}
