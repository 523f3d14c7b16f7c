//! An explained plan: what it was made from, what it has done, and why.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::iter;

use tenure_rpc::v1::{ExplainPlanResponse, PlannedEffect};

use super::page::Page;
use super::parts::{clean, or_dash, pairs, policy};
use super::shown::Shown;
use super::table::Table;

impl Shown for ExplainPlanResponse {
    /// The state, and then what would be done in it.
    fn page(&self, _: u64) -> Page {
        let pools = Table::of(&self.pools)
            .name("POOL", |pool| clean(&pool.name))
            .number("TOTAL", |pool| pool.total)
            .number("HELD", |pool| pool.held)
            .number("COOLING", |pool| pool.cooling)
            .number("FREE", |pool| pool.free)
            .number("WAITING", |pool| pool.waiting);
        let objects = self.objects.iter().map(|of| (clean(&of.kind), clean(&of.name), &of.attributes));
        let node = ("node".to_owned(), "-".to_owned(), &self.attributes);
        let pending = self.pending.iter().map(|of| ("under way".to_owned(), clean(&of.kind), &of.attributes));
        // What the policy is told besides the pools.
        let told: Vec<_> = objects.chain(iter::once(node)).chain(pending).collect();
        let told = Table::of(&told)
            .name("OBJECT", |(kind, ..)| kind.clone())
            .name("NAME", |(_, name, _)| name.clone())
            .prose("FACTS", |(.., attributes)| facts(attributes).replace(',', ", "));
        let (network, policy) = (clean(&self.network), policy(self.policy.as_ref()));
        Page::from(format!("network {network}, policy {policy}\n\n"))
            .table(pools)
            .section(told)
            .paragraph(effects(self))
    }
}

fn effects(answer: &ExplainPlanResponse) -> String {
    if !answer.code.is_empty() {
        return format!("nothing can be done ({}): {}\n", clean(&answer.code), clean(&answer.words));
    }
    if answer.effects.is_empty() && answer.refused.is_empty() {
        // Where there are effects, each has its reason; here only the policy's log says it.
        let lines = answer.lines.iter().map(|line| format!("  {}\n", clean(line)));
        let nothing = "nothing to do: the pools are as the policy wants them\n".to_owned();
        return std::iter::once(nothing).chain(lines).collect();
    }
    let mut out = String::new();
    for (head, effects) in [("would begin:", &answer.effects), ("would be refused:", &answer.refused)] {
        if !effects.is_empty() {
            out.push_str(head);
            out.push('\n');
            out.extend(effects.iter().map(effect));
        }
    }
    out
}

/// Shows an effect, and below it the policy's reason, and the host's reason to refuse it.
fn effect(effect: &PlannedEffect) -> String {
    let pool =
        if effect.pool.is_empty() { String::new() } else { format!(" for pool {}", clean(&effect.pool)) };
    let mut out = format!("  {}{pool}: {}\n", clean(&effect.kind), facts(&effect.attributes));
    for (head, words) in [("because", &effect.reason), ("refused:", &effect.refusal)] {
        if !words.is_empty() {
            out.push_str(&format!("    {head} {}\n", clean(words)));
        }
    }
    out
}

fn facts(attributes: &HashMap<String, String>) -> String {
    or_dash(&pairs(attributes))
}
