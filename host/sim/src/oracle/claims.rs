//! An outside observer's knowledge of the claims of agents. An agent sends one request at a time, and nothing but its own
//! requests and the end of its lease ends a claim: no runtime, no crash, no reboot.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, ensure};
use tenure_ledger::{Book, ClaimKey, Claims};
use tenure_types::{AgentName, AssignedAddress, Moment, NetworkName};

/// How long a claim is reserved for its agent after a reboot.
pub(crate) const RESERVED: Duration = Duration::from_secs(120);

/// The lease that agents ask for with a claim: every second name has one.
pub(crate) fn lease_of(key: &ClaimKey) -> Option<Duration> {
    key.name.as_str().ends_with('1').then_some(Duration::from_secs(40))
}

/// An outside observer's knowledge of a claim.
#[derive(Debug, Clone, Default)]
struct ClaimKnowledge {
    /// The addresses in its agent's latest answer, and the number of the first request that said so; cleared when a request is
    /// sent that may end it.
    holds: Option<(u64, Vec<IpAddr>)>,
    /// Whether it may hold something that no reply has reported, or may have lost it to an unanswered request.
    unsure: bool,
    /// Whether the request that is under way has to make it.
    is_new: bool,
    /// The time, in this boot, at which its agent was last told that it has it; `None` if it was not.
    told: Option<Moment>,
}

/// An outside observer's knowledge of all claims.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    all: BTreeMap<ClaimKey, ClaimKnowledge>,
    /// The start of the present daemon.
    began: Moment,
}

impl Claimed {
    /// A daemon starts.
    pub(crate) fn started(&mut self, now: Moment) {
        self.began = now;
    }

    /// The machine rebooted: claims are reserved until their agents return.
    pub(crate) fn rebooted(&mut self) {
        self.all.values_mut().for_each(|known| known.told = None);
    }

    /// A request is sent that may make these claims, and may end all others of the agent.
    pub(crate) fn declare_sent(&mut self, agent: &AgentName, wanted: &BTreeSet<ClaimKey>) {
        wanted.iter().for_each(|key| self.ensure_sent(key));
        self.others(agent, wanted).for_each(ClaimKnowledge::may_end);
    }

    /// A request is sent that may make this claim.
    pub(crate) fn ensure_sent(&mut self, key: &ClaimKey) {
        let known = self.all.entry(key.clone()).or_default();
        known.is_new = known.holds.is_none() && !known.unsure;
        known.unsure |= known.holds.is_none();
    }

    /// Whether the request that is under way has to make the claim.
    pub(crate) fn is_new(&self, key: &ClaimKey) -> bool {
        self.all.get(key).is_some_and(|known| known.is_new)
    }

    /// A request is sent that may end this claim.
    pub(crate) fn release_sent(&mut self, key: &ClaimKey) {
        self.all.entry(key.clone()).or_default().may_end();
    }

    /// The daemon is looking for claims whose agents are gone.
    pub(crate) fn lapsing(&mut self, now: Moment) {
        // A start counts as hearing of everybody.
        let since_start = now.since(self.began);
        for (key, known) in &mut self.all {
            let is_over = match known.told {
                Some(told) => lease_of(key).is_some_and(|lease| now.since(told).min(since_start) >= lease),
                None => since_start >= lease_of(key).unwrap_or(RESERVED).min(RESERVED),
            };
            if is_over {
                known.may_end();
            }
        }
    }

    /// An agent was told that its claim has these addresses.
    pub(crate) fn told(&mut self, id: u64, now: Moment, key: &ClaimKey, addresses: &[IpAddr]) -> Result<()> {
        let other = self.holder(&key.network, addresses, Some(key));
        ensure!(
            other.is_none(),
            "I1: {addresses:?} were claimed by {key} while {other:?} holds some of them"
        );
        let known = self.all.entry(key.clone()).or_default();
        if let Some((_, before)) = &known.holds {
            ensure!(before == addresses, "I2: {key} was told {before:?} before, and {addresses:?} now");
        }
        let since = known.holds.as_ref().map_or(id, |(since, _)| *since);
        *known = ClaimKnowledge {
            holds: Some((since, addresses.to_vec())),
            unsure: false,
            is_new: false,
            told: Some(now),
        };
        Ok(())
    }

