//! An answer on its way to an agent: in pieces, so that no more of it than fits leaves the agent's share before it is read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Body as HttpBody, Bytes};

use crate::admission::{AgentLink, OpenAnswer};

/// The body of an answer.
pub(super) struct Answered {
    answer: Arc<OpenAnswer>,
    link: Arc<AgentLink>,
    /// Given back when the last piece is taken.
    _held: Vec<OwnedSemaphorePermit>,
}

impl Answered {
    pub(super) fn new(
        body: Body,
        answer: Arc<OpenAnswer>,
        link: Arc<AgentLink>,
        held: Vec<OwnedSemaphorePermit>,
    ) -> Self {
        answer.begin(body);
        Self { answer, link, _held: held }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.answer.close();
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(self.answer.poll(context));
        if let Some(Ok(frame)) = &frame {
            self.link.answers(frame.data_ref().map_or(0, Bytes::len));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.answer.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
