//! What the chart and the plain manifests contain, as far as the API server can tell without a node.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::Test;
use crate::cluster::{Cluster, RELEASE, chart};

pub(crate) const TESTS: &[Test] = &[
    ("rendered::the_api_server_accepts_each_profile_strictly", strict),
    ("rendered::the_plain_manifests_are_accepted_too", plain),
    ("rendered::misspelt_and_impossible_values_are_refused", refused),
    ("rendered::numbers_are_names_too", numbers),
    ("rendered::a_budget_keeps_no_node_from_being_drained_for_ever", budget),
    ("rendered::the_page_about_uninstalling_names_each_definition", uninstalled),
    ("rendered::the_configuration_is_what_the_daemon_reads", configuration),
    ("rendered::the_security_model_has_each_mount_and_right_of_the_agent", security),
];

/// Values that reach the branches that the defaults do not.
const MORE: &[&str] = &[
    "policies.mine.module=AGFzbQ==",
    "policies.mine.settings.deadline_ms=20",
    "policies.zones.oci=oci://registry.example.com/team/zones@sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "policyRegistry.pullSecret=registry",
    "policyRegistry.certificates=authority",
    "policyRegistry.plainHttp=true",
    "agent.seLinuxOptions.type=spc_t",
    "agent.appArmorProfile.type=Unconfined",
    "agent.configuration=[addresses]\ncooldown_seconds = 5",
    "network.settings.record=1000",
    "network.chained=null",
    "operator.tolerations=null",
    "agent.runtime.exclusive=true",
    "cluster.apiServer.host=10.0.0.1",
    "cluster.kubeletCredentials=true",
    "image.pullSecrets[0].name=registry",
    "image.agentDigest=sha256:0000000000000000000000000000000000000000000000000000000000000000",
    "namespace.create=true",
    "uninstalling=true",
];

/// The documents of a rendered chart.
pub(crate) fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

fn template(cluster: &Cluster, values: &[&str]) -> anyhow::Result<String> {
    let chart = chart();
    let mut arguments = vec!["template", RELEASE, chart.to_str().context("not text")?];
    for value in values {
        arguments.extend(["--set", value]);
    }
    cluster.helm(&arguments)
}

/// Applies each document dry; returns the kinds.
fn accepted(cluster: &Cluster, text: &str) -> anyhow::Result<Vec<String>> {
    let mut kinds = Vec::new();
    for document in documents(text)? {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let applied = cluster.apply(&cluster.client, &document, true);
        applied.with_context(|| format!("{kind} {}", document["metadata"]["name"]))?;
        kinds.push(kind);
    }
    Ok(kinds)
}

fn strict(cluster: &Cluster) -> anyhow::Result<()> {
    // With a namespace, and while it is uninstalled without the operator's budget.
    for (profile, expected, expected_more) in [("single-node", 4, 5), ("cluster", 25, 25), ("aws", 6, 7)] {
        let profile = format!("profile={profile}");
        let kinds = accepted(cluster, &template(cluster, &[&profile])?)?;
        ensure!(kinds.len() == expected, "{profile}: {} objects: {kinds:?}", kinds.len());
        let more: Vec<&str> = MORE.iter().copied().chain([&*profile]).collect();
        let kinds = accepted(cluster, &template(cluster, &more)?)?;
        ensure!(kinds.len() == expected_more, "{profile}: {} objects: {kinds:?}", kinds.len());
    }
    // What is not in the schema is noticed.
    let text = template(cluster, &[])?.replace("hostNetwork: true", "hostNetwerk: true");
    match accepted(cluster, &text) {
        Err(error) => ensure!(format!("{error:#}").contains("hostNetwerk"), "{error:#}"),
        Ok(kinds) => bail!("a misspelt field is accepted: {kinds:?}"),
    }
    Ok(())
}

fn plain(cluster: &Cluster) -> anyhow::Result<()> {
    for profile in ["single-node", "cluster", "aws"] {
        let path = chart().join(format!("../manifests/{profile}.yaml"));
        let kinds = accepted(cluster, &fs::read_to_string(path)?)?;
        ensure!(kinds.contains(&"DaemonSet".to_owned()), "{profile}: {kinds:?}");
    }
    Ok(())
}

