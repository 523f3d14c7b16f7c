//! Compares decoded messages of two versions: names, addresses and outcomes must be equal, times and wording need not be.

use serde_json::Value;

/// Fields whose values may differ but must not become empty, with the reason.
const MAY_DIFFER: &[(&[&str], &str)] = &[
    (
        &[
            "allocated_at_ms",
            "cooling_for_ms",
            "since_ms",
            "started_at_boot_ms",
            "started_at_boot_ns",
            "uptime_ms",
        ],
        "a time",
    ),
    (
        &["detail", "message", "next_step", "problem", "reason", "reasons", "subject", "unknown_because"],
        "text for people",
    ),
    (&["boot_id", "claims", "netns_device", "netns_inode", "state_dir"], "specific to the machine"),
    (&["compared", "generation", "log_bytes", "snapshot_bytes"], "a detail of the storage"),
    (&["in_flight", "queued"], "a momentary load"),
    (&["sha256", "version"], "specific to the version"),
    // False counts as empty, so it is never taken back.
    (
        &["exclusive"],
        "asked for by an import from ipamd as well by now, as any daemon has done for host-local",
    ),
];

/// Fields that must be equal as a whole: a CNI result, and a CNI configuration.
const EXACT: &[&str] = &["config", "output"];

/// Lists to which a newer version may add entries.
const MAY_GROW: &[&str] = &["conditions", "policies"];

/// The differences that would break a program: the path, the old value and the new one.
#[must_use]
pub fn between(was: &Value, is: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    compare("", "", was, is, &mut differences);
    differences
}

fn compare(path: &str, key: &str, was: &Value, is: &Value, out: &mut Vec<String>) {
    if MAY_DIFFER.iter().any(|(fields, _)| fields.contains(&key)) {
        if !is_empty(was) && is_empty(is) {
            out.push(format!("{path}: was {was}, is empty"));
        }
        return;
    }
    match (was, is) {
        _ if was == is => {}
        _ if EXACT.contains(&key) => out.push(format!("{path}: was {was}, is {is}")),
        (Value::Object(were), Value::Object(are)) => {
            let keys = were.keys().chain(are.keys().filter(|key| !were.contains_key(*key)));
            for key in keys {
                let value = |of: &serde_json::Map<String, Value>| of.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}/{key}"), key, &value(were), &value(are), out);
            }
        }
        (Value::Array(were), Value::Array(are)) if MAY_GROW.contains(&key) => {
            let missing = were.iter().filter(|was| !are.iter().any(|is| between(was, is).is_empty()));
            out.extend(missing.map(|was| format!("{path}: {was} is missing from {is}")));
        }
        (Value::Array(were), Value::Array(are)) if were.len() == are.len() => {
            for (index, (was, is)) in were.iter().zip(are).enumerate() {
                // An entry has the key of its list.
                compare(&format!("{path}/{index}"), key, was, is, out);
            }
        }
        _ => out.push(format!("{path}: was {was}, is {is}")),
    }
}

/// Whether protocol buffers encode this value by leaving the field out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// The strings and numbers of a JSON report, except times, whose form may change, and texts that the program itself composes.
#[must_use]
pub fn leaves(value: &Value) -> Vec<String> {
    const OWN_WORDS: &[&str] = &["next_step", "why"];
    let mut leaves = Vec::new();
    collect("", value, &|key| !OWN_WORDS.contains(&key) && !key.ends_with("_ms"), &mut leaves);
    leaves
}

/// The names and addresses in a message, by which people recognise what it is about.
#[must_use]
pub fn names(value: &Value) -> Vec<String> {
    const NAMES: &[&str] = &[
        "addresses",
        "container_id",
        "gateways",
        "interface",
        "name",
        "network",
        "networks",
        "pod_name",
        "pod_namespace",
        "ranges",
    ];
    let mut names = Vec::new();
    collect("", value, &|key| NAMES.contains(&key), &mut names);
    names
}

fn collect(key: &str, value: &Value, wanted: &impl Fn(&str) -> bool, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(key, item, wanted, out)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(key, value, wanted, out)),
        Value::String(text) if wanted(key) && !text.is_empty() => out.push(text.clone()),
        Value::Number(number) if wanted(key) => out.push(number.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_must_be_equal_and_a_time_only_be_there() {
        let was = json!({ "network": "pods", "addresses": ["10.1.0.2/24"], "allocated_at_ms": 5, "waiting": false });
        let mut is = was.clone();
        is["allocated_at_ms"] = json!(7);
        assert_eq!(between(&was, &is), [""; 0]);
        is["allocated_at_ms"] = json!(0);
        assert_eq!(between(&was, &is), ["/allocated_at_ms: was 5, is empty"]);
        let mut is = was.clone();
        is["addresses"][0] = json!("10.1.0.3/24");
        assert_eq!(between(&was, &is), ["/addresses/0: was \"10.1.0.2/24\", is \"10.1.0.3/24\""]);
        is["addresses"] = json!([]);
        assert_eq!(between(&was, &is), ["/addresses: was [\"10.1.0.2/24\"], is []"]);
    }

    #[test]
    fn a_newer_daemon_may_know_more_policies_but_not_fewer() {
        let policies = |names: &[&str]| json!({ "policies": names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>() });
        assert_eq!(between(&policies(&["a"]), &policies(&["b", "a"])), [""; 0]);
        let differences = between(&policies(&["a", "b"]), &policies(&["b"]));
        assert_eq!(differences, ["/policies: {\"name\":\"a\"} is missing from [{\"name\":\"b\"}]"]);
        let networks = |names: &[&str]| json!({ "networks": names });
        assert!(!between(&networks(&["a"]), &networks(&["a", "b"])).is_empty());
    }

    #[test]
    fn what_people_must_be_shown() {
        let value = json!({ "network": "pods", "generation": 3, "held": 2, "addresses": ["10.1.0.2/24", ""], "outcome": "kept" });
        assert_eq!(leaves(&value), ["10.1.0.2/24", "3", "2", "pods", "kept"]);
        assert_eq!(names(&value), ["10.1.0.2/24", "pods"]);
    }
}
