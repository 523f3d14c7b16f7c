//! A node on which a story happens, and helpers for its values.

use std::net::IpAddr;
use std::sync::Arc;

use tenure_ledger::{
    Book, Choice, ChoiceFact, Chooser, Claim, ClaimFact, ClaimKey, Component, ComponentFact, Defined,
    DelegationFact, EffectFact, Fact, LedgerFact, MoveFact, PolicyState, Presence, StateFact, Step, StepKind,
    Wish,
};
use tenure_types::{
    AgentName, Assignment, Attributes, ClaimName, ContainerId, DefinedPool, Definer, Definition,
    InterfaceName, Moment, NetworkConfig, NetworkName, Owner, Place, PodIdentity, PolicyName, PolicyStamp,
    Pool, PoolName, Proposal, Range, RangeName, Request, RequestContext, Sandbox,
};

use crate::CheckpointJournal;
use crate::tests::fixture::Memory;

/// The node of a story.
pub(super) struct Story<'a> {
    pub(super) memory: &'a Memory,
    pub(super) journal: &'a CheckpointJournal,
}

impl Story<'_> {
    pub(super) fn put(&self, name: &NetworkName, facts: impl IntoIterator<Item = Fact>) {
        let facts: Vec<Fact> = facts.into_iter().collect();
        drop(self.memory.put(self.journal, name, &facts));
    }

    /// Stages facts that a book makes.
    pub(super) fn of_book<F: Into<Fact>>(&self, name: &str, make: impl FnOnce(&Book) -> Vec<F>) {
        let name = network(name);
        let facts = self.memory.with(&name, make);
        self.put(&name, facts.into_iter().map(Into::into));
    }

    pub(super) fn define(&self, name: &str, definition: &Definition, by: Definer, when: Moment) {
        let attribute = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let config = Arc::new(NetworkConfig {
            ipam: "{\"type\":\"tenure\",\"text\":\"é \\\"\\n\\u0007\"}\n".to_owned(),
            attributes: vec![attribute("cni.version", "1.1.0"), attribute("", "two\nlines")],
        });
        self.of_book(name, |book| book.redefine(Defined { config: &config, definition, by }, when).unwrap());
    }

    pub(super) fn choose(&self, name: &str, name_of_policy: &str, by: Chooser, when: Moment) {
        let choice = Choice {
            policy: policy(name_of_policy).as_ref().clone(),
            by,
            at: when,
            why: String::new(),
            watched: false,
        };
        self.choose_as(name, choice);
    }

    pub(super) fn choose_as(&self, name: &str, choice: Choice) {
        let network = network(name);
        self.put(&network, [ChoiceFact::Chosen { network: network.clone(), choice }.into()]);
    }

    pub(super) fn undo(&self, name: &str, choice: Choice, when: Moment) {
        let network = network(name);
        self.put(&network, [ChoiceFact::Undone { network: network.clone(), choice, at: when }.into()]);
    }

    pub(super) fn note(&self, name: &str, kind: StepKind, name_of_policy: &str, when: Moment, why: &str) {
        let policy = policy(name_of_policy).as_ref().clone();
        let (network, step) = (network(name), Step { kind, policy, at: when, why: why.to_owned() });
        self.put(&network, [ChoiceFact::Noted { network: network.clone(), step }.into()]);
    }

    pub(super) fn load(&self, name_of_policy: &str, source: &str, signer: &str, when: Moment) {
        let policy = policy(name_of_policy).as_ref().clone();
        let component = Component { policy, source: source.to_owned(), signer: signer.to_owned(), at: when };
        self.put(&network("lan"), [ComponentFact::Loaded(component).into()]);
    }

    pub(super) fn unload(&self, name_of_policy: &str, when: Moment) {
        let policy = policy(name_of_policy).as_ref().clone();
        self.put(&network("lan"), [ComponentFact::Unloaded { policy, at: when }.into()]);
    }

    pub(super) fn keep(&self, name: &str, name_of_policy: &str, version: u64, bytes: &[u8], when: Moment) {
        let (network, state) = (network(name), state(name_of_policy, version, bytes, when));
        self.put(&network, [StateFact::Kept { network: network.clone(), state }.into()]);
    }

    pub(super) fn restore(&self, name: &str, name_of_policy: &str, version: u64, bytes: &[u8], when: Moment) {
        let (network, state) = (network(name), state(name_of_policy, version, bytes, when));
        self.put(&network, [StateFact::Undone { network: network.clone(), state }.into()]);
    }

    pub(super) fn delegate(&self, fact: DelegationFact) {
        let network = fact.network().clone();
        self.put(&network, [fact.into()]);
    }

    pub(super) fn affect(&self, fact: EffectFact) {
        self.put(&network("lan"), [fact.into()]);
    }

    pub(super) fn move_over(&self, fact: MoveFact) {
        let network = fact.network().clone();
        self.put(&network, [fact.into()]);
    }

    pub(super) fn forget(&self, name: &str, when: Moment) {
        let network = network(name);
        self.put(&network, [StateFact::Forgotten { network: network.clone(), at: when }.into()]);
    }

    /// Defines a network with one pool and one range.
    pub(super) fn define_small(&self, name: &str, third: u8, by: Definer, when: Moment) {
        self.choose(name, "host-local", Chooser::Configuration, when);
        let (subnet, last) = (format!("10.9.{third}.0/29"), format!("10.9.{third}.6"));
        let ranges = vec![range(&subnet, &format!("10.9.{third}.1"), &last, None)];
        let pools = vec![DefinedPool { pool: Pool::numbered(0), ranges }];
        self.define(name, &Definition { pools, ..Definition::default() }, by, when);
    }

    pub(super) fn admit(
        &self,
        name: &str,
        owner: Owner,
        sandbox: Sandbox,
        proposal: &Proposal,
        when: Moment,
    ) {
        self.of_book(name, |book| {
            let request = request(book.name(), owner, sandbox, when);
            let later = Moment { boot_ns: when.boot_ns + 1_000, ..when };
            let policy = policy("host-local");
            let allocation = book.admit(&request, proposal, &policy, later).unwrap();
            vec![LedgerFact::Allocated(Arc::new(allocation))]
        });
    }

    pub(super) fn release(&self, name: &str, owner: &Owner, when: Moment, reason: &str) {
        let key = ClaimKey::of(&network(name), owner);
        self.of_book(name, |book| {
            let generation = book.owned_by(owner).unwrap().generation;
            let of_book = Fact::from(book.release(owner, when, reason).unwrap());
            let reason = reason.into();
            let claim = key.map(|key| ClaimFact::Released { key, generation, at: when, reason }.into());
            [of_book].into_iter().chain(claim).collect()
        });
    }

    /// Admits a claim, in one group with what the agent wants.
    pub(super) fn claim(
        &self,
        name: &str,
        owner: &Owner,
        proposal: &Proposal,
        wish: Wish,
        presence: Presence,
    ) {
        let (Presence::Here(when) | Presence::Reserved(when)) = presence;
        self.of_book(name, |book| {
            let request = request(book.name(), owner.clone(), Sandbox::default(), when);
            let allocation = book.admit(&request, proposal, &policy("host-local"), when).unwrap();
            let key = ClaimKey::of(book.name(), owner).unwrap();
            let generation = allocation.generation;
            let claim = Claim { key, wish, generation, made_at: when, presence };
            let allocated = LedgerFact::Allocated(Arc::new(allocation));
            vec![Fact::from(allocated), ClaimFact::Claimed(claim).into()]
        });
    }

    pub(super) fn confirm(&self, name: &str, owner: &Owner, when: Moment) {
        let key = ClaimKey::of(&network(name), owner).unwrap();
        self.put(&network(name), [ClaimFact::Confirmed { key, at: when }.into()]);
    }

    pub(super) fn remove(&self, name: &str, when: Moment) {
        let network = network(name);
        let forgotten = ChoiceFact::Forgotten { network: network.clone(), at: when };
        let removed = LedgerFact::Removed { network: network.clone(), at: when };
        self.put(&network, [forgotten.into(), removed.into()]);
    }
}

