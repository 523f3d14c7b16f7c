//! What the chart and the plain manifests contain, as far as the API server can tell without a node.

use std::fs;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::Test;
use crate::cluster::{Cluster, RELEASE, chart};

pub(crate) const TESTS: &[Test] = &[
    ("rendered::the_api_server_accepts_each_profile_strictly", strict),
    ("rendered::the_plain_manifests_are_accepted_too", plain),
    ("rendered::a_missing_file_of_a_policy_keeps_no_pod_from_starting", optional),
    ("rendered::the_daemon_sees_the_addresses_of_the_ipam_that_it_may_replace", replaced),
    ("rendered::misspelt_and_impossible_values_are_refused", refused),
    ("rendered::numbers_are_names_too", numbers),
    ("rendered::a_budget_keeps_no_node_from_being_drained_for_ever", budget),
    ("rendered::the_page_about_uninstalling_names_each_definition", uninstalled),
    ("rendered::the_configuration_is_what_the_daemon_reads", configuration),
];

/// Values that reach the branches that the defaults do not.
pub(crate) const MORE: &[&str] = &[
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

pub(crate) fn template(cluster: &Cluster, values: &[&str]) -> anyhow::Result<String> {
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
    for (profile, expected, expected_more) in [("single-node", 4, 5), ("cluster", 30, 32), ("aws", 6, 7)] {
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

/// Without these volumes, the daemon serves by what it has kept; the kubelet would start no container of the pod.
fn optional(cluster: &Cluster) -> anyhow::Result<()> {
    let values: Vec<&str> = MORE.iter().copied().chain(["profile=cluster"]).collect();
    let rendered = documents(&template(cluster, &values)?)?;
    let of = |document: &Value| document["spec"]["template"]["spec"]["volumes"].as_array().cloned();
    let volumes: Vec<Value> = rendered.iter().filter_map(of).flatten().collect();
    for name in ["policies", "registry", "certificates"] {
        let volume = volumes.iter().find(|volume| volume["name"] == name);
        let volume = volume.with_context(|| format!("no volume {name}"))?;
        let is_optional = ["secret", "configMap"].iter().any(|kind| volume[*kind]["optional"] == true);
        ensure!(is_optional, "{volume}");
    }
    Ok(())
}

/// A directory that is not mounted counts as empty: the daemon would not notice addresses that the other IPAM adds after an import.
fn replaced(cluster: &Cluster) -> anyhow::Result<()> {
    const DIRECTORIES: [&str; 2] = ["/var/lib/cni/networks", "/var/run/aws-node"];
    for (profile, expected) in
        [("single-node", &DIRECTORIES[..1]), ("cluster", &[]), ("aws", &DIRECTORIES[1..])]
    {
        let rendered = documents(&template(cluster, &[&format!("profile={profile}")])?)?;
        let agent = rendered.iter().find(|object| object["kind"] == "DaemonSet").context("no agent")?;
        let pod = &agent["spec"]["template"]["spec"];
        let daemon = pod["containers"].as_array().into_iter().flatten().find(|of| of["name"] == "tenured");
        let mounts = daemon.and_then(|daemon| daemon["volumeMounts"].as_array()).context("no mounts")?;
        let mounts = mounts.iter().filter(|mount| DIRECTORIES.iter().any(|of| mount["mountPath"] == *of));
        let mounts: Vec<&Value> = mounts.collect();
        let paths = mounts.iter().filter_map(|mount| mount["mountPath"].as_str());
        ensure!(paths.eq(expected.iter().copied()), "{profile}: {mounts:?}");
        for mount in mounts {
            let mut volumes = pod["volumes"].as_array().into_iter().flatten();
            let volume = volumes.find(|volume| volume["name"] == mount["name"]).context("no volume")?;
            // The other IPAM may come later.
            let host = json!({ "path": mount["mountPath"], "type": "DirectoryOrCreate" });
            ensure!(mount["readOnly"] == true && volume["hostPath"] == host, "{mount} {volume}");
        }
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

/// A policy that sees a label of pods.
const PODS_LABEL: &str = "policies.mine.module=AAAA,policies.mine.settings.metadata={pod.label.app}";

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
        (
            "policyModules.existingConfigMap=policies,policies.mine.module=AAAA",
            "policies.mine.module: the modules are in policyModules.existingConfigMap",
        ),
        ("network.fileName=.tenure.conflist", "/network/fileName"),
        ("network.main.bridge=cni1", "network.main.type"),
        ("network.ranges[0]=10.0.0.0/24", "ranges"),
        ("network.routes[0].dst=default", "/network/routes/0/dst"),
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
        // Regression: the daemon refused it, at its next start.
        ("agent.logLevel=verbose", "agent.logLevel: unknown level \"verbose\"; the levels are off"),
        ("agent.logLevel=info\\,tenure_polcy=debug", "agent.logLevel: unknown part \"tenure_polcy\""),
        ("agent.logLevel==info", "agent.logLevel: unknown part \"\""),
        // The second daemon of a node waits for the ledger of the first one, which waits for the second one to be ready.
        ("agent.updateStrategy.rollingUpdate.maxSurge=1", "/agent/updateStrategy/rollingUpdate/maxSurge"),
        ("agent.runtime.foo=1", "'/agent/runtime': additional properties 'foo' not allowed"),
        ("agent.runtime.grace_seconds=-1", "/agent/runtime/grace_seconds"),
        ("network.settings.foo=1", "'/network/settings': additional properties 'foo' not allowed"),
        ("network.settings.record=200000", "/network/settings/record"),
        ("network.settings.within[0]=10.0.0.0/33", "/network/settings/within/0"),
        ("network.settings.within[0].subnet=10.0.0.0/8", "/network/settings/within/0"),
        ("network.settings.within[0]=10.0.0.0", "/network/settings/within/0"),
        ("policies.mine.settings.sha256=x", "/policies/mine/settings/sha256"),
        ("policies.mine.settings.worlds={planner,painter}", "/policies/mine/settings/worlds/1"),
        ("policies.mine.settings.effects={assign-prefixes}", "/policies/mine/settings/effects/0"),
        ("policies.mine.settings.settings={mtus}", "/policies/mine/settings/settings/0"),
        ("policies.mine.settings.metadata={label.app}", "/policies/mine/settings/metadata/0"),
        ("policies.mine.settings.memory_mib=5000", "/policies/mine/settings/memory_mib"),
        ("policies.mine.settings.deadline_ms=0", "/policies/mine/settings/deadline_ms"),
        ("aws.settings.ec2_endpoint=http://10.0.0.1", "/aws/settings/ec2_endpoint"),
        ("aws.settings.groups={sg-1}", "missing property 'subnet'"),
        ("aws.settings.labels.pool=a b", "/aws/settings/labels/pool"),
        (PODS_LABEL, "policies.mine.settings.metadata: labels come from the API server"),
        (&format!("profile=aws,{PODS_LABEL}"), "or profile aws with aws.followPods"),
        (&format!("profile=cluster,cluster.pools=null,{PODS_LABEL}"), "profile cluster with cluster.pools"),
        // The accounts have the rights for the values only.
        ("profile=aws,cluster.configuration=pods = true", "cluster.configuration: pods: set aws.followPods"),
        (
            "profile=aws,cluster.configuration=networks.pods = []",
            "cluster.configuration: networks: profile aws leases no blocks",
        ),
        ("profile=aws,cluster.configuration=\"node\" = false", "node: set aws.followNode"),
        ("profile=cluster,cluster.configuration=\n networks={}", "networks: set cluster.pools"),
        ("profile=cluster,cluster.configuration=node = true", "node: only profile aws follows Nodes"),
        ("profile=cluster,cluster.configuration=preallocaton = 3", "[cluster] has no key preallocaton"),
        // Without a place for them, they were left out.
        (
            "profile=cluster,cluster.pools=null,cluster.configuration=pods = true",
            "cluster.configuration: there is no [cluster]",
        ),
        (
            "profile=aws,aws.followNode=false,aws.followPods=false,cluster.configuration=kubeconfig = 'a'",
            "cluster.configuration: there is no [cluster]",
        ),
        (
            "profile=cluster,cluster.pools=null,network.settings.record=3",
            "network.settings: profile cluster without",
        ),
        (
            "profile=cluster,cluster.pools=null,network.ipam.wait=60,network.ipam.policy=mine",
            "network.ipam: profile cluster without",
        ),
    ];
    for (value, words) in cases {
        match template(cluster, &[value]) {
            Ok(_) => bail!("{value} is accepted"),
            Err(error) => ensure!(format!("{error:#}").contains(words), "{value}: {error:#}"),
        }
    }
    // What the daemon takes is not refused, nor what waits for the release to return to another profile.
    let subnets = "network.settings.within={10.0.0.0/8,fd00::/64,::ffff:0:0/96}";
    let policy = "policies.mine.settings.settings={snat.*,mtu},policies.mine.settings.networks={blue-*,*}";
    for value in [
        subnets,
        "policyModules.existingConfigMap=policies,policies.mine.module=null,policies.mine.settings.deadline_ms=20",
        "agent.logLevel=warn\\, hyper::client = trace\\,tenure_led\\,INFO\\,3",
        &format!("profile=cluster,{PODS_LABEL},{policy}"),
        &format!("profile=aws,aws.followPods=true,{PODS_LABEL}"),
        "profile=cluster,cluster.configuration=# node = true\npods = false\n[limits]\nnetworks = 7",
        "aws.settings.ec2_endpoint=http://127.0.0.1:8101,aws.settings.subnet=a,aws.settings.groups={b}",
        "profile=single-node,cluster.configuration=preallocation = 32",
        "profile=single-node,cluster.configuration=null,agent.configuration=null",
        "profile=aws,aws.followNode=false,cluster.configuration=null",
        "profile=cluster,cluster.configuration=null",
    ] {
        template(cluster, &[value]).with_context(|| value.to_owned())?;
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
    let network = r#"config = '''{"policy":"highest-first","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}],"type":"tenure"}'''"#;
    ensure!(toml.contains(&format!("[networks.\"pods\"]\n{network}\n")), "{toml}");
    for (exclusive, values) in [("true", None), ("false", Some("network.settings.exclusive=false"))] {
        let (toml, _) = data(cluster, values.as_slice())?;
        ensure!(toml.matches("exclusive = ").count() == 1, "{toml}");
        ensure!(toml.contains(&format!("exclusive = {exclusive}\n")), "{toml}");
    }
    let (toml, conflist) = data(cluster, &["profile=aws", "network.ipam.warm.addresses=2"])?;
    ensure!(conflist["plugins"][0]["type"] == "tenure-eni", "{conflist}");
    ensure!(toml.contains(r#"config = '''{"warm":{"addresses":2}}'''"#), "{toml}");
    ensure!(toml.contains("[cluster]\nnode = true\n\n"), "{toml}");
    let (toml, conflist) = data(cluster, &["profile=aws", "network.ipam.wait=60"])?;
    // The policy knows the plugin's own keys.
    ensure!(toml.contains(r#"config = '''{"wait":60}'''"#), "{toml}");
    ensure!(conflist["plugins"][0]["ipam"] == json!({ "type": "tenure", "wait": 60 }), "{conflist}");
    let (toml, _) = data(cluster, &["profile=aws", "network.ipam.policy=null"])?;
    ensure!(toml.contains("policy = \"aws-eni\"\nconfig = '''{}'''"), "{toml}");
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
    let (toml, _) = data(cluster, &["profile=aws", "aws.followNode=false", "aws.followPods=true"])?;
    ensure!(toml.contains("[cluster]\npods = true\n\n"), "{toml}");
    let more = "cluster.configuration=preallocation = 32";
    let (toml, _) = data(cluster, &["profile=aws", "aws.followPods=true", more])?;
    ensure!(toml.contains("[cluster]\nnode = true\npods = true\npreallocation = 32\n\n"), "{toml}");
    // Pods may have addresses of fewer pools than agents' claims.
    let fewer = ["profile=cluster", "cluster.pools={plain,gold}", "network.ipam.pools={plain}"];
    let (toml, _) = data(cluster, &fewer)?;
    ensure!(toml.contains(r#""pods" = ["plain","gold"]"#) && toml.contains(r#""pools":["plain"]"#), "{toml}");
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
            r#"config = '''{"policy":"cluster-range","pools":["pods"],"routes":[{"dst":"0.0.0.0/0"},{"dst":"::/0"}],"type":"tenure","wait":60}'''"#
        ),
        "{toml}"
    );
    // So it does where another configuration defines the network.
    let bare = ["profile=cluster", "cluster.pools=null", "network.ipam.wait=60", "network.ipam.timeout=80"];
    let (_, conflist) = data(cluster, &bare)?;
    let own = json!({ "type": "tenure", "timeout": 80, "wait": 60 });
    ensure!(conflist["plugins"][0]["ipam"] == own, "{conflist}");
    let (own, _) = data(cluster, &["profile=cluster", "network.ipam.policy=mine", "network.routes=null"])?;
    ensure!(
        own.contains(r#"config = '''{"policy":"mine","pools":["pods"],"routes":[],"type":"tenure"}'''"#),
        "{own}"
    );
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
