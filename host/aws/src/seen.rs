//! EC2's account of this node: its interfaces and what they carry, each fact with its evidence.
//!
//! Unknown never means unused. What a describe no longer shows stays, and is in doubt; it counts as gone only after two
//! describes, a consistency window apart, that both answered fully. What the ledger, a route or a runtime still names is
//! then quarantined by [`reconcile`](crate::reconcile), and the rest withdrawn.
//!
//! ```text
//!                     not shown                  not shown, a window later
//!  confirmed ───────────────────────▶ doubtful ───────────────────────────▶ gone
//!      ▲  ▲                              │                                   │
//!      │  └────────────── shown ─────────┴───────────────────────────────────┘
//!      └── the answer to a call of ours
//! ```
//!
//! The answer to a call that changes something is evidence of what that call did: what it brought is not doubted, and what
//! it took is not brought back, by a describe within the window after it. An answer without the primary interface, which every instance
//! has, and a failure change nothing. What an earlier process took is not known, whether the ledger has anything or not: what is first
//! shown within a window of the start settles only when it is shown after that. Pure; it reads no clock and holds no lock.

mod duty;
mod fact;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;

use crate::port::{Ec2Interface, Status};

pub use self::duty::Duty;
pub use self::fact::{Evidence, SeenFact, SeenStanding};

/// The known facts about a node.
#[derive(Debug, Clone)]
pub struct SeenNode {
    instance: String,
    /// Hardware address of the machine's primary interface, if that is known.
    mac: Option<String>,
    window: Duration,
    manage_untagged: bool,
    interfaces: BTreeMap<String, SeenInterface>,
    /// Ranges and interfaces removed by our own calls, with the time.
    taken: BTreeMap<(String, Option<IpNet>), Duration>,
    /// Time before which a describe may still show what an earlier process removed; zero if nothing was.
    settles: Duration,
    last: Option<Duration>,
    trouble: Option<String>,
}

/// An interface of the node.
#[derive(Debug, Clone)]
pub struct SeenInterface {
    /// EC2's latest facts; `None` if only the ledger knows the interface.
    pub facts: Option<Ec2Interface>,
    /// The evidence that it is attached to this node.
    pub fact: SeenFact,
    /// The evidence of each address and prefix on it.
    pub carries: BTreeMap<IpNet, SeenFact>,
}

/// The value of a describe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// The describe is complete and counts.
    Full,
    /// The describe changes nothing, for this reason.
    Suspicious(String),
}

impl SeenNode {
    /// Knows nothing of an instance. `window` is how long EC2's answers may lag behind its own.
    #[must_use]
    pub fn new(instance: impl Into<String>, window: Duration, manage_untagged: bool) -> Self {
        Self {
            instance: instance.into(),
            mac: None,
            window,
            manage_untagged,
            interfaces: BTreeMap::new(),
            taken: BTreeMap::new(),
            settles: Duration::ZERO,
            last: None,
            trouble: None,
        }
    }

    /// Sets the hardware address of this machine's primary interface: no answer counts in which the instance has another.
    #[must_use]
    pub fn on(mut self, mac: Option<String>) -> Self {
        self.mac = mac;
        self
    }

    /// Sets whether interfaces without tags are managed.
    pub fn manage_untagged(&mut self, manage: bool) {
        self.manage_untagged = manage;
    }

    /// A process starts. Another before it may have taken something that describes still show, and that no ledger has.
    pub fn starts(&mut self, now: Duration) {
        self.settles = now.saturating_add(self.window);
    }

    /// The ledger has ranges of an interface: they are missed if EC2 does not show them.
    pub fn expect(&mut self, interface: &str, carries: impl IntoIterator<Item = IpNet>, now: Duration) {
        let expected = SeenFact::new(Evidence::Ledger, now);
        let known = self.interfaces.entry(interface.to_owned()).or_insert_with(|| SeenInterface {
            facts: None,
            fact: expected.clone(),
            carries: BTreeMap::new(),
        });
        carries.into_iter().for_each(|net| _ = known.carries.entry(net).or_insert_with(|| expected.clone()));
    }

    /// Takes in a full answer about all attached interfaces, to a call that was sent at `asked`.
    pub fn described(&mut self, answer: &[Ec2Interface], asked: Duration) -> Look {
        let own: Vec<&Ec2Interface> = answer.iter().filter(|interface| self.is_own(interface)).collect();
        if !own.iter().any(|interface| self.duty(interface) == Duty::Primary) {
            let why = format!("EC2 shows {} interfaces and not the primary one", own.len());
            self.trouble = Some(why.clone());
            return Look::Suspicious(why);
        }
        let foreign = |shown: &&&Ec2Interface| {
            self.duty(shown) == Duty::Primary && self.mac.as_ref().is_some_and(|mac| *mac != shown.mac)
        };
        if let Some(foreign) = own.iter().find(foreign) {
            let (instance, mac, here) =
                (&self.instance, &foreign.mac, self.mac.as_deref().unwrap_or_default());
            let why = format!(
                "EC2 shows the primary interface of {instance} with hardware address {mac}, and this machine's has {here}: it is not this instance"
            );
            self.trouble = Some(why.clone());
            return Look::Suspicious(why);
        }
        let window = self.window;
        self.taken.retain(|_, at| asked < at.saturating_add(window));
        for interface in &own {
            self.confirm(interface, Evidence::Described, asked);
        }
        for (id, known) in &mut self.interfaces {
            let shown = own.iter().find(|interface| interface.id == *id);
            if shown.is_none() {
                known.fact.miss(asked, window);
            }
            let carries = shown.map(|shown| shown.carries.as_slice()).unwrap_or_default();
            let unseen = known.carries.iter_mut().filter(|(net, _)| !carries.contains(net));
            unseen.for_each(|(_, fact)| fact.miss(asked, window));
        }
        self.last = Some(asked);
        self.trouble = None;
        Look::Full
    }

