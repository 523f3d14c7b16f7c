//! Checks the book's page on dependencies against the workspace's real dependencies.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::command;
use crate::workspace::Workspace;

/// Compares the page with `cargo metadata`: each direct dependency must have a row with its licence, and no row may be obsolete.
///
/// # Errors
/// Names every row that is missing, wrong or obsolete.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let arguments = ["metadata", "--all-features", "--format-version", "1"];
    let text = command::output(workspace.cargo().args(arguments))?;
    let metadata: Value = serde_json::from_str(&text).context("cargo metadata did not print JSON")?;
    let page = fs::read_to_string(workspace.book().join("src/dependencies.md"))?;
    let complaints = compare(&direct(&metadata), &rows(&page));
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("deploy/book/src/dependencies.md:\n  {}", complaints.join("\n  "))
}

/// Name and licence of each external crate that a member of the workspace depends on.
fn direct(metadata: &Value) -> BTreeMap<String, String> {
    let packages = || metadata["packages"].as_array().into_iter().flatten();
    let licence = |name: &str| {
        let found = packages().find(|package| package["name"] == name);
        found.and_then(|package| package["license"].as_str()).unwrap_or_default().to_owned()
    };
    packages()
        .filter(|package| package["source"].is_null())
        .flat_map(|member| member["dependencies"].as_array().into_iter().flatten())
        .filter(|dependency| !dependency["source"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .map(|name| (name.to_owned(), licence(name)))
        .collect()
}

/// Name and licence in the page's rows, which have the form ``| `name` | licence | reason |``.
fn rows(page: &str) -> BTreeMap<String, String> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        Some((cells.next()?.trim_end_matches('`').to_owned(), cells.next()?.to_owned()))
    };
    page.lines().filter_map(row).collect()
}

fn compare(direct: &BTreeMap<String, String>, rows: &BTreeMap<String, String>) -> Vec<String> {
    let wrong = direct.iter().filter_map(|(name, licence)| match rows.get(name) {
        None => Some(format!("`{name}` ({licence}) has no row; add one that says why it is needed")),
        Some(written) if written != licence => Some(format!("`{name}` is under {licence}, not {written}")),
        Some(_) => None,
    });
    let left_over = rows.keys().filter(|name| !direct.contains_key(*name));
    wrong.chain(left_over.map(|name| format!("`{name}` is no longer a direct dependency"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_wanted_for_each_direct_dependency_with_its_licence() {
        let metadata = json!({ "packages": [
            { "name": "ours", "source": null, "license": "Apache-2.0", "dependencies": [
                { "name": "serde", "source": "registry" },
                { "name": "clap", "source": "registry" },
                { "name": "tenure-types", "source": null },
            ] },
            { "name": "serde", "source": "registry", "license": "MIT", "dependencies": [{ "name": "deep", "source": "registry" }] },
            { "name": "clap", "source": "registry", "license": "MIT", "dependencies": [] },
        ] });
        let page = "| crate | licence | why |\n|---|---|---|\n| `serde` | ISC | reads |\n| `gone` | MIT | nothing |\n";
        assert_eq!(
            compare(&direct(&metadata), &rows(page)),
            [
                "`clap` (MIT) has no row; add one that says why it is needed",
                "`serde` is under MIT, not ISC",
                "`gone` is no longer a direct dependency",
            ]
        );
    }
}