fn refused(cluster: &Cluster) -> anyhow::Result<()> {
    let cases = [
        ("profile=clusters", "profile"),
        ("netwerk.name=x", "netwerk"),
        ("agent.metricsPort=0", "metricsPort"),
        ("agent.cniBinDir=opt/cni/bin", "cniBinDir"),
        ("image.agentDigest=sha256:12", "agentDigest"),
        ("policies.Mine.module=AAAA", "policies"),
        ("policies.mine.settings.nested.key=1", "nested"),
        ("policies.mine.settings.deadline_ms=20", "policyModules.existingConfigMap"),
        ("policies.mine.oci=oci://registry.example.com/mine:1", "oci"),
        (
            &format!("{},policies.mine.module=AAAA", MORE[2].replace("zones.oci", "mine.oci")),
            "module or oci, not both",
        ),
        ("network.main.bridge=cni1", "network.main.type"),
        ("network.ranges[0]=10.0.0.0/24", "ranges"),
        ("profile=aws,aws.followNode=false,aws.removeTaint=true", "aws.removeTaint: needs aws.followNode"),
        ("profile=aws,network.ipam.policy=mine", "network.ipam.policy: the policy of profile aws is aws-eni"),
        ("cluster.pools={a,a}", "/cluster/pools"),
        ("policies.mine.settings.path=/mine.wasm", "/policies/mine/settings/path"),
        ("network.settings.policy=mine", "/network/settings/policy"),
        ("agent.runtime.socket=unix:///run/x.sock", "/agent/runtime/socket"),
        (
            "agent.configuration=[runtime]\nexclusive = true",
            "the chart has [runtime] already; set agent.runtime",
        ),
        (
            "agent.configuration=[limits]\nqueue = 3\n [ networks . 'pods' ]",
            "the chart has [networks.pods] already",
        ),
        (
            "profile=aws,agent.configuration=[aws]\nmax_pods = 3",
            "the chart has [aws] already; set aws.settings",
        ),
        ("agent.configuration=queue = 3", "agent.configuration: begin with a table"),
    ];
    for (value, words) in cases {
        match template(cluster, &[value]) {
            Ok(_) => bail!("{value} is accepted"),
            Err(error) => ensure!(format!("{error:#}").contains(words), "{value}: {error:#}"),
        }
    }
    Ok(())
}

/// A release and a namespace whose names YAML would read as numbers.
fn numbers(cluster: &Cluster) -> anyhow::Result<()> {
    let chart = chart();
    let arguments = ["template", "17", chart.to_str().context("not text")?, "--set"];
    for values in ["profile=cluster", "profile=aws", MORE[2]] {
        let text = cluster.helm_in("1e3", &[&arguments[..], &[values]].concat())?;
        for document in documents(&text)? {
            let metadata = &document["metadata"];
            let namespace = &metadata["namespace"];
            ensure!(namespace.is_null() || namespace == "1e3" || namespace == "kube-system", "{metadata}");
            let instance = &metadata["labels"]["app.kubernetes.io/instance"];
            ensure!(instance.is_null() || instance == "17", "{metadata}");
            let selected = &document["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"];
            ensure!(selected.is_null() || selected == "17", "{document}");
            let mut bound = document["subjects"].as_array().into_iter().flatten();
            ensure!(bound.all(|subject| subject["namespace"] == "1e3"), "{document}");
        }
    }
    Ok(())
}

/// Of two replicas on one node, the second never runs, and the first may never be evicted.
fn budget(cluster: &Cluster) -> anyhow::Result<()> {
    let rendered = |value: &str| documents(&template(cluster, &["profile=cluster", value])?);
    let has_budget = |of: &[Value]| of.iter().any(|object| object["kind"] == "PodDisruptionBudget");
    ensure!(has_budget(&rendered("operator.replicas=2")?), "no budget");
    ensure!(!has_budget(&rendered("operator.replicas=1")?), "a budget for one replica");
    let leaving = rendered("uninstalling=true")?;
    ensure!(!has_budget(&leaving), "a budget while the release is uninstalled");
    // Nodes that were drained are cordoned, and the last blocks are still to be taken back.
    let operator = leaving.iter().find(|object| object["kind"] == "Deployment").context("no operator")?;
    let tolerated = &operator["spec"]["template"]["spec"]["tolerations"];
    ensure!(tolerated.to_string().contains("node.kubernetes.io/unschedulable"), "{tolerated}");
    Ok(())
}

