//! The API server's answers in HTTP, without a network.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::{Request, Response, Uri};
use http_body::Frame;
use http_body_util::StreamBody;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tonic::codegen::Service;

use super::server::{ApiMode, ApiServer};
use super::status::{ConnectionError, error};
use super::watching::watching;
use crate::client::SILENCE;

/// Pods in one page of a list.
const PAGE: usize = 2;

/// The body of an answer.
type AnswerBody = StreamBody<BoxStream<'static, Result<Frame<Bytes>, ConnectionError>>>;

/// A connection to the API server.
#[derive(Debug, Clone)]
pub(super) struct ApiService(pub(super) Arc<ApiServer>);

impl Service<Request<Body>> for ApiService {
    type Response = Response<AnswerBody>;
    type Error = ConnectionError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectionError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (server, uri) = (Arc::clone(&self.0), request.uri().clone());
        Box::pin(async move { answer(server, &uri).await })
    }
}

async fn answer(server: Arc<ApiServer>, uri: &Uri) -> Result<Response<AnswerBody>, ConnectionError> {
    let latency = server.state().latency;
    sleep(latency).await;
    let mode = server.state().mode;
    match mode {
        ApiMode::Serves => {}
        ApiMode::Away => return Err("connection refused".into()),
        // As a proxy does: without a word about the pod.
        ApiMode::Fails(code) => return Ok(status(code, "", &json!({}))),
        ApiMode::Silent => {
            sleep(SILENCE).await;
            return Err("no answer".into());
        }
    }
    let parameter = |name: &str| {
        let mut pairs = uri.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
    };
    let number = |name: &str| parameter(name).and_then(|text| text.parse::<u64>().ok());
    Ok(match uri.path().strip_prefix("/api/v1/namespaces/web/pods/") {
        Some(name) => pod(&server, name),
        None if parameter("watch").is_some() => {
            response(200, watching(server, number("resourceVersion").unwrap_or_default()))
        }
        None => match parameter("continue").as_deref().and_then(|token| token.split_once('-')) {
            Some((version, skipped)) => page(&server, version.parse()?, skipped.parse()?),
            None => list(&server),
        },
    })
}

/// One pod, as etcd has it.
fn pod(server: &ApiServer, name: &str) -> Response<AnswerBody> {
    let mut state = server.state();
    state.asked(name);
    match state.pods.get(name) {
        Some(pod) => {
            let phase = if pod.has_finished { "Succeeded" } else { "Running" };
            let metadata = pod.metadata(state.version);
            let status = json!({ "phase": phase });
            whole(200, &json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status }))
        }
        None => status(404, "NotFound", &json!({ "kind": "pods", "name": name })),
    }
}

/// The first page of a list.
fn list(server: &ApiServer) -> Response<AnswerBody> {
    let version = {
        let mut state = server.state();
        let (version, pods) = (state.version, state.pods.values().filter(|pod| !pod.has_finished));
        let pods = pods.cloned().collect();
        state.lists.insert(version, pods);
        version
    };
    page(server, version, 0)
}

fn page(server: &ApiServer, version: u64, skipped: usize) -> Response<AnswerBody> {
    let mut state = server.state();
    if skipped > 0 && state.cuts_lists {
        state.lists_cut += 1;
        return status(500, "InternalError", &json!({}));
    }
    let Some(pods) = state.lists.get(&version).cloned() else { return status(410, "Expired", &json!({})) };
    let items: Vec<Value> = pods
        .iter()
        .skip(skipped)
        .take(PAGE)
        .map(|pod| {
            json!({
                "apiVersion": "meta.k8s.io/v1",
                "kind": "PartialObjectMetadata",
                "metadata": pod.metadata(version),
            })
        })
        .collect();
    let next = skipped + PAGE;
    let token = if next < pods.len() { format!("{version}-{next}") } else { String::new() };
    if token.is_empty() {
        let now = Instant::now();
        state.shown = pods.into_iter().map(|pod| (pod.name, now)).collect();
    }
    let metadata = json!({ "resourceVersion": version.to_string(), "continue": token });
    let kind = "PartialObjectMetadataList";
    whole(200, &json!({ "apiVersion": "meta.k8s.io/v1", "kind": kind, "metadata": metadata, "items": items }))
}

fn status(code: u16, reason: &str, details: &Value) -> Response<AnswerBody> {
    whole(code, &error(code, reason, details))
}

fn whole(code: u16, value: &Value) -> Response<AnswerBody> {
    let bytes = Bytes::from(value.to_string());
    response(code, stream::iter([Ok(bytes)]).boxed())
}

fn response(code: u16, parts: BoxStream<'static, Result<Bytes, ConnectionError>>) -> Response<AnswerBody> {
    let body = StreamBody::new(parts.map(|part| part.map(Frame::data)).boxed());
    Response::builder().status(code).body(body).unwrap()
}
