//! The address of a claim: which node may use it.
//!
//! ```text
//!   the block's turn      the nodes say                                 step
//!   ────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   a node's, any         that node's words are missing, or its         wait: fencing decides, never time alone
//!                         block is in quarantine
//!   a node's              that node says this turn, wanted or held      wait: the node has the address
//!   a node's              that node does not say this turn              end the turn, after a quorum GET of its words
//!   nobody's              one node holds the address                    give that turn back: the record was lost
//!   nobody's              several nodes hold it                         wait: a conflict, which only people can settle
//!   nobody's              none holds it, and the claim is over          end the lease
//!   nobody's              none holds it, and a node wants it            begin the first such turn
//! ```
//!
//! So the address has at most one user: a turn begins only when no other has it, and each change of the turn carries the version of the block that
//! was read. A turn ends only after its node durably dropped the address, or after the node was fenced.
//!
//! The live migration of a virtual machine is the one exception: the machine has two pods for a while, and its block an alternate turn beside the
//! active one. The machine, and so the address, is in use in the active turn.
//!
//! ```text
//!   active      alternate                                               step
//!   ────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//!   said        none, and a pod of the same machine wants the address   begin the alternate
//!   any         not said: the migration was given up, or is over        end the alternate, after a quorum GET of its node's words
//!   any         its node says that the machine runs there               switch: the two change places in one write
//!   not said    any other                                               switch: the alternate goes on alone
//!   nobody's    any other                                               switch
//! ```
//!
//! The turn that the machine has left becomes the alternate, and does not become active again for what its node says: its pod may have been the
//! target of an earlier migration.

use crate::{ClaimTurn, TurnId, TurnState, Uid};

/// A turn that the claim's block names, with what is known of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveTurn {
    /// The turn.
    pub turn: TurnId,
    /// Whether the node, on the machine that began the turn, still says it; `None` if its words are missing or it looks dead.
    pub is_said: Option<bool>,
    /// The virtual machine of the turn's pod.
    pub guest: Option<Uid>,
    /// Whether that machine has moved on to the other turn.
    pub has_left: bool,
}

/// Everything that decides about a claim's block.
#[derive(Debug)]
pub struct TurnCase<'a> {
    /// Whether the claim is gone or leaving.
    pub is_over: bool,
    /// The block's turn.
    pub active: Option<ActiveTurn>,
    /// The turn of the other pod of a virtual machine that moves.
    pub alternate: Option<ActiveTurn>,
    /// The turns that nodes say, in the order in which they are served. Those of nodes that may not have the address are left out, unless they hold it.
    pub turns: &'a [&'a ClaimTurn],
    /// Whether the operator may grant now.
    pub may_grant: bool,
}

/// The next step about a claim's block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// Leave the block as it is.
    Wait,
    /// Begin this turn, which a node wants, or holds already.
    Begin(TurnId),
    /// Begin this turn beside the active one.
    BeginAlternate(TurnId),
    /// Let the active and the alternate turn change places.
    Switch,
    /// End the block's turn.
    End(TurnId),
    /// End the alternate turn.
    EndAlternate(TurnId),
    /// Delete the block: its claim is over, and no node has the address.
    Release,
}

/// Decides about a claim's block.
#[must_use]
pub fn turn(case: &TurnCase<'_>) -> TurnStep {
    if let Some(alternate) = case.alternate.filter(|alternate| alternate.is_said == Some(false)) {
        return TurnStep::EndAlternate(alternate.turn);
    }
    match (case.active, case.alternate) {
        (None, None) => first(case),
        (None, Some(_)) => TurnStep::Switch,
        (Some(active), alternate) => match (active.is_said, alternate) {
            (Some(false), None) => TurnStep::End(active.turn),
            (Some(false), Some(_)) => TurnStep::Switch,
            (_, Some(alternate)) if case.runs_in(alternate) => TurnStep::Switch,
            (Some(true), None) => case.target(active).map_or(TurnStep::Wait, TurnStep::BeginAlternate),
            _ => TurnStep::Wait,
        },
    }
}

/// Decides about a block without a turn.
fn first(case: &TurnCase<'_>) -> TurnStep {
    if !case.may_grant {
        return TurnStep::Wait;
    }
    let mut held = case.turns.iter().filter(|turn| turn.state == TurnState::Held);
    match held.next() {
        // Two pods of one machine do not conflict: the other one is its alternate.
        Some(first) if held.all(|other| is_one_machine(first, other)) => TurnStep::Begin(first.turn),
        Some(_) => TurnStep::Wait,
        None if case.is_over => TurnStep::Release,
        None => case.turns.first().map_or(TurnStep::Wait, |first| TurnStep::Begin(first.turn)),
    }
}

fn is_one_machine(one: &ClaimTurn, other: &ClaimTurn) -> bool {
    let uid = |turn: &ClaimTurn| turn.guest.map(|guest| guest.uid);
    uid(one).is_some() && uid(one) == uid(other)
}

