//! The sources of `tenurectl import`, and the targets of `tenurectl export`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use tenure_types::NetworkName;

use crate::values;

/// The IPAM plugin that made the allocations to import; or the end of an import from one.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportSource {
    /// The host-local plugin, from its data directory.
    HostLocal {
        /// The data directory, usually /var/lib/cni/networks.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
        /// The interface for files that name none; plugins before 0.8 wrote such files.
        #[arg(long, value_name = "NAME", default_value = "eth0")]
        interface: String,
        /// Only the network NAME of host-local's, which is the name of its directory.
        #[arg(long, value_name = "NAME", value_parser = values::network)]
        of: Option<NetworkName>,
        /// The network to import it into, if it has another name here.
        #[arg(long, value_name = "NAME", value_parser = values::network, requires = "of")]
        network: Option<NetworkName>,
        #[command(flatten)]
        config: DefiningConfig,
    },
    /// The Amazon VPC CNI, from its checkpoint.
    Ipamd {
        /// The checkpoint file, usually /var/run/aws-node/ipam.json.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The network to import into, if it has another name here.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        #[command(flatten)]
        config: DefiningConfig,
    },
    /// End an import that was interrupted and cannot be repeated, because its source is gone; or let go of a source.
    ///
    /// What was imported stays with its owners. Use only if nothing that was not imported is in use, such as after a reboot.
    /// With the source of an import that has ended, also of a removed network, new pods are no longer compared with what is there.
    Abandon {
        /// The network.
        #[arg(value_name = "NETWORK")]
        network: String,
        /// Only the import from this source, as `tenurectl status` or the refusal names it; otherwise all that were interrupted.
        #[arg(long, value_name = "SOURCE")]
        source: Option<String>,
        /// The reason, recorded in the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

/// The configuration of a network that an import may define.
#[derive(Debug, Args)]
pub(crate) struct DefiningConfig {
    /// The CNI configuration that defines the network; required if the network does not exist yet.
    #[arg(id = "config", long = "config", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

/// The IPAM plugin that takes over the allocations.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportTarget {
    /// The Amazon VPC CNI, as its checkpoint.
    Ipamd {
        /// The checkpoint file, usually /var/run/aws-node/ipam.json.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The network whose allocations are written.
        #[arg(long, value_name = "NAME", value_parser = values::network)]
        network: NetworkName,
        /// The name of ipamd's network: `name` in its CNI configuration.
        #[arg(long = "as", value_name = "NAME", default_value = "aws-cni")]
        name: String,
        /// The state directory of the daemon, which has stopped.
        #[arg(long, value_name = "DIR", default_value = "/var/lib/tenure", value_hint = ValueHint::DirPath)]
        state_dir: PathBuf,
        /// The file with the id of the running boot: `node.boot_id_file` of tenured.toml, if that is set.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        boot_id_file: Option<PathBuf>,
        /// Replace the file if it exists.
        #[arg(long)]
        replace: bool,
    },
}
