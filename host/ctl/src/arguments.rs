//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum, ValueHint};

use crate::values;

/// The environment variable that names the daemon's run directory.
const RUN_DIR: &str = "TENURE_RUN_DIR";

const EXIT_CODES: &str = "Exit codes:
  0  what was asked for is so
  1  it is not: the node is not ready, the check found problems, or the daemon refused
  2  the command line is wrong
  3  the daemon could not be reached, or did not answer in time
  4  no such network, address or policy";

const EXAMPLES: &str = "Examples:
  tenurectl status                                  is the node well, and if not, why
  tenurectl allocation 10.1.0.7                     who has this address
  tenurectl allocations --output json | jq .        for programs
  tenurectl policy activate pods highest-first      replace a network's policy
  tenurectl reload                                  read tenured.toml again

";

/// Shows a node's addresses and activates its policies.
#[derive(Debug, Parser)]
#[command(name = "tenurectl", version, after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
pub(crate) struct Arguments {
    /// The daemon's run directory, which has its sockets.
    #[arg(long, global = true, env = RUN_DIR, default_value = "/run/tenure", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) run_dir: PathBuf,
    /// A table for people, or JSON for programs.
    #[arg(long, global = true, value_enum, default_value_t = Output::Table, value_name = "FORM")]
    pub(crate) output: Output,
    /// How long the daemon may take for an answer, and for each further part of a long one.
    #[arg(long, global = true, default_value = "60", value_name = "SECONDS", value_parser = values::seconds)]
    pub(crate) timeout: Duration,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For programs; the fields are in the book's page on operations.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Ask(Question),
    /// Lists who has which addresses.
    #[command(after_help = "Examples:
  tenurectl allocations
  tenurectl allocations --network pods
  tenurectl allocations --output json | jq -r '.allocations[] | [.pod_name, .addresses[]] | @tsv'")]
    Allocations {
        /// Of this network only.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
    },
    /// Prints what happened, from the checkpoint itself; works while the daemon is down.
    #[command(after_help = "Examples:
  tenurectl log
  tenurectl log --follow
  tenurectl log --state-dir ./copy-of-another-node --output json | jq 'select(.record.release)'")]
    Log {
        /// Goes on as facts come.
        #[arg(long, short)]
        follow: bool,
        /// Where the checkpoint lies; asked of the daemon, or /var/lib/tenure while it is down.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        state_dir: Option<PathBuf>,
    },
    /// Prints a completion script for a shell.
    #[command(after_help = "Examples:
  tenurectl completions bash > /etc/bash_completion.d/tenurectl")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Writes the manual pages into a directory.
    #[command(after_help = "Examples:
  tenurectl man /usr/local/share/man/man1")]
    Man {
        /// The directory, which must exist.
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

/// What only the daemon can answer.
#[derive(Debug, Subcommand)]
pub(crate) enum Question {
    /// Tells whether the node serves, and what is wrong.
    #[command(after_help = "Examples:
  tenurectl status
  tenurectl status --wait 60 && deploy-pods

Ends with 0 when an ADD is served (ready or degraded), with 1 when it is not.")]
    Status {
        /// Waits until the node serves, for at most so many seconds.
        #[arg(long, value_name = "SECONDS", value_parser = values::seconds)]
        wait: Option<Duration>,
    },
    /// Lists the networks with their pools, how full they are and what serves them.
    Networks,
    /// Defines and removes networks without a CNI call.
    #[command(subcommand)]
    Network(Network),
    /// Has the daemon read its configuration again, as SIGHUP does, and says which keys hold now.
    #[command(
        after_help = "A file that is wrong changes nothing. Ends with 1 when the file is refused, and when a network of it could not be \
defined; the daemon tries such a network again by itself."
    )]
    Reload,
    /// Shows everything about one address, on each network that has it.
    #[command(after_help = "Examples:
  tenurectl allocation 10.1.0.7
  tenurectl allocation fd00:1::7
  tenurectl allocation 10.1.0.7/16                 as the tables print it")]
    Allocation {
        /// The address; a prefix length behind it is read over.
        #[arg(value_parser = values::address)]
        address: IpAddr,
    },
    /// Ends whoever has an address, on your word: for what no runtime will ever give back.
    #[command(after_help = "Examples:
  tenurectl release 10.1.0.7
  tenurectl release 10.1.0.7 --apply --reason 'host-local left it; ping and arping are silent'

An address whose sandbox is still there is kept, unless --force is given. The address cools before it is handed out again.")]
    Release {
        /// The address; a prefix length behind it is read over.
        #[arg(value_parser = values::address)]
        address: IpAddr,
        /// The network, where more than one has the address.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        /// The allocation, where two claim the address.
        #[arg(long, value_name = "NUMBER")]
        generation: Option<u64>,
        /// Why; kept in the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Does it also when its sandbox is there: the pod goes on using an address that others get.
        #[arg(long)]
        force: bool,
        /// Does it; without, it only says what would be done.
        #[arg(long)]
        apply: bool,
    },
    /// Compares what the daemon has in memory with its checkpoint, and with the sandboxes that are really there.
    #[command(after_help = "Ends with 1 when they differ; each finding says what to do next.")]
    Check,
    /// Frees what a check found to be gone, by the runtime and by the network namespace.
    #[command(after_help = "Examples:
  tenurectl check --output json > report.json
  tenurectl repair --from report.json
  tenurectl repair --from report.json --apply

The daemon looks again before it frees anything. Findings of any other kind are left to a person.")]
    Repair {
        /// What `tenurectl check --output json` printed.
        #[arg(long, value_name = "REPORT", value_hint = ValueHint::FilePath)]
        from: PathBuf,
        /// Does it; without, it only says what would be done.
        #[arg(long)]
        apply: bool,
    },
    /// Takes over the live allocations of another IPAM.
    #[command(after_help = "Examples:
  tenurectl import host-local /var/lib/cni/networks --config /etc/cni/net.d/10-pods.conflist
  tenurectl import --apply host-local /var/lib/cni/networks
  tenurectl import ipamd /var/run/aws-node/ipam.json --network pods

An address that cannot be given to its owner - a duplicate, a conflict, one outside of the ranges, a file without an owner - is held
for an unknown one and never handed out, until `tenurectl release` or a boot frees it; then the import ends with 1. What was taken over
before and has ended since stays released.")]
    Import {
        /// Whose allocations.
        #[command(subcommand)]
        source: Source,
        /// The CNI configuration of a network that does not exist yet; else the network must.
        #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        config: Option<PathBuf>,
        /// Does it; without, it only says what would be done.
        #[arg(long, global = true)]
        apply: bool,
    },
    /// Confirms the state after it was lost, so that ADD is served again.
    #[command(after_help = "Examples:
  tenurectl adopt --empty

Use only if `tenurectl allocations` lists the address of every live pod: any other would be handed out again. A backup or an
older copy of the state does not list the pods that came after it; drain the node first.")]
    Adopt {
        /// No pod lives whose address is not shown by `tenurectl allocations`.
        #[arg(long, required = true)]
        empty: bool,
    },
    /// Lists policies and activates them.
    #[command(subcommand)]
    Policy(Policy),
}