impl TurnCase<'_> {
    /// Whether the virtual machine runs in the pod of the alternate turn by now.
    fn runs_in(&self, alternate: ActiveTurn) -> bool {
        let says = |turn: &&ClaimTurn| {
            turn.turn == alternate.turn
                && turn.state == TurnState::Held
                && turn.guest.is_some_and(|guest| guest.runs)
        };
        !alternate.has_left && self.turns.iter().any(says)
    }

    /// The turn of another pod of the virtual machine that has the address.
    fn target(&self, active: ActiveTurn) -> Option<TurnId> {
        let guest = active.guest.filter(|_| self.may_grant && !self.is_over)?;
        let is_target = |turn: &&&ClaimTurn| {
            turn.turn != active.turn && turn.guest.is_some_and(|other| other.uid == guest)
        };
        self.turns.iter().find(is_target).map(|turn| turn.turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlockName, TurnGuest};

    fn said(turn: u64, state: TurnState) -> ClaimTurn {
        let block = BlockName::new("default", "10.0.0.9/32".parse().unwrap()).unwrap();
        ClaimTurn { block, turn: TurnId(turn), state, pod: "default/db-0".into(), guest: None, claim: None }
    }

    fn of_guest(turn: ClaimTurn, uid: u128, runs: bool) -> ClaimTurn {
        ClaimTurn { guest: Some(TurnGuest { uid: Uid(uid), runs }), ..turn }
    }

    fn known(turn: u64, is_said: Option<bool>) -> ActiveTurn {
        ActiveTurn { turn: TurnId(turn), is_said, guest: None, has_left: false }
    }

    #[test]
    fn each_row_of_the_table() {
        let (one, two) = (said(1, TurnState::Wanted), said(2, TurnState::Wanted));
        let (held, other) = (said(1, TurnState::Held), said(2, TurnState::Held));
        let active = |is_said| Some(known(1, is_said));
        let case = |is_over, active, turns: &[&ClaimTurn]| {
            turn(&TurnCase { is_over, active, alternate: None, turns, may_grant: true })
        };
        for is_over in [false, true] {
            assert_eq!(case(is_over, active(None), &[&two]), TurnStep::Wait);
            assert_eq!(case(is_over, active(Some(true)), &[&one, &two]), TurnStep::Wait);
            assert_eq!(case(is_over, active(Some(true)), &[&held, &two]), TurnStep::Wait);
            assert_eq!(case(is_over, active(Some(false)), &[&two]), TurnStep::End(TurnId(1)));
            assert_eq!(case(is_over, None, &[&two, &held]), TurnStep::Begin(TurnId(1)));
            assert_eq!(case(is_over, None, &[&held, &other]), TurnStep::Wait);
        }
        assert_eq!(case(true, None, &[&one]), TurnStep::Release);
        assert_eq!(case(true, None, &[]), TurnStep::Release);
        assert_eq!(case(false, None, &[&two, &one]), TurnStep::Begin(TurnId(2)));
        assert_eq!(case(false, None, &[]), TurnStep::Wait);
    }

    #[test]
    fn nothing_begins_before_every_node_could_speak() {
        let wanted = said(1, TurnState::Wanted);
        let case =
            TurnCase { is_over: true, active: None, alternate: None, turns: &[&wanted], may_grant: false };
        assert_eq!(turn(&case), TurnStep::Wait);
        let ended = known(1, Some(false));
        assert_eq!(turn(&TurnCase { active: Some(ended), ..case }), TurnStep::End(TurnId(1)));
    }

    #[test]
    fn each_row_of_a_migration() {
        let guest = |turn, is_said| ActiveTurn { guest: Some(Uid(7)), ..known(turn, is_said) };
        let (source, target) = (said(1, TurnState::Held), said(2, TurnState::Held));
        let source = of_guest(source, 7, true);
        let (comes, runs) = (of_guest(target.clone(), 7, false), of_guest(target, 7, true));
        let case = |active, alternate, turns: &[&ClaimTurn]| {
            turn(&TurnCase { is_over: false, active, alternate, turns, may_grant: true })
        };
        // Only another pod of the same machine gets a turn beside the active one.
        let active = Some(guest(1, Some(true)));
        assert_eq!(case(active, None, &[&source, &comes]), TurnStep::BeginAlternate(TurnId(2)));
        assert_eq!(case(active, None, &[&source]), TurnStep::Wait);
        for other in [said(2, TurnState::Wanted), of_guest(said(2, TurnState::Wanted), 8, false)] {
            assert_eq!(case(active, None, &[&source, &other]), TurnStep::Wait);
            assert_eq!(case(Some(known(1, Some(true))), None, &[&source, &other]), TurnStep::Wait);
        }
        assert_eq!(case(Some(guest(1, None)), None, &[&comes]), TurnStep::Wait);
        // It is given up, or done, or left alone.
        let alternate = |is_said| Some(guest(2, is_said));
        for active in [Some(true), Some(false), None].map(|is_said| Some(guest(1, is_said))) {
            assert_eq!(case(active, alternate(Some(false)), &[]), TurnStep::EndAlternate(TurnId(2)));
            assert_eq!(case(active, alternate(Some(true)), &[&source, &runs]), TurnStep::Switch);
        }
        assert_eq!(case(active, alternate(Some(true)), &[&source, &comes]), TurnStep::Wait);
        assert_eq!(case(active, alternate(None), &[&source]), TurnStep::Wait);
        assert_eq!(case(Some(guest(1, None)), alternate(Some(true)), &[&comes]), TurnStep::Wait);
        assert_eq!(case(Some(guest(1, Some(false))), alternate(Some(true)), &[&comes]), TurnStep::Switch);
        assert_eq!(case(None, alternate(None), &[]), TurnStep::Switch);
        // What its node says of a machine that has moved on brings it back no more.
        let left = Some(ActiveTurn { has_left: true, ..guest(1, Some(true)) });
        assert_eq!(case(alternate(Some(true)), left, &[&source, &runs]), TurnStep::Wait);
        // Two pods of one machine whose block was lost are no conflict.
        assert_eq!(case(None, None, &[&source, &runs]), TurnStep::Begin(TurnId(1)));
        let stranger = of_guest(said(3, TurnState::Held), 8, true);
        assert_eq!(case(None, None, &[&source, &stranger]), TurnStep::Wait);
    }
}