fn state(name_of_policy: &str, version: u64, bytes: &[u8], at: Moment) -> PolicyState {
    PolicyState { policy: policy(name_of_policy).as_ref().clone(), version, bytes: bytes.into(), at }
}

pub(super) fn at(second: u64) -> Moment {
    Moment { boot_ns: second * 1_000_000_000 + 7, wall_ms: 1_700_000_000_000 + second * 1_000 }
}

pub(super) fn network(name: &str) -> NetworkName {
    NetworkName::new(name).unwrap()
}

pub(super) fn pool(name: &str) -> PoolName {
    PoolName::new(name).unwrap()
}

pub(super) fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    Attributes::new(pairs.iter().copied()).unwrap()
}

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(super) fn policy(name: &str) -> Arc<PolicyStamp> {
    let digest = name.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    Arc::new(PolicyStamp { name: PolicyName::new(name).unwrap(), digest: digest.into() })
}

pub(super) fn range(subnet: &str, first: &str, last: &str, gateway: Option<&str>) -> Range {
    let subnet: ipnet::IpNet = subnet.parse().unwrap();
    Range::new(subnet, ip(first), ip(last), gateway.map(ip), subnet.prefix_len()).unwrap()
}

pub(super) fn named(range: Range, name: &str) -> Range {
    range.named(RangeName::new(name).unwrap())
}

pub(super) fn owner(container: &str, interface: &str) -> Owner {
    let container = ContainerId::new(container).unwrap();
    Owner::Attachment { container, interface: InterfaceName::new(interface).unwrap() }
}

pub(super) fn agent(agent: &str, name: &str) -> Owner {
    Owner::Claim { agent: AgentName::new(agent).unwrap(), name: ClaimName::new(name).unwrap() }
}

pub(super) fn sandbox(pod: Option<[&str; 3]>, netns: &str, netns_seen: Option<Place>) -> Sandbox {
    let pod = pod.map(|[namespace, name, uid]| PodIdentity {
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
    });
    Sandbox { pod, netns: netns.into(), netns_seen, link: None }
}

pub(super) fn request(
    network: &NetworkName,
    owner: Owner,
    sandbox: Sandbox,
    requested_at: Moment,
) -> Request {
    Request {
        network: network.clone(),
        owner,
        requested: Vec::new(),
        sandbox,
        supply_full: false,
        context: RequestContext::default(),
        requested_at,
    }
}

/// Attributes as literals.
type Pairs<'a> = &'a [(&'a str, &'a str)];

pub(super) fn proposal(addresses: &[(usize, &str, Pairs<'_>)], tags: Pairs<'_>) -> Proposal {
    let assignment = |(pool, address, of_address): &(usize, &str, Pairs<'_>)| Assignment {
        pool: *pool,
        address: ip(address),
        attributes: attributes(of_address),
    };
    Proposal { assignments: addresses.iter().map(assignment).collect(), tags: attributes(tags) }
}
