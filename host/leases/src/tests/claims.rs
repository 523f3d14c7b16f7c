//! All histories of the address of one claim on two nodes, with pods that come and go, a virtual machine that moves between them, and two leaders
//! whose views lag: no address has two users, but for the two pods of one machine, and none is free while it is in use.

mod steps;

use ipnet::IpNet;

use crate::agent::turn::{TakeCase, take};
use crate::operator::claim::{ActiveTurn, TurnCase, TurnStep, turn};
use crate::tests::explorer::{Explored, Label, Model, Step, StepKind, explore};
use crate::tests::sample;
use crate::{
    AddressSpace, BlockName, ClaimTurn, HolderIdentity, IpBlock, LeaseRules, MachineHash, RangeId,
    RangeState, RangeUse, SpaceRange, TurnGuest, TurnId, TurnState, Uid,
};

const NODES: usize = 2;

/// The most states of one exploration.
const LIMIT: usize = 2_000_000;

/// A rule without which a history breaks the promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The operator ends a turn on the words at hand, without a quorum GET.
    EndsUnread,
    /// The operator's writes carry no version.
    WritesBlindly,
    /// The operator takes any two pods for pods of one machine.
    OneMachine,
    /// The agent uses an address that it has asked for.
    UsesUnread,
    /// The agent no longer says a turn before its ledger has dropped the address.
    SaysTooSoon,
    /// The agent says the number of a turn that has ended again.
    SameTurn,
    /// The agent goes on after a fence as before.
    Unconfirmed,
    /// The operator ends the lease of a claim that is over while a machine moves.
    DropsAlternate,
}

const FAULTS: [Fault; 8] = [
    Fault::EndsUnread,
    Fault::WritesBlindly,
    Fault::OneMachine,
    Fault::UsesUnread,
    Fault::SaysTooSoon,
    Fault::SameTurn,
    Fault::Unconfirmed,
    Fault::DropsAlternate,
];

/// A turn that the block names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct BlockTurn {
    id: u8,
    node: u8,
    is_guest: bool,
    has_left: bool,
}

/// The words of a node about its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Said {
    id: u8,
    is_held: bool,
    is_guest: bool,
    runs: bool,
}

/// A node's record of the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Held {
    id: u8,
    is_guest: bool,
    is_confirmed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
struct NodeState {
    /// The pod that names the claim, and whether it is one of the machine.
    pod: Option<bool>,
    /// Whether that pod has the address.
    is_used: bool,
    /// Whether the machine has run in it.
    runs: bool,
    /// The turn that is wanted, and whether it was drawn for a pod of the machine.
    wanted: Option<(u8, bool)>,
    /// Whether the API server has named the turn that is wanted.
    is_taken: bool,
    held: Option<Held>,
    said: Option<Said>,
    is_dead: bool,
}

