//! HTTP on loopback, with answers that may get lost on their way.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_socket_linger;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The bytes that a request's body may have.
const BODY: usize = 1 << 20;

/// A request with its body.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Asked {
    /// A header's text; empty if it is missing or not text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// The fate of an answer on its way to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The caller gets the answer.
    Arrives,
    /// The connection is closed instead.
    Lost,
    /// The connection is reset instead.
    Reset,
    /// Half of the body arrives, then the connection is closed.
    Half,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status.
    pub status: u16,
    /// The body's media type.
    pub content_type: &'static str,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The answer's fate.
    pub fate: Fate,
}

impl Answer {
    /// An answer that arrives.
    pub(crate) fn new(status: u16, content_type: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body: body.into(), fate: Fate::Arrives }
    }
}

/// Something that answers requests.
pub(crate) trait Service: Send + Sync + 'static {
    /// Answers a request.
    fn answer(&self, asked: Asked) -> impl Future<Output = Answer> + Send;
}

/// Serves until the task is dropped; connections end with it.
pub(crate) async fn serve<S: Service>(listener: TcpListener, service: Arc<S>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&service)));
            }
            // No file descriptor left, for example; the queue waits.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection<S: Service>(stream: TcpStream, service: Arc<S>) {
    // A second descriptor of the socket, so that a reset can be ordered while hyper owns the first.
    let own = rustix::io::dup(&stream).ok().map(Arc::new);
    let answering = service_fn(|request| {
        let (service, own) = (Arc::clone(&service), own.clone());
        async move {
            let asked = read(request).await?;
            // A task of its own: what has arrived is applied, also if the caller does not live to see it.
            let answering = tokio::spawn(async move { service.answer(asked).await });
            let answer = answering.await.map_err(io::Error::other)?;
            if answer.fate == Fate::Reset
                && let Some(socket) = own
            {
                set_socket_linger(&socket, Some(Duration::ZERO))?;
            }
            response(answer)
        }
    });
    // A client that goes away, and an answer that is lost on purpose, end the connection with an error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answering).await;
}

async fn read(request: Request<Incoming>) -> io::Result<Asked> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, BODY).collect().await.map_err(io::Error::other)?.to_bytes();
    let (path, query) = (parts.uri.path().to_owned(), parts.uri.query().unwrap_or_default().to_owned());
    Ok(Asked { method: parts.method, path, query, headers: parts.headers, body })
}

fn response(answer: Answer) -> io::Result<Response<Whole>> {
    if matches!(answer.fate, Fate::Lost | Fate::Reset) {
        return Err(io::Error::other("the answer is lost"));
    }
    let length = answer.body.len();
    let sent = if answer.fate == Fate::Half { length / 2 } else { length };
    let mut data = Bytes::from(answer.body);
    data.truncate(sent);
    let whole = Whole { data: Some(data), length: length as u64, sent: sent as u64, paused: false };
    let mut response = Response::new(whole);
    *response.status_mut() = StatusCode::from_u16(answer.status).map_err(io::Error::other)?;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    for (name, value) in answer.headers {
        let value = HeaderValue::from_str(&value).map_err(io::Error::other)?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(response)
}

/// A body that announces its whole length, and may end earlier.
struct Whole {
    data: Option<Bytes>,
    length: u64,
    sent: u64,
    paused: bool,
}

impl Body for Whole {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.data.take() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None if self.sent == self.length => Poll::Ready(None),
            // The first half is written before the connection ends.
            None if !std::mem::replace(&mut self.paused, true) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(Some(Err(io::Error::other("the rest is lost")))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_none() && self.sent == self.length
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