fn uninstalled(cluster: &Cluster) -> anyhow::Result<()> {
    const PAGE: &str = include_str!("../../../../deploy/book/src/kubernetes-uninstall.md");
    let rendered = documents(&template(cluster, &["profile=cluster"])?)?;
    let definitions = rendered.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let names: Vec<_> = definitions.filter_map(|found| found["metadata"]["name"].as_str()).collect();
    ensure!(names.len() == 5, "{names:?}");
    let line = PAGE.split("kubectl delete crd").nth(1).context("no command")?;
    let command = line.split("```").next().unwrap_or_default();
    ensure!(names.iter().all(|name| command.contains(name)), "{names:?} and {command}");
    Ok(())
}

/// The daemon's file in the agent's ConfigMap, and the network's configuration list.
fn data(cluster: &Cluster, values: &[&str]) -> anyhow::Result<(String, Value)> {
    let rendered = documents(&template(cluster, values)?)?;
    let map = rendered
        .iter()
        .find(|object| object["kind"] == "ConfigMap" && object["metadata"]["name"] == "tenure-agent")
        .context("no ConfigMap")?;
    let text = |key: &str| map["data"][key].as_str().unwrap_or_default().to_owned();
    let mut keys = map["data"].as_object().context("no data")?.keys();
    let list = keys.find(|key| key.ends_with(".conflist")).context("no configuration list")?;
    Ok((text("tenured.toml"), serde_json::from_str(&text(list))?))
}

