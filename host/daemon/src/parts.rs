//! The parts of the daemon: what each works at from the start to the stop, in one shape.
//!
//! | | |
//! |---|---|
//! | build | a constructor takes what the part needs; nothing is started by it |
//! | run | [`Part::run`] works until it is told to stop |
//! | stop | the token that `run` gets; what then takes too long is dropped |
//! | condition | what is wrong with a part is a [`Report`] on the node's one list |
//!
//! The [supervisor] runs them, and stops each before those that it needs.

mod admin;
mod adoption;
mod checkpoint;
mod cni;
mod gate;
mod health;
mod leaks;
mod listening;
mod networks;
mod ready;
mod reload;
mod report;
mod scraping;
mod spool;
mod supervisor;
mod undo;

use tokio_util::sync::CancellationToken;

pub(crate) use self::admin::Admin;
pub(crate) use self::adoption::Adoption;
pub(crate) use self::checkpoint::Checkpoint;
pub(crate) use self::cni::Cni;
pub(crate) use self::gate::Gate;
pub(crate) use self::health::Health;
pub(crate) use self::leaks::LeakWatch;
pub(crate) use self::listening::SocketUnusable;
pub(crate) use self::networks::{ConfiguredNetworks, NetworkSetup};
pub(crate) use self::ready::Ready;
pub(crate) use self::reload::Hangups;
pub(crate) use self::report::Report;
pub(crate) use self::scraping::Scraping;
pub(crate) use self::spool::SpoolReplay;
pub(crate) use self::supervisor::{PartEnded, Supervisor};
pub(crate) use self::undo::Undo;

/// What it means when a part ends without being told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing is served without it: the daemon ends with an error that names it, and the service manager starts it again.
    Essential,
    /// The node serves without it: it is started again, and a condition says so meanwhile.
    Restarted,
    /// Its work is done. If it fails, it is started again.
    Finite,
}

/// A part of the daemon.
#[tonic::async_trait]
pub(crate) trait Part: Send + 'static {
    /// What errors, conditions and the log call it.
    fn name(&self) -> &'static str;

    /// What its end means.
    fn kind(&self) -> Kind;

    /// Works until it is told to stop, and then ends what it has begun.
    ///
    /// It may be called again after it has failed or panicked, unless the part is [essential](Kind::Essential).
    ///
    /// # Errors
    /// Why it cannot go on.
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()>;
}
