//! The parts of the daemon. All of them have the same shape:
//!
//! | | |
//! |---|---|
//! | build | a constructor takes what the part needs, and starts nothing |
//! | run | [`Part::run`] works until a stop is requested |
//! | stop | `run` gets a cancellation token; a part that takes too long to stop is aborted |
//! | condition | a part reports its problems through a [`Report`] on the node's list of conditions |
//!
//! The [supervisor] runs the parts, and stops each before those that it needs.

mod admin;
mod adoption;
mod aws;
mod checkpoint;
mod claims;
mod cni;
mod cni_files;
mod datapath;
mod decisions;
mod exchanges;
mod gate;
mod health;
mod lapses;
mod leaks;
mod listening;
mod networks;
mod policy_files;
mod ready;
mod reload;
mod report;
mod scraping;
mod spool;
mod stat;
mod supervisor;
mod tidying;
mod undo;
mod vetting;

use tokio_util::sync::CancellationToken;

pub(crate) use self::admin::Admin;
pub(crate) use self::adoption::Adoption;
pub(crate) use self::aws::{Aws, Given};
pub(crate) use self::checkpoint::Checkpoint;
pub(crate) use self::claims::Claims;
pub(crate) use self::cni::Cni;
pub(crate) use self::cni_files::CniFiles;
pub(crate) use self::datapath::{Datapath, Kept};
pub(crate) use self::decisions::Decisions;
pub(crate) use self::exchanges::Exchanges;
pub(crate) use self::gate::Gate;
pub(crate) use self::health::Health;
pub(crate) use self::lapses::Lapses;
pub(crate) use self::leaks::LeakWatch;
pub(crate) use self::listening::SocketUnusable;
pub(crate) use self::networks::{ConfiguredNetworks, NetworkSetup};
pub(crate) use self::policy_files::{FollowedFiles, PolicyFiles};
pub(crate) use self::ready::Ready;
pub(crate) use self::reload::Hangups;
pub(crate) use self::report::Report;
pub(crate) use self::scraping::Scraping;
pub(crate) use self::spool::SpoolReplay;
pub(crate) use self::supervisor::{PartEnded, Supervisor};
pub(crate) use self::tidying::Tidying;
pub(crate) use self::undo::Undo;
pub(crate) use self::vetting::Vetting;

/// What happens when a part ends without being told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The daemon cannot serve without it: it exits with an error that names the part, and the service manager restarts it.
    Essential,
    /// The daemon can serve without it: the part is restarted, and a condition reports it meanwhile.
    Restarted,
    /// Its work is done. If it fails, it is restarted.
    Finite,
}

/// A part of the daemon.
#[tonic::async_trait]
pub(crate) trait Part: Send + 'static {
    /// The part's name in errors, conditions and the log.
    fn name(&self) -> &'static str;

    /// What happens when it ends.
    fn kind(&self) -> Kind;

    /// Works until a stop is requested, and then finishes what it has begun.
    ///
    /// It may be called again after an error or panic, unless the part is [essential](Kind::Essential).
    ///
    /// # Errors
    /// If the part cannot continue.
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()>;
}