    /// An agent was told that its claim has ended, or does not exist.
    pub(crate) fn ended(&mut self, key: &ClaimKey) {
        self.all.insert(key.clone(), ClaimKnowledge::default());
    }

    /// A declaration was carried out: the agent has no other claims than these.
    pub(crate) fn declared(&mut self, agent: &AgentName, wanted: &BTreeSet<ClaimKey>) {
        self.others(agent, wanted).for_each(|known| *known = ClaimKnowledge::default());
    }

    /// A network was removed by request `id`.
    pub(crate) fn removed(&self, id: u64, network: &NetworkName) -> Result<()> {
        for (key, known) in self.all.iter().filter(|(key, _)| key.network == *network) {
            let held_before = known.holds.as_ref().filter(|(since, _)| *since < id);
            ensure!(held_before.is_none(), "I2: {network} was removed while {key} held {held_before:?}");
        }
        Ok(())
    }

    /// A claim, other than `except`, that is known to hold one of these addresses.
    pub(crate) fn holder(
        &self,
        network: &NetworkName,
        addresses: &[IpAddr],
        except: Option<&ClaimKey>,
    ) -> Option<&ClaimKey> {
        let has = |held: &[IpAddr]| held.iter().any(|address| addresses.contains(address));
        let holds = |known: &ClaimKnowledge| known.holds.as_ref().is_some_and(|(_, held)| has(held));
        let mut of_network =
            self.all.iter().filter(|(key, _)| key.network == *network && Some(*key) != except);
        of_network.find(|(_, known)| holds(known)).map(|(key, _)| key)
    }

    /// A claim that is known to hold an address like this.
    pub(crate) fn holder_in(
        &self,
        network: &NetworkName,
        has: impl Fn(&IpAddr) -> bool,
    ) -> Option<&ClaimKey> {
        let holds =
            |known: &ClaimKnowledge| known.holds.as_ref().is_some_and(|(_, held)| held.iter().any(&has));
        let mut of_network = self.all.iter().filter(|(key, _)| key.network == *network);
        of_network.find(|(_, known)| holds(known)).map(|(key, _)| key)
    }

    /// Checks a state against all answers, and that each claim has its allocation and each allocation its claim.
    pub(crate) fn check(&self, books: &[Book], claims: &Claims) -> Result<()> {
        for claim in claims.all() {
            let book = books.iter().find(|book| *book.name() == claim.key.network);
            let held = book.and_then(|book| book.owned_by(&claim.key.owner()));
            ensure!(
                held.is_some_and(|held| held.generation == claim.generation),
                "a group is torn: {claim:?} has the allocation {held:?}"
            );
        }
        for book in books {
            for held in book.image().allocations {
                let Some(key) = ClaimKey::of(book.name(), &held.owner) else { continue };
                ensure!(claims.get(&key).is_some(), "a group is torn: {held:?} has no claim");
            }
        }
        for (key, known) in &self.all {
            let found = addresses(books, key);
            match &known.holds {
                Some((_, expected)) => {
                    ensure!(
                        found.as_ref() == Some(expected),
                        "I2: {key} was told {expected:?}, but the book has {found:?}"
                    );
                }
                None => ensure!(
                    known.unsure || found.is_none(),
                    "I3: the agent was told that {key} has ended, but the book has {found:?}"
                ),
            }
        }
        Ok(())
    }

    fn others<'a>(
        &'a mut self,
        agent: &'a AgentName,
        wanted: &'a BTreeSet<ClaimKey>,
    ) -> impl Iterator<Item = &'a mut ClaimKnowledge> {
        let others = self.all.iter_mut().filter(|(key, _)| key.agent == *agent && !wanted.contains(*key));
        others.map(|(_, known)| known)
    }
}

impl ClaimKnowledge {
    fn may_end(&mut self) {
        self.unsure |= self.holds.take().is_some();
    }
}

fn addresses(books: &[Book], key: &ClaimKey) -> Option<Vec<IpAddr>> {
    let book = books.iter().find(|book| *book.name() == key.network)?;
    let held = book.owned_by(&key.owner())?;
    Some(held.addresses.iter().map(AssignedAddress::ip).collect())
}
