//! The command line.

#[cfg(feature = "author")]
mod author;
mod claims;
mod cluster;
mod load;
mod network;
mod node;
mod policy;
mod quarantine;
mod replay;
mod source;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};
use tenure_types::NetworkName;

#[cfg(feature = "author")]
pub(crate) use self::author::{Author, TrialOptions};
pub(crate) use self::claims::{ClaimsArguments, ClaimsVerb};
pub(crate) use self::cluster::ClusterVerb;
pub(crate) use self::load::LoadArguments;
#[cfg(feature = "registry")]
pub(crate) use self::load::PullArguments;
pub(crate) use self::network::NetworkVerb;
pub(crate) use self::node::{
    DaemonArgument, DoctorArguments, InstallArguments, NodeVerb, UninstallArguments,
};
pub(crate) use self::policy::PolicyVerb;
pub(crate) use self::quarantine::QuarantineVerb;
pub(crate) use self::replay::Replay;
pub(crate) use self::source::{ExportTarget, ImportSource};
use crate::values;

/// The environment variable for the daemon's run directory.
const RUN_DIR: &str = "TENURE_RUN_DIR";

const EXIT_CODES: &str = "Exit codes:
  0  success
  1  failure: the node is not ready, the command found problems, or the daemon refused the request
  2  invalid command line
  3  the daemon or a registry could not be reached, or did not answer in time
  4  no such network, address, policy or agent";

const EXAMPLES: &str = "Examples:
  tenurectl status                                  show whether the node is healthy, and why not
  tenurectl allocation 10.1.0.7                     show the owner of an address
  tenurectl allocations --output json | jq .        print JSON for programs
  tenurectl policy activate pods highest-first      replace a network's policy
  tenurectl reload                                  reload tenured.toml

";

/// Inspect and operate a node's IPAM daemon.
#[derive(Debug, Parser)]
#[command(name = "tenurectl", version, after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(crate) struct CtlArguments {
    /// The daemon's run directory, which contains its sockets.
    #[arg(long, global = true, env = RUN_DIR, default_value = "/run/tenure", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: PathBuf,
    /// Output format: a table for people, with more columns if it is wide, or JSON for programs.
    #[arg(long, short, global = true, value_enum, default_value_t = Output::Table, value_name = "FORM")]
    pub(crate) output: Output,
    /// Sort a table's rows by this column, such as `age` or `last-heard`; JSON keeps the daemon's order.
    #[arg(long, global = true, value_name = "COLUMN")]
    pub(crate) sort_by: Option<String>,
    /// Print a table's rows only, for `cut` and `awk`: no heads, and no text around it.
    #[arg(long, global = true)]
    pub(crate) no_headers: bool,
    /// Time limit for the daemon's answer, and for each further part of a streamed one.
    #[arg(long, global = true, default_value = "60", value_name = "SECONDS", value_parser = values::timeout)]
    pub(crate) timeout: Duration,
    #[command(subcommand)]
    pub(crate) command: CtlCommand,
}

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For people with wide terminals: tables have more columns.
    Wide,
    /// For programs; the book's page on operations documents the fields.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtlCommand {
    #[command(flatten)]
    Ask(Question),
    #[command(flatten)]
    Node(NodeVerb),
    /// List allocations: addresses and their owners.
    #[command(after_help = "Examples:
  tenurectl allocations
  tenurectl allocations --network pods
  tenurectl allocations --output json | jq -r '.allocations[] | [.pod_name, .addresses[]] | @tsv'")]
    Allocations {
        /// List only this network's allocations.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
    },
    /// Print the history from the checkpoint's log; works while the daemon is down.
    #[command(after_help = "Examples:
  tenurectl log
  tenurectl log --follow
  tenurectl log --since 2h --network pods
  tenurectl log --state-dir ./copy-of-another-node --output json | jq 'select(.fact.released)'")]
    Log {
        /// Keep printing facts as they are appended.
        #[arg(long, short)]
        follow: bool,
        /// Print only what happened since then: a time such as 2026-11-24T08:00:00Z, or how long ago, such as 30m, 2h or 1d.
        #[arg(long, value_name = "TIME", value_parser = values::since)]
        since: Option<u64>,
        /// Print only what happened to this network; may be repeated.
        #[arg(long = "network", value_name = "NAME", value_parser = values::network)]
        networks: Vec<NetworkName>,
        /// The checkpoint's directory [default: the running daemon's, or else /var/lib/tenure].
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state_dir: Option<PathBuf>,
    },
    /// Export a network's allocations for another IPAM plugin that takes over; works once the daemon has stopped.
    #[command(after_help = "Examples:
  systemctl stop tenured && tenurectl export ipamd /var/run/aws-node/ipam.json --network pods

