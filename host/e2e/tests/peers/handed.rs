//! Connections to the agents' socket that somebody else has made.

use std::task::{self, Poll};

use hyper_util::rt::TokioIo;
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_types::Error;
use tokio::net::UnixStream;
use tonic::codegen::Service;
use tonic::transport::Endpoint;

use crate::agent::Connected;

/// Does something over a connection that somebody has made.
pub(crate) fn handed<T>(
    connection: std::os::unix::net::UnixStream,
    what: impl AsyncFnOnce(&mut Connected) -> Result<T, Error>,
) -> anyhow::Result<Result<T, Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        connection.set_nonblocking(true)?;
        let only = Handed(Some(UnixStream::from_std(connection)?));
        // The address is not used.
        let channel = Endpoint::from_static("http://localhost").connect_with_connector(only).await?;
        Ok(what(&mut Connected(ClaimsClient::new(channel))).await)
    })
}

/// "Connects" to what it has.
struct Handed(Option<UnixStream>);

impl Service<http::Uri> for Handed {
    type Response = TokioIo<UnixStream>;
    type Error = std::io::Error;
    type Future = std::future::Ready<std::io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Uri) -> Self::Future {
        let gone = || std::io::Error::other("the connection has ended");
        std::future::ready(self.0.take().map(TokioIo::new).ok_or_else(gone))
    }
}
