//! Metrics and health over HTTP: of a node, for a scraper on the same node, or of another program.
//!
//! Off unless the configuration names an address. A node's must be reachable only from this node: loopback or a unix
//! socket. Each connection gets one GET, within a deadline, and only a few are served at a time, so that a hanging
//! scraper does not affect the data path. Callers that do not finish their request give way to those that come.

mod address;
mod room;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};

pub use address::{AddressError, ListenAddress};
use room::{RequestArrival, Room};

use crate::Metrics;

/// How long a connection may last.
const DEADLINE: Duration = Duration::from_secs(10);

/// The pause after a failed accept, for example if the process has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(200);

/// The `Content-Type` of [`Metrics::exposition`].
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The daemon's health, as seen by this server.
pub trait NodeHealth: Send + Sync + 'static {
    /// Whether the node serves requests, and what is wrong.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;

    /// Sets the gauges that are computed only on a scrape.
    fn refresh(&self, metrics: &Metrics) -> impl Future<Output = ()> + Send;
}

/// A program with metrics and readiness, of which [`serve_pages`] makes pages.
pub trait ObservedProgram: Send + Sync + 'static {
    /// Whether it does its work, and what is wrong.
    fn readiness(&self) -> impl Future<Output = Readiness> + Send;

    /// All metrics, in the OpenMetrics text format.
    fn exposition(&self) -> impl Future<Output = String> + Send;
}

/// A node with its metrics.
struct ObservedNode<N> {
    node: Arc<N>,
    metrics: Arc<Metrics>,
    /// Held while the gauges are set and read: they are cleared first. A `tokio::sync::Mutex`, because setting them awaits.
    scraping: tokio::sync::Mutex<()>,
}

impl<N: NodeHealth> ObservedProgram for ObservedNode<N> {
    async fn readiness(&self) -> Readiness {
        self.node.readiness().await
    }

    async fn exposition(&self) -> String {
        let _alone = self.scraping.lock().await;
        self.node.refresh(&self.metrics).await;
        self.metrics.exposition()
    }
}

/// Whether a program does its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether it does: on a node, whether an ADD would be served.
    pub ready: bool,
    /// Why it is not ready, or what is wrong although it is ready; one line each.
    pub reasons: Vec<String>,
}

/// A bound address.
#[derive(Debug)]
pub struct Listener {
    socket: ListenSocket,
    /// The socket's file, if it has one.
    file: Option<address::SocketFile>,
}

#[derive(Debug)]
enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds an address. A socket file that nobody listens on is replaced.
    ///
    /// # Errors
    /// An I/O error; `AddrInUse` if another process listens there.
    pub async fn bind(address: &ListenAddress) -> io::Result<Self> {
        match address {
            ListenAddress::Tcp(address) => {
                let tcp = TcpListener::bind(address).await?;
                Ok(Self { socket: ListenSocket::Tcp(tcp), file: None })
            }
            ListenAddress::Unix(path) => {
                let unix = address::bind_unix(path).await?;
                Ok(Self { socket: ListenSocket::Unix(unix), file: Some(address::SocketFile::at(path)?) })
            }
        }
    }

    /// Returns a function that checks whether the socket can still be reached where it was bound.
    pub fn presence(&self) -> impl Fn() -> bool + Send + use<> {
        let file = self.file.clone();
        move || file.as_ref().is_none_or(address::SocketFile::is_there)
    }

    /// The TCP port, if it is TCP: the configuration may leave the choice to the kernel.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match &self.socket {
            ListenSocket::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            ListenSocket::Unix(_) => None,
        }
    }
}

/// Serves a node's pages until `shutdown` resolves. Requests in progress are then cut off, because scrapers retry.
pub async fn serve<N: NodeHealth>(
    listener: Listener,
    node: Arc<N>,
    metrics: Arc<Metrics>,
    shutdown: impl Future<Output = ()> + Send,
) {
    serve_pages(
        listener,
        Arc::new(ObservedNode { node, metrics, scraping: tokio::sync::Mutex::default() }),
        shutdown,
    )
    .await;
}

/// Serves a program's pages until `shutdown` resolves.
pub async fn serve_pages<P: ObservedProgram>(
    listener: Listener,
    program: Arc<P>,
    shutdown: impl Future<Output = ()> + Send,
) {
    let mut room = Room::default();
    let accept = async {
        loop {
            let program = Arc::clone(&program);
            let accepted = match &listener.socket {
                ListenSocket::Tcp(tcp) => tcp.accept().await.map(|(stream, _)| {
                    room.enter(|asked| connection(stream, program, asked));
                }),
                ListenSocket::Unix(unix) => unix.accept().await.map(|(stream, _)| {
                    room.enter(|asked| connection(stream, program, asked));
                }),
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "cannot accept a metrics connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    tokio::select! {
        () = accept => {}
        () = shutdown => {}
    }
}

/// Answers one request of a connection, or drops it at its deadline.
async fn connection<P: ObservedProgram>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    program: Arc<P>,
    asked: RequestArrival,
) {
    let service = service_fn(|request| {
        asked.note();
        let program = Arc::clone(&program);
        async move { Ok::<_, Infallible>(answer(&request, &*program).await) }
    });
    let connection = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    // Clients that hang or send invalid requests are ignored.
    let _ = tokio::time::timeout(DEADLINE, connection).await;
}

/// Routes a request.
async fn answer<P: ObservedProgram>(request: &Request<Incoming>, program: &P) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" => {
            let mut response = text(StatusCode::OK, program.exposition().await);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS));
            response
        }
        "/healthz" => text(StatusCode::OK, "alive\n".to_owned()),
        "/readyz" => {
            let Readiness { ready, reasons } = program.readiness().await;
            let (status, state) = if ready {
                (StatusCode::OK, "ready")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "not ready")
            };
            let mut body = format!("{state}\n");
            body.extend(reasons.iter().flat_map(|reason| ["- ", reason, "\n"]));
            text(status, body)
        }
        _ => text(StatusCode::NOT_FOUND, "/metrics, /healthz, /readyz\n".to_owned()),
    }
}

/// A plain-text response.
fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests;
