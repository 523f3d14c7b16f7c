//! An answer on its way to an agent: in pieces, so that no more of it than fits leaves the agent's share before it is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes};

use crate::admission::{AgentLink, UnreadPart};

/// The longest piece: a frame of HTTP/2.
const LONGEST_PIECE: usize = 16 << 10;

/// The body of an answer.
pub(super) struct Answered {
    body: Body,
    /// Remainder of the last frame.
    rest: Arc<UnreadPart>,
    link: Arc<AgentLink>,
    /// Given back when the last piece is taken.
    _held: Vec<OwnedSemaphorePermit>,
}

impl Answered {
    pub(super) fn new(
        body: Body,
        rest: Arc<UnreadPart>,
        link: Arc<AgentLink>,
        held: Vec<OwnedSemaphorePermit>,
    ) -> Self {
        Self { body, rest, link, _held: held }
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        loop {
            if self.rest.is_cut() {
                return Poll::Ready(Some(Err(Status::deadline_exceeded("the answer was left unread"))));
            }
            if let Some(piece) = self.rest.piece(LONGEST_PIECE) {
                self.link.answers(piece.len());
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) else {
                return Poll::Ready(None);
            };
            match frame?.into_data() {
                Ok(data) if data.is_empty() => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(data) => self.rest.put(data),
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
