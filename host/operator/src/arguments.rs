//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use crate::import::ImportArguments;

/// Lease blocks of addresses to the nodes of a cluster, and take them back.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "tenure-operator", version, subcommand_negates_reqs = true)]
pub struct OperatorArguments {
    /// Do something other than run the operator
    #[command(subcommand)]
    pub command: Option<OperatorCommand>,
    /// The kubeconfig; without it, the files that KUBECONFIG lists, ~/.kube/config, or the pod's service account
    #[arg(long, value_name = "FILE", global = true)]
    pub kubeconfig: Option<PathBuf>,
    /// The namespace of the Lease that elects the leader
    #[arg(
        long,
        env = "TENURE_OPERATOR_NAMESPACE",
        default_value = "tenure-system",
        value_name = "NAMESPACE"
    )]
    pub namespace: String,
    /// The name of this operator among its replicas; the pod's name
    #[arg(long, env = "TENURE_OPERATOR_IDENTITY", value_name = "NAME", required = true)]
    pub identity: Option<String>,
    /// The address for /metrics, /healthz and /readyz: of loopback or of the pod, such as 127.0.0.1:9478, of IPv6 in brackets; without it, none
    #[arg(long, env = "TENURE_OPERATOR_METRICS_ADDRESS", value_name = "IP:PORT")]
    pub metrics_address: Option<MetricsAddress>,
    /// The taint that is removed from a Node once its agent has the blocks that it wants
    #[arg(
        long,
        env = "TENURE_OPERATOR_STARTUP_TAINT",
        default_value = tenure_cluster::NOT_READY_TAINT,
        value_name = "KEY"
    )]
    pub startup_taint: String,
    /// Write the log as JSON
    #[arg(long)]
    pub json: bool,
}

/// The verbs of a person.
#[derive(Debug, Clone, clap::Subcommand)]
pub enum OperatorCommand {
    /// Note addresses that another IPAM hands out as taken, before a pool's first block is granted, or propose pools for its networks
    Import(ImportArguments),
}

/// An address of one interface. Brackets around it are allowed in both families, so that a manifest can say `[$(POD_IP)]:9478`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsAddress(pub SocketAddr);

/// An address for metrics that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricsAddressError {
    /// The text is not `IP:PORT`.
    #[error("{0:?} is not an IP:PORT")]
    Malformed(String),
    /// The address stands for all interfaces.
    #[error("{0} is every address of the machine: name loopback or the pod's own address")]
    Wildcard(IpAddr),
}

impl FromStr for MetricsAddress {
    type Err = MetricsAddressError;

    fn from_str(text: &str) -> Result<Self, MetricsAddressError> {
        let malformed = || MetricsAddressError::Malformed(text.to_owned());
        let (address, port) = text.rsplit_once(':').ok_or_else(malformed)?;
        let port: u16 = port.parse().map_err(|_| malformed())?;
        let bare = address.strip_prefix('[').and_then(|address| address.strip_suffix(']'));
        let address: IpAddr = match bare {
            Some(bare) => bare.parse().map_err(|_| malformed())?,
            // Without brackets, the last group of an IPv6 address would be taken for the port.
            None => IpAddr::V4(address.parse().map_err(|_| malformed())?),
        };
        if address.to_canonical().is_unspecified() {
            return Err(MetricsAddressError::Wildcard(address));
        }
        Ok(Self(SocketAddr::new(address, port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_the_machine_in_either_family() {
        let parse = |text: &str| text.parse::<MetricsAddress>().map(|address| address.0.to_string());
        assert_eq!(parse("10.1.2.3:9478").as_deref(), Ok("10.1.2.3:9478"));
        assert_eq!(parse("[10.1.2.3]:9478").as_deref(), Ok("10.1.2.3:9478"));
        assert_eq!(parse("[fd00::7]:9478").as_deref(), Ok("[fd00::7]:9478"));
        for wildcard in ["0.0.0.0:1", "[::]:1", "[::ffff:0.0.0.0]:1"] {
            assert!(matches!(parse(wildcard), Err(MetricsAddressError::Wildcard(_))), "{wildcard}");
        }
        for malformed in
            ["", "9478", "10.1.2.3", "fd00::7:9478", "10.1.2.3:99999", "[10.1.2.3:1", "localhost:1"]
        {
            assert!(matches!(parse(malformed), Err(MetricsAddressError::Malformed(_))), "{malformed}");
        }
    }
}
