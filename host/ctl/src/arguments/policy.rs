//! `tenurectl policy`.

use clap::Subcommand;

use super::author::Author;
use super::replay::Replay;

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
    /// Run a component over recorded decisions and list what it decides otherwise; needs no daemon.
    #[command(after_help = "Examples:
  tenurectl policy replay mine.wasm --record /var/lib/tenure/decisions/pods
  tenurectl policy replay mine.wasm --record now.jsonl --output json | jq '.differences[].now'

With `record = N` in a network's table of tenured.toml, the daemon records its decisions. The component's questions are answered from the
record; a question that was not asked then has no answer and ends that decision. The component that was recorded decides the same, to the
bit. Exits with 0 if everything is the same, and with 1 if not.")]
    Replay(Replay),
    #[command(flatten)]
    Author(Author),
}
