//! A connection to the agents' socket: with its place, its peer, and authorities that the HTTP library understands.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::{BoxFuture, Shared};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tonic::transport::server::Connected;

use super::authority::AuthorityFilter;
use super::share::AgentLink;

/// Resolves when connections are to end.
pub(crate) type Cut = Shared<BoxFuture<'static, ()>>;

/// A connection; dropping it gives its place back.
#[derive(Debug)]
pub(crate) struct Connection<P> {
    stream: UnixStream,
    authorities: AuthorityFilter,
    link: Arc<AgentLink>,
    /// `None` once it has resolved.
    cut: Option<Cut>,
    _place: P,
}

impl<P> Connection<P> {
    pub(super) fn new(stream: UnixStream, link: AgentLink, place: P, cut: Cut) -> Self {
        let (authorities, link) = (AuthorityFilter::default(), Arc::new(link));
        Self { stream, authorities, link, cut: Some(cut), _place: place }
    }

    /// Fails once the connection is cut; wakes the caller when that happens.
    fn uncut(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.cut.as_mut().is_some_and(|cut| Pin::new(cut).poll(context).is_ready()) {
            self.cut = None;
        }
        match self.cut {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl<P> Connected for Connection<P> {
    type ConnectInfo = Arc<AgentLink>;

    fn connect_info(&self) -> Arc<AgentLink> {
        Arc::clone(&self.link)
    }
}

impl<P: Unpin> AsyncRead for Connection<P> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.uncut(context)?;
        let Self { stream, authorities, .. } = this;
        let before = buffer.filled().len();
        ready!(Pin::new(stream).poll_read(context, buffer))?;
        authorities.pass(buffer.filled_mut().get_mut(before..).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl<P: Unpin> AsyncWrite for Connection<P> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.uncut(context)?;
        let Self { stream, link, .. } = this;
        let written = ready!(Pin::new(stream).poll_write(context, bytes))?;
        link.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.uncut(context)?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
