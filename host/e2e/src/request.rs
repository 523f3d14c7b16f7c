//! One HTTP request to a service in a network namespace, without a client that would have to be taken inside.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::traffic;

/// The longest that a service may take to answer on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Sends a request, such as `POST /`, to an address, with some more lines of the head, and reads the answer.
///
/// # Errors
/// When the service cannot be reached, or answers something else than HTTP.
pub fn ask(netns: &Path, to: &str, what: &str, head: &[String], body: &str) -> anyhow::Result<Answer> {
    let length = format!("Content-Length: {}", body.len());
    // Of this version, so that the answer comes in one piece.
    let fixed = [format!("{what} HTTP/1.0"), format!("Host: {to}"), "Connection: close".to_owned(), length];
    let lines: Vec<&str> = fixed.iter().chain(head).map(String::as_str).collect();
    let request = format!("{}\r\n\r\n{body}", lines.join("\r\n"));
    let answer = traffic::inside(netns, || {
        let mut stream = TcpStream::connect(to)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    })
    .with_context(|| format!("{what} at {to}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an HTTP answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("an HTTP status")?;
    Ok(Answer { status, body: body.to_owned() })
}
