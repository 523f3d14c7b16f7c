//! An explained plan: what it was made from, what it has done, and why.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use tenure_rpc::v1::{ExplainPlanResponse, PlannedEffect};

use super::parts::{clean, or_dash, pairs, policy};
use super::table::{align_right, table, text};

/// The state, and then what would be done in it.
pub(super) fn plan(answer: &ExplainPlanResponse) -> String {
    let sections = [pools(answer), state(answer), effects(answer)];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    format!(
        "network {}, policy {}\n\n{}",
        clean(&answer.network),
        policy(answer.policy.as_ref()),
        sections.join("\n")
    )
}

fn pools(answer: &ExplainPlanResponse) -> String {
    let mut table = table(["POOL", "TOTAL", "HELD", "COOLING", "FREE", "WAITING"]);
    align_right(&mut table, &[1, 2, 3, 4, 5]);
    for pool in &answer.pools {
        let counts =
            [pool.total, pool.held, pool.cooling, pool.free, pool.waiting].map(|count| count.to_string());
        table.add_row(std::iter::once(clean(&pool.name)).chain(counts));
    }
    text(&table)
}

/// What the policy is told besides the pools.
fn state(answer: &ExplainPlanResponse) -> String {
    let mut table = table(["TOLD OF", "NAME", "FACTS"]);
    for object in &answer.objects {
        table.add_row([clean(&object.kind), clean(&object.name), facts(&object.attributes)]);
    }
    table.add_row(["node".to_owned(), "-".to_owned(), facts(&answer.attributes)]);
    for pending in &answer.pending {
        table.add_row(["under way".to_owned(), clean(&pending.kind), facts(&pending.attributes)]);
    }
    text(&table)
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

/// What an effect does, and below it why the policy wants it, and why the host refuses it.
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
