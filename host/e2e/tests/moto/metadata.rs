//! The metadata service of an instance that moto has, which has none: fixed texts, and a token that is not checked.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::Context;
use tenure_e2e::traffic;

/// The address of the metadata service.
pub(crate) const ENDPOINT: &str = "127.0.0.1:8102";

/// A running service. Dropping it ends it, so that it does not keep the enclave's network.
pub(crate) struct Metadata {
    netns: PathBuf,
    ends: Arc<AtomicBool>,
}

impl Metadata {
    /// Serves entries by path in a network namespace.
    pub(crate) fn serve(netns: &Path, entries: BTreeMap<String, String>) -> anyhow::Result<Self> {
        let listener = traffic::inside(netns, || Ok(TcpListener::bind(ENDPOINT)?))?;
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        thread::spawn(move || {
            let streams = listener.incoming().take_while(|_| !is_over.load(Ordering::Relaxed));
            // A client that gets no answer asks again.
            streams.flatten().for_each(|stream| _ = answer(&stream, &entries));
        });
        Ok(Self { netns: netns.to_owned(), ends })
    }
}

fn answer(mut stream: &TcpStream, entries: &BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().context("a request")??;
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let mut words = request.split(' ');
    let (status, text) = match (words.next(), words.next()) {
        (Some("PUT"), Some("/latest/api/token")) => ("200 OK", "token"),
        (Some("GET"), Some(path)) => match entries.get(path) {
            Some(text) => ("200 OK", text.as_str()),
            None => ("404 Not Found", ""),
        },
        _ => ("405 Method Not Allowed", ""),
    };
    let length = text.len();
    write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}")?;
    Ok(())
}

impl Drop for Metadata {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes it up. If nobody listens, it has ended.
        let _ = traffic::inside(&self.netns, || Ok(TcpStream::connect(ENDPOINT)?));
    }
}
