//! An outside observer's knowledge of a network: which policy serves it, and which blocks the host supplies.

use std::net::IpAddr;

use anyhow::{Result, ensure};
use tenure_ledger::choices::Served;
use tenure_ledger::{Book, Choice, Chooser};

use super::quarantine::{Quarantine, Quarantines};
use super::register::{Change, Register};
use crate::policies::{BLOCKS, POLICIES, block, is_faulty, pool_of};

/// The policy or delegate that serves a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Serving {
    /// Nothing: the network does not exist.
    Nobody,
    /// A policy, by number, who chose it, and the other policy that served before it.
    Policy(usize, ChosenBy, Option<usize>),
}

/// The chooser of a policy; see [`Chooser`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ChosenBy {
    Configuration,
    Operator,
    RollBack,
}

impl From<Chooser> for ChosenBy {
    fn from(chooser: Chooser) -> Self {
        match chooser {
            Chooser::Configuration => Self::Configuration,
            Chooser::Operator => Self::Operator,
            Chooser::RollBack => Self::RollBack,
        }
    }
}

/// A change of a network as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Whole {
    /// Create it with the configured policy, unless it exists.
    Define,
    /// Activate this policy, if the network exists.
    Activate(usize),
    /// Return to the policy before, if there was one.
    RollBack,
    /// Return to the policy before if it does better: never from a good one, and never to one with the same fault.
    Tend,
    /// Remove it.
    Remove,
    /// Nothing: an agent claims an address of it.
    Look,
}

impl Change for Whole {
    type Value = Serving;

    fn on(self, value: Serving) -> Serving {
        match (self, value) {
            (Self::Define, Serving::Nobody) => Serving::Policy(0, ChosenBy::Configuration, None),
            (Self::Activate(policy), Serving::Policy(now, _, before)) => {
                Serving::Policy(policy, ChosenBy::Operator, if policy == now { before } else { Some(now) })
            }
            (Self::RollBack, Serving::Policy(now, _, Some(before))) => {
                Serving::Policy(before, ChosenBy::Operator, Some(now))
            }
            (Self::Tend, Serving::Policy(now, _, Some(before))) if is_faulty(now) && !is_faulty(before) => {
                Serving::Policy(before, ChosenBy::RollBack, Some(now))
            }
            (Self::Remove, _) => Serving::Nobody,
            (Self::Define | Self::Activate(_) | Self::RollBack | Self::Tend | Self::Look, value) => value,
        }
    }

    fn succeeds_on(self, value: Serving) -> bool {
        match self {
            Self::Define | Self::Tend => true,
            Self::RollBack => matches!(value, Serving::Policy(_, _, Some(_))),
            Self::Activate(_) | Self::Remove | Self::Look => value != Serving::Nobody,
        }
    }
}

/// The state of a block in a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Block {
    Absent,
    Supplied,
    Draining,
}

/// A change of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Supply {
    Add,
    Drain,
    Undrain,
    Withdraw,
    /// No change, but addresses of the block may be handed out meanwhile.
    Look,
}

impl Change for Supply {
    type Value = Block;

    fn on(self, value: Block) -> Block {
        match (self, value) {
            (Self::Add, Block::Absent) | (Self::Undrain, Block::Draining) => Block::Supplied,
            (Self::Drain, Block::Supplied) => Block::Draining,
            (Self::Withdraw, _) => Block::Absent,
            (_, value) => value,
        }
    }

    fn succeeds_on(self, value: Block) -> bool {
        self != Self::Add || value == Block::Absent
    }
}

/// An outside observer's knowledge of a network.
#[derive(Debug)]
pub(super) struct NetworkKnowledge {
    whole: Register<Whole>,
    blocks: Vec<Register<Supply>>,
    /// The addresses in quarantine; no removal of the network ends that.
    quarantines: Quarantines,
}

impl Default for NetworkKnowledge {
    fn default() -> Self {
        let blocks = (0..BLOCKS).map(|_| Register::new(Block::Absent)).collect();
        Self { whole: Register::new(Serving::Nobody), blocks, quarantines: Quarantines::default() }
    }
}

impl NetworkKnowledge {
    /// A request is sent that may define the network and get addresses.
    pub(super) fn asked(&mut self, id: u64) {
        self.whole.sent(id, Whole::Define);
        self.blocks.iter_mut().for_each(|block| block.sent(id, Supply::Look));
        self.quarantines.asked(id);
    }

