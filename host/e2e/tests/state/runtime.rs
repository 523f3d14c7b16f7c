//! Allocations whose pods are gone, and a lost state that a container runtime confirms.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tenure_e2e::containerd::Containerd;
use tenure_e2e::{Attachment, Daemon, Plugin, binaries, wait};

use super::{LIMIT, TRY_AGAIN, lose_state};

/// The time limit for a pod.
const PATIENCE: Duration = Duration::from_secs(120);

/// Adds a container that the runtime does not know, in a namespace that is removed after the ADD.
fn leak(daemon: &Daemon, shim: &Plugin, container: &str) -> anyhow::Result<()> {
    let namespaces = daemon.path("netns");
    fs::create_dir_all(&namespaces)?;
    let namespace = namespaces.join(container);
    fs::write(&namespace, "")?;
    let pod = Attachment::in_netns(container, namespace.display().to_string());
    shim.call("ADD", &pod, &pods(daemon))?.result()?;
    Ok(fs::remove_file(namespace)?)
}

/// The pods' network, as the plugin's configuration.
fn pods(daemon: &Daemon) -> Value {
    json!({
        "cniVersion": "0.4.0",
        "name": "pods",
        "type": "bridge",
        "bridge": "br0",
        "ipam": { "type": "tenure", "socket": daemon.socket(), "ranges": [[{ "subnet": "10.82.0.0/24" }]] },
    })
}

fn containers(daemon: &Daemon) -> anyhow::Result<Vec<String>> {
    let id = |held: &Value| Some(held.get("container_id")?.as_str()?.to_owned());
    Ok(daemon.allocations("pods")?.iter().filter_map(id).collect())
}

/// The runtime's namespace directory has the same path as the daemon's, but is a different one.
pub(crate) fn out_of_sight() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let namespaces = daemon.path("netns");
    fs::create_dir(&namespaces)?;
    let script = daemon.path("elsewhere");
    let (at, shim) = (namespaces.display(), binaries::find("tenure")?);
    let words = format!("mount -t tmpfs none {at} && touch {at}/unseen && exec {}", shim.display());
    fs::write(&script, format!("#!/bin/sh\nexec unshare --mount sh -c '{words}'\n"))?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let elsewhere = Plugin::new(&script).env("TENURE_SOCKET", daemon.socket());
    let unseen = Attachment::in_netns("unseen", namespaces.join("unseen").display().to_string());
    elsewhere.call("ADD", &unseen, &pods(&daemon))?.result()?;
    daemon.ctl(&["check"])?;
    // A namespace that the daemon has seen there is missed.
    leak(&daemon, &daemon.shim()?, "seen")?;
    let report: Value = serde_json::from_slice(&daemon.ctl_output(&["check"])?.stdout)?;
    let findings = report.get("findings").and_then(Value::as_array).context("no findings")?;
    let subjects: Vec<_> = findings.iter().filter_map(|finding| finding.get("subject")).collect();
    ensure!(subjects == [&json!("seen/eth0")], "{report}");
    Ok(())
}

pub(crate) async fn tells() -> anyhow::Result<()> {
    let mut daemon = Daemon::prepare()?;
    let network = json!({ "cniVersion": "0.4.0", "name": "pods", "plugins": [pods(&daemon)] });
    let containerd = Containerd::start(&daemon.plugin_directory(&["tenure"])?, &network)?;
    let with_grace = |seconds: u32| {
        format!(
            "[runtime]\nsocket = \"unix://{}\"\ngrace_seconds = {seconds}\n",
            containerd.socket().display()
        )
    };
    daemon.configure(&with_grace(3600))?;
    daemon.start_again()?;
    let shim = daemon.shim()?;
    let mut client = containerd.connect().await?;
    let pod = client.run("pod", PATIENCE).await?;

    // An allocation that is gone by both sources is found and repaired; a running pod is not touched.
    leak(&daemon, &shim, "ghost")?;
    let report = daemon.path("report.json");
    fs::write(&report, daemon.ctl_output(&["check"])?.stdout)?;
    let repair = ["repair", "--from", &report.display().to_string()];
    let dry = daemon.ctl(&repair)?;
    ensure!(dry.pointer("/repaired/0/finding/subject") == Some(&json!("ghost/eth0")), "{dry}");
    ensure!(containers(&daemon)?.len() == 2, "a dry run changes nothing");
    daemon.ctl(&[&repair[..], &["--apply"]].concat())?;
    ensure!(containers(&daemon)? == [pod.id.clone()], "expected only the pod to be left");
    daemon.ctl(&["check"])?;

    // The daemon does the same by itself.
    daemon.stop()?;
    daemon.configure(&with_grace(0))?;
    daemon.start_again()?;
    leak(&daemon, &shim, "second-ghost")?;
    wait::holds("the leak to be freed", LIMIT, || Ok(containers(&daemon)? == [pod.id.clone()]))?;

    // A lost state is confirmed when the runtime has no pods and no other network namespaces exist.
    lose_state(&mut daemon)?;
    daemon.launch()?;
    shim.call("ADD", &Attachment::of("next"), &pods(&daemon))?.error_code(TRY_AGAIN)?;
    client.stop(&pod.id).await?;
    client.remove(&pod.id).await?;
    // containerd itself still runs in another network namespace; or the daemon cannot examine it, which confirms nothing either.
    wait::holds("other namespaces to be looked for", LIMIT, || {
        Ok(!daemon.log("the container runtime has no pods, but ").is_empty())
    })?;
    shim.call("ADD", &Attachment::of("next"), &pods(&daemon))?.error_code(TRY_AGAIN)?;
    daemon.stop()?;
    daemon.configure(&format!("{}exclusive = true\n", with_grace(0)))?;
    daemon.launch()?;
    wait::holds("the node to be ready", LIMIT, || Ok(daemon.ctl_output(&["status"])?.status.success()))?;
    shim.call("ADD", &Attachment::of("next"), &pods(&daemon))?.result()?;
    Ok(())
}
