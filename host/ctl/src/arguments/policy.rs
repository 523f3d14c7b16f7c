//! `tenurectl policy`, the operator's side.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueHint};

#[cfg(feature = "author")]
use super::author::Author;
use super::load::LoadArguments;
#[cfg(feature = "registry")]
use super::load::PullArguments;
use super::replay::Replay;
use crate::values;

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// List the node's policies and the networks they serve.
    #[command(after_help = "Examples:
  tenurectl policy list
  tenurectl policy list --wait 60 --output wide")]
    List {
        /// Wait up to SECONDS until no policy is being loaded any more.
        #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
        wait: Option<Duration>,
    },
    /// Show one policy: its versions, where they come from and what they serve.
    #[command(after_help = "Examples:
  tenurectl policy inspect zones
  tenurectl policy inspect zones@9f86d081884c --output json")]
    Inspect {
        /// The policy: NAME, or NAME@DIGEST for one version.
        policy: String,
    },
    /// Load a policy from a file or a registry into the node; no network is exchanged.
    #[command(
        visible_alias = "add",
        allow_missing_positional = true,
        after_help = "Examples:
  tenurectl policy load zones.wasm
  tenurectl policy load zones build/policy.wasm
  tenurectl policy load build/policy.wasm --name zones --sha256 \"$(cat zones.sha256)\"
  tenurectl policy load oci://registry.example.com/team/zones@sha256:4b30...

The node keeps its own copy, so the file may go. A name stands for the component that was loaded last under it; the
others remain as NAME@DIGEST. A network that another version serves keeps it until `tenurectl policy activate`; one whose
configuration names the policy, and that no version of it serves, is served from its next ADD on. Where the configuration has `signatures.keys`, the file's signature must lie beside it, as
FILE.minisig, or be given with --signature.

From a registry, this program pulls the component and passes it on: the daemon never connects to one. The digest after
the @ is the manifest's, which `policy pack` and `wkg` print, and which `skopeo inspect --raw REFERENCE | sha256sum` computes; the manifest names the component's
SHA-256, and both are checked. Components that `wkg`, `kwctl push` or `skopeo copy` of a packed one have pushed are
understood. Credentials are those of `docker login`, in $DOCKER_CONFIG or ~/.docker. --timeout is also the longest
silence of a registry."
    )]
    Load(Box<LoadArguments>),
    /// Pull the policies that a file names from registries into a directory; needs no daemon.
    #[cfg(feature = "registry")]
    #[command(after_help = "Examples:
  tenurectl policy pull references.json --directory /var/lib/policies
  tenurectl policy pull references.json --directory /var/lib/policies --follow      stay, and pull what changes

The file is a JSON object that gives each policy a reference with its digest:
  {\"zones\": \"oci://registry.example.com/team/zones@sha256:4b30...\"}

Each component appears whole as NAME.wasm, with its signature beside it as NAME.wasm.minisig if the registry has one; a policy that the file no
longer names is removed. Give the file in tenured.toml as `path`, and the daemon exchanges it when it changes. What is in the directory is not
pulled again. One policy that cannot be pulled keeps no other back, and its last component stays.")]
    Pull(PullArguments),
    /// Unload a policy that neither serves nor shadows a network.
    #[command(after_help = "Examples:
  tenurectl policy unload zones
  tenurectl policy unload zones@9f86d081884c

Only a policy that `tenurectl policy load` has loaded can be unloaded.")]
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
overrides the `policy` key of the network's configuration, also if the policy serves already. A policy that would change the network's ranges is refused
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
        /// Begin with an empty state, instead of taking over that of the old policy.
        #[arg(long)]
        empty_state: bool,
        /// The reason, for the history.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Start a shadow run of a policy on a network, or show the results of the current one.
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
        #[arg(group = "change")]
        policy: Option<String>,
        /// End the shadow run.
        #[arg(long, group = "change")]
        end: bool,
        /// The reason, for the history.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "change")]
        reason: String,
    },
    /// Activate the policy in a network's shadow, once enough decisions were compared.
    #[command(after_help = "Examples:
  tenurectl policy promote pods
  tenurectl policy promote pods --now --reason 'compared by hand'

It takes 16 compared decisions, recorded ones included, of which none failed; no more refusals that the serving policy did
not give than `exchange.worse_percent` of them; and no refusal of a live allocation's request that the serving policy
would answer again. With --now, only a failure keeps the policy from being activated.")]
    Promote {
        /// The network's name.
        network: String,
        /// Allow the network's ranges to change.
        #[arg(long)]
        change_ranges: bool,
        /// Do not wait for enough comparisons, and accept refusals.
        #[arg(long)]
        now: bool,
        /// The reason, for the history.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Activate a policy that served a network before; its ranges return with it.
    #[command(
        name = "rollback",
        visible_alias = "roll-back",
        after_help = "Examples:
  tenurectl policy rollback pods --reason 'pods of zone b get no address'
  tenurectl policy history pods                    lists the policies that served the network
  tenurectl policy rollback pods --to zones@9f86d081884c"
    )]
    RollBack {
        /// The network's name.
        network: String,
        /// The earlier policy, NAME or NAME@DIGEST [default: the one before the present one].
        #[arg(long, value_name = "POLICY", default_value = "", hide_default_value = true)]
        to: String,
        /// The reason, for the history.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Show what happened to policies on a network: when, by whom and why.
    #[command(after_help = "Examples:
  tenurectl policy history pods
  tenurectl policy history pods --output json | jq '.steps[] | {kind, by, reason}'")]
    History {
        /// The network's name.
        network: String,
    },
    /// Show, save or replace what a network's policy remembers.
    #[command(after_help = "Examples:
  tenurectl policy state pods                            version, size and writer
  tenurectl policy state pods --export pods.state        `-` writes to standard output
  tenurectl policy state pods --import pods.state --if-version 7

A policy that keeps a state is asked with it, and the new one is kept together with the accepted address or not at all.
--import replaces the state durably; with --if-version it is refused if the state has changed since that version. Requests
change the version, too: import on a network that is not in use, or without --if-version.")]
    State {
        /// The network's name.
        network: String,
        /// Write the state's bytes to a file; `-` means standard output.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        export: Option<PathBuf>,
        /// Replace the state with a file's bytes; `-` means standard input.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "export")]
        import: Option<PathBuf>,
        /// Import only if the state has this version.
        #[arg(long, value_name = "VERSION", requires = "import")]
        if_version: Option<u64>,
        /// The reason, for the history.
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "import")]
        reason: String,
    },
    /// Run a component over recorded decisions and list what it decides otherwise; needs no daemon.
    #[command(after_help = "Examples:
  tenurectl policy replay mine.wasm --record /var/lib/tenure/decisions/pods
  tenurectl policy replay mine.wasm --record now.jsonl --output json | jq '.differences[].now'

With `record = N` in a network's table of tenured.toml, the daemon records its decisions. The component's questions are answered from the
record as the network was then, also those that were not asked then; a decision without such a view of the network is listed as one that could not be
answered. A policy that keeps a state begins each decision with the one that was recorded with it, migrated if another policy wrote it, or
empty if there was none. The component that was recorded decides the same, to the bit. Exits with 0 if everything is the same, and with 1 if not.")]
    Replay(Replay),
    #[cfg(feature = "author")]
    #[command(flatten)]
    Author(Author),
}
