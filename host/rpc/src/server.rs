//! The servers: which services each socket has, and how a server stops.
//!
//! A stopping server accepts no new connection, answers the requests in flight and returns after the last answer, whether or not
//! callers close their connections. The caller must bound how long that may take. An agent need not read what it is told: once each call has
//! its answer, agents' connections are cut after a moment.

mod answered;
mod decoded;
mod explained;
mod guarded;
mod under_way;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, Stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::service::Routes;
use tonic::transport::server::Connected;
use tonic::transport::{Error, Server};
pub use tonic_health::ServingStatus;
use tonic_health::pb::health_server::Health;
pub use tonic_health::pb::health_server::HealthServer;
pub use tonic_health::server::{HealthReporter, HealthService};

use self::explained::ExplainedServices;
use self::guarded::Guarded;
use self::under_way::Counting;
pub use self::under_way::UnderWay;
use crate::admission;
use crate::claims::Agents;
use crate::v1::admin_server::{Admin, AdminServer};
use crate::v1::agent_cni_server::{AgentCni, AgentCniServer};
use crate::v1::claims_server::{Claims, ClaimsServer};
use crate::v1::cni_server::{Cni, CniServer};
use crate::v1::eni_server::{Eni, EniServer};
use crate::{LONGEST_CONFIG, v1};

/// The longest request: a configuration, and room for four names and a few paths.
const LONGEST_REQUEST: usize = LONGEST_CONFIG + (1 << 20);

/// The longest requests of an agent: a declaration of a thousand claims, a call of the plugin with its configuration, and any other.
const LONGEST_CLAIMS: usize = 1 << 20;
const LONGEST_PLUGIN_CALL: usize = 64 << 10;
const LONGEST_SMALL: usize = 16 << 10;

/// The most requests that are open on a connection, of root and of an agent; the next ones wait at the caller. Root's are bounded by
/// `limits.queue` before that.
const STREAMS: u32 = 4096;
const STREAMS_OF_AGENT: u32 = 128;

/// The most bytes of a request's headers.
const HEADERS: u32 = 8 << 10;

/// The most bytes that an agent may send ahead of what is read: of one request, and of all on its connection.
const WINDOW: u32 = 64 << 10;
const WINDOW_OF_ALL: u32 = 256 << 10;

/// The most requests of a connection that the HTTP library may have reset before it gives the connection up.
const RESETS: usize = 64;

/// How long an agent's connection may be silent before it is asked whether it is still there, and the time for the answer.
const ASK_AFTER: Duration = Duration::from_secs(30);
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The health service, and the reporter that sets its status.
#[must_use]
pub fn health() -> (HealthReporter, HealthServer<HealthService>) {
    let reporter = HealthReporter::new();
    let service = HealthService::from_health_reporter(reporter.clone());
    (reporter, HealthServer::new(service))
}

/// Serves the CNI plugin under both of its names on incoming connections until `stop` resolves.
///
/// # Errors
/// If the server itself fails; a broken connection ends only that connection.
pub async fn serve_cni(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    cni: impl Cni + Eni + Clone,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let main = EniServer::new(cni.clone()).max_decoding_message_size(LONGEST_REQUEST);
    let ipam = CniServer::new(cni).max_decoding_message_size(LONGEST_REQUEST);
    let services = Routes::new(ipam).add_service(main).prepare();
    let services = Counting { services, under_way: under_way.clone() };
    serve_by(bounded(), incoming, services, under_way, stop).await
}

/// Serves operators until `stop` resolves: administration, `grpc.health.v1` and reflection.
///
/// # Errors
/// As [`serve_cni`].
pub async fn serve_admin(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    admin: impl Admin,
    health: HealthServer<impl Health>,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let services = described(Routes::new(AdminServer::new(admin)).add_service(health)).prepare();
    let services = ExplainedServices { services: Counting { services, under_way: under_way.clone() } };
    serve_by(bounded(), incoming, services, under_way, stop).await
}

/// Serves agents until `stop` resolves: their claims, also by way of the CNI plugin, `grpc.health.v1` and reflection. Each request knows the
/// [`AgentLink`](crate::admission::AgentLink) that it came over. Callers that are not agents are refused.
///
/// # Errors
/// As [`serve_cni`].
pub async fn serve_claims(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    agents: Arc<dyn Agents>,
    claims: impl Claims + AgentCni + Clone,
    health: HealthServer<impl Health>,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let plugin = AgentCniServer::new(claims.clone()).max_decoding_message_size(LONGEST_PLUGIN_CALL);
    let claims = ClaimsServer::new(claims).max_decoding_message_size(LONGEST_CLAIMS);
    let services = described(Routes::new(claims).add_service(plugin).add_service(health));
    // A peer that has stopped without closing its connection is cut off.
    let server = bounded()
        .max_concurrent_streams(STREAMS_OF_AGENT)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW_OF_ALL)
        .http2_keepalive_interval(Some(ASK_AFTER))
        .http2_keepalive_timeout(Some(ANSWER_WITHIN));
    let services = Counting { services: services.prepare(), under_way: under_way.clone() };
    let services = ExplainedServices { services: Guarded { services } };
    let (open, cut) = oneshot::channel();
    let incoming = admission::admitted(incoming, agents, cut.map(drop).boxed().shared());
    let stop = stop.shared();
    let serving = server.serve_with_incoming_shutdown(services, incoming, stop.clone());
    let answered = async {
        stop.await;
        under_way.answered_if_read().await;
    };
    let served = tokio::select! {
        served = serving => served,
        () = answered => Ok(()),
    };
    drop::<oneshot::Sender<()>>(open);
    under_way.ended().await;
    served
}

/// A server whose connections have bounds.
fn bounded() -> Server {
    Server::builder()
        .max_concurrent_streams(STREAMS)
        .http2_max_header_list_size(HEADERS)
        .http2_max_local_error_reset_streams(Some(RESETS))
}

/// Services with gRPC reflection.
fn described(services: Routes) -> Routes {
    // The descriptors are compiled in; if they do not decode, everything except reflection still works.
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1();
    match reflection {
        Ok(reflection) => services.add_service(reflection.max_decoding_message_size(LONGEST_SMALL)),
        Err(error) => {
            tracing::error!(%error, "cannot serve gRPC reflection");
            services
        }
    }
}

async fn serve_by<C, S>(
    server: Server,
    incoming: impl Stream<Item = io::Result<C>>,
    services: S,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error>
where
    C: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
{
    let stop = stop.shared();
    let serving = server.serve_with_incoming_shutdown(services, incoming, stop.clone());
    // Connections whose peers do not respond stay open until the process ends.
    let answered = async {
        stop.await;
        under_way.answered().await;
    };
    tokio::select! {
        served = serving => served,
        () = answered => Ok(()),
    }
}

#[cfg(all(test, feature = "client"))]
mod tests;
