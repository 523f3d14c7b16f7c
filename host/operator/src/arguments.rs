//! The command line.

use std::path::PathBuf;

/// Leases blocks of addresses to the nodes of a cluster, and takes them back.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "tenure-operator", version)]
pub struct OperatorArguments {
    /// The kubeconfig; without it, the pod's service account
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
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
    #[arg(long, env = "TENURE_OPERATOR_IDENTITY", value_name = "NAME")]
    pub identity: String,
    /// Writes the log as JSON
    #[arg(long)]
    pub json: bool,
}
