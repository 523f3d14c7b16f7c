//! Asking the policies for what a declaration has to make.
//!
//! ```text
//! for each network: its turn ─▶ some claims ─▶ others' turns ─▶ its turn ─▶ some more claims ... ─▶ nothing is missing
//! all networks: their turns together ─▶ every proposal still fits its book? ─ yes ─▶ one group of facts
//!                                                  └── no: only what does not is asked for again ──┘
//! ```
//!
//! A network's turn is held while its own policy is asked, for a bounded number of claims at a time, and never while another
//! network's policy is asked or another network's turn is waited for.

use std::sync::Arc;

use tenure_types::Result;

use super::AgentClaims;
use super::delegated::ForClaims;
use super::pieces::{LONGEST_PIECE, MOST_IN_A_PIECE};
use super::plan::{Layout, Plan, Portion};
use super::together::{Together, together};
use crate::core::committer::defect;
use crate::give_way::give_way;
use crate::network::networks::Entered;
use crate::network::slot::Alone;

/// How often what is missing is asked for in several turns before the turn is kept to the end.
const PATIENCE: usize = 3;

/// A network's turn, and what a declaration does there as long as it lasts.
struct Consulted<'slot> {
    alone: Alone<'slot>,
    plan: Plan,
}

impl AgentClaims {
    /// Has each network's policy propose what is missing, and lays out what is done on all of them, with the turns of all;
    /// `None` if the networks have changed meanwhile, so that more is missing.
    pub(super) async fn agree<'slot>(
        &self,
        slots: &'slot [Entered<'_>],
        portions: &mut [Portion<'_>],
        given: &ForClaims,
    ) -> Result<Option<(Vec<Alone<'slot>>, Vec<Plan>)>> {
        let mut last = None;
        for (index, (slot, portion)) in slots.iter().zip(portions.iter_mut()).enumerate() {
            drop(last.take());
            last = Some((index, self.consult(slot, portion, given).await?));
        }
        // Without a network, there is nothing to agree on.
        let Some((index, Consulted { alone, plan })) = last else {
            return Ok(Some((Vec::new(), Vec::new())));
        };
        let Some(Together { turns, waited }) = together(slots, index, alone).await else { return Ok(None) };
        // Nobody has changed that network since.
        let mut plan = Some(plan).filter(|_| !waited);
        let (now, mut plans) = (self.core.now(), Vec::new());
        for (place, (alone, portion)) in turns.iter().zip(portions.iter_mut()).enumerate() {
            if place == index
                && let Some(plan) = plan.take()
            {
                plans.push(plan);
                continue;
            }
            match self.lay_out(alone, portion, given, now)? {
                Layout { plan, missing: None } => plans.push(plan),
                Layout { missing: Some(_), .. } => return Ok(None),
            }
        }
        Ok(Some((turns, plans)))
    }

    /// Has a network's policy propose what is missing there. Returns in the turn in which nothing is.
    async fn consult<'slot>(
        &self,
        slot: &'slot Entered<'_>,
        portion: &mut Portion<'_>,
        given: &ForClaims,
    ) -> Result<Consulted<'slot>> {
        let mut alone = slot.alone().await;
        let mut round = 0;
        loop {
            let now = self.core.now();
            let Layout { mut plan, missing } = self.lay_out(&alone, portion, given, now)?;
            let Some((policy, missing)) = missing else { return Ok(Consulted { alone, plan }) };
            self.imports.admits_beside_others(portion.network, None).await?;
            // A change of a policy's state voids its proposals, so a policy with a state is asked in one turn.
            let in_one_turn = round >= PATIENCE || policy.keeps_state();
            let base = through(&alone);
            let (mut asked, mut began) = (0, self.core.ports.clock.monotonic());
            for one in missing {
                let held = self.core.ports.clock.monotonic().saturating_sub(began);
                if !in_one_turn && asked > 0 && (asked >= MOST_IN_A_PIECE || held >= LONGEST_PIECE) {
                    // The draft is a copy from here on, so that others change the book without copying it.
                    plan.book()?;
                    drop(alone);
                    give_way().await;
                    alone = slot.alone().await;
                    (asked, began) = (0, self.core.ports.clock.monotonic());
                }
                let book = Arc::clone(plan.book()?);
                let state =
                    portion.proposals.state().ok_or_else(|| defect("a policy is asked with no state"))?;
                let question = one.question(policy.as_ref(), book, now);
                let (allocation, proposed, _) = self.decide(&alone, &question, state).await?;
                drop(question);
                plan.create(&one, allocation, now);
                portion.proposals.add(one.key, proposed);
                asked += 1;
            }
            if base.is_some() && through(&alone) == base {
                return Ok(Consulted { alone, plan });
            }
            round += 1;
        }
    }
}

/// The place in the log that a network's book is current as of.
fn through(alone: &Alone<'_>) -> Option<u64> {
    alone.state().as_ref().map(|served| served.book.through())
}