/// A write that a leader has decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Pending {
    write: Write,
    /// Whether the block is still at the version that was read.
    is_current: bool,
    /// Whether the node's words were read from etcd since, for the end of a turn.
    has_read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Write {
    Begin(BlockTurn),
    BeginAlternate(BlockTurn),
    Switch,
    /// The end of a turn: of a node that no longer says it, or of one that is attested to be off.
    End(BlockTurn, bool),
    EndAlternate(BlockTurn, bool),
    Quarantine,
    Return,
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
struct Leader {
    /// The words of each node, as far as the watch has shown them.
    seen: [Option<Said>; NODES],
    pending: Option<Pending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
struct State {
    nodes: [NodeState; NODES],
    active: Option<BlockTurn>,
    alternate: Option<BlockTurn>,
    /// Whether the node of the active turn looks dead.
    is_quarantined: bool,
    is_released: bool,
    is_over: bool,
    leaders: [Leader; 2],
    drawn: u8,
    wishes: u8,
    faults: u8,
}

/// The bounds of an exploration.
#[derive(Debug, Clone, Copy)]
struct Claims {
    fault: Option<Fault>,
    leaders: usize,
    turns: u8,
    wishes: u8,
    faults: u8,
}

fn identity(node: usize) -> HolderIdentity {
    let number = node as u128 + 1;
    HolderIdentity {
        name: format!("n{number}").into(),
        uid: Uid(number),
        machine: MachineHash(number),
        boot: Uid(1),
    }
}

fn cidr() -> IpNet {
    "10.9.0.9/32".parse().unwrap()
}

fn guest(is_guest: bool, runs: bool) -> Option<TurnGuest> {
    is_guest.then_some(TurnGuest { uid: Uid(7), runs })
}

impl State {
    /// The turn that the block names for a node.
    fn names(&self, node: usize, id: u8) -> Option<BlockTurn> {
        let is_it = |turn: &BlockTurn| turn.id == id && usize::from(turn.node) == node;
        self.active.filter(is_it).or(self.alternate.filter(is_it))
    }

    /// The same with the two nodes in each other's place.
    fn mirrored(mut self) -> Self {
        let other = |turn: BlockTurn| BlockTurn { node: 1 - turn.node, ..turn };
        self.nodes.reverse();
        (self.active, self.alternate) = (self.active.map(other), self.alternate.map(other));
        for leader in &mut self.leaders {
            leader.seen.reverse();
            if let Some(pending) = &mut leader.pending {
                pending.write = match pending.write {
                    Write::Begin(turn) => Write::Begin(other(turn)),
                    Write::BeginAlternate(turn) => Write::BeginAlternate(other(turn)),
                    Write::End(turn, is_fenced) => Write::End(other(turn), is_fenced),
                    Write::EndAlternate(turn, is_fenced) => Write::EndAlternate(other(turn), is_fenced),
                    alike => alike,
                };
            }
        }
        self
    }

    /// Writes the block: what others have read is old.
    fn written(mut self) -> Self {
        for pending in self.leaders.iter_mut().flat_map(|leader| &mut leader.pending) {
            pending.is_current = false;
        }
        self
    }
}

impl Claims {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// The words that a node would say now.
    fn words(&self, node: &NodeState) -> Option<Said> {
        let said = |id, is_held, is_guest, runs| Said { id, is_held, is_guest, runs };
        match (node.held, node.wanted) {
            (Some(_), _) if self.is(Fault::SaysTooSoon) && node.pod.is_none() => None,
            (Some(held), _) => {
                let runs = held.is_guest && node.runs && node.pod == Some(true);
                Some(said(held.id, true, held.is_guest, runs))
            }
            (None, Some((id, is_guest))) => Some(said(id, false, is_guest, false)),
            (None, None) => None,
        }
    }

    /// Whether the API server's answer gives a node the turn that it wants.
    fn may_take(&self, state: &State, node: usize, id: u8) -> bool {
        let Some(found) = state.names(node, id).or(state.active).filter(|_| !state.is_released) else {
            return false;
        };
        let range = SpaceRange {
            id: RangeId(9),
            cidr: "10.9.0.0/24".parse().unwrap(),
            unit: 32,
            usage: RangeUse::Claims,
            pool: sample::pool(),
            state: RangeState::Open,
        };
        let mut space = AddressSpace::default();
        space.add(LeaseRules::ALL, range).unwrap();
        let holder = identity(usize::from(found.node));
        let block = IpBlock { cidr: cidr(), range: RangeId(9), holder, ..sample::block() };
        let (me, active) = (identity(node), Some(TurnId(found.id.into())));
        let case = TakeCase { me: &me, turn: TurnId(id.into()), block: &block, active, space: Some(&space) };
        take(&case).is_ok()
    }

    /// A leader's decision on its view, with the nodes in one order or the other.
    fn decide(&self, state: &State, leader: &Leader, is_reversed: bool) -> Option<Write> {
        let name = BlockName::new("default", cidr()).unwrap();
        let all_guests = self.is(Fault::OneMachine);
        let known = |entry: BlockTurn| {
            let node = usize::from(entry.node);
            let says = leader.seen[node].is_some_and(|said| said.id == entry.id);
            ActiveTurn {
                turn: TurnId(entry.id.into()),
                is_said: (!state.nodes[node].is_dead).then_some(says),
                guest: (entry.is_guest || all_guests).then_some(Uid(7)),
                has_left: entry.has_left,
            }
        };
        let live = leader.seen.iter().enumerate().filter(|(node, _)| !state.nodes[*node].is_dead);
        let mut said: Vec<(usize, Said)> = live.filter_map(|(node, said)| Some((node, (*said)?))).collect();
        if is_reversed {
            said.reverse();
        }
        let turns: Vec<ClaimTurn> = said
            .iter()
            .map(|(_, said)| ClaimTurn {
                block: name.clone(),
                turn: TurnId(said.id.into()),
                state: if said.is_held { TurnState::Held } else { TurnState::Wanted },
                pod: String::new(),
                guest: guest(said.is_guest || all_guests, said.runs),
                claim: None,
            })
            .collect();
        let turns: Vec<&ClaimTurn> = turns.iter().collect();
        let alternate = state.alternate.map(known);
        let active = state.active.map(known);
        let case = TurnCase {
            is_over: state.is_over,
            active: active.map(|active| ActiveTurn {
                is_said: active.is_said.filter(|_| !state.is_quarantined),
                ..active
            }),
            alternate: alternate.filter(|_| !self.is(Fault::DropsAlternate)),
            turns: &turns,
            may_grant: true,
        };
        let entry = |id: TurnId| {
            let (node, said) = said.iter().find(|(_, said)| u64::from(said.id) == id.0)?;
            let node = u8::try_from(*node).unwrap();
            Some(BlockTurn { id: said.id, node, is_guest: said.is_guest, has_left: false })
        };
        match turn(&case) {
            TurnStep::Wait => None,
            TurnStep::Begin(id) => entry(id).map(Write::Begin),
            TurnStep::BeginAlternate(id) => entry(id).map(Write::BeginAlternate),
            TurnStep::Switch => Some(Write::Switch),
            TurnStep::End(_) => state.active.map(|entry| Write::End(entry, false)),
            TurnStep::EndAlternate(_) => state.alternate.map(|entry| Write::EndAlternate(entry, false)),
            TurnStep::Release => Some(Write::Release),
        }
    }

    /// A write, if the API server takes it.
    fn perform(&self, state: &State, pending: Pending) -> Option<State> {
        if state.is_released || !(pending.is_current || self.is(Fault::WritesBlindly)) {
            return None;
        }
        let mut next = state.written();
        match pending.write {
            Write::Begin(entry) => (next.active, next.is_quarantined) = (Some(entry), false),
            Write::BeginAlternate(entry) => next.alternate = Some(entry),
            Write::Switch => {
                let left = next.active.map(|entry| BlockTurn { has_left: true, ..entry });
                next.active = next.alternate.map(|entry| BlockTurn { has_left: false, ..entry });
                (next.alternate, next.is_quarantined) = (left, false);
            }
            Write::Quarantine => next.is_quarantined = true,
            Write::Return => next.is_quarantined = false,
            Write::End(..) => (next.active, next.is_quarantined) = (None, false),
            Write::EndAlternate(..) => next.alternate = None,
            Write::Release => next.is_released = true,
        }
        Some(next)
    }
}

impl Model for Claims {
    type State = State;

    fn initial(&self) -> State {
        State::default()
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step<State>>) {
        let mut add = |who: (&'static str, usize), what, kind, next| {
            steps.push(Step { label: Label { who, what, block: None }, kind, next: Ok(next) });
        };
        for index in 0..NODES {
            self.node_steps(state, index, &mut |what, kind, next| add(("node", index), what, kind, next));
        }
        for index in 0..self.leaders {
            self.leader_steps(state, index, &mut |what, kind, next| add(("leader", index), what, kind, next));
        }
        if !state.is_over && state.wishes < self.wishes {
            let next = State { is_over: true, wishes: state.wishes + 1, ..*state };
            add(("person", 0), "deletes the claim", StepKind::Wish, next);
        }
    }

    fn canonical(&self, state: &State) -> State {
        let first = |mut state: State| {
            if self.leaders > 1 {
                state.leaders.sort_unstable();
            }
            state
        };
        // The fault gives the nodes numbers of their own.
        if self.is(Fault::SameTurn) { first(*state) } else { first(*state).min(first(state.mirrored())) }
    }

    fn tidied(&self, state: &State) -> State {
        *state
    }

    fn violation(&self, state: &State) -> Option<&'static str> {
        let users: Vec<(usize, NodeState)> =
            state.nodes.into_iter().enumerate().filter(|(_, node)| node.is_used).collect();
        if users.len() > 1 && users.iter().any(|(_, node)| node.pod != Some(true)) {
            return Some("the address has two users");
        }
        let is_named = |index: usize, node: &NodeState| {
            node.held.is_some_and(|held| state.names(index, held.id).is_some()) && !state.is_released
        };
        users.iter().any(|(index, node)| !is_named(*index, node)).then_some("the address is free, and in use")
    }

    /// Nothing is wanted, and the block names no turn that nobody says. A pod may wait whose node has drawn all the turns of the bounds.
    fn is_settled(&self, state: &State) -> bool {
        let is_idle = state.leaders.iter().all(|leader| leader.pending.is_none());
        let entries = [state.active, state.alternate].into_iter().flatten();
        let is_idle = is_idle && !state.is_quarantined;
        let is_said = |entry: &BlockTurn| {
            state.nodes[usize::from(entry.node)].said.is_some_and(|said| said.id == entry.id)
        };
        let is_at_rest = state.nodes.iter().all(|node| {
            let serves = node.pod.is_none() || node.is_used || state.drawn >= self.turns || state.is_over;
            node.wanted.is_none() && node.said == self.words(node) && serves && !node.is_dead
        });
        let has_ended = !state.is_over || state.is_released || state.nodes.iter().any(|node| node.is_used);
        is_idle && is_at_rest && has_ended && entries.clone().all(|entry| is_said(&entry))
    }
}

fn explored(claims: Claims) -> Explored {
    explore(&claims, LIMIT)
}

const TWO_LEADERS: Claims = Claims { fault: None, leaders: 2, turns: 2, wishes: 2, faults: 0 };
const ONE_LEADER: Claims = Claims { fault: None, leaders: 1, turns: 2, wishes: 3, faults: 1 };

#[test]
fn no_address_of_a_claim_has_two_users_or_is_free_while_in_use() {
    for claims in [TWO_LEADERS, ONE_LEADER] {
        let found = explored(claims);
        println!("{claims:?}: {} states, {} steps", found.states, found.steps);
        if let Some(violation) = found.violation {
            panic!("{}\n  {}", violation.what, violation.trace.join("\n  "));
        }
    }
}

#[test]
fn without_any_one_rule_of_a_claim_a_history_breaks_the_promise() {
    let mut unnoticed = Vec::new();
    for fault in FAULTS {
        let within = |claims| explored(Claims { fault: Some(fault), ..claims });
        let found = [ONE_LEADER, TWO_LEADERS].into_iter().find_map(|claims| within(claims).violation);
        match found {
            Some(violation) => println!("{fault:?}: {}\n  {}", violation.what, violation.trace.join("\n  ")),
            None => unnoticed.push(fault),
        }
    }
    assert!(unnoticed.is_empty(), "the model does not miss {unnoticed:?}");
}
