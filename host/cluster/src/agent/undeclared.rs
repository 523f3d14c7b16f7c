//! Fields that the definition in the API server does not declare, such as one of an earlier version. A merge patch loses them without a word; an apply is
//! refused for each of them, and the refusal names them. An apply all the same: what it leaves out is gone from the object, also after a change of versions.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use tenure_leases::NodeIpamSpec;

/// The end of the words about each of them.
const UNDECLARED: &str = ": field not declared in schema";

/// How long words stand that the API server has without some fields. It may get a later definition, and says nothing then.
pub(crate) const CUT_FOR: Duration = Duration::from_secs(600);

/// The agent's half as the API server has it, if that is less than what was written.
#[derive(Debug)]
pub(crate) struct CutWords {
    /// The words as they are stored; `None` if they cannot be read.
    pub(crate) stored: Option<NodeIpamSpec>,
    /// The time from which everything is written again, by the boot clock.
    pub(crate) until: Duration,
}

/// Leaves out of an object what the refusal of its apply names as undeclared, below its `spec`. Returns the fields that were left out: none of them if it
/// was refused for something else.
pub(crate) fn leave_out(object: &mut Value, refusal: &str) -> BTreeSet<String> {
    let paths = refusal.lines().filter_map(|line| line.strip_suffix(UNDECLARED)?.rsplit(' ').next());
    let mut left_out = BTreeSet::new();
    for path in paths {
        let names = names(path);
        if let ["spec", _, ..] = names.as_slice() {
            let is_there = remove(object, &names);
            left_out.extend(is_there.then(|| names.join(".")));
        }
    }
    left_out
}

/// The names of a path such as `.spec.held[cidr="10.0.0.0/26"].group`, without the places in lists.
fn names(path: &str) -> Vec<&str> {
    let outside = path.split('[').map(|part| part.split_once(']').map_or(part, |(_, behind)| behind));
    outside.flat_map(|part| part.split('.')).filter(|name| !name.is_empty()).collect()
}

/// Removes a field, in each entry of the lists on the way to it. Returns whether it was in one of them.
fn remove(value: &mut Value, names: &[&str]) -> bool {
    match (value, names) {
        (Value::Array(entries), _) => {
            let mut is_there = false;
            for entry in entries {
                is_there |= remove(entry, names);
            }
            is_there
        }
        (Value::Object(fields), [name]) => fields.remove(*name).is_some(),
        (Value::Object(fields), [name, behind @ ..]) => {
            fields.get_mut(*name).is_some_and(|value| remove(value, behind))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        let turn =
            |block: &str| json!({ "block": block, "claim": { "name": "db-0" }, "guest": { "runs": true } });
        json!({
            "metadata": { "name": "n1" },
            "spec": { "held": [{ "cidr": "10.0.0.0/26", "group": "blue" }], "claims": [turn("a"), turn("b")], "heard": "7" },
        })
    }

    fn left_out(refusal: &str) -> (BTreeSet<String>, Value) {
        let mut object = object();
        (leave_out(&mut object, refusal), object)
    }

    #[test]
    fn a_field_that_the_definition_lacks_is_left_out_of_each_entry() {
        let refusal = r#"failed to create typed patch object (/n1; ipam.tenure.dev/v1alpha1, Kind=NodeIPAM): .spec.claims[block="default.10-0-0-9.32"].claim: field not declared in schema"#;
        let (fields, object) = left_out(refusal);
        assert_eq!(fields, ["spec.claims.claim".to_owned()].into());
        let claims =
            json!([{ "block": "a", "guest": { "runs": true } }, { "block": "b", "guest": { "runs": true } }]);
        assert_eq!(object["spec"]["claims"], claims);
        assert_eq!(object["spec"]["held"][0]["group"], "blue");
    }

    #[test]
    fn a_refusal_may_name_several() {
        let refusal = r#"failed to create typed patch object (/n1; ipam.tenure.dev/v1alpha1, Kind=NodeIPAM): errors:
  .spec.heard: field not declared in schema
  .spec.held[cidr="10.0.0.0/26"].group: field not declared in schema
  .spec.claims[block="b"].guest.runs: field not declared in schema"#;
        let (fields, object) = left_out(refusal);
        let all = ["spec.claims.guest.runs", "spec.heard", "spec.held.group"].map(str::to_owned);
        assert_eq!(fields, all.into());
        assert_eq!(object["spec"]["held"], json!([{ "cidr": "10.0.0.0/26" }]));
        assert_eq!((object["spec"].get("heard"), &object["spec"]["claims"][0]["guest"]), (None, &json!({})));
    }

    #[test]
    fn nothing_is_left_out_for_another_reason_and_nothing_of_what_the_object_is() {
        for refusal in [
            "NodeIPAM.ipam.tenure.dev \"n1\" is invalid: spec.claims: Too many: 300: must have at most 256 items",
            ".metadata.name: field not declared in schema",
            ".spec: field not declared in schema",
            ".spec.other: field not declared in schema",
        ] {
            assert_eq!(left_out(refusal), (BTreeSet::new(), object()), "{refusal}");
        }
    }
}
