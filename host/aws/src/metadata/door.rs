//! The address of the metadata service, and one request to it.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The environment variable with the service's address as a URL, which the AWS SDKs read, too.
pub const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// The address of the service on every instance.
const USUAL: &str = "http://169.254.169.254";

/// How long a request may take. The service is on the node's own link.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bytes that an answer may have; the longest real ones have a few thousand.
const LONGEST: usize = 64 << 10;

/// An address that is not a plain HTTP URL without a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("address {0:?} of the metadata service is not http://HOST or http://HOST:PORT")]
pub struct InvalidEndpoint(String);

/// The address of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceAddress {
    /// Host and port as in the URL, for the header.
    authority: String,
    host: String,
    port: u16,
}

/// The connection to the service between two requests. Behind a `std::sync::Mutex`, held to take and to put back.
#[derive(Default)]
pub(super) struct KeptConnection(Mutex<Option<SendRequest<Empty<Bytes>>>>);

/// The service's answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
}

impl ServiceAddress {
    /// The configured address, else that of the environment, else the usual one.
    pub(super) fn new(configured: Option<&str>, environment: Option<&str>) -> Result<Self, InvalidEndpoint> {
        let url = configured.or(environment.filter(|url| !url.is_empty())).unwrap_or(USUAL);
        let invalid = || InvalidEndpoint(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let is_plain =
            uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/") && uri.query().is_none();
        let authority = uri.authority().filter(|_| is_plain).ok_or_else(invalid)?;
        Ok(Self {
            authority: authority.to_string(),
            host: authority.host().trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: authority.port_u16().unwrap_or(80),
        })
    }

    /// Sends one request on the kept connection, or on a new one; returns the answer, or in words why there is none.
    pub(super) async fn ask(
        &self,
        kept: &KeptConnection,
        method: Method,
        path: &str,
        header: (&'static str, &str),
    ) -> Result<Answer, String> {
        match timeout(PATIENCE, self.exchange(kept, method, path, header)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    async fn exchange(
        &self,
        kept: &KeptConnection,
        method: Method,
        path: &str,
        (name, value): (&'static str, &str),
    ) -> Result<Answer, String> {
        let request = || {
            let request = Request::builder().method(method.clone()).uri(path).header("host", &self.authority);
            request.header(name, value).body(Empty::<Bytes>::new()).map_err(words)
        };
        // While a request is under way, or if it fails or is dropped, no other request gets the connection.
        let before = kept.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sender) = before.filter(|sender| !sender.is_closed())
            && sender.ready().await.is_ok()
            && let Ok(answer) = answered(&mut sender, request()?).await
        {
            kept.put(sender);
            return Ok(answer);
        }
        // The service may have closed it since: a read may be repeated on a new one.
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await.map_err(words)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(words)?;
        // It works only while it is polled, and ends with its sender.
        tokio::spawn(connection);
        let answer = answered(&mut sender, request()?).await?;
        kept.put(sender);
        Ok(answer)
    }
}

impl KeptConnection {
    fn put(&self, sender: SendRequest<Empty<Bytes>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
    }
}

impl fmt::Debug for KeptConnection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("KeptConnection")
    }
}

async fn answered(
    sender: &mut SendRequest<Empty<Bytes>>,
    request: Request<Empty<Bytes>>,
) -> Result<Answer, String> {
    let response = sender.send_request(request).await.map_err(words)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    Ok(Answer { status, text: String::from_utf8_lossy(&body).into_owned() })
}

fn words(error: impl std::error::Error) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(configured: Option<&str>, environment: Option<&str>) -> (String, u16) {
        let door = ServiceAddress::new(configured, environment).unwrap();
        (door.host, door.port)
    }

    #[test]
    fn the_configuration_wins_over_the_environment() {
        assert_eq!(door(None, None), ("169.254.169.254".to_owned(), 80));
        assert_eq!(door(None, Some("")), ("169.254.169.254".to_owned(), 80));
        assert_eq!(door(None, Some("http://[fd00:ec2::254]/")), ("fd00:ec2::254".to_owned(), 80));
        let both = door(Some("http://127.0.0.1:8080"), Some("http://127.0.0.1:8081"));
        assert_eq!(both, ("127.0.0.1".to_owned(), 8080));
    }

    #[test]
    fn other_addresses_are_refused() {
        for wrong in ["", "127.0.0.1", "https://127.0.0.1", "http://127.0.0.1/latest", "http://a/?b", "/a"] {
            assert_eq!(
                ServiceAddress::new(Some(wrong), None),
                Err(InvalidEndpoint(wrong.to_owned())),
                "{wrong}"
            );
        }
    }
}