    /// A describe failed: nothing changes.
    pub fn failed(&mut self, why: String) {
        self.trouble = Some(why);
    }

    /// Takes in what EC2 shows of one interface. It says nothing about others.
    pub fn shown(&mut self, interface: &Ec2Interface, asked: Duration) {
        if self.is_own(interface) {
            self.confirm(interface, Evidence::Described, asked);
        }
    }

    /// Calls of ours attached an interface.
    pub fn attached(&mut self, interface: &Ec2Interface, now: Duration) {
        self.taken.remove(&(interface.id.clone(), None));
        if self.interfaces.get(&interface.id).is_none_or(|known| known.facts.is_none())
            && self.is_own(interface)
        {
            self.confirm(interface, Evidence::Answered, now);
        }
    }

    /// A call of ours assigned this.
    pub fn assigned(&mut self, interface: &str, carries: &[IpNet], now: Duration) {
        if let Some(known) = self.interfaces.get_mut(interface) {
            for net in carries {
                known.carries.insert(*net, SeenFact::new(Evidence::Answered, now));
            }
        }
        for net in carries {
            self.taken.remove(&(interface.to_owned(), Some(*net)));
        }
    }

    /// A call of ours set the security groups of an interface.
    pub fn regrouped(&mut self, interface: &str, groups: &[String]) {
        let known = self.interfaces.get_mut(interface).and_then(|known| known.facts.as_mut());
        if let Some(facts) = known {
            facts.groups = groups.to_vec();
        }
    }

    /// A call of ours took this away.
    pub fn unassigned(&mut self, interface: &str, net: IpNet, now: Duration) {
        self.forget(interface, net);
        self.taken.insert((interface.to_owned(), Some(net)), now);
    }

    /// Calls of ours took an interface away.
    pub fn detached(&mut self, interface: &str, now: Duration) {
        self.interfaces.remove(interface);
        self.taken.insert((interface.to_owned(), None), now);
    }

    /// Forgets an address or prefix that is gone, and its interface if that is gone, too.
    pub fn forget(&mut self, interface: &str, net: IpNet) {
        if let Some(known) = self.interfaces.get_mut(interface) {
            known.carries.remove(&net);
        }
    }

    /// Forgets interfaces that are gone, and carry nothing that is still kept; returns whether there were any.
    pub fn forget_empty(&mut self) -> bool {
        let before = self.interfaces.len();
        self.interfaces.retain(|_, known| {
            !(known.carries.is_empty()
                && matches!(known.fact.standing(self.window), SeenStanding::Gone { .. }))
        });
        self.interfaces.len() < before
    }

    /// The interfaces, by id.
    pub fn interfaces(&self) -> impl Iterator<Item = (&str, &SeenInterface)> {
        self.interfaces.iter().map(|(id, known)| (id.as_str(), known))
    }

    /// An interface.
    #[must_use]
    pub fn get(&self, interface: &str) -> Option<&SeenInterface> {
        self.interfaces.get(interface)
    }

    /// How an interface stands; `None` if it was never known.
    #[must_use]
    pub fn standing(&self, interface: &str) -> Option<SeenStanding> {
        Some(self.interfaces.get(interface)?.fact.standing(self.window))
    }

    /// How an address or prefix stands: as badly as its interface at least.
    #[must_use]
    pub fn standing_of(&self, interface: &str, net: IpNet) -> Option<SeenStanding> {
        let known = self.interfaces.get(interface)?;
        let own = known.carries.get(&net)?.standing(self.window);
        Some(own.max(known.fact.standing(self.window)))
    }

    /// Whether a describe shows an address or prefix, and nothing speaks against it.
    #[must_use]
    pub fn is_shown(&self, interface: &str, net: IpNet) -> bool {
        let fact = self.interfaces.get(interface).and_then(|known| known.carries.get(&net));
        fact.is_some_and(|fact| fact.by == Evidence::Described)
            && self.standing_of(interface, net) == Some(SeenStanding::Confirmed)
    }

    /// Whether an earlier process may have taken an address or prefix, so that it must not be handed out yet.
    #[must_use]
    pub fn is_settling(&self, interface: &str, net: IpNet) -> bool {
        let fact = self.interfaces.get(interface).and_then(|known| known.carries.get(&net));
        fact.is_some_and(SeenFact::is_early)
    }

