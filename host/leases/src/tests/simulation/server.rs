//! The API server and its etcd, as far as leases see them: objects with versions, preconditions of writes, watches that lag or break, and a store that
//! may be restored from a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::kinds::POOLS;
use crate::operator::fence::NodeEvidence;
use crate::{
    AddressSpace, BlockMark, BlockPhase, FetchedBlock, IpBlock, LeasePool, LeaseRule, LeaseRules, MarkId,
    NodeIpamSpec, NodeIpamStatus, ObjectVersion, Uid,
};

/// Excluded addresses, as of a generation of the pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Exclusions {
    pub(super) generation: u64,
    pub(super) addresses: BTreeSet<IpAddr>,
}

/// A NodeIPAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) uid: Uid,
    pub(super) version: ObjectVersion,
    pub(super) spec: NodeIpamSpec,
    pub(super) status: NodeIpamStatus,
    /// The exclusions of each pool.
    pub(super) exclusions: Vec<Exclusions>,
}

/// A pool, and the ranges that it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pool {
    pub(super) lease: LeasePool,
    pub(super) ranges: Vec<IpNet>,
    pub(super) exclusions: Exclusions,
    /// The nodes that its selector does not match.
    pub(super) unmatched: BTreeSet<Arc<str>>,
}

/// The Lease of one leader. Each of two that both believe they lead has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Renewal {
    /// The time of the renewal, by its leader's clock.
    pub(super) at: u64,
    /// The API server's process.
    pub(super) process: u64,
    pub(super) is_doubted: bool,
}

/// The content of etcd.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) version: ObjectVersion,
    pub(super) blocks: BTreeMap<IpNet, IpBlock>,
    pub(super) said: BTreeMap<Arc<str>, Said>,
    pub(super) hosts: BTreeMap<Arc<str>, NodeEvidence>,
    pub(super) pools: Vec<Pool>,
    pub(super) renewals: [Option<Renewal>; 2],
    pub(super) space: AddressSpace,
    pub(super) space_version: ObjectVersion,
}

/// One change, as a watch tells it.
#[derive(Debug, Clone)]
enum Event {
    Block(IpNet, Option<IpBlock>),
    Said(Arc<str>, Option<Said>),
    Host(Arc<str>, Option<NodeEvidence>),
    Pool(usize, Pool),
    Space(AddressSpace),
}

/// How far a client has read the events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Watch {
    epoch: u64,
    position: usize,
}

/// A change of an IPBlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Mark(BlockMark),
    Clear(MarkId),
    Delete,
    RemoveFinalizer,
    Quarantine,
    Elapse(u64),
    Return,
    Adopt(Uid),
}

/// A write as it travels: it may be lost, be applied twice, or arrive late.
#[derive(Debug, Clone)]
pub(super) enum Write {
    Create(IpBlock),
    Change(IpBlock, Change),
    Say(NodeIpamSpec),
    Hint { read: Box<Said>, status: NodeIpamStatus, exclusions: Vec<Exclusions> },
    Forget { name: Arc<str>, uid: Uid, version: ObjectVersion },
    Space { version: ObjectVersion, space: AddressSpace },
}

impl Write {
    /// Whether it is a grant or a deletion, which do the most harm if they are late.
    pub(super) fn is_grave(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Change(_, Change::Delete | Change::RemoveFinalizer))
    }

    /// The block that it is about.
    pub(super) fn block(&self) -> Option<IpNet> {
        match self {
            Self::Create(block) | Self::Change(block, _) => Some(block.cidr),
            Self::Say(_) | Self::Hint { .. } | Self::Forget { .. } | Self::Space { .. } => None,
        }
    }
}

/// Why a write is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// 409, or 404: the object is another one than was read.
    Conflict,
    /// 409: the name is taken.
    Exists,
}

/// The API server.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) rules: LeaseRules,
    pub(super) store: Store,
    events: Vec<(ObjectVersion, Event)>,
    /// Events before this one are compacted: a watch that needs them is answered with 410.
    compacted: usize,
    /// The number of its process: each one begins with new connections.
    pub(super) epoch: u64,
    next_uid: u128,
    /// Leases that writes of the operator ended, for the referee.
    pub(super) ended: Vec<IpBlock>,
}

