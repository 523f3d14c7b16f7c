//! Which requests are under way: a stopping server waits for these, and for nobody's connection.
//!
//! A request is under way from its first header until its answer's last byte is handed to the connection, or until nobody wants
//! the answer any more. Watches of `grpc.health.v1` and reflection never end by themselves, so only tenure's own services count.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio::sync::watch;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::service::Routes;

/// What the paths of our own services begin with.
const OWN: &str = "/tenure.";

/// How long the last answer may take from the connection to the socket.
const WRITTEN_WITHIN: Duration = Duration::from_millis(100);

/// Counts the requests that are under way.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<watch::Sender<usize>>);

/// A request that is under way until this is dropped.
struct Counted(UnderWay);

impl UnderWay {
    /// How many there are now.
    #[must_use]
    pub fn count(&self) -> usize {
        *self.0.borrow()
    }

    fn begin(&self) -> Counted {
        // Whoever waits for none has nothing to look at yet.
        self.0.send_if_modified(|count| {
            *count += 1;
            false
        });
        Counted(self.clone())
    }

    /// Waits until none is under way and the answers are written.
    pub(super) async fn answered(&self) {
        let mut changes = self.0.subscribe();
        loop {
            // The sender is ours, so there is always one.
            let _ = changes.wait_for(|count| *count == 0).await;
            tokio::time::sleep(WRITTEN_WITHIN).await;
            // A request that was on its way when the server was told to stop has come in by now.
            if self.count() == 0 {
                return;
            }
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.send_if_modified(|count| {
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
        let counted = request.uri().path().starts_with(OWN).then(|| self.under_way.begin());
        let answer = self.services.call(request);
        let Some(counted) = counted else { return Box::pin(answer) };
        Box::pin(async move {
            let answer = answer.await?;
            // The body has the count with it, and is dropped when its last frame is taken.
            Ok(answer.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _under_way = &counted;
                    frame
                }))
            }))
        })
    }
}
