//! Refusing a caller in the words of its protocol: each of its requests gets the reason, unread, for a few seconds.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream;
use tenure_types::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::transport::Server;
use tonic::transport::server::Connected;

use crate::status::to_status;

/// How long a refused connection may stay: its maker may pass it on before it is used.
const STAYS: Duration = Duration::from_secs(10);

/// The most that a refused caller may have open or send at once.
const STREAMS: u32 = 4;
const HEADERS: u32 = 4 << 10;
const WINDOW: u32 = 1 << 10;

/// Answers each request with one error.
#[derive(Clone)]
struct Refusing(Error);

/// Refuses all requests of a connection, which ends soon.
pub(super) fn refuse(
    connection: impl AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    error: Error,
) {
    let server = Server::builder()
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(HEADERS)
        .initial_stream_window_size(WINDOW)
        .http2_max_local_error_reset_streams(Some(usize::try_from(STREAMS).unwrap_or_default()))
        .max_connection_age(STAYS)
        .max_connection_age_grace(Duration::ZERO);
    let only = stream::iter([Ok::<_, Infallible>(connection)]);
    tokio::spawn(async move {
        // This returns at once; the connection has a task of its own, which ends with it.
        let _ = server.serve_with_incoming(Refusing(error), only).await;
    });
}

impl Service<http::Request<Body>> for Refusing {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        ready(Ok(to_status(&self.0).into_http()))
    }
}
