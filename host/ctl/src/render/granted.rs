//! A policy's grants and the use of its calls, as lines of its block.

use std::collections::{BTreeMap, HashMap};

use tenure_rpc::v1::{PolicyGrants, PolicyMeter};

use super::parts::{clean, joined};

/// Shows a policy's grants: a head and a value for each line.
pub(super) fn grants(grants: &PolicyGrants) -> Vec<(&'static str, String)> {
    let worlds = grants.worlds.iter().map(|world| {
        let granted = if world.granted { "" } else { " (not granted, and never called)" };
        format!("{}{granted}", clean(&world.name))
    });
    let worlds: Vec<_> = ["policy".to_owned()].into_iter().chain(worlds).collect();
    let all = |list: &[String], all: &str| if list.is_empty() { all.to_owned() } else { joined(list, ", ") };
    let mut lines = vec![
        ("worlds", worlds.join(", ")),
        ("networks", all(&grants.networks, "any")),
        ("ranges", all(&grants.within, "any")),
        ("effects", all(&grants.effects, "none")),
        ("limits", format!("{} ms and {} MiB for a call", grants.deadline_ms, grants.memory_bytes >> 20)),
    ];
    if grants.unchecked {
        lines.push(("unchecked", "yes; it may serve without passing the conformance suite".to_owned()));
    }
    lines
}

/// Shows the resources that its calls have used.
pub(super) fn meter(meter: &PolicyMeter) -> Vec<(&'static str, String)> {
    let mut lines = vec![("calls", meter.calls.to_string())];
    if let Some(mean) = meter.processor_us.checked_div(meter.calls) {
        let (us, host) = (meter.processor_us, meter.host_calls);
        lines.push(("processor", format!("{us} us in all, {mean} us for a call")));
        lines.push(("memory", format!("{} KiB at most in a call", meter.memory_peak_bytes.div_ceil(1024))));
        lines.push(("asked", format!("{host} calls of the host")));
    }
    for (head, counts) in
        [("failed", &meter.failures), ("refused", &meter.refusals), ("rejected", &meter.rejections)]
    {
        lines.push((head, counted(counts)));
    }
    if meter.trial_calls > 0 {
        let (calls, us) = (meter.trial_calls, meter.trial_processor_us);
        let trial = format!(
            "{calls} calls besides, of the conformance suite, shadows and comparisons; {us} us in all"
        );
        lines.push(("on trial", trial));
    }
    lines
}

fn counted(counts: &HashMap<String, u64>) -> String {
    let sorted: BTreeMap<_, _> = counts.iter().collect();
    let counts: Vec<_> = sorted.iter().map(|(name, count)| format!("{count} {}", clean(name))).collect();
    if counts.is_empty() { "0".to_owned() } else { counts.join(", ") }
}
