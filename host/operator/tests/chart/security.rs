//! The book's page on what the chart's containers and accounts may do, against what the chart renders.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::Test;
use crate::cluster::Cluster;
use crate::rendered::{MORE, documents, template};

pub(crate) const TESTS: &[Test] = &[
    ("security::the_page_has_each_mount_and_right_of_the_containers", containers),
    ("security::the_page_has_each_right_of_the_accounts", rights),
];

const PAGE: &str = include_str!("../../../../deploy/book/src/kubernetes-security.md");

/// A mount of the node, or of the account's token: the container, the path, and whether it may be written.
type NodeMount = (String, String, bool);

/// The page's words for the mount of the account's token.
const TOKEN: &str = "the account's token";

/// The mounts of the agent's pod that are directories and files of the node, or the account's token.
fn mounts(pod: &Value) -> anyhow::Result<BTreeSet<NodeMount>> {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let text = |of: &Value| of.as_str().map(str::to_owned).context("not text");
    let volumes = list(&pod["volumes"]);
    let volume = |name: &Value| volumes.iter().find(|of| of["name"] == *name).cloned().unwrap_or_default();
    let mut found = BTreeSet::new();
    for container in [list(&pod["initContainers"]), list(&pod["containers"])].concat() {
        for mount in list(&container["volumeMounts"]) {
            let volume = volume(&mount["name"]);
            let has_token =
                list(&volume["projected"]["sources"]).iter().any(|of| of["serviceAccountToken"].is_object());
            let path = match volume["hostPath"].is_object() {
                true => text(&mount["mountPath"])?,
                false if has_token => TOKEN.to_owned(),
                false => continue,
            };
            found.insert((text(&container["name"])?, path, mount["readOnly"] != true));
        }
    }
    Ok(found)
}

/// The words in backticks.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The cells of the rows of the page's tables.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// The same for a profile by the table of the book's page, whose purposes begin with the profiles that they are for, if not for all.
fn stated(page: &str, profile: &str) -> BTreeSet<NodeMount> {
    let (mut found, mut containers) = (BTreeSet::new(), Vec::new());
    for cells in rows(page) {
        let [container, mount, access, purpose] = cells[..] else { continue };
        if !container.is_empty() {
            containers = quoted(container);
        }
        let profiles = purpose.split([':', ',']).next().filter(|words| words.starts_with("profile"));
        if profiles.is_some_and(|words| !quoted(words).iter().any(|name| name == profile)) {
            continue;
        }
        let paths = quoted(mount).into_iter().filter(|path| path.starts_with('/'));
        for path in paths.chain(Some(mount.to_owned()).filter(|words| words == TOKEN)) {
            found.extend(containers.iter().map(|name| (name.clone(), path.clone(), access == "write")));
        }
    }
    found
}

