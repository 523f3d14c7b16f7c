//! `tenurectl policy`, the operator's side.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::author::Author;
use super::replay::Replay;

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// List the node's policies and the networks they serve.
    List,
    /// Show one policy: its versions, where they come from and what they serve.
    Inspect {
        /// The policy: NAME, or NAME@DIGEST for one version.
        policy: String,
    },
    /// Load a policy into the node; it serves nothing yet.
    #[command(
        visible_alias = "add",
        after_help = "Examples:
  tenurectl policy load zones.wasm
  tenurectl policy load build/policy.wasm --name zones --sha256 \"$(cat zones.sha256)\"

The node keeps its own copy, so the file may go. A name stands for the component that was loaded last under it; the
others remain as NAME@DIGEST. Where the configuration has `signatures.keys`, the file's signature must lie beside it, as
FILE.minisig."
    )]
    Load {
        /// The component's file.
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The policy's name [default: the file's name without its extension].
        #[arg(long)]
        name: Option<String>,
        /// The component's expected SHA-256; another one is refused.
        #[arg(long)]
        sha256: Option<String>,
    },
    /// Unload a policy that neither serves nor shadows a network.
    Unload {
        /// The policy: NAME, or NAME@DIGEST for one version.
        policy: String,
    },
    /// Replace a network's policy while the network serves requests.
    #[command(after_help = "Examples:
  tenurectl policy activate pods highest-first
  tenurectl policy activate pods zones@9f86d081884c

Requests in flight finish on the old policy; none fails. If the new policy does not load or does not pass the conformance
suite, or if the exchange cannot be recorded durably, the old one keeps serving. The choice survives a restart and
overrides the `policy` key of the network's configuration. A policy that would change the network's ranges is refused
unless --change-ranges is given.

The new policy is watched for a while (`exchange.watch_seconds`), and rolled back if it leaves requests unanswered that
the old one would have answered.")]
    Activate {
        /// The network's name.
        network: String,
        /// The policy: NAME, or NAME@DIGEST for one version.
        policy: String,
        /// Allow the network's ranges to change.
        #[arg(long)]
        change_ranges: bool,
        /// Skip the conformance suite.
        #[arg(long)]
        unchecked: bool,
    },
    /// Run a policy in the shadow of a network's policy, or show how the present one does.
    #[command(after_help = "Examples:
  tenurectl policy shadow pods zones     begins; nothing changes for any pod
  tenurectl policy shadow pods           shows how it compares
  tenurectl policy shadow pods --end

The policy decides the same requests on a book of its own, beside the requests, and each decision is compared with the
one that was made. It costs the memory of a second book while it runs.")]
    Shadow {
        /// The network's name.
        network: String,
        /// The policy: NAME, or NAME@DIGEST for one version.
        #[arg(conflicts_with = "end")]
        policy: Option<String>,
        /// End the shadow run.
        #[arg(long)]
        end: bool,
    },
    /// Activate the policy in a network's shadow, once enough decisions were compared and none failed.
    Promote {
        /// The network's name.
        network: String,
        /// Allow the network's ranges to change.
        #[arg(long)]
        change_ranges: bool,
        /// Do not wait for enough comparisons.
        #[arg(long)]
        now: bool,
    },
    /// Activate the policy that served a network before; its ranges return with it.
    #[command(name = "rollback", visible_alias = "roll-back")]
    RollBack {
        /// The network's name.
        network: String,
        /// The reason, for the history.
        #[arg(long, default_value = "")]
        reason: String,
    },
    /// Show what happened to policies on a network.
    History {
        /// The network's name.
        network: String,
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
