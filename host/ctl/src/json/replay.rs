//! The result of a replay.

use serde_json::{Value, json};

use super::list;
use crate::report::{Difference, Replayed};

/// The replay as JSON.
pub(super) fn replayed(replayed: &Replayed) -> Value {
    let recorded: Vec<_> = replayed.recorded.iter().collect();
    json!({
        "policy": stamp(replayed.policy.as_str(), &replayed.digest),
        "recorded": list(&recorded, |(name, digest)| stamp(name, digest)),
        "decisions": replayed.decisions,
        "passed_over": replayed.passed_over,
        "differences": list(&replayed.differences, |Difference { decision, now }| json!({
            "network": decision.network,
            "number": decision.number,
            "at_ms": decision.at_ms,
            "function": decision.function,
            "pod_namespace": decision.attribute("pod.namespace").unwrap_or_default(),
            "pod_name": decision.attribute("pod.name").unwrap_or_default(),
            "recorded": decision.outcome,
            "now": now,
        })),
    })
}

fn stamp(name: &str, digest: &str) -> Value {
    json!({ "name": name, "sha256": digest })
}
