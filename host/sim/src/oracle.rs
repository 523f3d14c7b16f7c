//! Checks every answer against the promises: what an outside observer that sees only requests and replies can rely on.
//!
//! The requests of one attachment are ordered by when they began, not by when they arrive: a DEL or a GC ends what
//! was last requested before it began, and nothing that was requested or renewed after that.

mod claims;
mod network;
mod picture;
mod quarantine;
mod register;

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context as _, Result, ensure};
use tenure_ledger::{Book, ClaimKey, LedgerState};
use tenure_types::{Moment, NetworkName, Owner};

use crate::policies::block;

pub(crate) use self::claims::{Claimed, RESERVED, lease_of};
pub(crate) use self::network::{Supply, Whole};
pub(crate) use self::picture::Picture;
pub(crate) use self::quarantine::{DOUBTFUL, Quarantine};

/// The addresses that an owner was told it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldAllocation {
    addresses: Vec<IpAddr>,
    /// The beginning of the latest answered ADD.
    since: u64,
    /// The network namespace that this ADD named.
    netns: String,
}

/// An outside observer's knowledge of an owner, within one boot.
#[derive(Debug, Clone, Default)]
struct OwnerKnowledge {
    /// The addresses in the latest answer; cleared when a request is sent that may end it.
    holds: Option<HeldAllocation>,
    /// Whether it may hold something that no reply has reported, or may have lost it to an unanswered request.
    unsure: bool,
    /// The beginning of the latest ADD that was sent.
    added: Option<u64>,
    /// The beginning of the latest DEL or GC that was sent.
    ending: Option<u64>,
    /// The beginning of the latest DEL that was answered.
    deleted: Option<u64>,
}

impl OwnerKnowledge {
    /// Whether it is known to hold one of these addresses.
    fn has_any(&self, addresses: &[IpAddr]) -> bool {
        let has = |held: &HeldAllocation| held.addresses.iter().any(|address| addresses.contains(address));
        self.holds.as_ref().is_some_and(has)
    }

    /// Whether every ADD that was sent began no later than an answered DEL.
    fn holds_nothing(&self) -> bool {
        self.deleted.is_some() && self.added <= self.deleted
    }
}

/// An owner on a network.
pub(crate) type Key = (NetworkName, Owner);

/// An ADD as its caller knows it.
#[derive(Debug, Clone)]
pub(crate) struct AddRequest {
    pub(crate) network: NetworkName,
    pub(crate) owner: Owner,
    pub(crate) began: Moment,
    pub(crate) netns: String,
    /// Whether its grant must be a new one: the owner holds nothing, and no other ADD of it is in progress.
    pub(crate) is_new: bool,
}

impl AddRequest {
    pub(crate) fn key(&self) -> Key {
        (self.network.clone(), self.owner.clone())
    }
}

/// Keeps a journal of requests and replies, and reports broken promises.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    owners: BTreeMap<Key, OwnerKnowledge>,
    networks: BTreeMap<NetworkName, network::NetworkKnowledge>,
    /// The claims of agents.
    pub(crate) claims: Claimed,
    /// The number of replies checked.
    pub(crate) replies: u64,
    /// How often a network was found rolled back by itself.
    pub(crate) rolled_back: u64,
}

impl Oracle {
    fn known(&mut self, key: &Key) -> &mut OwnerKnowledge {
        self.owners.entry(key.clone()).or_default()
    }

    fn network(&mut self, name: &NetworkName) -> &mut network::NetworkKnowledge {
        self.networks.entry(name.clone()).or_default()
    }

    /// Whether the owner is known to hold nothing.
    pub(crate) fn is_new(&self, key: &Key) -> bool {
        self.owners.get(key).is_none_or(|known| known.holds.is_none() && !known.unsure)
    }

    /// An ADD is sent: from now on the owner may hold something, unless a DEL overtakes the ADD.
    pub(crate) fn add_sent(&mut self, id: u64, asked: &AddRequest) {
        let known = self.known(&asked.key());
        known.added = known.added.max(Some(asked.began.boot_ns));
        self.network(&asked.network).asked(id);
    }

    /// A change of a network as a whole is sent.
    pub(crate) fn change_sent(&mut self, id: u64, network: &NetworkName, change: Whole) {
        self.network(network).sent(id, change);
    }

    /// A change of the host's supply is sent.
    pub(crate) fn supply_sent(&mut self, id: u64, network: &NetworkName, block: usize, change: Supply) {
        self.network(network).supply_sent(id, block, change);
    }

