//! The sources of `tenurectl import`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

/// The IPAM plugin that made the allocations to import.
#[derive(Debug, Subcommand)]
pub(crate) enum Source {
    /// The host-local plugin, from its data directory.
    HostLocal {
        /// The data directory, usually /var/lib/cni/networks.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
        /// The interface for files that name none; plugins before 0.8 wrote such files.
        #[arg(long, value_name = "NAME", default_value = "eth0")]
        interface: String,
    },
    /// The Amazon VPC CNI, from its checkpoint.
    Ipamd {
        /// The checkpoint file, usually /var/run/aws-node/ipam.json.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The network to import into, if it has another name here.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
    },
}