impl Store {
    /// The answer to a quorum GET of a block.
    pub(super) fn fetched(&self, cidr: IpNet) -> FetchedBlock {
        self.blocks.get(&cidr).map_or(FetchedBlock::Missing, |block| FetchedBlock::Found(block.clone()))
    }
}

impl Server {
    pub(super) fn new(rules: LeaseRules, store: Store) -> Self {
        Self { rules, store, events: Vec::new(), compacted: 0, epoch: 1, next_uid: 1000, ended: Vec::new() }
    }

    pub(super) fn uid(&mut self) -> Uid {
        self.next_uid += 1;
        Uid(self.next_uid)
    }

    fn tell(&mut self, event: Event) -> ObjectVersion {
        self.store.version.0 += 1;
        let version = self.store.version;
        self.events.push((version, event));
        version
    }

    /// Lists everything from etcd.
    pub(super) fn list(&self) -> (Store, Watch) {
        (self.store.clone(), Watch { epoch: self.epoch, position: self.events.len() })
    }

    /// Delivers some events to a client's cache. `false` if the watch was interrupted: the connection is gone, or the events are compacted.
    pub(super) fn deliver(&self, watch: &mut Watch, cache: &mut Store, most: usize) -> bool {
        if watch.epoch != self.epoch || watch.position < self.compacted {
            return false;
        }
        for (version, event) in self.events[watch.position..].iter().take(most) {
            watch.position += 1;
            cache.take(*version, event);
        }
        true
    }

    /// Forgets the events so far.
    pub(super) fn compact(&mut self) {
        self.compacted = self.events.len();
    }

    /// Replaces the store by a snapshot. The API server begins again, and every connection breaks. With `bump`, versions go on from where they were.
    pub(super) fn restore(&mut self, mut snapshot: Store, bump: bool) {
        if bump {
            snapshot.version = self.store.version;
        }
        self.store = snapshot;
        self.events.clear();
        self.compacted = 0;
        self.epoch += 1;
    }

    pub(super) fn set_host(&mut self, name: &Arc<str>, host: Option<NodeEvidence>) {
        match host {
            Some(host) => self.store.hosts.insert(Arc::clone(name), host),
            None => self.store.hosts.remove(name),
        };
        self.tell(Event::Host(Arc::clone(name), host));
    }

    pub(super) fn set_pool(&mut self, index: usize, pool: Pool) {
        self.store.pools[index] = pool.clone();
        self.tell(Event::Pool(index, pool));
    }

    /// Somebody writes the agent's half of a NodeIPAM as if the node held nothing, or deletes the object.
    pub(super) fn overwrite(&mut self, name: &Arc<str>, deletes: bool) {
        let Some(said) = self.store.said.remove(name) else { return };
        if deletes {
            self.tell(Event::Said(Arc::clone(name), None));
        } else {
            let spec = NodeIpamSpec::of(said.spec.identity.clone());
            self.put_said(Said { spec, ..said });
        }
    }

    /// Somebody deletes an IPBlock, which its finalizer keeps.
    pub(super) fn order_deletion(&mut self, cidr: IpNet) {
        let Some(mut block) = self.store.blocks.get(&cidr).cloned() else { return };
        block.deleting = true;
        self.put_block(block);
    }

    fn put_block(&mut self, mut block: IpBlock) -> IpBlock {
        block.version = ObjectVersion(self.store.version.0 + 1);
        self.tell(Event::Block(block.cidr, Some(block.clone())));
        self.store.blocks.insert(block.cidr, block.clone());
        block
    }

    fn put_said(&mut self, mut said: Said) {
        said.version = ObjectVersion(self.store.version.0 + 1);
        let name = Arc::clone(&said.spec.identity.name);
        self.tell(Event::Said(Arc::clone(&name), Some(said.clone())));
        self.store.said.insert(name, said);
    }

