//! Traffic between network namespaces: a question and its answer over TCP, and who the other side believes has asked.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const QUESTION: &[u8; 4] = b"who?";
/// The time limit of each part of an exchange.
const LIMIT: Duration = Duration::from_secs(5);

/// Runs a closure in a network namespace, on a thread of its own.
///
/// # Errors
/// When the namespace cannot be entered, or the work fails.
pub(super) fn inside<T: Send>(network: &Path, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let entered = scope.spawn(|| {
            let namespace = File::open(network).with_context(|| network.display().to_string())?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        });
        entered.join().map_err(|_| anyhow!("the thread inside {} panicked", network.display()))?
    })
}

/// Asks from one namespace, where `dial` leads to `listen` in the other; returns who has asked, as the other side sees it.
///
/// # Errors
/// When the question or its answer does not arrive.
pub(super) fn ask(from: &Path, dial: SocketAddr, to: &Path, listen: SocketAddr) -> Result<IpAddr> {
    let listener =
        inside(to, || Ok(TcpListener::bind(listen)?)).with_context(|| format!("listen on {listen}"))?;
    // The kernel accepts it; nobody else has to, meanwhile.
    let mut client = inside(from, || Ok(TcpStream::connect_timeout(&dial, LIMIT)?))
        .with_context(|| format!("connect to {dial}"))?;
    let (mut server, asker) = listener.accept()?;
    for stream in [&client, &server] {
        stream.set_read_timeout(Some(LIMIT))?;
    }
    pass(&mut client, &mut server).with_context(|| format!("a question to {dial}"))?;
    pass(&mut server, &mut client).with_context(|| format!("an answer from {dial}"))?;
    Ok(asker.ip())
}

fn pass(from: &mut TcpStream, to: &mut TcpStream) -> Result<()> {
    from.write_all(QUESTION)?;
    let mut read = [0; QUESTION.len()];
    to.read_exact(&mut read)?;
    ensure!(&read == QUESTION, "something else arrived: {read:?}");
    Ok(())
}
