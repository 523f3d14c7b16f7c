//! The files that follow from the Helm chart: its copy of the definitions, and the plain manifests for clusters without Helm.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command::{output, run};
use crate::kubernetes;
use crate::workspace::Workspace;

/// The profiles of the chart.
const PROFILES: [&str; 3] = ["single-node", "cluster", "aws"];

/// The profiles whose configuration the built daemon reads, each with values that reach more of it.
const READ: [(&str, &str); 5] = [
    ("single-node", "agent.logLevel=debug,agent.runtime.exclusive=true"),
    ("cluster", "cluster.pools={pods},cluster.configuration=preallocation = 32"),
    ("aws", "network.ipam.warm.addresses=2,aws.settings.labels.pool=batch,aws.settings.max_pods=58"),
    ("aws", "aws.followPods=true,aws.removeTaint=true,cluster.configuration=preallocation = 32"),
    (
        "aws",
        "aws.followPods=true,aws.followNode=false,agent.logLevel=info\\, hyper::client = WARN\\,tenure_led",
    ),
];

/// The oldest version of Kubernetes that the chart supports, for which the manifests are rendered.
const OLDEST: &str = "1.33.0";

/// Writes all of it.
///
/// # Errors
/// If Helm cannot be built or refuses the chart.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    // The manifests contain the definitions.
    for (path, text) in definitions(workspace)? {
        save(&path, &text)?;
    }
    for (path, text) in manifests(workspace)? {
        save(&path, &text)?;
        println!("wrote {}", workspace.relative(&path).display());
    }
    Ok(())
}

/// Lints the chart, compares what follows from it with the committed files, and has the built daemon read its configuration.
///
/// # Errors
/// Names the files that are out of date, or what the daemon says.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let helm = kubernetes::helm(workspace)?;
    for profile in PROFILES {
        let profile = format!("profile={profile}");
        run(Command::new(&helm)
            .args(["lint", "--strict", "--quiet", "--kube-version", OLDEST, "--set", &profile])
            .arg(chart(workspace)))?;
    }
    for (profile, value) in READ {
        read(workspace, &helm, profile, value)?;
    }
    let mut expected = definitions(workspace)?;
    expected.extend(manifests(workspace)?);
    let stale: Vec<_> = expected
        .iter()
        .filter(|(path, text)| fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| workspace.relative(path).display().to_string())
        .collect();
    ensure!(stale.is_empty(), "out of date: {}; run `cargo xtask chart`", stale.join(", "));
    let strays: Vec<_> = [copies(workspace), folder(workspace)]
        .iter()
        .map(|folder| files(folder))
        .collect::<Result<Vec<_>>>()?
        .concat()
        .into_iter()
        .filter(|path| !expected.contains_key(path))
        .map(|path| workspace.relative(&path).display().to_string())
        .collect();
    ensure!(strays.is_empty(), "nothing writes {}: remove it", strays.join(", "));
    Ok(())
}

/// Checks a profile's configuration as the daemon's start would.
fn read(workspace: &Workspace, helm: &Path, profile: &str, value: &str) -> Result<()> {
    let (profile, template) = (format!("profile={profile}"), "templates/agent-configuration.yaml");
    let arguments = ["template", "tenure", "--show-only", template, "--set", &profile, "--set", value];
    let text = output(Command::new(helm).args(arguments).arg(chart(workspace)))?;
    let folder = workspace.target.join("tmp/chart");
    fs::create_dir_all(&folder)?;
    let file = folder.join("tenured.toml");
    save(&file, &block(&text, "  tenured.toml: |").context("the chart has no tenured.toml")?)?;
    let mut daemon = Command::new(workspace.binaries().join("tenured"));
    daemon.arg("--check-config").arg("--config").arg(&file);
    for (flag, name) in [("--run-dir", "run"), ("--state-dir", "state")] {
        daemon.arg(flag).arg(folder.join(name));
    }
    run(&mut daemon).with_context(|| format!("tenured refuses the configuration of {profile}"))
}

/// The text of a YAML block below a key of two spaces' depth.
fn block(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| *line != key).skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let block: String = lines.map(|line| format!("{}\n", line.get(4..).unwrap_or_default())).collect();
    Some(block).filter(|block| !block.is_empty())
}

fn chart(workspace: &Workspace) -> PathBuf {
    workspace.root.join("deploy/kubernetes/chart")
}

fn copies(workspace: &Workspace) -> PathBuf {
    chart(workspace).join("files/definitions")
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join("deploy/kubernetes/manifests")
}

/// The copies of the definitions in the chart: a chart contains no files from outside of its folder.
fn definitions(workspace: &Workspace) -> Result<BTreeMap<PathBuf, String>> {
    let mut copied = BTreeMap::new();
    for path in files(&workspace.root.join("deploy/kubernetes/definitions"))? {
        let text = fs::read_to_string(&path)?;
        // Helm would execute it.
        ensure!(!text.contains("{{"), "{} contains {{{{", path.display());
        copied.insert(copies(workspace).join(path.file_name().context("no name")?), text);
    }
    Ok(copied)
}

/// The manifests, one file for each profile.
fn manifests(workspace: &Workspace) -> Result<BTreeMap<PathBuf, String>> {
    let helm = kubernetes::helm(workspace)?;
    let manifest = |profile: &&str| {
        let text = render(workspace, &helm, &["namespace.create=true", &format!("profile={profile}")])?;
        let head = format!(
            "# Generated by `cargo xtask chart` from deploy/kubernetes/chart with profile={profile} and namespace.create=true.\n\
             # Set the images' registry and your ranges: kubectl apply --server-side -f {profile}.yaml\n"
        );
        Ok((folder(workspace).join(format!("{profile}.yaml")), head + &plain(&text)))
    };
    PROFILES.iter().map(manifest).collect()
}

/// The chart's objects as a release named `tenure`, with these values.
///
/// # Errors
/// If Helm refuses the chart or a value.
pub(crate) fn render(workspace: &Workspace, helm: &Path, values: &[&str]) -> Result<String> {
    let arguments = ["template", "tenure", "--namespace", "tenure-system", "--kube-version", OLDEST];
    let values = values.iter().flat_map(|value| ["--set", value]);
    output(Command::new(helm).args(arguments).args(values).arg(chart(workspace)))
}

/// The text without the labels by which Helm knows its own, and without spaces at line ends.
fn plain(text: &str) -> String {
    let is_helms = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("helm.sh/chart:") && line != "app.kubernetes.io/managed-by: Helm"
    };
    text.lines().filter(is_helms).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The files of a folder, in the order of names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn save(path: &Path, text: &str) -> Result<()> {
    let Some(parent) = path.parent() else { bail!("{} has no folder", path.display()) };
    fs::create_dir_all(parent)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_its_depth() {
        let text = "data:\n  a: |\n    [one]\n\n    two\n  b: |\n    three\n";
        assert_eq!(block(text, "  a: |").unwrap(), "[one]\n\ntwo\n");
        assert_eq!(block(text, "  b: |").unwrap(), "three\n");
        assert_eq!(block(text, "  c: |"), None);
    }

    #[test]
    fn manifests_do_not_pretend_to_be_helms() {
        let text = "labels:\n  app.kubernetes.io/name: tenure\n  app.kubernetes.io/managed-by: Helm\n  helm.sh/chart: tenure-0.1.0\n  \nend\n";
        assert_eq!(plain(text), "labels:\n  app.kubernetes.io/name: tenure\n\nend\n");
        // The annotation that keeps the definitions is not a label.
        assert_eq!(plain("    helm.sh/resource-policy: keep\n"), "    helm.sh/resource-policy: keep\n");
    }
}
