//! `tenurectl cluster` and its verb.

use std::ffi::OsString;

use clap::Subcommand;

/// A verb about the whole cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterVerb {
    /// Note addresses that another IPAM hands out as taken, before a pool's first block is granted, or propose pools for its networks: runs `tenure-operator import`.
    #[command(after_help = "Examples:
  tenurectl cluster import whereabouts-networks                 show pools and networks in the place of whereabouts' own
  tenurectl cluster import whereabouts --pool pods              show what would be written
  tenurectl cluster import calico --pool pods --apply
  tenurectl cluster import podcidr --pool pods --kubeconfig admin.conf --apply

tenure-operator does it, by your own rights on the API server and not the daemon's: it is run from beside tenurectl, else from PATH.
`tenure-operator import --help` lists the arguments.")]
    Import {
        /// The arguments of `tenure-operator import`.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
        arguments: Vec<OsString>,
    },
}