    /// An operator puts an address into quarantine, or takes it out.
    pub(crate) fn quarantine_sent(
        &mut self,
        id: u64,
        network: &NetworkName,
        address: IpAddr,
        change: Quarantine,
    ) {
        self.network(network).quarantine_sent(id, address, change);
    }

    /// A request that may change a network was answered or abandoned.
    pub(crate) fn ended(&mut self, id: u64, network: &NetworkName, success: bool) {
        self.replies += u64::from(success);
        self.network(network).ended(id, success);
    }

    /// A removal was answered: there is no such network.
    pub(crate) fn none_to_remove(&mut self, id: u64, network: &NetworkName) -> Result<()> {
        self.replies += 1;
        self.network(network).was_not_there(id)
    }

    /// The owners known to hold something in a network.
    pub(crate) fn holders(&self, network: &NetworkName) -> Vec<(Key, HeldAllocation)> {
        let of_network = self.owners.iter().filter(|((of, _), _)| of == network);
        of_network.filter_map(|(key, known)| Some((key.clone(), known.holds.clone()?))).collect()
    }

    /// An effect has begun that takes a block: nobody can have an address of it.
    pub(crate) fn taken(&self, network: &NetworkName, number: usize) -> Result<()> {
        let Some(range) = block(number) else { return Ok(()) };
        let has = |address: &IpAddr| range.contains(*address);
        let holder = self.holders(network).into_iter().find(|(_, held)| held.addresses.iter().any(has));
        ensure!(holder.is_none(), "block {number} is taken while {holder:?} has an address of it");
        let agent = self.claims.holder_in(network, has);
        ensure!(agent.is_none(), "block {number} is taken while {agent:?} has an address of it");
        Ok(())
    }

    /// A network was removed. `holders` held something in it when the removal was sent.
    pub(crate) fn removed(
        &mut self,
        id: u64,
        network: &NetworkName,
        holders: &[(Key, HeldAllocation)],
    ) -> Result<()> {
        for (key, held) in holders {
            let holds = self.known(key).holds.as_ref();
            ensure!(holds != Some(held), "I2: {network} was removed while {key:?} held {held:?}");
        }
        self.claims.removed(id, network)?;
        self.ended(id, network, true);
        Ok(())
    }

    /// An agent claims addresses of a network.
    pub(crate) fn claiming(&mut self, id: u64, network: &NetworkName) {
        self.network(network).claiming(id);
    }

    /// An agent was told that its claim has these addresses. The request is still in progress.
    pub(crate) fn claimed(
        &mut self,
        id: u64,
        now: Moment,
        key: &ClaimKey,
        addresses: &[IpAddr],
    ) -> Result<()> {
        if self.claims.is_new(key) {
            let network = self.network(&key.network);
            let outside = addresses.iter().find(|address| !network.may_grant(id, **address));
            ensure!(outside.is_none(), "I4: {key} got {outside:?}, which {network:?} cannot have granted");
        }
        let mut of_network = self.owners.iter().filter(|(other, _)| other.0 == key.network);
        let other = of_network.find(|(_, known)| known.has_any(addresses));
        ensure!(other.is_none(), "I1: {key} got {addresses:?} while {other:?} holds some of them");
        self.claims.told(id, now, key, addresses)
    }

