//! A daemon's metrics, as a scraper on the same node reads them.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, ensure};

/// The page, one line for each sample.
///
/// # Errors
/// When nobody listens there, or the answer is no page.
pub fn read(socket: &Path) -> anyhow::Result<String> {
    let mut stream = UnixStream::connect(socket).with_context(|| socket.display().to_string())?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, page) = answer.split_once("\r\n\r\n").with_context(|| answer.clone())?;
    ensure!(head.starts_with("HTTP/1.1 200 "), "{head}");
    Ok(page.to_owned())
}
