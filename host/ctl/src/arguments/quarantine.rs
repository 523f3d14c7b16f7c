//! `tenurectl quarantine`.

use std::net::IpAddr;

use clap::Subcommand;

use crate::values;

#[derive(Debug, Subcommand)]
pub(crate) enum QuarantineVerb {
    /// Put an address into quarantine: no policy hands it out.
    #[command(after_help = "Examples:
  tenurectl quarantine add 10.1.0.7 --network pods --reason 'a printer answers ARP for it'

If a pod has the address, it keeps it; once it is freed, it is withheld from allocation. The quarantine survives restarts, reboots, another policy
and another definition of the network, and the network's removal: a later network with that address has it in quarantine.")]
    Add {
        /// The address; a prefix length after it is ignored.
        #[arg(value_parser = values::address)]
        address: IpAddr,
        /// The network.
        #[arg(long, value_name = "NAME")]
        network: String,
        /// The reason, which is shown and recorded in the log.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// List what is in quarantine, with its reason and since when.
    #[command(after_help = "Examples:
  tenurectl quarantine list
  tenurectl quarantine list --network pods --output json | jq -r '.addresses[].address'

Kind `address`: it is withheld from allocation. Kind `owner`: its owner may be gone, since one witness alone has reported its sandbox as gone for
15 minutes; it keeps the address until the other witness confirms it, or until a DEL, a GC, or `tenurectl release`.")]
    List {
        /// List only this network's.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
    },
    /// Take an address out of quarantine; it cools down before it is handed out again.
    #[command(after_help = "Examples:
  tenurectl quarantine lift 10.1.0.7 --reason 'the printer has another address now'")]
    Lift {
        /// The address; a prefix length after it is ignored.
        #[arg(value_parser = values::address)]
        address: IpAddr,
        /// The network, if the address is in quarantine on several.
        #[arg(long, value_name = "NAME")]
        network: Option<String>,
        /// The reason, recorded in the log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}
