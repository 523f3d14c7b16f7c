//! The scenarios: together they call every method that the programs use.

mod import;
mod lost;
mod operator;
mod pods;
mod refusals;
mod sandboxes;
mod spooled;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_e2e::recording::{BootClock, CtlCall, File, PluginCall, Step, Turn};

/// A scenario before its recording: the steps have no exchanges and no output yet.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) configuration: &'static str,
    pub(crate) answers_only: Option<&'static str>,
    pub(crate) steps: Vec<Step>,
}

/// All scenarios.
pub(crate) fn all() -> Vec<Scenario> {
    vec![
        pods::scenario(),
        refusals::scenario(),
        spooled::scenario(),
        operator::scenario(),
        import::scenario(),
        sandboxes::scenario(),
        lost::scenario(),
    ]
}

/// A call of the plugin for `eth0` of a container.
fn plugin(about: &str, verb: &str, container: &str, config: Value) -> PluginCall {
    let variables = [
        ("CNI_COMMAND", verb.to_owned()),
        ("CNI_CONTAINERID", container.to_owned()),
        ("CNI_NETNS", format!("/run/nowhere/{container}")),
        ("CNI_IFNAME", "eth0".to_owned()),
        ("CNI_PATH", "/usr/lib/cni".to_owned()),
    ];
    let environment = variables.map(|(name, value)| (name.to_owned(), value));
    PluginCall {
        about: about.to_owned(),
        environment: BTreeMap::from(environment),
        config,
        ..PluginCall::default()
    }
}

/// The same call with a variable of its own.
fn with(mut call: PluginCall, name: &str, value: &str) -> PluginCall {
    call.environment.insert(name.to_owned(), value.to_owned());
    call
}

/// The same call with a start time before the daemon's.
fn early(call: PluginCall) -> PluginCall {
    PluginCall { clock: BootClock::JustBooted, ..call }
}

/// An ADD.
fn add(about: &str, container: &str, config: Value) -> Step {
    Step::Plugin(plugin(about, "ADD", container, config))
}

/// A DEL.
fn del(about: &str, container: &str, config: Value) -> Step {
    Step::Plugin(plugin(about, "DEL", container, config))
}

/// A call of `tenurectl`.
fn ctl(arguments: &[&str]) -> Step {
    Step::Ctl(call(arguments))
}

/// A call of `tenurectl` whose JSON output goes to a file.
fn ctl_into(file: &str, arguments: &[&str]) -> Step {
    Step::Ctl(CtlCall { keeps: Some(file.to_owned()), ..call(arguments) })
}

fn call(arguments: &[&str]) -> CtlCall {
    CtlCall { arguments: arguments.iter().map(|text| (*text).to_owned()).collect(), ..CtlCall::default() }
}

fn write(name: &str, content: impl Into<String>) -> Step {
    Step::Write(File { name: name.to_owned(), content: content.into() })
}

fn remove(name: &str) -> Step {
    Step::Remove { name: name.to_owned() }
}

fn daemon(did: Turn) -> Step {
    Step::Daemon { did }
}

/// A network's configuration.
fn network(version: &str, name: &str, mut ipam: Value) -> Value {
    if let Some(ipam) = ipam.as_object_mut() {
        ipam.insert("type".to_owned(), json!("tenure"));
    }
    json!({ "cniVersion": version, "name": name, "ipam": ipam })
}

/// A configuration of a network of one subnet.
fn subnet(version: &str, name: &str, subnet: &str) -> Value {
    network(version, name, json!({ "ranges": [[{ "subnet": subnet }]] }))
}

/// A configuration with one more key.
fn and(mut config: Value, key: &str, value: Value) -> Value {
    if let Some(config) = config.as_object_mut() {
        config.insert(key.to_owned(), value);
    }
    config
}