What the other plugin's file cannot express is named and left out; the export then exits with 1.")]
    Export {
        /// The IPAM plugin that takes over.
        #[command(subcommand)]
        target: ExportTarget,
    },
    /// Print a shell completion script.
    #[command(after_help = "Examples:
  tenurectl completions bash > /etc/bash_completion.d/tenurectl")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a directory.
    #[command(after_help = "Examples:
  tenurectl man /usr/local/share/man/man1")]
    Man {
        /// The directory; created if it is missing.
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

/// The commands that need the daemon.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// Show whether the node serves ADD, and what is wrong.
    #[command(after_help = "Examples:
  tenurectl status
  tenurectl status --wait 60 && deploy-pods

Exits with 0 if the node serves ADD (ready or degraded), and with 1 if it does not.")]
    Status {
        /// Wait up to SECONDS for the node to serve ADD.
        #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
        wait: Option<Duration>,
    },
    /// List networks with their pools, pool usage, and policies.
    #[command(after_help = "Examples:
  tenurectl networks
  tenurectl networks pods --output wide

HELD counts addresses in quarantine, too, which have no allocation.")]
    Networks {
        /// List only these networks.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Define and remove networks without a CNI call.
    #[command(subcommand)]
    Network(NetworkVerb),
    /// Reload the daemon's configuration, as SIGHUP does, and list the keys that took effect.
    #[command(after_help = "Examples:
  tenurectl reload
  tenurectl reload --output json | jq -r '.after_restart[]'

An invalid file changes nothing. Exits with 1 if the file is refused, or if one of its networks could not be \
defined; the daemon retries such a network by itself.")]
    Reload,
    /// Show the daemon's configuration in force, with the values of the keys that no file sets.
    #[command(after_help = "Examples:
  tenurectl config
  tenurectl config --output json | jq -r .file

What a reload has applied is in force; a key that needs a restart has its old value until then.")]
    Config,
    /// Show everything about one address, on each network that contains it.
    #[command(after_help = "Examples:
  tenurectl allocation 10.1.0.7
  tenurectl allocation fd00:1::7
  tenurectl allocation 10.1.0.7/16                 as printed in tables")]
    Allocation {
        /// The address; a prefix length after it is ignored.
        #[arg(value_parser = values::address)]
        address: IpAddr,
    },
    /// Release an address by hand, if no runtime will ever delete its allocation.
    #[command(after_help = "Examples:
  tenurectl release 10.1.0.7
  tenurectl release 10.1.0.7 --apply --reason 'left over from host-local; no reply to ping or arping'

The allocation is kept if its sandbox still exists, unless --force is given. A released address cools down before it is handed out
again.")]
    Release {
        /// The address; a prefix length after it is ignored.
        #[arg(value_parser = values::address)]
        address: IpAddr,
        /// The network, if more than one has the address.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        /// The allocation, if two claim the address.
        #[arg(long, value_name = "NUMBER")]
        generation: Option<u64>,
        /// The reason, recorded in the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Release even if the sandbox still exists: the pod keeps using an address that another pod may get.
        #[arg(long)]
        force: bool,
        /// Make the changes; without this flag, only show them.
        #[arg(long)]
        apply: bool,
    },
    /// Quarantine addresses, list quarantined ones, or lift a quarantine.
    #[command(subcommand)]
    Quarantine(QuarantineVerb),
    /// List the claims of agents: addresses that belong to the node's own programs, not to pods.
    #[command(after_help = "Examples:
  tenurectl claims
  tenurectl claims --agent cilium --output json
  tenurectl claims release cilium pods ingress --apply")]
    Claims(ClaimsArguments),
    /// List addresses requested from delegates (external IPAM plugins) and not yet released.
    #[command(after_help = "Examples:
  tenurectl delegates
  tenurectl delegates --output json

`in-use`: somebody has the addresses. `open`: the delegate is being asked, or has to be told that its answer is not used. `leaving`: the
delegate has to take the addresses back. The daemon does both by itself, and tries again until it succeeds.")]
    Delegates,
    /// Show the node's AWS interfaces: their addresses, what is being done to them, and what EC2 allows.
    #[command(after_help = "Examples:
  tenurectl cloud
  tenurectl cloud --output json | jq '.interfaces[] | {id, device, subnet}'

Nothing is concluded from what EC2 does not show once: it is `doubtful` for a minute, and then `gone`. What is gone and may be in use is
quarantined: it hands out nothing, and stays.")]
    Cloud,
    /// Show the blocks of addresses that a cluster leases to the node, the operator's marks and the answers, and what the node waits for.
    #[command(after_help = "Examples:
  tenurectl cluster
  tenurectl cluster import whereabouts --pool pods
  tenurectl cluster --output json | jq '.blocks[] | {cidr, hold, in_use, free}'

`open`: new addresses come from the block. `cordoned`: it is wanted back, and goes with its last address. `frozen`: it is empty, and the
operator may delete its lease. `doubted`: the ledger was lost. `contested`: the API server names another holder.")]
    Cluster {
        /// A verb about the whole cluster; without one, the blocks are shown.
        #[command(subcommand)]
        verb: Option<ClusterVerb>,
    },
    /// Explain what the policy would request or release now (AWS interfaces, cluster blocks); changes nothing.
    #[command(after_help = "Examples:
  tenurectl plan --explain
  tenurectl plan --explain pods --output json | jq '.effects[] | {kind, attributes, reason}'

Plans are made by the daemon itself, every few seconds. This asks the policy once more and begins nothing.")]
    Plan {
        /// Explain the plan; nothing begins.
        #[arg(long, required = true)]
        explain: bool,
        /// The network [default: the only one that is planned on this node].
        #[arg(value_name = "NETWORK")]
        network: Option<String>,
    },
    /// Compare the daemon's memory with its checkpoint and with the sandboxes that exist.
    #[command(after_help = "Examples:
  tenurectl check
  tenurectl check --output json > report.json

Exits with 1 if they differ; each finding says what to do next.")]
    Check,
    /// Release the allocations that a check reported as `sandbox-gone`.
    #[command(after_help = "Examples:
  tenurectl check --output json > report.json
  tenurectl repair --from report.json
  tenurectl repair --from report.json --apply

The daemon verifies each finding again before it releases anything. Findings of any other kind are left to the operator.")]
    Repair {
        /// The output of `tenurectl check --output json`.
        #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
        from: PathBuf,
        /// Make the changes; without this flag, only show them.
        #[arg(long)]
        apply: bool,
    },
    /// Import the live allocations of another IPAM plugin.
    #[command(after_help = "Examples:
  tenurectl import host-local /var/lib/cni/networks --config /etc/cni/net.d/10-pods.conflist
  tenurectl import --apply host-local /var/lib/cni/networks
  tenurectl import --apply host-local /var/lib/cni/networks --of cbr0 --network pods
  tenurectl import ipamd /var/run/aws-node/ipam.json --network pods
  tenurectl import abandon pods --reason 'rebooted meanwhile' --apply
  tenurectl import abandon pods --source 'ipamd /root/ipam.json' --apply

An address that cannot be assigned to its owner - a duplicate, a conflict, one outside the ranges, a file without an owner - is held
for an unknown owner and is not handed out until `tenurectl release` or a reboot frees it; the import then exits with 1. An allocation
that was imported before and has ended since stays released, and so does one whose DEL was answered before it was imported.")]
    Import {
        /// The IPAM plugin to import from, or `abandon`.
        #[command(subcommand)]
        source: ImportSource,
        /// Make the changes; without this flag, only show them.
        #[arg(long, global = true)]
        apply: bool,
    },
    /// Confirm the state after it was lost, so that the node serves ADD again.
    #[command(after_help = "Examples:
  tenurectl adopt --empty

Use only if `tenurectl allocations` lists the address of every live pod: any other address would be handed out again. A backup or
an older copy of the state lacks the pods that were created after it; drain the node first.")]
    Adopt {
        /// Confirm that no live pod has an address that `tenurectl allocations` does not list.
        #[arg(long, required = true)]
        empty: bool,
    },
    /// List and activate policies; create, build and test one of your own.
    #[command(subcommand)]
    Policy(PolicyVerb),
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    /// The book's page with the rule for `--apply`.
    const OPERATIONS: &str = include_str!("../../../deploy/book/src/operations.md");

    /// Collects the verbs below a command that have `--apply`, each with its help.
    fn with_apply(command: &Command, above: &str, found: &mut Vec<(String, String)>) {
        for verb in command.get_subcommands() {
            let name = format!("{above}{}", verb.get_name());
            let apply = verb.get_arguments().find(|argument| argument.get_id() == "apply");
            let help = apply.map(|apply| apply.get_help().map(ToString::to_string).unwrap_or_default());
            found.extend(help.map(|help| (name.clone(), help)));
            with_apply(verb, &format!("{name} "), found);
        }
    }

    #[test]
    fn one_rule_for_apply() {
        let mut found = Vec::new();
        with_apply(&CtlArguments::command(), "", &mut found);
        found.sort();
        let rule = OPERATIONS.split("**One rule for `--apply`**").nth(1).unwrap();
        let rule = rule.split(" only shows ").next().unwrap();
        let mut stated: Vec<_> = rule.split('`').skip(1).step_by(2).collect();
        stated.sort_unstable();
        let verbs: Vec<_> = found.iter().map(|(verb, _)| verb.as_str()).collect();
        assert_eq!(verbs, stated, "the verbs, and those that the book names");
        for (verb, help) in &found {
            assert_eq!(help, "Make the changes; without this flag, only show them", "{verb}");
        }
    }

    #[test]
    fn the_command_line_holds_together() {
        CtlArguments::command().debug_assert();
    }

    #[test]
    fn a_policy_s_name_may_stand_before_its_file() {
        let load = |words: &[&str]| {
            let words = ["tenurectl", "policy", "add"].iter().chain(words);
            match CtlArguments::try_parse_from(words).map(|arguments| arguments.command) {
                Ok(CtlCommand::Ask(Question::Policy(PolicyVerb::Load(load)))) => {
                    Some((load.named, load.name, load.source))
                }
                _ => None,
            }
        };
        let zones = || Some("zones".to_owned());
        assert_eq!(load(&["zones", "policy.wasm"]), Some((zones(), None, "policy.wasm".into())));
        assert_eq!(load(&["policy.wasm"]), Some((None, None, "policy.wasm".into())));
        assert_eq!(load(&["policy.wasm", "--name", "zones"]), Some((None, zones(), "policy.wasm".into())));
        assert_eq!(load(&["racks", "policy.wasm", "--name", "zones"]), None);
        assert_eq!(load(&[]), None);
    }
}