/// Who made the allocations of an import.
#[derive(Debug, Subcommand)]
pub(crate) enum Source {
    /// The host-local plugin, from its directory of networks.
    HostLocal {
        /// Its data directory, usually /var/lib/cni/networks.
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        directory: PathBuf,
        /// The interface of files that have none, which plugins before 0.8 wrote.
        #[arg(long, value_name = "NAME", default_value = "eth0")]
        interface: String,
    },
    /// The Amazon VPC CNI, from its checkpoint.
    Ipamd {
        /// Its checkpoint, usually /var/run/aws-node/ipam.json.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// The network here, where it is not named as there.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Network {
    /// Brings a network to what a CNI configuration says, or creates it.
    #[command(after_help = "Examples:
  tenurectl network define /etc/cni/net.d/10-pods.conflist
  tenurectl network define /etc/cni/net.d/10-pods.conflist --apply
  jq '.ipam.ranges = [[{\"subnet\": \"10.9.0.0/24\"}]]' pods.conf | tenurectl network define - --apply --change-ranges

CNI calls use the network as it is defined here; another `ipam` in their configuration changes nothing.")]
    Define {
        /// A CNI configuration or configuration list; - reads standard input.
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Does it; without, it only says what would be done.
        #[arg(long)]
        apply: bool,
        /// Allows the ranges of a network that exists to change.
        #[arg(long)]
        change_ranges: bool,
    },
    /// Removes a network that holds no addresses.
    #[command(after_help = "Examples:
  tenurectl network remove pods
  tenurectl network remove pods --apply

The next ADD of its name creates it anew, from that call's configuration.")]
    Remove {
        /// The network.
        name: String,
        /// Does it; without, it only says what would be done.
        #[arg(long)]
        apply: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Lists the policies of this node and which networks they serve.
    List,
    /// Puts a policy in place of a network's present one while the network serves.
    #[command(after_help = "Examples:
  tenurectl policy activate pods highest-first

Requests under way finish on the old policy; none fails. A policy that does not load leaves the old one serving.
The choice survives a restart and wins over the `policy` key of the network's configuration. A policy that would change the network's
ranges is refused, unless --change-ranges is given.")]
    Activate {
        /// The network.
        network: String,
        /// The policy's name, as `policy list` shows it.
        #[arg(value_name = "POLICY")]
        name: String,
        /// Allows the network's ranges to change.
        #[arg(long)]
        change_ranges: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }
}
