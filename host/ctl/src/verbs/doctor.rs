//! `tenurectl doctor`: what tenure needs of a node, before and after its installation. Everything is read, and nothing is changed.
//!
//! A check of files gets the node's paths, so that it works on the tree of another root, and on a made-up one in tests.

mod api_server;
mod clock;
mod daemon;
mod directories;
mod ipamd;
mod kernel;
mod networks;
mod node;
mod others;
mod plugin;
mod rights;
mod runtime;
mod sockets;
mod sysctls;
#[cfg(test)]
mod tests;

use std::path::Path;

use tenure_rpc::v1;
use tenure_types::Error;

use self::networks::ConfigurationFiles;
use self::node::{Location, NodePaths};
use self::others::AssigningDaemon;
use super::install::record::InstallationRecord;
use crate::arguments::DoctorArguments;
use crate::daemon::Daemon;
use crate::render::Report;
use crate::report::Diagnosis;

/// The state directory of a daemon that is not asked.
const STATE_DIRECTORY: &str = "/var/lib/tenure";

/// Makes every check.
pub(super) async fn doctor(daemon: &Daemon, run_dir: &Path, arguments: &DoctorArguments) -> Report {
    Report::of(diagnose(daemon, run_dir, arguments).await)
}

async fn diagnose(daemon: &Daemon, run_dir: &Path, arguments: &DoctorArguments) -> Diagnosis {
    let node = NodePaths::below(&arguments.root);
    let run_directory = node.at(run_dir);
    let daemon = Daemon::at(&run_directory.real, daemon.timeout());
    let status = daemon.call(async |mut admin| admin.get_status(v1::GetStatusRequest {}).await).await;
    let networks = match &status {
        Ok(_) => daemon.call(async |mut admin| admin.list_networks(v1::ListNetworksRequest {}).await).await,
        Err(error) => Err(error.clone()),
    };
    let access = v1::CheckClusterAccessRequest {};
    let access = daemon.call(async |mut admin| admin.check_cluster_access(access).await).await;
    let state_directory = state_directory(&node, arguments.state_dir.as_deref(), &status);
    let binaries = node.at(&arguments.directories.cni_bin_dir);
    let directory = node.at(&arguments.directories.configurations.cni_conf_dir);
    let files = ConfigurationFiles::read(&directory, &binaries);
    let record = InstallationRecord::read(&node.at(&arguments.record.record).real);
    let is_before = arguments.before;
    let [host, port] = api_server::VARIABLES.map(std::env::var_os);
    // A container has the node's directories that are mounted into it, unless it has all of them below another root.
    let sees_mounts_only = host.is_some() && arguments.root == Path::new("/");
    let checks = vec![
        kernel::release(&node),
        kernel::control_groups(&node),
        clock::clock(&node, &state_directory, &run_directory),
        directories::state(&node, &state_directory, is_before),
        directories::run(&run_directory, is_before),
        daemon::served(&status, is_before),
        sockets::sockets(&run_directory, is_before),
        runtime::socket(&node, arguments.runtime_socket.as_deref()),
        directories::cni(&[&binaries, &files.directory]),
        plugin::plugin(&binaries, &record, &status, is_before).await,
        networks::order(&files, is_before),
        networks::plugins(&files, &binaries),
        others::other_ipams(&node, &files, &AssigningDaemon { daemon: &daemon, networks }, sees_mounts_only)
            .await,
        ipamd::rules(&arguments.root, sees_mounts_only).await,
        sysctls::forwarding(&node),
        sysctls::reverse_path(&node, &files),
        sysctls::router_advertisements(&node),
        api_server::reached(host.as_deref(), port.as_deref()),
        rights::rights(&access, is_before),
    ];
    Diagnosis { checks }
}

/// The state directory that is given, or else the one that the daemon names.
fn state_directory(
    node: &NodePaths,
    given: Option<&Path>,
    status: &Result<v1::GetStatusResponse, Error>,
) -> Location {
    match (given, status) {
        (Some(given), _) => node.at(given),
        (None, Ok(status)) if !status.state_dir.is_empty() => node.at(Path::new(&status.state_dir)),
        _ => node.at(Path::new(STATE_DIRECTORY)),
    }
}