fn configuration(cluster: &Cluster) -> anyhow::Result<()> {
    let (toml, conflist) = data(cluster, &["network.ipam.policy=highest-first"])?;
    ensure!(toml.contains("listen = \"127.0.0.1:9477\""), "{toml}");
    // tenured.toml defines the network, so that it is the same one when the release moves to another profile.
    ensure!(conflist["plugins"][0]["ipam"] == json!({ "type": "tenure" }), "{conflist}");
    let network = r#"config = '''{"policy":"highest-first","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}],"type":"tenure"}'''"#;
    ensure!(toml.contains(&format!("[networks.\"pods\"]\n{network}\n")), "{toml}");
    let (toml, conflist) = data(cluster, &["profile=aws", "network.ipam.warm.addresses=2"])?;
    ensure!(conflist["plugins"][0]["type"] == "tenure-eni", "{conflist}");
    ensure!(toml.contains(r#"config = '''{"warm":{"addresses":2}}'''"#), "{toml}");
    ensure!(toml.contains("[cluster]\nnode = true\n\n"), "{toml}");
    let (toml, _) = data(cluster, &["profile=aws", "aws.removeTaint=true"])?;
    ensure!(toml.contains("startup_taint = \"ipam.tenure.dev/not-ready\""), "{toml}");
    let settings = [
        "profile=aws",
        "aws.settings.max_pods=58",
        "aws.settings.labels.pool=batch",
        "agent.runtime.exclusive=true",
    ];
    let (toml, _) = data(cluster, &settings)?;
    let own = "[aws]\nnetwork = \"pods\"\nlabels = { \"pool\" = \"batch\" }\nmax_pods = 58\n\n";
    ensure!(toml.contains(own) && toml.contains("containerd.sock\"\nexclusive = true\n\n"), "{toml}");
    let (toml, _) = data(cluster, &["profile=aws", "aws.followNode=false"])?;
    ensure!(!toml.contains("[cluster]"), "{toml}");
    let (toml, conflist) = data(
        cluster,
        &[
            "profile=cluster",
            "cluster.configuration=preallocation = 32",
            "network.ipam.wait=60",
            MORE[0],
            MORE[1],
        ],
    )?;
    // The plugin reads its own keys from its configuration.
    ensure!(conflist["plugins"][0]["ipam"] == json!({ "type": "tenure", "wait": 60 }), "{conflist}");
    // A bridge has one IPv4 address, and a node several blocks.
    ensure!(conflist["plugins"][0]["type"] == "ptp", "{conflist}");
    ensure!(toml.contains("[cluster]\nnetworks = { \"pods\" = [\"pods\"] }\npreallocation = 32\n"), "{toml}");
    ensure!(
        toml.contains(
            r#"config = '''{"policy":"cluster-range","pools":["pods"],"type":"tenure","wait":60}'''"#
        ),
        "{toml}"
    );
    let (own, _) = data(cluster, &["profile=cluster", "network.ipam.policy=mine"])?;
    ensure!(own.contains(r#"config = '''{"policy":"mine","pools":["pods"],"type":"tenure"}'''"#), "{own}");
    ensure!(toml.contains("path = \"/etc/tenure/policies/mine.wasm\"\ndeadline_ms = 20"), "{toml}");
    let (toml, _) = data(cluster, &[MORE[2]])?;
    ensure!(toml.contains("[policies.zones]\npath = \"/etc/tenure/pulled/zones.wasm\""), "{toml}");
    for profile in ["single-node", "cluster", "aws"] {
        let (toml, _) = data(cluster, &[&format!("profile={profile}"), "network.settings.record=1000"])?;
        let own = toml.split("[networks.\"pods\"]\n").nth(1).context("no network")?;
        ensure!(
            own.lines().take_while(|line| !line.is_empty()).any(|line| line == "record = 1000"),
            "{toml}"
        );
    }
    Ok(())
}

/// A mount of the node: the container, the path, and whether it may be written.
type NodeMount = (String, String, bool);

/// The mounts of the agent's pod that are directories and files of the node.
fn mounts(pod: &Value) -> anyhow::Result<BTreeSet<NodeMount>> {
    let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let text = |of: &Value| of.as_str().map(str::to_owned).context("not text");
    let volumes = list(&pod["volumes"]);
    let is_nodes = |name: &Value| volumes.iter().any(|of| of["name"] == *name && of["hostPath"].is_object());
    let mut found = BTreeSet::new();
    for container in [list(&pod["initContainers"]), list(&pod["containers"])].concat() {
        for mount in list(&container["volumeMounts"]).iter().filter(|mount| is_nodes(&mount["name"])) {
            let is_written = mount["readOnly"] != true;
            found.insert((text(&container["name"])?, text(&mount["mountPath"])?, is_written));
        }
    }
    Ok(found)
}

/// The same for a profile by the table of the book's page.
fn stated(page: &str, profile: &str) -> BTreeSet<NodeMount> {
    let only = format!("profile `{profile}` only");
    let (mut found, mut containers) = (BTreeSet::new(), Vec::new());
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let [container, mount, access, purpose] = cells[..] else { continue };
        if !container.is_empty() {
            containers = quoted(container);
        }
        if purpose.starts_with("profile `") && !purpose.starts_with(&only) {
            continue;
        }
        for path in quoted(mount).into_iter().filter(|path| path.starts_with('/')) {
            found.extend(containers.iter().map(|name| (name.clone(), path.clone(), access == "write")));
        }
    }
    found
}

/// The book's page has the mounts of the chart, and the containers have no other right than it says.
fn security(cluster: &Cluster) -> anyhow::Result<()> {
    const PAGE: &str = include_str!("../../../../deploy/book/src/kubernetes-security.md");
    for profile in ["single-node", "cluster"] {
        let value = format!("profile={profile}");
        let text = template(cluster, &[&value, MORE[2], "agent.seLinuxOptions.type=spc_t"])?;
        let agent = documents(&text)?.into_iter().find(|object| object["kind"] == "DaemonSet");
        let pod = agent.context("no DaemonSet")?["spec"]["template"]["spec"].clone();
        let (rendered, stated) = (mounts(&pod)?, stated(PAGE, profile));
        ensure!(rendered == stated, "the chart: {rendered:#?}\nthe page: {stated:#?}");
        ensure!(pod["hostNetwork"] == true && pod["hostPID"] == true, "{pod}");
        let context = &pod["securityContext"];
        ensure!(context["seccompProfile"]["type"] == "RuntimeDefault", "{context}");
        // One place for all containers, and none of them says otherwise.
        ensure!(context["seLinuxOptions"] == json!({ "type": "spc_t" }), "{context}");
        ensure!(context["appArmorProfile"].is_null(), "{context}");
        let none = json!({ "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": { "drop": ["ALL"] } });
        for container in
            [&pod["initContainers"], &pod["containers"]].into_iter().filter_map(Value::as_array).flatten()
        {
            ensure!(container["securityContext"] == none, "{container}");
        }
    }
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
    let text = template(cluster, &["agent.appArmorProfile.type=Unconfined"])?;
    ensure!(text.contains("        appArmorProfile:\n          type: Unconfined\n"), "{text}");
    Ok(())
}
