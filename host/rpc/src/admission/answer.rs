//! An answer on its way to an agent, shared by the HTTP library, which takes it in pieces, and by its maker, who can cut it off: a reader that does
//! not read keeps neither what it was sent nor what waits to be sent.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use http_body::Frame;
use tenure_types::hold;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::HeaderMap;
use tonic::codegen::{Body as HttpBody, Bytes};

/// The longest piece, in bytes: a frame of HTTP/2.
const LONGEST_PIECE: usize = 16 << 10;

/// The longest rest of a message, in bytes, that is kept for a reader that was cut off. It then reads why; otherwise its stream is reset.
const LONGEST_KEPT: usize = 16 << 10;

/// An answer of which something is not read yet.
#[derive(Debug, Default)]
pub(crate) struct OpenAnswer(Mutex<UnreadPart>);

#[derive(Debug, Default)]
struct UnreadPart {
    /// `None` before there is one, and once it was cut off.
    body: Option<Body>,
    /// Remainder of the body's last frame.
    rest: Bytes,
    /// The end, once it was cut off.
    cut: Option<Ending>,
    /// The task that waits for more of it.
    reader: Option<Waker>,
}

/// The end of an answer that was cut off.
#[derive(Debug)]
enum Ending {
    /// Behind the rest.
    Behind(Status),
    /// In the middle of a message.
    InMessage,
    /// Read already.
    Over,
}

impl OpenAnswer {
    /// Begins with a body.
    pub(crate) fn begin(&self, body: Body) {
        let mut state = hold(&self.0);
        if state.cut.is_none() {
            state.body = Some(body);
        }
    }

    /// Takes the next piece.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut state = hold(&self.0);
        loop {
            let length = state.rest.len().min(LONGEST_PIECE);
            if length > 0 {
                return Poll::Ready(Some(Ok(Frame::data(state.rest.split_to(length)))));
            }
            if let Some(cut) = &mut state.cut {
                return Poll::Ready(std::mem::replace(cut, Ending::Over).end());
            }
            let Some(body) = &mut state.body else { return Poll::Ready(None) };
            match Pin::new(body).poll_frame(context) {
                Poll::Pending => {
                    state.reader = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) if data.is_empty() => return Poll::Ready(Some(Ok(Frame::data(data)))),
                    Ok(data) => state.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                ended => return ended,
            }
        }
    }

    /// Whether nothing follows.
    pub(crate) fn is_over(&self) -> bool {
        let state = hold(&self.0);
        match &state.cut {
            Some(cut) => matches!(cut, Ending::Over),
            None => state.rest.is_empty() && state.body.as_ref().is_none_or(HttpBody::is_end_stream),
        }
    }

    /// Drops what is left of it: its reader has gone away, which its maker hears by the body's end.
    pub(crate) fn close(&self) {
        let mut state = hold(&self.0);
        (state.body, state.rest) = (None, Bytes::new());
    }

    /// Cuts the answer off: drops what is not read of it, but for the end of a short message, and lets it end with a status.
    pub(crate) fn cut(&self, status: Status) {
        let mut state = hold(&self.0);
        state.body = None;
        state.cut = Some(match state.rest.len() {
            0..=LONGEST_KEPT => Ending::Behind(status),
            _ => Ending::InMessage,
        });
        // The bytes themselves are a part of what the body had allocated.
        state.rest = match &state.cut {
            Some(Ending::Behind(_)) => Bytes::copy_from_slice(&state.rest),
            _ => Bytes::new(),
        };
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
    }
}

impl Ending {
    fn end(self) -> Option<Result<Frame<Bytes>, Status>> {
        match self {
            Self::Behind(status) => {
                let mut trailers = HeaderMap::new();
                Some(status.add_header(&mut trailers).map(|()| Frame::trailers(trailers)))
            }
            // For a client, that is RESOURCE_EXHAUSTED: to be tried again later.
            Self::InMessage => {
                let reason = h2::Error::from(h2::Reason::ENHANCE_YOUR_CALM);
                Some(Err(Status::from_error(Box::new(reason))))
            }
            Self::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    fn poll(answer: &OpenAnswer) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        answer.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn begun(length: usize) -> OpenAnswer {
        let answer = OpenAnswer::default();
        answer.begin(Body::new(Full::new(Bytes::from(vec![7; length])).map_err(|never| match never {})));
        let Poll::Ready(Some(Ok(piece))) = poll(&answer) else { panic!("no piece") };
        assert_eq!(piece.into_data().unwrap().len(), length.min(LONGEST_PIECE));
        answer
    }

    #[test]
    fn a_short_rest_is_read_after_the_cut_and_then_why() {
        let answer = begun(LONGEST_PIECE + 5);
        answer.cut(Status::deadline_exceeded("late"));
        let Poll::Ready(Some(Ok(rest))) = poll(&answer) else { panic!("no rest") };
        assert_eq!(rest.into_data().unwrap().len(), 5);
        assert!(!answer.is_over());
        let Poll::Ready(Some(Ok(end))) = poll(&answer) else { panic!("no end") };
        assert_eq!(end.into_trailers().unwrap().get("grpc-status").unwrap(), "4");
        assert!(answer.is_over() && matches!(poll(&answer), Poll::Ready(None)));
    }

    #[test]
    fn of_a_long_rest_nothing_is_kept() {
        let answer = begun(3 * LONGEST_PIECE);
        answer.cut(Status::deadline_exceeded("late"));
        let Poll::Ready(Some(Err(end))) = poll(&answer) else { panic!("no error") };
        assert_eq!(end.code(), tonic::Code::ResourceExhausted);
        assert!(answer.is_over());
    }

    #[test]
    fn an_answer_that_was_read_ends_at_the_cut() {
        let answer = begun(5);
        answer.cut(Status::deadline_exceeded("late"));
        let Poll::Ready(Some(Ok(end))) = poll(&answer) else { panic!("no end") };
        assert!(end.is_trailers());
    }
}
