//! The servers: which services each socket has, and how a server stops.
//!
//! A stopping server accepts no new connection, answers the requests in flight and returns after the last answer, whether or not
//! callers close their connections. The caller must bound how long that may take.

mod under_way;

use std::future::Future;
use std::io;

use futures_util::{FutureExt as _, Stream};
use tokio::net::UnixStream;
use tonic::service::Routes;
use tonic::transport::{Error, Server};
pub use tonic_health::ServingStatus;
use tonic_health::pb::health_server::Health;
pub use tonic_health::pb::health_server::HealthServer;
pub use tonic_health::server::{HealthReporter, HealthService};

use self::under_way::Counting;
pub use self::under_way::UnderWay;
use crate::v1::admin_server::{Admin, AdminServer};
use crate::v1::cni_server::{Cni, CniServer};
use crate::{LONGEST_CONFIG, v1};

/// The longest request: a configuration, and room for four names and a few paths.
const LONGEST_REQUEST: usize = LONGEST_CONFIG + (1 << 20);

/// The health service, and the reporter that sets its status.
#[must_use]
pub fn health() -> (HealthReporter, HealthServer<HealthService>) {
    let reporter = HealthReporter::new();
    let service = HealthService::from_health_reporter(reporter.clone());
    (reporter, HealthServer::new(service))
}

/// Serves the CNI plugin on incoming connections until `stop` resolves.
///
/// # Errors
/// If the server itself fails; a broken connection ends only that connection.
pub async fn serve_cni(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    cni: impl Cni,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let services = Routes::new(CniServer::new(cni).max_decoding_message_size(LONGEST_REQUEST));
    serve(incoming, services, under_way, stop).await
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
    // The descriptors are compiled in; if they do not decode, everything except reflection still works.
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .inspect_err(|error| tracing::error!(%error, "cannot serve gRPC reflection"))
        .ok();
    let mut services = Routes::builder();
    services.add_service(AdminServer::new(admin)).add_service(health);
    if let Some(reflection) = reflection {
        services.add_service(reflection);
    }
    serve(incoming, services.routes(), under_way, stop).await
}

async fn serve(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    services: Routes,
    under_way: UnderWay,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let stop = stop.shared();
    let services = Counting { services: services.prepare(), under_way: under_way.clone() };
    let serving = Server::builder().serve_with_incoming_shutdown(services, incoming, stop.clone());
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