    /// Applies a write. Returns the block that it wrote, if it is about one and it is still there.
    pub(super) fn apply(&mut self, write: &Write) -> Result<Option<IpBlock>, Refused> {
        match write {
            Write::Create(block) => {
                let taken = self.store.blocks.contains_key(&block.cidr);
                if taken && self.rules.has(LeaseRule::NameIsMutex) {
                    return Err(Refused::Exists);
                }
                let uid = self.uid();
                return Ok(Some(self.put_block(IpBlock { uid, ..block.clone() })));
            }
            Write::Change(read, change) => return self.change(read, *change),
            Write::Say(spec) => {
                let uid = self.next_uid + 1;
                let known = self.store.said.get(&spec.identity.name).cloned();
                let said = known.unwrap_or_else(|| Said {
                    uid: Uid(uid),
                    version: ObjectVersion(0),
                    spec: spec.clone(),
                    status: NodeIpamStatus::default(),
                    exclusions: vec![Exclusions::default(); POOLS],
                });
                self.next_uid = uid;
                self.put_said(Said { spec: spec.clone(), ..said });
            }
            Write::Hint { read, status, exclusions } => {
                let known = self.store.said.get(&read.spec.identity.name);
                let known = known.filter(|known| (known.uid, known.version) == (read.uid, read.version));
                let said = known.cloned().ok_or(Refused::Conflict)?;
                self.put_said(Said { status: status.clone(), exclusions: exclusions.clone(), ..said });
            }
            Write::Forget { name, uid, version } => {
                let known = self.store.said.get(name);
                known
                    .filter(|known| (known.uid, known.version) == (*uid, *version))
                    .ok_or(Refused::Conflict)?;
                self.store.said.remove(name);
                self.tell(Event::Said(Arc::clone(name), None));
            }
            Write::Space { version, space } => {
                if self.store.space_version != *version {
                    return Err(Refused::Conflict);
                }
                self.store.space = space.clone();
                self.store.space_version = self.tell(Event::Space(space.clone()));
            }
        }
        Ok(None)
    }

    fn change(&mut self, read: &IpBlock, change: Change) -> Result<Option<IpBlock>, Refused> {
        let ends = matches!(change, Change::Delete | Change::RemoveFinalizer);
        let any_version = ends && !self.rules.has(LeaseRule::DeleteVersion);
        let known = self.store.blocks.get(&read.cidr).cloned();
        let known =
            known.filter(|known| known.uid == read.uid && (known.version == read.version || any_version));
        let known = known.ok_or(Refused::Conflict)?;
        let leased = IpBlock { phase: BlockPhase::Leased, elapsed_seconds: 0, ..known.clone() };
        let changed = match change {
            Change::Mark(mark) => IpBlock { mark: Some(mark), ..known },
            Change::Clear(mark) => IpBlock { mark: None, cleared: Some(mark), ..known },
            Change::Delete => IpBlock { deleting: true, ..known },
            Change::Quarantine => IpBlock { phase: BlockPhase::Quarantined, elapsed_seconds: 0, ..known },
            Change::Elapse(seconds) => IpBlock { elapsed_seconds: seconds, ..known },
            Change::Return => leased,
            Change::Adopt(uid) => IpBlock { adopted_node_uid: Some(uid), ..leased },
            Change::RemoveFinalizer => {
                self.store.blocks.remove(&known.cidr);
                self.tell(Event::Block(known.cidr, None));
                self.ended.push(known);
                return Ok(None);
            }
        };
        Ok(Some(self.put_block(changed)))
    }
}

impl Store {
    /// Takes an event in, unless the cache has something newer: the answer to a write of its own.
    fn take(&mut self, version: ObjectVersion, event: &Event) {
        self.version = self.version.max(version);
        match event {
            Event::Block(cidr, Some(block)) => {
                if self.blocks.get(cidr).is_none_or(|known| known.version < block.version) {
                    self.blocks.insert(*cidr, block.clone());
                }
            }
            Event::Block(cidr, None) => {
                if self.blocks.get(cidr).is_some_and(|known| known.version < version) {
                    self.blocks.remove(cidr);
                }
            }
            Event::Said(name, Some(said)) => {
                self.said.insert(Arc::clone(name), said.clone());
            }
            Event::Said(name, None) => {
                self.said.remove(name);
            }
            Event::Host(name, Some(host)) => {
                self.hosts.insert(Arc::clone(name), *host);
            }
            Event::Host(name, None) => {
                self.hosts.remove(name);
            }
            Event::Pool(index, pool) => self.pools[*index] = pool.clone(),
            Event::Space(space) => {
                self.space = space.clone();
                self.space_version = version;
            }
        }
    }
}
