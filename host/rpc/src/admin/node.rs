//! The services' view of the daemon itself.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_ledger::Book;
use tenure_runtime::SandboxEvidence;
use tenure_types::{Allocation, Error, NetworkName};

use crate::v1;

/// The result of reloading the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reloaded {
    /// Keys whose new values are in effect.
    pub applied: Vec<String>,
    /// Keys whose new values take effect only after a restart.
    pub after_restart: Vec<String>,
    /// Keys that could not be applied yet, with the reason.
    pub problems: Vec<(String, String)>,
}

/// Facts and actions of the daemon outside of its engine.
#[tonic::async_trait]
pub trait AdminNode: Send + Sync + 'static {
    /// The daemon's version.
    fn version(&self) -> &str;
    /// The kernel's ID of this boot.
    fn boot_id(&self) -> &str;
    /// Milliseconds since the daemon started.
    fn uptime_ms(&self) -> u64;
    /// The checkpoint's directory.
    fn state_dir(&self) -> &Path;
    /// The sizes of the checkpoint's log and snapshot, in bytes.
    fn checkpoint_bytes(&self) -> (u64, u64);
    /// The books as recovery would read them from the checkpoint on disk.
    ///
    /// # Errors
    /// `CheckpointFailed` if recovery would fail.
    fn books_on_disk(&self) -> Result<Vec<Book>, Error>;
    /// The evidence about the allocations' sandboxes, in the same order; and the error if a runtime is configured and does not answer.
    async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<SandboxEvidence>, Option<Error>);
    /// Names the user of an address, according to the kernel's routes or the container runtime, in words; `None` if there is none.
    ///
    /// # Errors
    /// When the kernel does not answer. A runtime that does not answer counts as one that knows no user.
    async fn used_by(&self, address: IpAddr) -> Result<Option<String>, String>;
    /// Confirms that the state is complete after it was lost; returns whether it was lost.
    ///
    /// # Errors
    /// `InputOutput` if the confirmation cannot be recorded.
    async fn adopt(&self) -> Result<bool, Error>;
    /// Reloads the configuration.
    ///
    /// # Errors
    /// `InvalidConfig` if it is refused; then nothing has changed.
    async fn reload(&self) -> Result<Reloaded, Error>;
    /// The path of the configuration's file, and the configuration in force as TOML.
    ///
    /// # Errors
    /// `Internal` if a value cannot be written as TOML.
    fn configuration(&self) -> Result<(PathBuf, String), Error>;
    /// The cloud interfaces of the node.
    ///
    /// # Errors
    /// `NoCloud` if it uses none, and `NotReady` as long as it is not known which it has.
    fn cloud(&self) -> Result<Box<dyn Cloud + '_>, Error>;
    /// The networks whose pools a cluster or cloud interfaces supply, as a policy plans it.
    fn planned(&self) -> Vec<NetworkName>;
    /// Returns the plan that the policy of one of these networks would make now; nothing begins.
    ///
    /// # Errors
    /// `NoPlan` if it does not plan, `NotReady` as long as too little is known to plan, and the error with which the policy fails.
    async fn explain(&self, network: &NetworkName) -> Result<v1::ExplainPlanResponse, Error>;
    /// The blocks that a cluster leases to the node.
    ///
    /// # Errors
    /// `NoCluster` if it leases none, and `NotReady` while no agent runs.
    async fn cluster(&self) -> Result<v1::GetClusterResponse, Error>;
    /// The daemon's rights in the API server, as that says.
    ///
    /// # Errors
    /// `NoCluster` if the daemon asks no API server.
    async fn cluster_access(&self) -> Result<v1::CheckClusterAccessResponse, Error>;
}

/// The cloud interfaces of a node, whose data is what operators see of it.
#[tonic::async_trait]
pub trait Cloud: Send + Sync {
    /// The network whose addresses the interfaces carry.
    fn network(&self) -> &NetworkName;
    /// Returns their status and the work in progress.
    async fn status(&self) -> v1::GetCloudResponse;
}