/// The book's page has the mounts of the chart, and the containers have no other right than it says.
fn containers(cluster: &Cluster) -> anyhow::Result<()> {
    for profile in ["single-node", "cluster", "aws"] {
        let value = format!("profile={profile}");
        let text = template(cluster, &[&value, MORE[2], "agent.seLinuxOptions.type=spc_t"])?;
        let agent = documents(&text)?.into_iter().find(|object| object["kind"] == "DaemonSet");
        let pod = agent.context("no DaemonSet")?["spec"]["template"]["spec"].clone();
        let (rendered, stated) = (mounts(&pod)?, stated(PAGE, profile));
        ensure!(rendered == stated, "{profile}: the chart: {rendered:#?}\nthe page: {stated:#?}");
        ensure!(pod["hostNetwork"] == true && pod["hostPID"] == true, "{pod}");
        let context = &pod["securityContext"];
        let filter = if profile == "aws" { Value::Null } else { json!({ "type": "RuntimeDefault" }) };
        ensure!(context["seccompProfile"] == filter, "{context}");
        // One place for all containers, and none of them says otherwise.
        ensure!(context["seLinuxOptions"] == json!({ "type": "spc_t" }), "{context}");
        ensure!(context["appArmorProfile"].is_null(), "{context}");
        let none = json!({ "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] } });
        let privileged = json!({ "privileged": true, "readOnlyRootFilesystem": true });
        for container in
            [&pod["initContainers"], &pod["containers"]].into_iter().filter_map(Value::as_array).flatten()
        {
            let is_privileged = profile == "aws" && container["name"] == "tenured";
            let expected = if is_privileged { &privileged } else { &none };
            ensure!(container["securityContext"] == *expected, "{container}");
        }
    }
    let unread = template(cluster, &["profile=aws", "aws.followNode=false"])?;
    ensure!(!unread.contains("serviceAccountToken:"), "a token without a use");
    // `tenurectl doctor` in the container looks where the runtime does, too.
    let places = [
        ("agent.cniBinDir", "TENURE_CNI_BIN_DIR", "/usr/lib/cni"),
        ("agent.cniConfDir", "TENURE_CNI_CONF_DIR", "/etc/cni/own"),
        ("agent.runtimeSocket", "TENURE_RUNTIME_SOCKET", "/run/crio/crio.sock"),
    ];
    for (value, variable, place) in places {
        let text = template(cluster, &[&format!("{value}={place}")])?;
        ensure!(
            text.contains(&format!("- {{name: {variable}, value: \"{place}\"}}\n")),
            "{variable}: {text}"
        );
    }
    // The removal looks there, too, for networks that need the plugin.
    let text = template(cluster, &["uninstalling=true", "agent.cniConfDir=/etc/cni/own"])?;
    ensure!(text.contains("            - --cni-conf-dir=/etc/cni/own\n"), "{text}");
    let text = template(cluster, &["agent.appArmorProfile.type=Unconfined"])?;
    ensure!(text.contains("        appArmorProfile:\n          type: Unconfined\n"), "{text}");
    Ok(())
}

/// A right of an account: the verb and the resource.
type Right = (String, String);

/// The rights of the roles of an account.
fn granted(rendered: &[Value], account: &str) -> BTreeSet<Right> {
    let is_role = |of: &Value| of["kind"] == "ClusterRole" || of["kind"] == "Role";
    let is_its = |of: &Value| of["metadata"]["name"].as_str().is_some_and(|name| name.ends_with(account));
    let rules = rendered.iter().filter(|of| is_role(of) && is_its(of)).flat_map(|of| of["rules"].as_array());
    let texts = |of: &Value| -> Vec<String> {
        let all = of.as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let each = |rule: &Value| {
        let (verbs, resources) = (texts(&rule["verbs"]), texts(&rule["resources"]));
        let of = |verb: String| resources.clone().into_iter().map(move |name| (verb.clone(), name));
        verbs.into_iter().flat_map(of).collect::<Vec<_>>()
    };
    rules.flatten().flat_map(each).collect()
}

/// The rights in a table of the page, by its head; of the rows whose purpose begins with one of these words, if there are any.
fn written(head: &str, beginnings: &[&str]) -> anyhow::Result<BTreeSet<Right>> {
    let table = PAGE.split(head).nth(1).with_context(|| format!("no table {head}"))?;
    let table = table.split("\n\n").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    for cells in rows(table) {
        let (Some(rights), Some(purpose)) = (cells.first(), cells.get(1)) else { bail!("{cells:?}") };
        if !beginnings.is_empty() && !beginnings.iter().any(|words| purpose.starts_with(words)) {
            continue;
        }
        for part in rights.split(';') {
            let (verbs, _) = part.split_once('`').with_context(|| format!("{part} names no resource"))?;
            for verb in verbs.split(',').map(str::trim) {
                found.extend(quoted(part).into_iter().map(|resource| (verb.to_owned(), resource)));
            }
        }
    }
    Ok(found)
}

fn rights(cluster: &Cluster) -> anyhow::Result<()> {
    let of = |values: &[&str]| documents(&template(cluster, values)?);
    let compare = |granted: BTreeSet<Right>, written: BTreeSet<Right>| {
        ensure!(granted == written, "the chart: {granted:#?}\nthe page: {written:#?}");
        Ok(())
    };
    let of_cluster = of(&["profile=cluster"])?;
    compare(granted(&of_cluster, "-agent"), written("| right | the daemon |", &[])?)?;
    compare(granted(&of_cluster, "-operator"), written("| right | the operator |", &[])?)?;
    let head = "| right | with | the daemon in profile `aws` |";
    for (values, beginnings) in [
        (&["profile=aws"][..], &["`aws.followNode`"][..]),
        (&["profile=aws", "aws.followPods=true"], &["`aws.followNode`", "`aws.followPods`"]),
        (&["profile=aws", "aws.removeTaint=true"], &["`aws.followNode`", "`aws.removeTaint`"]),
        (&["profile=aws", "aws.followPods=true", "aws.followNode=false"], &["`aws.followPods`"]),
    ] {
        compare(granted(&of(values)?, "-agent"), written(head, beginnings)?)?;
    }
    for values in [&["profile=single-node"][..], &["profile=aws", "aws.followNode=false"]] {
        ensure!(granted(&of(values)?, "-agent").is_empty(), "{values:?}");
    }
    Ok(())
}
