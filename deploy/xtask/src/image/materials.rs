//! The bill of materials of an image, in CycloneDX 1.6: the crates that are linked into its programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use super::layout::with;
use super::platform::Platform;
use crate::command::output;
use crate::workspace::Workspace;

/// The bill of materials of the programs of some packages, on one platform.
///
/// # Errors
/// If cargo cannot be asked.
pub(super) fn of(workspace: &Workspace, name: &str, packages: &[&str], platform: Platform) -> Result<String> {
    let target = platform.target();
    let arguments =
        ["metadata", "--all-features", "--locked", "--format-version", "1", "--filter-platform", &target];
    let metadata: Value = serde_json::from_str(&output(workspace.cargo().args(arguments))?)?;
    let lock = fs::read_to_string(workspace.root.join("Cargo.lock"))?;
    let bill = bill(&metadata, &checksums(&lock), name, packages);
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn bill(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    name: &str,
    packages: &[&str],
) -> Value {
    let linked = linked(metadata, packages);
    let found = metadata["packages"].as_array().into_iter().flatten();
    let mut components: Vec<Value> = found
        .filter(|package| package["id"].as_str().is_some_and(|id| linked.contains(id)))
        .map(|package| component(package, checksums))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].as_str().unwrap_or_default().to_owned());
    json!({
        "bomFormat": "CycloneDX",
        "components": components,
        "metadata": { "component": { "name": name, "type": "container", "version": env!("CARGO_PKG_VERSION") } },
        "specVersion": "1.6",
        "version": 1,
    })
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let purl = format!("pkg:cargo/{name}@{version}");
    let component =
        json!({ "bom-ref": purl, "name": name, "purl": purl, "type": "library", "version": version });
    // Older crates write a slash for OR.
    let licence = package["license"].as_str().map(|text| text.replace('/', " OR ").replace("  ", " "));
    let licences = licence.map(|text| ("licenses", json!([{ "expression": text }])));
    let checksum = checksums.get(&(name, version));
    let hashes = checksum.map(|checksum| ("hashes", json!([{ "alg": "SHA-256", "content": checksum }])));
    [licences, hashes]
        .into_iter()
        .flatten()
        .fold(component, |component, (key, value)| with(component, key, value))
}

/// The ids of all packages that are linked into programs of these: no build scripts, no macros of build scripts, no tests.
fn linked(metadata: &Value, packages: &[&str]) -> BTreeSet<String> {
    let nodes: BTreeMap<&str, &Value> = metadata
        .pointer("/resolve/nodes")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let mut pending: Vec<&str> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| package["name"].as_str().is_some_and(|name| packages.contains(&name)))
        .filter_map(|package| package["id"].as_str())
        .collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if !linked.insert(id.to_owned()) {
            continue;
        }
        let dependencies = nodes.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten();
        let is_normal = |dependency: &&Value| {
            dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
        };
        pending.extend(dependencies.filter(is_normal).filter_map(|dependency| dependency["pkg"].as_str()));
    }
    linked
}

/// The checksums of a Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), checksum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_with_its_checksum_and_what_only_builds_is_not() {
        let metadata = json!({
            "packages": [
                { "id": "p", "name": "program", "version": "1.0.0", "license": "MIT/Apache-2.0" },
                { "id": "l", "name": "linked", "version": "2.0.0" },
                { "id": "b", "name": "builds", "version": "3.0.0" },
            ],
            "resolve": { "nodes": [
                { "id": "p", "deps": [
                    { "pkg": "l", "dep_kinds": [{ "kind": null }] },
                    { "pkg": "b", "dep_kinds": [{ "kind": "build" }] },
                ] },
                { "id": "l", "deps": [{ "pkg": "p", "dep_kinds": [{ "kind": "dev" }] }] },
            ] },
        });
        let lock = "[[package]]\nname = \"linked\"\nversion = \"2.0.0\"\nchecksum = \"ab\"\n\n[[package]]\nname = \"program\"\nversion = \"1.0.0\"\n";
        let bill = bill(&metadata, &checksums(lock), "image", &["program"]);
        let components = bill["components"].as_array().unwrap();
        let names: Vec<_> = components.iter().map(|component| component["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["linked", "program"]);
        assert_eq!(components[0]["hashes"][0]["content"], "ab");
        assert_eq!(components[1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(components[1].get("hashes").is_none());
    }
}
