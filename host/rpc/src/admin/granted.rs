//! A policy's grants and its use of them, as messages.

use std::collections::HashMap;

use tenure_engine::Engine;
use tenure_engine::ports::Details;
use tenure_types::{Meter, PolicyName, PolicyStamp};

use crate::v1;

/// Converts a policy's own grants and the bounds of its name.
pub(super) fn grants(engine: &Engine, policy: &PolicyName, details: &Details) -> v1::PolicyGrants {
    let bounds = engine.settings().bounds.policies.get(policy).cloned().unwrap_or_default();
    let world = |(name, granted): &(&'static str, bool)| v1::PolicyWorld {
        name: (*name).to_owned(),
        granted: *granted,
    };
    v1::PolicyGrants {
        worlds: details.worlds.iter().map(world).collect(),
        effects: details.effects.iter().map(|effect| (*effect).to_owned()).collect(),
        deadline_ms: u64::try_from(details.deadline.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: details.memory,
        networks: bounds.networks.iter().map(ToString::to_string).collect(),
        within: bounds.within.iter().map(ToString::to_string).collect(),
        unchecked: details.unchecked,
    }
}

/// Tells what a policy cannot do with its present grants; empty if it can do all, or is not loaded.
pub(super) fn notice(engine: &Engine, policy: &PolicyStamp) -> String {
    engine.policy_details(policy).and_then(|details| details.notice(&policy.name)).unwrap_or_default()
}

/// Converts the resources that a policy's calls have used.
pub(super) fn meter(meter: &Meter) -> v1::PolicyMeter {
    let counts = |counts: &[(&'static str, u64)]| -> HashMap<String, u64> {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    v1::PolicyMeter {
        calls: meter.calls,
        processor_us: u64::try_from(meter.processor.as_micros()).unwrap_or(u64::MAX),
        memory_peak_bytes: meter.memory_peak,
        host_calls: meter.host_calls,
        failures: counts(&meter.failures),
        refusals: counts(&meter.refusals),
        rejections: counts(&meter.rejections),
        trial_calls: meter.trial_calls,
        trial_processor_us: u64::try_from(meter.trial_processor.as_micros()).unwrap_or(u64::MAX),
    }
}
