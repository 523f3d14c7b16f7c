//! An API server for tests that is away for a time, and notes when each request comes, by tokio's paused clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep_until};
use tonic::codegen::Service;

/// A failure of the connection.
type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an answer.
type AnswerBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, ConnectionError>>>;

/// An API server that is away from one moment to another. Its list has what was applied last, and its watches are silent.
#[derive(Clone)]
pub(crate) struct AbsentServer {
    leaves: Instant,
    returns: Instant,
    /// The objects that can be read by their paths; `null` where there is none.
    objects: Arc<BTreeMap<String, Value>>,
    /// The object that was applied last.
    applied: Arc<Mutex<Option<Value>>>,
    arrivals: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl AbsentServer {
    /// One that leaves in so much time, for so long.
    pub(crate) fn new(leaves_in: Duration, away: Duration, objects: BTreeMap<String, Value>) -> Self {
        let leaves = Instant::now() + leaves_in;
        Self {
            leaves,
            returns: leaves + away,
            objects: Arc::new(objects),
            applied: Arc::default(),
            arrivals: Arc::default(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), "default")
    }

    /// Waits until it has been back for so long.
    pub(crate) async fn back_for(&self, time: Duration) {
        sleep_until(self.returns + time).await;
    }

    /// The requests since its return whose method and path begin so, by the second.
    pub(crate) fn by_second(&self, begin: &str) -> BTreeMap<u64, usize> {
        let mut seconds = BTreeMap::new();
        for (at, path) in self.arrivals().iter().filter(|(at, _)| *at >= self.returns) {
            if path.starts_with(begin) {
                *seconds.entry((*at - self.returns).as_secs()).or_default() += 1;
            }
        }
        seconds
    }

    fn arrivals(&self) -> MutexGuard<'_, Vec<(Instant, String)>> {
        self.arrivals.lock().unwrap()
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<AnswerBody>, ConnectionError> {
        let now = Instant::now();
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let verb = if is_watch { "WATCH" } else { request.method().as_str() };
        let path = request.uri().path().to_owned();
        self.arrivals().push((now, format!("{verb} {path}")));
        if self.leaves <= now && now < self.returns {
            return Err("connection refused".into());
        }
        if is_watch {
            return Ok(response(self.silence(now)));
        }
        if request.method() == http::Method::PATCH {
            return self.apply(&path, &request.into_body().collect_bytes().await?);
        }
        let list = || {
            let items: Vec<Value> = self.applied.lock().unwrap().iter().cloned().collect();
            json!({ "metadata": { "resourceVersion": "7" }, "items": items })
        };
        match self.objects.get(&path) {
            Some(Value::Null) => Ok(missing()),
            Some(object) => Ok(whole(object)),
            None => Ok(whole(&list())),
        }
    }

    /// Applies a half of an object, whose other half is the one at the same path.
    fn apply(&self, path: &str, half: &[u8]) -> Result<Response<AnswerBody>, ConnectionError> {
        let mut object = self.objects.get(path).cloned().unwrap_or_else(|| json!({}));
        object["spec"] = serde_json::from_slice::<Value>(half)?["spec"].clone();
        *self.applied.lock().unwrap() = Some(object.clone());
        Ok(whole(&object))
    }

    /// A watch that shows nothing, and breaks when the server leaves.
    fn silence(&self, now: Instant) -> BoxStream<'static, Result<Bytes, ConnectionError>> {
        let leaves = self.leaves;
        if now >= leaves {
            return stream::pending().boxed();
        }
        let broken = async move {
            sleep_until(leaves).await;
            Err("connection reset".into())
        };
        stream::once(broken).boxed()
    }
}

impl Service<Request<Body>> for AbsentServer {
    type Response = Response<AnswerBody>;
    type Error = ConnectionError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectionError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { server.answer(request).await })
    }
}

fn missing() -> Response<AnswerBody> {
    let status =
        json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "message": "", "code": 404 });
    let mut response = whole(&status);
    *response.status_mut() = http::StatusCode::NOT_FOUND;
    response
}

fn whole(value: &Value) -> Response<AnswerBody> {
    let bytes = Bytes::from(value.to_string());
    response(stream::iter([Ok(bytes)]).boxed())
}

fn response(parts: BoxStream<'static, Result<Bytes, ConnectionError>>) -> Response<AnswerBody> {
    let body = StreamBody::new(parts.map(|part| part.map(Frame::data)).boxed());
    Response::builder().body(body).unwrap()
}