    /// A request is sent that may get addresses, if the network exists.
    pub(super) fn claiming(&mut self, id: u64) {
        self.whole.sent(id, Whole::Look);
        self.blocks.iter_mut().for_each(|block| block.sent(id, Supply::Look));
        self.quarantines.asked(id);
    }

    /// A change of the network as a whole is sent.
    pub(super) fn sent(&mut self, id: u64, change: Whole) {
        self.whole.sent(id, change);
        if matches!(change, Whole::Remove) {
            self.blocks.iter_mut().for_each(|block| block.sent(id, Supply::Withdraw));
        }
    }

    /// A change of a block is sent.
    pub(super) fn supply_sent(&mut self, id: u64, number: usize, change: Supply) {
        if let Some(block) = self.blocks.get_mut(number) {
            block.sent(id, change);
        }
    }

    /// An operator puts an address into quarantine, or takes it out.
    pub(super) fn quarantine_sent(&mut self, id: u64, address: IpAddr, change: Quarantine) {
        self.quarantines.sent(id, address, change);
    }

    pub(super) fn ended(&mut self, id: u64, success: bool) {
        self.whole.ended(id, success);
        self.quarantines.ended(id, success);
        self.blocks.iter_mut().for_each(|block| block.ended(id, success));
    }

    pub(super) fn cut_off(&mut self) {
        self.whole.cut_off();
        self.quarantines.cut_off();
        self.blocks.iter_mut().for_each(Register::cut_off);
    }

    /// The answer to a removal was that there is no such network.
    pub(super) fn was_not_there(&mut self, id: u64) -> Result<()> {
        let possible = self.whole.possible().clone();
        ensure!(
            self.whole.was(id, Serving::Nobody),
            "I2: the network was reported not to exist, but {possible:?} are possible, and nobody else has removed it"
        );
        self.blocks.iter_mut().for_each(|block| block.ended(id, true));
        Ok(())
    }

    /// Whether an address may have been handed out to a request since it was sent.
    pub(super) fn may_grant(&self, id: u64, address: IpAddr) -> bool {
        let by_policy = self.whole.since(id).into_iter().any(|serving| match serving {
            Serving::Nobody => false,
            Serving::Policy(policy, ..) => pool_of(policy)
                .is_some_and(|range| range.contains(address) && range.reserved(address).is_none()),
        });
        let by_block = self.blocks.iter().enumerate().any(|(number, known)| {
            let range = block(number);
            let is_in =
                range.is_some_and(|range| range.contains(address) && range.reserved(address).is_none());
            is_in && known.since(id).contains(&Block::Supplied)
        });
        (by_policy || by_block) && self.quarantines.may_grant(id, address)
    }

    /// Checks a recovered network, or a network at rest, against all answers.
    ///
    /// Returns whether the network was rolled back by itself.
    pub(super) fn check(&mut self, book: Option<&Book>, served: Option<&Served>) -> Result<bool> {
        let serving = served.map_or(Some(Serving::Nobody), |served| {
            let number =
                |choice: &Choice| POLICIES.iter().position(|name| *name == choice.policy.name.as_str());
            let before = served.before.front().map(|before| number(before).ok_or(())).transpose().ok()?;
            Some(Serving::Policy(number(&served.now)?, served.now.by.into(), before))
        });
        ensure!(book.is_some() == served.is_some(), "only half of a group was recovered: {served:?}");
        if let Some(book) = book {
            let mut certain = self.quarantines.certain().filter(|address| book.pool_of(*address).is_some());
            let forgotten = certain.find(|address| book.quarantine_of(*address).is_none());
            ensure!(forgotten.is_none(), "I4: {forgotten:?} is not in quarantine any more");
        }
        let possible = self.whole.possible().clone();
        let found = serving.is_some_and(|serving| self.whole.found(serving));
        ensure!(found, "I2: {serving:?} serves, but only {possible:?} are possible");
        for (number, known) in self.blocks.iter_mut().enumerate() {
            let name = block(number).map(|range| range.name().clone());
            let views = book.into_iter().flat_map(|book| book.ranges(1));
            let view = views.into_iter().find(|view| name.as_ref() == Some(view.range.name()));
            let found = view.map_or(Block::Absent, |view| match view.draining {
                true => Block::Draining,
                false => Block::Supplied,
            });
            let possible = known.possible().clone();
            ensure!(
                known.found(found),
                "I2: block {number} is {found:?}, but only {possible:?} are possible"
            );
        }
        Ok(matches!(serving, Some(Serving::Policy(_, ChosenBy::RollBack, _))))
    }
}
