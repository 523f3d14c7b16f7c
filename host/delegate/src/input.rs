//! Input of a delegate: the environment of its call, and the configuration on its standard input.

use std::path::Path;

use serde_json::{Map, Value, json};
use tenure_types::cni::{Command, SpecVersion};
use tenure_types::{DelegateCall, DelegateVerb, Error, PodIdentity};

use crate::settings::{DelegateSettings, NO_NETNS};

/// The keys of an `ipam` object that are tenure's own.
const OWN: [&str; 3] = ["policy", "socket", "timeout"];

/// The search path of every delegate, unless its configured environment has another.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of a call. Nothing of the daemon's own is in it.
pub(crate) fn environment(
    settings: &DelegateSettings,
    command: &Command,
    call: Option<&DelegateCall>,
) -> Vec<(String, String)> {
    let directory = settings.path.parent().unwrap_or(Path::new("/"));
    let mut environment = vec![
        ("CNI_COMMAND".to_owned(), command.to_string()),
        ("CNI_PATH".to_owned(), directory.display().to_string()),
    ];
    if !settings.environment.contains_key("PATH") {
        environment.push(("PATH".to_owned(), PATH.to_owned()));
    }
    if let Some(call) = call.filter(|_| command.names_attachment()) {
        let netns = match &*call.netns {
            "" => settings.netns.as_deref().unwrap_or(NO_NETNS),
            netns => netns,
        };
        environment.extend([
            ("CNI_CONTAINERID".to_owned(), call.container.to_string()),
            ("CNI_IFNAME".to_owned(), call.interface.to_string()),
            ("CNI_NETNS".to_owned(), netns.to_owned()),
            ("CNI_ARGS".to_owned(), arguments(call)),
        ]);
    }
    let configured = settings.environment.iter().filter(|(name, _)| !name.starts_with("CNI_"));
    environment.extend(configured.map(|(name, value)| (name.clone(), value.clone())));
    environment
}

/// `CNI_ARGS` as the kubelet's runtimes make it. A value with a separator in it would end up as another argument.
fn arguments(call: &DelegateCall) -> String {
    let mut arguments = "IgnoreUnknown=1".to_owned();
    let Some(PodIdentity { namespace, name, uid }) = &call.pod else { return arguments };
    for (key, value) in [
        ("K8S_POD_NAMESPACE", &**namespace),
        ("K8S_POD_NAME", &**name),
        ("K8S_POD_INFRA_CONTAINER_ID", call.container.as_str()),
        ("K8S_POD_UID", &**uid),
    ] {
        if !value.is_empty() && !value.contains([';', '=']) {
            arguments.push_str(&format!(";{key}={value}"));
        }
    }
    arguments
}

/// The configuration of a call.
///
/// # Errors
/// Those of a result that the version cannot express.
pub(crate) fn configuration(
    settings: &DelegateSettings,
    version: SpecVersion,
    call: &DelegateCall,
    verb: Option<&DelegateVerb>,
) -> Result<Vec<u8>, Error> {
    let mut ipam: Map<String, Value> = serde_json::from_str(&call.ipam).unwrap_or_default();
    OWN.iter().for_each(|key| drop(ipam.remove(*key)));
    let name = settings.path.file_name().map(|name| name.to_string_lossy().into_owned());
    ipam.insert("type".to_owned(), name.unwrap_or_default().into());
    let mut root = Map::new();
    root.insert("cniVersion".to_owned(), version.as_str().into());
    root.insert("name".to_owned(), call.network.as_str().into());
    root.insert("type".to_owned(), "tenure".into());
    root.insert("ipam".to_owned(), ipam.into());
    if !call.requested.is_empty() {
        let requested: Vec<String> = call.requested.iter().map(ToString::to_string).collect();
        root.insert("args".to_owned(), json!({ "cni": { "ips": requested } }));
    }
    match verb {
        Some(DelegateVerb::Check { given }) => {
            let given = given.render(version)?;
            root.insert("prevResult".to_owned(), serde_json::from_str(&given).unwrap_or_default());
        }
        Some(DelegateVerb::Gc { valid }) => {
            let valid: Vec<Value> = valid
                .iter()
                .map(|(container, interface)| {
                    json!({ "containerID": container.as_str(), "ifname": interface.as_str() })
                })
                .collect();
            root.insert("cni.dev/valid-attachments".to_owned(), valid.into());
        }
        Some(DelegateVerb::Del | DelegateVerb::Status) | None => {}
    }
    Ok(Value::Object(root).to_string().into_bytes())
}
