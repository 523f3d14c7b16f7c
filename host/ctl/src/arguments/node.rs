//! `tenurectl install`, `uninstall` and `doctor`: what tenure has and needs on a node.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::values;

/// The verbs about the files of this node.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeVerb {
    /// Install the CNI plugin on this node, and a network's configuration once the daemon serves.
    #[command(after_help = "Examples:
  tenurectl install                                             show what would be installed
  tenurectl install --apply                                     the plugin that lies beside this program
  tenurectl install --configuration pods.conflist --apply       and the network, once the daemon serves
  tenurectl install --rollback --apply                          bring the plugin before this one back
  tenurectl install --configuration pods.conflist --apply --follow      stay, and install what changes

Each file appears whole or not at all, also for a pod that starts or ends meanwhile. A configuration that tenurectl did not write, or
that somebody has changed since, is never overwritten. A second installation of the same files changes nothing.")]
    Install(InstallArguments),
    /// Remove what `tenurectl install` has installed on this node.
    #[command(after_help = "Examples:
  tenurectl uninstall                                           show what would be removed
  tenurectl uninstall --apply
  tenurectl uninstall --keep-configuration --apply
  tenurectl uninstall --apply --follow                          try again until no address is in use, and stay

Refused while pods or agents have addresses, since no DEL could free them without the plugin, and while the state is lost. A file that
somebody has changed since it was installed is left and named, and the command exits with 1. So is the plugin while another configuration
uses it.")]
    Uninstall(UninstallArguments),
    /// Check what tenure needs of this node, before and after its installation; changes nothing.
    #[command(after_help = "Examples:
  tenurectl doctor --before                                     on a node without tenure
  tenurectl doctor
  tenurectl doctor --output json | jq -r '.checks[] | select(.verdict == \"problem\") | .name'

Exits with 1 if there is a problem; warnings do not count.")]
    Doctor(DoctorArguments),
}

impl NodeVerb {
    /// Whether it is repeated until a signal.
    pub(crate) fn follows(&self) -> bool {
        match self {
            Self::Install(arguments) => arguments.follow,
            Self::Uninstall(arguments) => arguments.follow,
            Self::Doctor(_) => false,
        }
    }
}

/// The record of what was installed.
#[derive(Debug, Args)]
pub(crate) struct RecordArgument {
    /// The record of what was installed, with digests; the plugin before the present one is kept beside it.
    #[arg(long, value_name = "FILE", default_value = "/var/lib/tenure/installed.json", value_parser = values::absolute_path(), value_hint = ValueHint::FilePath)]
    pub(crate) record: PathBuf,
}

/// The daemon for which a node's files are, which the record names.
#[derive(Debug, Args)]
pub(crate) struct DaemonArgument {
    /// Change nothing while a daemon runs here that reads another configuration than FILE, or while none runs and the files were installed for another.
    #[arg(long, value_name = "FILE", value_parser = values::absolute_path(), value_hint = ValueHint::FilePath)]
    pub(crate) daemon_config: Option<PathBuf>,
}

/// The directories of CNI, as the container runtime has them.
#[derive(Debug, Args)]
pub(crate) struct CniDirectories {
    /// The directory in which the container runtime looks for plugins; on Debian, /usr/lib/cni.
    #[arg(long, env = "TENURE_CNI_BIN_DIR", value_name = "DIR", default_value = "/opt/cni/bin", value_parser = values::absolute_path(), value_hint = ValueHint::DirPath)]
    pub(crate) cni_bin_dir: PathBuf,
    #[command(flatten)]
    pub(crate) configurations: ConfigurationDirectory,
}

/// The directory of network configurations.
#[derive(Debug, Args)]
pub(crate) struct ConfigurationDirectory {
    /// The directory in which the container runtime looks for network configurations.
    #[arg(long, env = "TENURE_CNI_CONF_DIR", value_name = "DIR", default_value = "/etc/cni/net.d", value_parser = values::absolute_path(), value_hint = ValueHint::DirPath)]
    pub(crate) cni_conf_dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct InstallArguments {
    /// The plugin to install [default: `tenure` beside this program].
    #[arg(long, value_name = "FILE", value_parser = values::absolute_path(), value_hint = ValueHint::FilePath)]
    pub(crate) plugin: Option<PathBuf>,
    /// The network configuration list to install; without it, only the plugin is installed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) configuration: Option<PathBuf>,
    /// The name under which the configuration is installed: a runtime uses the first in the order of names.
    #[arg(long, value_name = "NAME", default_value = "00-tenure.conflist", value_parser = values::conflist_name)]
    pub(crate) configuration_name: String,
    /// Wait up to SECONDS for the node to serve ADD before the configuration is installed.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds)]
    pub(crate) wait: Duration,
    /// Bring back the plugin that was there before the present one, and keep the present one in its place.
    #[arg(long, conflicts_with_all = ["plugin", "configuration", "links", "follow"])]
    pub(crate) rollback: bool,
    /// Link NAME to the plugin, in its directory, such as `tenure-eni`; may be given more than once.
    #[arg(long = "link", value_name = "NAME", value_parser = values::plugin_name)]
    pub(crate) links: Vec<String>,
    /// Stay until a signal, and install again what has changed or is gone; for a container beside the daemon's.
    #[arg(long, requires = "apply")]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) directories: CniDirectories,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgument,
    #[command(flatten)]
    pub(crate) record: RecordArgument,
    /// Make the changes; without this flag, only show them.
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    /// Leave the network configuration; pods cannot start or end until a plugin is installed again.
    #[arg(long)]
    pub(crate) keep_configuration: bool,
    /// Stay until a signal, and try again what was refused; for a container beside the daemon's.
    #[arg(long, requires = "apply")]
    pub(crate) follow: bool,
    /// Remove the files even if pods have addresses, or if the daemon cannot be asked.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) configurations: ConfigurationDirectory,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgument,
    #[command(flatten)]
    pub(crate) record: RecordArgument,
    /// Make the changes; without this flag, only show them.
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Check a node on which tenure is not installed yet, and skip what only an installation brings.
    #[arg(long)]
    pub(crate) before: bool,
    #[command(flatten)]
    pub(crate) directories: CniDirectories,
    /// The daemon's state directory [default: the running daemon's, or else /var/lib/tenure].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,
    /// The container runtime's CRI socket [default: containerd's or CRI-O's, whichever exists].
    #[arg(long, env = "TENURE_RUNTIME_SOCKET", value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub(crate) runtime_socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) record: RecordArgument,
    /// The directory below which the node's files are, such as /host in a container.
    #[arg(long, value_name = "DIR", default_value = "/", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
}
