//! A restart of the daemon under a steady stream of programs: 100 ADDs a second through the plugin.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{anyhow, ensure};
use tenure_e2e::Daemon;

use crate::exec::Subject;
use crate::load::own_network;
use crate::times::Times;

/// The interval of the ADDs: 100 a second.
const PACE: Duration = Duration::from_millis(10);
/// How often the socket is tried: far less than a start takes.
const LOOK_AGAIN: Duration = Duration::from_micros(500);
/// How long a start may take on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// How the daemon ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ending {
    /// As the service manager stops it.
    Stopped,
    /// As a crash ends it.
    Killed,
}

/// The measured values.
pub(crate) struct Restarted {
    /// The ADDs, none of which has failed.
    pub(crate) took: Times,
    /// From the signal until the next daemon listens.
    pub(crate) absence: Duration,
}

/// Sends `count` ADDs, and restarts the daemon when a third of them were sent.
pub(crate) fn measure(ending: Ending, count: u32) -> anyhow::Result<Restarted> {
    let mut daemon = Daemon::start()?;
    let subject = Subject::tenure(&daemon, vec![own_network("bench-restart")])?;
    subject.warm_up()?;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let first = Instant::now();
            let adds = (0..count).map(|number| {
                std::thread::sleep((first + PACE * number).saturating_duration_since(Instant::now()));
                scope.spawn(|| subject.add())
            });
            // All are sent before the first is waited for.
            let adds: Vec<_> = adds.collect();
            let took = adds.into_iter().map(|add| add.join().map_err(|_| anyhow!("an ADD panicked"))?);
            took.collect::<anyhow::Result<Vec<_>>>()
        });
        std::thread::sleep(PACE * (count / 3));
        let absence = restart(&mut daemon, ending)?;
        let took = sender.join().map_err(|_| anyhow!("the ADDs panicked"))??;
        ensure!(took.len() == count as usize, "{} of {count} ADDs were answered", took.len());
        Ok(Restarted { took: Times::new(took), absence })
    })
}

/// Ends the daemon and starts it again; returns how long nobody listened.
fn restart(daemon: &mut Daemon, ending: Ending) -> anyhow::Result<Duration> {
    let began = Instant::now();
    match ending {
        Ending::Stopped => ensure!(daemon.stop()?.success(), "the daemon did not stop"),
        Ending::Killed => daemon.kill()?,
    }
    daemon.spawn()?;
    let socket = daemon.run_directory().join("cni.sock");
    while UnixStream::connect(&socket).is_err() {
        ensure!(began.elapsed() < LIMIT, "the daemon does not serve: {}", daemon.log(""));
        std::thread::sleep(LOOK_AGAIN);
    }
    Ok(began.elapsed())
}