    /// Returns the time from which a describe settles what is settling; `None` if nothing is.
    #[must_use]
    pub fn settles(&self) -> Option<Duration> {
        let mut known = self.interfaces.values();
        let is_settling =
            known.any(|known| known.fact.is_early() || known.carries.values().any(SeenFact::is_early));
        is_settling.then_some(self.settles)
    }

    /// Lists what our calls removed from an interface so recently that a describe may still show it.
    pub fn just_taken(&self, interface: &str, now: Duration) -> impl Iterator<Item = IpNet> {
        let recent = self.taken.iter().filter(move |(_, at)| now < at.saturating_add(self.window));
        recent.filter(move |((of, _), _)| of == interface).filter_map(|((_, net), _)| *net)
    }

    /// Whether a call of ours brought this so recently that others may not show it yet.
    #[must_use]
    pub fn has_just_come(&self, interface: &str, net: IpNet, now: Duration) -> bool {
        let known = self.interfaces.get(interface);
        let facts = known.map(|known| (&known.fact, known.carries.get(&net)));
        facts.is_some_and(|(own, net)| {
            self.is_young(own, now) || net.is_some_and(|net| self.is_young(net, now))
        })
    }

    /// Whether calls of ours brought an interface, or took one away, so recently that others may not show that yet.
    #[must_use]
    pub fn has_moved(&self, now: Duration) -> bool {
        let mut gone = self.taken.iter().filter(|((_, net), _)| net.is_none());
        gone.any(|(_, at)| now < at.saturating_add(self.window))
            || self.interfaces.values().any(|known| self.is_young(&known.fact, now))
    }

    fn is_young(&self, fact: &SeenFact, now: Duration) -> bool {
        fact.by == Evidence::Answered && now < fact.at.saturating_add(self.window)
    }

    /// Returns the role of an interface on this host.
    #[must_use]
    pub fn duty(&self, interface: &Ec2Interface) -> Duty {
        Duty::of(interface, &self.instance, self.manage_untagged)
    }

    /// The primary interface, once EC2 showed it.
    #[must_use]
    pub fn primary(&self) -> Option<&Ec2Interface> {
        let mut shown = self.interfaces.values().filter_map(|known| known.facts.as_ref());
        shown.find(|interface| self.duty(interface) == Duty::Primary)
    }

    /// Returns the time at which the last complete describe was sent.
    #[must_use]
    pub fn last(&self) -> Option<Duration> {
        self.last
    }

    /// Why the latest describe does not count.
    #[must_use]
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// How long EC2's answers may lag.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Whether anything is in doubt, so that EC2 should be asked again once the window has passed.
    #[must_use]
    pub fn has_doubts(&self) -> bool {
        self.has_doubts_besides(&BTreeSet::new())
    }

    /// The same without the doubts about some interfaces, such as those that come or go.
    #[must_use]
    pub fn has_doubts_besides(&self, others: &BTreeSet<&str>) -> bool {
        let is_doubtful =
            |fact: &SeenFact| fact.is_early() || fact.standing(self.window) != SeenStanding::Confirmed;
        let mut meant = self.interfaces.iter().filter(|(id, _)| !others.contains(id.as_str()));
        meant.any(|(_, known)| is_doubtful(&known.fact) || known.carries.values().any(is_doubtful))
    }

    fn is_own(&self, interface: &Ec2Interface) -> bool {
        let is_staying = matches!(interface.status, Status::InUse | Status::Attaching);
        let attachment = interface.attachment.as_ref();
        is_staying && attachment.is_some_and(|attachment| attachment.instance == self.instance)
    }

    /// Whether a call of ours took something away, so that an answer to a call sent at `asked` may be older than that.
    fn is_taken(&self, interface: &str, net: Option<IpNet>, asked: Duration) -> bool {
        let taken = self.taken.get(&(interface.to_owned(), net));
        taken.is_some_and(|at| asked < at.saturating_add(self.window))
    }

    fn confirm(&mut self, shown: &Ec2Interface, by: Evidence, at: Duration) {
        if self.is_taken(&shown.id, None, at) {
            return;
        }
        let carried: Vec<IpNet> =
            shown.carries.iter().copied().filter(|net| !self.is_taken(&shown.id, Some(*net), at)).collect();
        let settles = self.settles;
        let first = || SeenFact::first(by, at, settles);
        // Nobody takes a primary interface.
        let is_primary = self.duty(shown) == Duty::Primary;
        let known = self.interfaces.entry(shown.id.clone()).or_insert_with(|| SeenInterface {
            facts: None,
            fact: if is_primary { SeenFact::new(by, at) } else { first() },
            carries: BTreeMap::new(),
        });
        known.fact.confirm(by, at, settles);
        known.facts = Some(shown.clone());
        for net in carried {
            known.carries.entry(net).or_insert_with(first).confirm(by, at, settles);
        }
    }
}