    /// A DEL or a GC that began at `began` is sent. It may end only what was requested before that.
    pub(crate) fn may_end(&mut self, key: &Key, began: Moment) {
        let known = self.known(key);
        known.ending = known.ending.max(Some(began.boot_ns));
        if known.holds.as_ref().is_some_and(|held| held.since <= began.boot_ns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// A namespace was found to be gone. Only an allocation last requested from it may be freed.
    pub(crate) fn may_reap(&mut self, key: &Key, netns: &str) {
        let known = self.known(key);
        if known.holds.as_ref().is_some_and(|held| held.netns == netns) {
            known.holds = None;
            known.unsure = true;
        }
    }

    /// An ADD was answered. `lives` tells whether its namespace still exists; if not, the grant may already be freed
    /// again.
    pub(crate) fn added(
        &mut self,
        id: u64,
        asked: &AddRequest,
        addresses: &[IpAddr],
        lives: bool,
    ) -> Result<()> {
        let (key, began) = (asked.key(), asked.began.boot_ns);
        if asked.is_new {
            let network = self.network(&asked.network);
            let outside = addresses.iter().find(|address| !network.may_grant(id, **address));
            ensure!(outside.is_none(), "I4: {key:?} got {outside:?}, which {network:?} cannot have granted");
        }
        self.ended(id, &asked.network, true);
        let known = self.known(&key);
        ensure!(
            known.deleted < Some(began),
            "I5: a DEL overtook an ADD of {key:?}, which still got {addresses:?}"
        );
        if !lives || known.ending >= Some(began) {
            known.unsure = true;
            return Ok(());
        }
        let mut others = self.owners.iter().filter(|(other, _)| other.0 == key.0 && **other != key);
        let other = others.find(|(_, known)| known.has_any(addresses));
        ensure!(
            other.is_none(),
            "I1: {addresses:?} were assigned to {key:?} while {other:?} holds some of them"
        );
        let claim = self.claims.holder(&key.0, addresses, None);
        ensure!(
            claim.is_none(),
            "I1: {addresses:?} were assigned to {key:?} while {claim:?} holds some of them"
        );
        let known = self.known(&key);
        let new = HeldAllocation { addresses: addresses.to_vec(), since: began, netns: asked.netns.clone() };
        match &mut known.holds {
            Some(held) => {
                ensure!(
                    held.addresses == addresses,
                    "I2: {key:?} was told {held:?} before, and {addresses:?} now"
                );
                if held.since < began {
                    *held = new;
                }
            }
            None => known.holds = Some(new),
        }
        Ok(())
    }

    /// An ADD was refused as superseded, so a later request of its owner must exist.
    ///
    /// An engine does not know the requests to earlier engines, so it may refuse an ADD that began before the engine
    /// itself.
    pub(crate) fn superseded(&mut self, asked: &AddRequest, engine_began: Moment) -> Result<()> {
        self.replies += 1;
        let (key, began) = (asked.key(), asked.began.boot_ns);
        let known = self.known(&key);
        ensure!(
            known.ending >= Some(began) || known.added > Some(began) || began < engine_began.boot_ns,
            "I5: an ADD of {key:?} was refused as superseded, but no later request exists"
        );
        Ok(())
    }

    /// The process ended. Requests in progress may or may not have taken effect; `under_way` lists the owners of such
    /// ADDs.
    pub(crate) fn cut_off(&mut self, under_way: &[Key]) {
        under_way.iter().for_each(|key| self.known(key).unsure = true);
        self.networks.values_mut().for_each(network::NetworkKnowledge::cut_off);
    }

    /// A DEL that began at `began` was answered.
    pub(crate) fn deleted(&mut self, key: &Key, began: Moment) {
        self.replies += 1;
        let known = self.known(key);
        known.deleted = known.deleted.max(Some(began.boot_ns));
        if known.holds_nothing() {
            (known.holds, known.unsure) = (None, false);
        }
    }

    /// The machine rebooted, which ended every attachment.
    pub(crate) fn rebooted(&mut self) {
        for known in self.owners.values_mut() {
            *known = OwnerKnowledge { deleted: Some(0), ..OwnerKnowledge::default() };
        }
        self.claims.rebooted();
    }

    /// Checks the state after every request has ended: everything that [`check`](Self::check) checks, and that
    /// nothing leaked.
    pub(crate) fn check_at_rest(&mut self, state: &LedgerState) -> Result<()> {
        self.check(state)?;
        let silent = self.owners.iter().filter(|(_, known)| known.holds.is_none() && !known.unsure);
        for ((network, owner), _) in silent {
            let held = book_of(&state.books, network).and_then(|book| book.owned_by(owner));
            ensure!(held.is_none(), "I3: {owner} on {network} holds {held:?}, which no reply has reported");
        }
        Ok(())
    }

    /// Checks a recovered state, or the state at rest, against all answers.
    pub(crate) fn check(&mut self, state: &LedgerState) -> Result<()> {
        let LedgerState { books, node, .. } = state;
        self.claims.check(books, &node.claims)?;
        for (name, known) in &mut self.networks {
            let checked = known.check(book_of(books, name), node.choices.of(name));
            let rolled_back = checked.with_context(|| format!("network {name}"))?;
            self.rolled_back += u64::from(rolled_back);
        }
        for ((network, owner), known) in &self.owners {
            let held = book_of(&state.books, network).and_then(|book| book.owned_by(owner));
            let addresses: Option<Vec<IpAddr>> =
                held.map(|held| held.addresses.iter().map(tenure_types::AssignedAddress::ip).collect());
            if let Some(expected) = &known.holds {
                ensure!(
                    addresses.as_ref() == Some(&expected.addresses),
                    "I2: {owner} on {network} was told {expected:?}, but the book has {addresses:?}"
                );
            }
            ensure!(
                !known.holds_nothing() || held.is_none(),
                "I5: {owner} on {network} was deleted, but the book has {addresses:?}"
            );
        }
        Ok(())
    }
}

fn book_of<'b>(books: &'b [Book], network: &NetworkName) -> Option<&'b Book> {
    books.iter().find(|book| book.name() == network)
}
