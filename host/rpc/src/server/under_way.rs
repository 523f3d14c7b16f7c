//! Counting the requests in flight: a stopping server waits for these, not for connections to close.
//!
//! A request is in flight from its first header until the last byte of its answer is passed to the connection, or until the caller
//! cancels it. An agent's last answer may stay unread for a moment only. Health watches and reflection streams never end by themselves, so only tenure's own services count.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::service::Routes;

/// The path prefix of tenure's own services.
const OWN: &str = "/tenure.";

/// The time allowed for the last answer to get from the connection to the socket.
const WRITTEN_WITHIN: Duration = Duration::from_millis(100);

/// The time that an agent has for reading what it was answered, and that its connection has for ending.
const READ_WITHIN: Duration = Duration::from_secs(2);

/// A counter of the requests in flight.
#[derive(Debug, Clone, Default)]
pub struct UnderWay {
    /// Requests whose answer has not been read to its end.
    all: Arc<watch::Sender<usize>>,
    /// Requests whose answer has not begun.
    unanswered: Arc<watch::Sender<usize>>,
}

/// One more of a count, until this is dropped.
struct Counted(Arc<watch::Sender<usize>>);

impl UnderWay {
    /// The number of requests in flight.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.all.borrow()
    }

    /// Waits until no request is in flight and the answers are written.
    pub(super) async fn answered(&self) {
        let mut changes = self.all.subscribe();
        loop {
            // This fails only without a sender, and `self` is one.
            let _ = changes.wait_for(|count| *count == 0).await;
            tokio::time::sleep(WRITTEN_WITHIN).await;
            // A request that was in transit when the stop began has arrived by now.
            if self.count() == 0 {
                return;
            }
        }
    }

    /// Waits until each request has its answer, and a moment for those to be read.
    pub(super) async fn answered_if_read(&self) {
        let mut changes = self.unanswered.subscribe();
        let _ = changes.wait_for(|count| *count == 0).await;
        // It goes on without those who do not read.
        let _ = timeout(READ_WITHIN, self.answered()).await;
    }

    /// Waits for the requests of connections that were cut to end.
    pub(super) async fn ended(&self) {
        let mut changes = self.all.subscribe();
        let _ = timeout(READ_WITHIN, changes.wait_for(|count| *count == 0)).await;
    }
}

impl Counted {
    fn begin(of: &Arc<watch::Sender<usize>>) -> Self {
        // No notification: waiters wait only for zero.
        of.send_if_modified(|count| {
            *count += 1;
            false
        });
        Self(Arc::clone(of))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_if_modified(|count| {
            *count -= 1;
            *count == 0
        });
    }
}

/// Services whose requests are counted.
#[derive(Clone)]
pub(super) struct Counting {
    pub(super) services: Routes,
    pub(super) under_way: UnderWay,
}

impl Service<http::Request<Body>> for Counting {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Service::<http::Request<Body>>::poll_ready(&mut self.services, context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let counted = request
            .uri()
            .path()
            .starts_with(OWN)
            .then(|| [&self.under_way.all, &self.under_way.unanswered].map(Counted::begin));
        let answer = self.services.call(request);
        let Some([counted, unanswered]) = counted else { return Box::pin(answer) };
        Box::pin(async move {
            let answer = answer.await?;
            drop(unanswered);
            // The body owns the count, and is dropped when its last frame is taken.
            Ok(answer.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _under_way = &counted;
                    frame
                }))
            }))
        })
    }
}
