//! The values of the Helm chart that become keys of `tenured.toml`, against the daemon's tables: what a cluster's administrator sets is checked when Helm renders
//! it, and not at the next start of a daemon.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tenure_observe::logging::Filter;
use tenure_types::EffectKind;

use super::Config;
use super::settings::HOST_SETTINGS;

/// The objects of the chart's schema whose keys are those of a table: the object, the table, and the keys that the chart writes itself.
const TABLES: &[(&str, &str, &[&str])] = &[
    ("/properties/agent/properties/runtime", "RuntimeTable", &["socket"]),
    ("/properties/aws/properties/settings", "AwsTable", &["network"]),
    (
        "/properties/network/properties/settings",
        "NetworkTable",
        &["policy", "ipam", "config", "delegate", "delegate_config"],
    ),
    ("/properties/policies/additionalProperties/properties/settings", "PolicyTable", &["path"]),
];

fn read(name: &str) -> String {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/chart");
    fs::read_to_string(chart.join(name)).unwrap()
}

/// A table's properties, as schemars has them.
fn properties(table: &str) -> serde_json::Map<String, Value> {
    let schema = schemars::schema_for!(Config).to_value();
    schema["$defs"][table]["properties"].as_object().unwrap().clone()
}

/// The type of a property, and the bounds of a number. A key that is left out has no type `null`.
fn shape(property: &Value) -> (Vec<String>, Option<(u64, u64)>) {
    let types = property["type"].as_array().cloned().unwrap_or_else(|| vec![property["type"].clone()]);
    let types: Vec<_> = types.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let types: Vec<_> = types.into_iter().filter(|name| name != "null").collect();
    let bounds = types.contains(&"integer".to_owned()).then(|| {
        let least = property["minimum"].as_u64().unwrap_or(0);
        (least, property["maximum"].as_u64().unwrap_or(u32::MAX.into()))
    });
    (types, bounds)
}

/// The strings that an array of a policy's settings may have.
fn allowed<'a>(schema: &'a Value, pointer: &str) -> BTreeSet<&'a str> {
    let of = "/properties/policies/additionalProperties/properties/settings/properties";
    let names = schema.pointer(&format!("{of}/{pointer}")).unwrap().as_array().unwrap();
    names.iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_charts_schema_has_each_key_of_these_tables_with_its_type_and_its_bounds() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    for (pointer, table, own) in TABLES {
        let of_chart = schema.pointer(pointer).unwrap();
        assert_eq!(of_chart["additionalProperties"], false, "{pointer}");
        let of_chart = of_chart["properties"].as_object().unwrap();
        let of_table = properties(table);
        let names = |of: &serde_json::Map<String, Value>| of.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(of_chart), names(&of_table), "{pointer}");
        for (key, property) in of_chart {
            if own.contains(&key.as_str()) {
                assert_eq!(*property, false, "{pointer}: {key} is the chart's own");
                continue;
            }
            // An item of an array is a string everywhere.
            let is_list = property["type"] == "array";
            assert!(!is_list || property["items"]["type"] == "string", "{pointer}: {key}");
            assert_eq!(shape(property), shape(&of_table[key]), "{pointer}: {key}");
            let said = property["description"].as_str().unwrap();
            assert!(said.ends_with('.'), "{pointer}: {key}: {said}");
        }
    }
}

#[test]
fn the_charts_schema_has_each_name_that_a_list_may_contain() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let effects = EffectKind::ALL.map(EffectKind::name);
    assert_eq!(allowed(&schema, "effects/items/enum"), BTreeSet::from(effects));
    assert_eq!(
        allowed(&schema, "settings/items/anyOf/0/enum"),
        HOST_SETTINGS.iter().copied().collect::<BTreeSet<_>>()
    );
    let worlds = allowed(&schema, "worlds/items/enum");
    let table = |world: &str| format!("[policies.mine]\nworlds = [\"{world}\"]");
    assert!(worlds.len() == 2 && worlds.iter().all(|world| toml::from_str::<Config>(&table(world)).is_ok()));
}

#[test]
fn the_charts_template_knows_the_keys_of_the_cluster_and_the_parts_of_the_log() {
    let template = read("templates/_configuration.tpl");
    let list = |variable: &str| -> BTreeSet<String> {
        let begin = format!("${variable} := list ");
        let rest = template.split(&begin).nth(1).unwrap();
        let line = rest.lines().next().unwrap();
        line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let keys: BTreeSet<String> = properties("ClusterTable").keys().cloned().collect();
    let decided = ["networks", "node", "startup_taint"].map(str::to_owned);
    let known = list("known");
    assert!(known.is_disjoint(&BTreeSet::from(decided.clone())));
    assert_eq!(known.into_iter().chain(decided).collect::<BTreeSet<_>>(), keys);
    // The daemon names them when it refuses another.
    let refused = Filter::try_from("tenure_nothing=info".to_owned()).unwrap_err().to_string();
    let parts = refused.split("the parts are ").nth(1).unwrap().split(", ").map(str::to_owned);
    assert_eq!(list("parts"), parts.collect());
    assert!(list("levels").into_iter().all(|level| Filter::try_from(level).is_ok()));
}
