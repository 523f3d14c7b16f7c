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

use crate::{ClaimTurn, TurnId, TurnState};

/// The turn that a claim's block names, with what is known of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveTurn {
    /// The turn.
    pub turn: TurnId,
    /// Whether the node, on the machine that began the turn, still says it; `None` if its words are missing or it looks dead.
    pub is_said: Option<bool>,
}

/// Everything that decides about a claim's block.
#[derive(Debug)]
pub struct TurnCase<'a> {
    /// Whether the claim is gone or leaving.
    pub is_over: bool,
    /// The block's turn.
    pub active: Option<ActiveTurn>,
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
    /// End the block's turn.
    End(TurnId),
    /// Delete the block: its claim is over, and no node has the address.
    Release,
}

/// Decides about a claim's block.
#[must_use]
pub fn turn(case: &TurnCase<'_>) -> TurnStep {
    if let Some(active) = case.active {
        return match active.is_said {
            Some(false) => TurnStep::End(active.turn),
            Some(true) | None => TurnStep::Wait,
        };
    }
    if !case.may_grant {
        return TurnStep::Wait;
    }
    let mut held = case.turns.iter().filter(|turn| turn.state == TurnState::Held);
    match (held.next(), held.next()) {
        (Some(only), None) => TurnStep::Begin(only.turn),
        (Some(_), Some(_)) => TurnStep::Wait,
        (None, _) if case.is_over => TurnStep::Release,
        (None, _) => case.turns.first().map_or(TurnStep::Wait, |first| TurnStep::Begin(first.turn)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockName;

    fn said(turn: u64, state: TurnState) -> ClaimTurn {
        let block = BlockName::new("default", "10.0.0.9/32".parse().unwrap()).unwrap();
        ClaimTurn { block, turn: TurnId(turn), state, pod: "default/db-0".into() }
    }

    #[test]
    fn each_row_of_the_table() {
        let (one, two) = (said(1, TurnState::Wanted), said(2, TurnState::Wanted));
        let (held, other) = (said(1, TurnState::Held), said(2, TurnState::Held));
        let active = |is_said| Some(ActiveTurn { turn: TurnId(1), is_said });
        let case = |is_over, active, turns: &[&ClaimTurn]| {
            turn(&TurnCase { is_over, active, turns, may_grant: true })
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
        let case = TurnCase { is_over: true, active: None, turns: &[&wanted], may_grant: false };
        assert_eq!(turn(&case), TurnStep::Wait);
        let ended = ActiveTurn { turn: TurnId(1), is_said: Some(false) };
        assert_eq!(turn(&TurnCase { active: Some(ended), ..case }), TurnStep::End(TurnId(1)));
    }
}
