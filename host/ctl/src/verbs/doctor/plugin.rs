//! The CNI plugin: whether it is there, runs, is the one that was installed, and is of the daemon's version.

use std::fs;

use tenure_policy::sha256;
use tenure_rpc::v1::GetStatusResponse;
use tenure_types::Error;

use super::node::Location;
use crate::report::NodeCheck;
use crate::verbs::conflist::IPAM_PLUGIN;
use crate::verbs::install::record::InstallationRecord;
use crate::verbs::plugin;

const INSTALL: &str = "`tenurectl install --apply`; with --cni-bin-dir if the runtime looks elsewhere";

/// Checks the plugin in the directory of plugins.
pub(super) async fn plugin(
    binaries: &Location,
    record: &Result<InstallationRecord, Error>,
    status: &Result<GetStatusResponse, Error>,
    is_before: bool,
) -> NodeCheck {
    const NAME: &str = "plugin";
    let (path, named) = (binaries.real.join(IPAM_PLUGIN), binaries.named.join(IPAM_PLUGIN));
    let shown = named.display();
    if !path.exists() {
        return match is_before {
            true => NodeCheck::skipped(NAME, "not installed yet"),
            false => NodeCheck::problem(NAME, format!("{shown} does not exist"), INSTALL),
        };
    }
    let version = match plugin::version(&path).await {
        Ok(version) => version,
        Err(why) => return NodeCheck::problem(NAME, format!("{shown}: {why}"), INSTALL),
    };
    let recorded = match record {
        Ok(record) => record.plugin.as_ref().filter(|plugin| plugin.path == named),
        Err(error) => {
            let next = "use the tenurectl that has installed it, or pass its record with --record";
            return NodeCheck::warning(NAME, error.cause.clone(), next);
        }
    };
    let digest = fs::read(&path).map(|content| sha256(&content)).unwrap_or_default();
    if recorded.is_some_and(|plugin| !plugin.is_ours(&digest)) {
        let found = format!("somebody has changed {shown} since it was installed");
        return NodeCheck::warning(NAME, found, "if it was not you, `tenurectl install --apply`");
    }
    let said = version.as_deref().unwrap_or("unknown");
    match status {
        Ok(status) if version.as_deref() != Some(status.version.as_str()) => NodeCheck::warning(
            NAME,
            format!("{shown} has version {said}, and the daemon {}", status.version),
            "install the plugin that came with the daemon: `tenurectl install --plugin FILE --apply`",
        ),
        _ => NodeCheck::fine(NAME, format!("{shown}, version {said}")),
    }
}
