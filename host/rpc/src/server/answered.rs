//! An answer on its way to an agent: in pieces, so that no more of it than fits leaves the agent's share before it is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes};

use crate::admission::AgentLink;

/// The longest piece: a frame of HTTP/2.
const LONGEST_PIECE: usize = 16 << 10;

/// The body of an answer.
pub(super) struct Answered {
    body: Body,
    /// Remainder of the last frame.
    rest: Bytes,
    link: Arc<AgentLink>,
    /// Given back when the last piece is taken.
    _held: Vec<OwnedSemaphorePermit>,
}

impl Answered {
    pub(super) fn new(body: Body, link: Arc<AgentLink>, held: Vec<OwnedSemaphorePermit>) -> Self {
        Self { body, rest: Bytes::new(), link, _held: held }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        let piece = self.rest.split_to(self.rest.len().min(LONGEST_PIECE));
        self.link.answers(piece.len());
        Frame::data(piece)
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.rest.is_empty() {
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
                return Poll::Ready(None);
            };
            match frame?.into_data() {
                Ok(data) => self.rest = data,
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        Poll::Ready(Some(Ok(self.piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
