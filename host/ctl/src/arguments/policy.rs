//! `tenurectl policy`.

use clap::Subcommand;

use super::author::Author;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List the node's policies and the networks they serve.
    List,
    /// Replace a network's policy while the network serves requests.
    #[command(after_help = "Examples:
  tenurectl policy activate pods highest-first

Requests in flight finish on the old policy; none fails. If the new policy does not load, the old one keeps serving.
The choice survives a restart and overrides the `policy` key of the network's configuration. A policy that would change the network's
ranges is refused unless --change-ranges is given.")]
    Activate {
        /// The network's name.
        network: String,
        /// The policy's name, as shown by `policy list`.
        #[arg(value_name = "POLICY")]
        name: String,
        /// Allow the network's ranges to change.
        #[arg(long)]
        change_ranges: bool,
    },
    #[command(flatten)]
    Author(Author),
}
