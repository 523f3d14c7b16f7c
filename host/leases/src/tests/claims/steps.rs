//! The steps of the nodes and of the leaders.

use super::{BlockTurn, Claims, Fault, Held, NODES, NodeState, Pending, State, Write};
use crate::tests::explorer::StepKind;

impl Claims {
    pub(super) fn node_steps(
        &self,
        state: &State,
        index: usize,
        add: &mut impl FnMut(&'static str, StepKind, State),
    ) {
        use StepKind::{Fault as Breaks, Progress, Wish};
        let node = state.nodes[index];
        let mut step = |what, kind, change: &dyn Fn(&mut State, usize)| {
            let mut next = *state;
            change(&mut next, index);
            add(what, kind, next);
        };
        if node.is_dead {
            step("comes back", Progress, &|next, index| {
                let node = &mut next.nodes[index];
                node.is_dead = false;
                let keeps = self.is(Fault::Unconfirmed);
                // The pod of a machine did not survive the reboot, and no other pod may have its turn.
                let kept = node.held.filter(|held| !held.is_guest || keeps);
                node.held = kept.map(|held| Held { is_confirmed: keeps, ..held });
            });
            return;
        }
        let other = state.nodes[1 - index];
        if node.pod.is_none() && state.wishes < self.wishes {
            for is_guest in [false, true] {
                step("gets a pod", Wish, &|next, index| {
                    next.wishes += 1;
                    let node = &mut next.nodes[index];
                    node.pod = Some(is_guest);
                    node.runs = is_guest && other.pod != Some(true);
                });
            }
        }
        if node.pod == Some(true) && !node.runs && node.is_used {
            step("is where the machine runs", Progress, &|next, index| next.nodes[index].runs = true);
        }
        if node.pod.is_some() {
            step("loses its pod", Progress, &|next, index| {
                let node = &mut next.nodes[index];
                (node.pod, node.is_used, node.runs) = (None, false, false);
            });
        }
        if node.pod.is_some() && node.held.is_none() && node.wanted.is_none() && state.drawn < self.turns {
            step("draws a turn", Progress, &|next, index| {
                let same = self.is(Fault::SameTurn).then(|| u8::try_from(index).unwrap() + 1);
                next.drawn += 1;
                let drawn = next.drawn + 2;
                let node = &mut next.nodes[index];
                node.wanted = node.pod.map(|is_guest| (same.unwrap_or(drawn), is_guest));
            });
        }
        let wants = node.wanted.is_some_and(|(_, of)| node.pod == Some(of));
        if node.wanted.is_some() && !wants && !node.is_taken {
            step("no longer wants", Progress, &|next, index| next.nodes[index].wanted = None);
        }
        if node.said != self.words(&node) {
            step("speaks", Progress, &|next, index| {
                next.nodes[index].said = self.words(&next.nodes[index]);
            });
        }
        let says = node.wanted.filter(|(id, _)| wants && node.said.is_some_and(|said| said.id == *id));
        if let Some((id, _)) = says.filter(|_| !node.is_taken)
            && (self.is(Fault::UsesUnread) || self.may_take(state, index, id))
        {
            step("reads that it has the turn", Progress, &|next, index| next.nodes[index].is_taken = true);
        }
        if let Some((id, is_guest)) = node.wanted.filter(|_| node.is_taken) {
            step("records the turn", Progress, &|next, index| {
                let node = &mut next.nodes[index];
                node.held = Some(Held { id, is_guest, is_confirmed: true });
                (node.wanted, node.is_taken) = (None, false);
            });
        }
        let Some(held) = node.held else { return };
        let is_own = node.pod.is_some_and(|is_guest| is_guest == held.is_guest);
        if is_own && held.is_confirmed && !node.is_used {
            step("gives the address to its pod", Progress, &|next, index| next.nodes[index].is_used = true);
        }
        if !held.is_confirmed && !state.is_quarantined {
            step("reads its turn again", Progress, &|next, index| {
                let named = next.names(index, held.id).is_some() && !next.is_released;
                next.nodes[index].held = named.then_some(Held { is_confirmed: true, ..held });
            });
        }
        if !node.is_used && (!is_own || other.pod.is_some() || state.is_over) {
            step("lets go", Progress, &|next, index| next.nodes[index].held = None);
        }
        if state.faults < self.faults {
            step("dies", Breaks, &|next, index| {
                next.faults += 1;
                let node = &mut next.nodes[index];
                let NodeState { held, said, .. } = *node;
                *node = NodeState { held, said, is_dead: true, ..NodeState::default() };
            });
        }
    }

    pub(super) fn leader_steps(
        &self,
        state: &State,
        index: usize,
        add: &mut impl FnMut(&'static str, StepKind, State),
    ) {
        let leader = state.leaders[index];
        for node in 0..NODES {
            if leader.seen[node] != state.nodes[node].said {
                let mut next = *state;
                next.leaders[index].seen[node] = state.nodes[node].said;
                add("sees the words of a node", StepKind::Progress, next);
            }
        }
        if let Some(pending) = leader.pending.filter(|pending| !pending.has_read) {
            let mut next = *state;
            let ending = match pending.write {
                Write::End(entry, false) | Write::EndAlternate(entry, false) => Some(entry),
                _ => None,
            };
            let said = ending.and_then(|entry| Some((entry, state.nodes[usize::from(entry.node)].said?)));
            let is_said = said.is_some_and(|(entry, said)| said.id == entry.id);
            next.leaders[index].pending = (!is_said).then_some(Pending { has_read: true, ..pending });
            add("reads the words of a node", StepKind::Progress, next);
            return;
        }
        if let Some(pending) = leader.pending {
            let mut next = self.perform(state, pending).unwrap_or(*state);
            next.leaders[index].pending = None;
            add("writes", StepKind::Progress, next);
            return;
        }
        if state.is_released {
            return;
        }
        let mut decides = |write: Write| {
            let mut next = *state;
            let has_read = self.is(Fault::EndsUnread)
                || !matches!(write, Write::End(_, false) | Write::EndAlternate(_, false));
            next.leaders[index].pending = Some(Pending { write, is_current: true, has_read });
            add("decides", StepKind::Progress, next);
        };
        let [one, other] = [false, true].map(|is_reversed| self.decide(state, &leader, is_reversed));
        one.into_iter().for_each(&mut decides);
        other.filter(|_| one != other).into_iter().for_each(&mut decides);
        // A person attests that a dead node is off.
        let is_off = |entry: &BlockTurn| state.nodes[usize::from(entry.node)].is_dead;
        match state.active {
            Some(entry) if is_off(&entry) && state.is_quarantined => decides(Write::End(entry, true)),
            Some(entry) if is_off(&entry) => decides(Write::Quarantine),
            Some(_) if state.is_quarantined => decides(Write::Return),
            _ => {}
        }
        if let Some(entry) = state.alternate.filter(is_off) {
            decides(Write::EndAlternate(entry, true));
        }
    }
}
