//! `tenurectl network`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub(crate) enum NetworkVerb {
    /// Create or update a network from a CNI configuration.
    #[command(after_help = "Examples:
  tenurectl network define /etc/cni/net.d/10-pods.conflist
  tenurectl network define /etc/cni/net.d/10-pods.conflist --apply
  jq '.ipam.ranges = [[{\"subnet\": \"10.9.0.0/24\"}]]' pods.conf | tenurectl network define - --apply --change-ranges

CNI calls use the network as it is defined here, and its routes if their configuration has none. Of a different
`ipam` object, only `pools`, `requirePoolMatch` and the plugin's own keys count: `socket`, `timeout`, `wait`,
`resolvConf`.")]
    Define {
        /// A CNI configuration or configuration list; - reads standard input.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Make the changes; without this flag, only show them.
        #[arg(long)]
        apply: bool,
        /// Allow the ranges of an existing network to change.
        #[arg(long)]
        change_ranges: bool,
    },
    /// Remove a network that holds no addresses.
    #[command(after_help = "Examples:
  tenurectl network remove pods
  tenurectl network remove pods --apply

The next ADD for that name creates it again, from that call's configuration.")]
    Remove {
        /// The network's name.
        name: String,
        /// Make the changes; without this flag, only show them.
        #[arg(long)]
        apply: bool,
    },
}
