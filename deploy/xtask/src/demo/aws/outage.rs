//! EC2, its metadata and the container runtime lie or are silent: what carries a pod stays.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::instance::Instance;
use crate::demo::tell::Teller;
use crate::demo::wait;

/// The calls that take something away.
const TAKING: [&str; 3] = ["UnassignPrivateIpAddresses", "DetachNetworkInterface", "DeleteNetworkInterface"];
/// The call with which the daemon looks at what it has.
const LOOKING: [&str; 1] = ["DescribeNetworkInterfaces"];
/// So many looks must change nothing.
const LOOKS: usize = 5;
/// How much of a long message is shown, in characters.
const SHOWN: usize = 100;

/// Act four: every witness is wrong about an interface that is full of pods.
///
/// # Errors
/// When something is taken, or a pod loses its way.
pub(super) fn lies(instance: &mut Instance<'_>, tell: Teller) -> Result<()> {
    tell.act("4. The outage: the runtime is gone, the metadata flap, EC2 hides an interface");
    let missing = instance.node.condition("runtime-unreachable")?;
    tell.line(&format!("no witness for pods: {}", missing.context("the runtime should not be there")?));
    let interfaces = instance.double.interfaces()?;
    let second = &interfaces.get(1).context("no second interface")?.id;
    let before = instance.double.calls(&TAKING)?;
    let shown = json!({ "describe_hides": [second], "imds_shows": { second.as_str(): "flapping" } });
    instance.double.ask("PUT", "/consistency", &shown)?;
    tell.turn(&format!("EC2 no longer shows {second}; the metadata show it now and then"));
    let why = wait::until("the quarantine", || {
        Ok(instance.node.condition("cloud-quarantine")?.filter(|why| why.contains(second)))
    })?;
    tell.good(&format!("cloud-quarantine: {why}"));
    tell.shown("tenurectl status", &instance.node.table(&["status"])?);
    instance.all_have_their_way()?;
    tell.good("all pods still have their way");
    // Nobody can say what else uses what they leave.
    instance.delete(2)?;
    let looked = instance.double.calls(&LOOKING)?;
    wait::holds("more looks", || Ok(instance.double.calls(&LOOKING)? >= looked + LOOKS))?;
    let (after, left) = (instance.double.calls(&TAKING)?, instance.double.interfaces()?.len());
    ensure!(before == after, "{} calls took something away", after.saturating_sub(before));
    ensure!(left == interfaces.len(), "{left} of {} interfaces are left", interfaces.len());
    tell.good(&format!(
        "two pods were deleted, the daemon looked {LOOKS} more times: nothing was unassigned, detached or deleted"
    ));
    instance.double.ask("PUT", "/consistency", &json!({}))?;
    tell.turn("EC2 and the metadata tell the truth again");
    wait::holds("the end of the quarantine", || Ok(instance.node.condition("cloud-quarantine")?.is_none()))?;
    instance.all_have_their_way()?;
    tell.good("cloud-quarantine is over, and all pods have their way");
    Ok(())
}

/// Act five: the daemon is killed, and starts again while nobody answers.
///
/// # Errors
/// When a pod loses its way.
pub(super) fn silence<'a>(instance: Instance<'a>, tell: Teller) -> Result<Instance<'a>> {
    tell.act("5. SIGKILL, while EC2 and the metadata are silent");
    for call in ["*", "/"] {
        instance.double.ask("POST", "/faults", &json!({ "call": call, "kind": "reset" }))?;
    }
    tell.turn("EC2 and the metadata reset every connection");
    let before = instance.node.allocations()?;
    let mut instance = instance.crash()?;
    tell.turn("kill -KILL tenured; tenured");
    let after = instance.node.allocations()?;
    ensure!(before == after, "before the crash: {before:?}\nafter it: {after:?}");
    instance.all_have_their_way()?;
    tell.good(&format!("the same {} pods have the same addresses, and their way", after.len()));
    let pod = instance.add("pod-8")?;
    instance.all_have_their_way()?;
    tell.good(&format!("{} comes meanwhile, with {}", pod.name, pod.bare()));
    let unreachable = "cloud-unreachable";
    let why = wait::until("what is wrong", || instance.node.condition(unreachable))?;
    tell.good(&format!("{unreachable}: {}", beginning(&why)));
    instance.double.ask("DELETE", "/faults", &Value::Null)?;
    tell.turn("EC2 and the metadata answer again");
    wait::holds("an answer", || Ok(instance.node.condition(unreachable)?.is_none()))?;
    tell.good(&format!("{unreachable} is over"));
    Ok(instance)
}

/// The beginning of a long message: the SDK adds all that it knows.
fn beginning(message: &str) -> String {
    let (line, rest) = message.split_once('\n').unwrap_or((message, ""));
    let text: String = line.chars().take(SHOWN).collect();
    if text == line && rest.is_empty() { text } else { format!("{text} ...") }
}
