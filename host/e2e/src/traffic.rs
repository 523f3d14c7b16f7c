//! Traffic between pods: one pod listens, the other connects and sends a greeting.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::wait;

/// The greeting.
const GREETING: &[u8] = b"an address of one's own";
/// The longest that each part of an exchange may take; links and IPv6 addresses need a moment to come up.
const LIMIT: Duration = Duration::from_secs(10);

/// Runs a closure in a network namespace, on its own thread.
///
/// # Errors
/// When the namespace cannot be entered, or the work fails.
pub fn inside<T: Send>(netns: &Path, work: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    thread::scope(|scope| {
        scope
            .spawn(|| {
                let namespace = File::open(netns).with_context(|| netns.display().to_string())?;
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                work()
            })
            .join()
            .map_err(|_| anyhow!("the thread inside {} panicked", netns.display()))?
    })
}

/// Sends a greeting from one pod to another pod's address.
///
/// # Errors
/// When it does not arrive.
pub fn greet(from: &Path, to: &Path, address: IpAddr) -> anyhow::Result<()> {
    let listener = inside(to, || {
        wait::until("the pod's own address", LIMIT, || Ok(TcpListener::bind((address, 0)).ok()))
    })
    .with_context(|| format!("listen on {address}"))?;
    let target = listener.local_addr()?;
    thread::scope(|scope| {
        let receiver = scope.spawn(move || receive(&listener));
        let sent = inside(from, || send(target)).with_context(|| format!("connect to {target}"));
        // Without a connection the receiver would wait forever.
        if sent.is_err() {
            inside(to, || Ok(TcpStream::connect(target)?)).ok();
        }
        let received = receiver.join().map_err(|_| anyhow!("the receiver panicked"))?;
        sent?;
        ensure!(received? == GREETING, "{target} received something else");
        Ok(())
    })
}

fn send(target: SocketAddr) -> anyhow::Result<()> {
    let mut stream = wait::until("the way to the other pod", LIMIT, || {
        Ok(TcpStream::connect_timeout(&target, Duration::from_secs(1)).ok())
    })?;
    stream.write_all(GREETING)?;
    Ok(())
}

fn receive(listener: &TcpListener) -> anyhow::Result<Vec<u8>> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(LIMIT))?;
    let mut received = Vec::new();
    stream.read_to_end(&mut received)?;
    Ok(received)
}
