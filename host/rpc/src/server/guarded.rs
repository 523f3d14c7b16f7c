//! The requests of agents: received within limits before anything looks at them, and answered as they are read.
//!
//! The limits depend on the method, and the sums are those of the agent's share: see [`AgentLink`].

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use tenure_types::{Error, ErrorCode, Result};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::{Service, http};

use super::answered::Answered;
use super::decoded::{self, DECLARE};
use super::{LONGEST_CLAIMS, LONGEST_PLUGIN_CALL, LONGEST_SMALL};
use crate::admission::{AgentLink, OpenAnswer};
use crate::status::to_status;

/// The methods that need a limit of their own.
const LIST: &str = "/tenure.v1.Claims/List";
const PLUGIN: &str = "/tenure.v1.AgentCni/";
const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";
const REFLECTION: &str = "/grpc.reflection.";

/// How long a request may take to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(10);

/// Length of the header of a gRPC message, in bytes: whether it is compressed, and its length.
const MESSAGE_HEADER: usize = 5;

/// Services of agents.
#[derive(Clone)]
pub(super) struct Guarded<S> {
    pub(super) services: S,
}

/// Permits of its agent's share that a request keeps until its answer has been read.
type Held = Vec<OwnedSemaphorePermit>;

impl<S> Service<http::Request<Body>> for Guarded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.services.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // The one that was polled is used; a clone takes its place.
        let clone = self.services.clone();
        let mut services = std::mem::replace(&mut self.services, clone);
        Box::pin(async move {
            match serve(&mut services, request).await {
                Ok(answer) => Ok(answer),
                Err(error) => Ok(to_status(&error).into_http()),
            }
        })
    }
}

async fn serve<S>(services: &mut S, request: http::Request<Body>) -> Result<http::Response<Body>>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
{
    let link = request.extensions().get::<Arc<AgentLink>>().cloned();
    let link = link.ok_or_else(|| Error::new(ErrorCode::AgentUnknown, "the caller is not known"))?;
    let path = request.uri().path().to_owned();
    let mut held: Held = vec![link.request()?];
    let is_reflection = path.starts_with(REFLECTION);
    if is_reflection || path == HEALTH_WATCH {
        held.push(link.lasts()?);
    }
    let (mut head, body) = request.into_parts();
    // Reflection reads a stream of questions.
    let (body, received) = match is_reflection {
        true => (body, None),
        false => {
            let arrived = timeout(ARRIVES_WITHIN, receive(body, &path, &link)).await;
            let late = |_| {
                let cause = format_args!("the request did not arrive within {} s", ARRIVES_WITHIN.as_secs());
                Error::new(ErrorCode::DeadlineExceeded, cause)
            };
            arrived.map_err(late)??
        }
    };
    if path == LIST {
        held.extend(link.long().await);
    }
    let open = Arc::<OpenAnswer>::default();
    head.extensions.insert(Arc::clone(&open));
    let Ok(answer) = services.call(http::Request::from_parts(head, body)).await;
    drop(received);
    if path == DECLARE {
        held.extend(link.long().await);
    }
    Ok(answer.map(|body| Body::new(Answered::new(body, open, link, held))))
}

/// The longest request of a method.
fn longest(path: &str) -> usize {
    match path {
        DECLARE => LONGEST_CLAIMS,
        _ if path.starts_with(PLUGIN) => LONGEST_PLUGIN_CALL,
        _ => LONGEST_SMALL,
    }
}

/// Receives a whole request, which is counted until what is returned with it is dropped, with what it becomes by being decoded.
async fn receive(
    mut body: Body,
    path: &str,
    link: &AgentLink,
) -> Result<(Body, Option<OwnedSemaphorePermit>)> {
    let longest = longest(path);
    let (mut bytes, mut counted) = (Vec::new(), None::<OwnedSemaphorePermit>);
    while let Some(frame) = body.frame().await {
        let broken =
            |error| Error::new(ErrorCode::MalformedRequest, format_args!("the request broke off: {error}"));
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        let length = bytes.len() + data.len();
        if length > longest || (bytes.len() < MESSAGE_HEADER && declared(&bytes, &data) > longest) {
            let cause =
                format_args!("the request is longer than the {longest} bytes that its method may have");
            return Err(Error::new(ErrorCode::MalformedRequest, cause));
        }
        let more = link.received(data.len())?;
        match &mut counted {
            Some(counted) => counted.merge(more),
            None => counted = Some(more),
        }
        bytes.extend_from_slice(&data);
    }
    let decoded = decoded::size(path, bytes.get(MESSAGE_HEADER..).unwrap_or_default())?;
    if let Some(counted) = &mut counted {
        counted.merge(link.received(decoded)?);
    }
    Ok((Body::new(Full::from(bytes)), counted))
}

/// The length that a gRPC message says it has, in the four bytes behind its first; 0 while they are not there.
fn declared(bytes: &[u8], more: &[u8]) -> usize {
    let length: Vec<u8> = bytes.iter().chain(more).skip(1).take(4).copied().collect();
    let length = <[u8; 4]>::try_from(length).map_or(0, u32::from_be_bytes);
    usize::try_from(length).unwrap_or(usize::MAX)
}
