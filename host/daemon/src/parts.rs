//! The parts of the daemon, which the supervisor runs. A part's file, its type and its name in errors, conditions and the log agree.

mod admin;
mod adoption;
mod aws;
mod checkpoint;
mod claims;
#[cfg(feature = "cluster")]
mod cluster;
mod cni;
mod cni_files;
mod datapath;
mod decisions;
mod delegates;
mod exchanges;
mod folder;
mod health;
mod lapses;
mod leaks;
mod listening;
mod metrics;
mod networks;
#[cfg(feature = "cluster")]
mod own_node;
#[cfg(feature = "cluster")]
mod pods;
mod policy_files;
mod ready;
mod reload;
mod spool;
mod stat;
mod timer;
mod undo;
mod vetting;

pub(crate) use self::admin::AdminPart;
pub(crate) use self::adoption::AdoptionPart;
pub(crate) use self::aws::{AwsInputs, AwsPart};
pub(crate) use self::checkpoint::CheckpointPart;
pub(crate) use self::claims::ClaimsPart;
#[cfg(feature = "cluster")]
pub(crate) use self::cluster::{ClusterInputs, ClusterPart};
pub(crate) use self::cni::CniPart;
pub(crate) use self::cni_files::CniFilesPart;
pub(crate) use self::datapath::{DatapathInputs, DatapathPart, DatapathResult};
pub(crate) use self::decisions::DecisionsPart;
pub(crate) use self::delegates::DelegatesPart;
pub(crate) use self::exchanges::ExchangesPart;
pub(crate) use self::health::HealthPart;
pub(crate) use self::lapses::LapsesPart;
pub(crate) use self::leaks::LeaksPart;
pub(crate) use self::listening::SocketUnusable;
pub(crate) use self::metrics::MetricsPart;
pub(crate) use self::networks::{NetworkSetup, NetworksPart};
#[cfg(feature = "cluster")]
pub(crate) use self::own_node::{OwnNodeInputs, OwnNodePart};
#[cfg(feature = "cluster")]
pub(crate) use self::pods::PodsPart;
pub(crate) use self::policy_files::{FollowedFiles, PolicyFilesPart};
pub(crate) use self::ready::ReadyPart;
pub(crate) use self::reload::{FollowedConfig, ReloadPart, ReloadRequests};
pub(crate) use self::spool::SpoolPart;
pub(crate) use self::undo::UndoPart;
pub(crate) use self::vetting::VettingPart;
