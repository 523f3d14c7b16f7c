//! HTTP 1.1, as much as pushing to a registry takes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A request that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(60);

/// A response.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    text: String,
}

impl Response {
    /// A header's value, by its name in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            (found.to_ascii_lowercase() == name).then(|| value.trim())
        })
    }

    /// The text behind the head.
    pub(super) fn body(&self) -> &str {
        self.text.split_once("\r\n\r\n").map_or("", |(_, body)| body)
    }
}

/// The header of a user and a password.
pub(super) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Makes a request on a connection of its own.
pub(super) fn call(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> anyhow::Result<Response> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(LIMIT))?;
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        head += &format!("{name}: {value}\r\n");
    }
    connection.write_all(format!("{head}\r\n").as_bytes())?;
    connection.write_all(body)?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Response { status: status.with_context(|| text.clone())?, text })
}
