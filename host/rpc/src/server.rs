//! Serving: which services stand on which socket, and how they stop.
//!
//! A server that is told to stop takes no new request, answers those under way and returns when the last is answered. How long
//! that may take is for the caller to bound: dropping the future drops what is left.

use std::future::Future;
use std::io;

use futures_util::Stream;
use tokio::net::UnixStream;
use tonic::transport::{Error, Server};
pub use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
pub use tonic_health::server::{HealthReporter, HealthService, health_reporter};

use crate::v1::admin_server::{Admin, AdminServer};
use crate::v1::cni_server::{Cni, CniServer};
use crate::{LONGEST_CONFIG, v1};

/// What a request has besides its configuration: four names and a few paths.
const LONGEST_REQUEST: usize = LONGEST_CONFIG + (1 << 20);

/// Serves the CNI plugin over the connections that come in until `stop` resolves.
///
/// # Errors
/// When the server cannot serve at all; a broken connection is its own.
pub async fn serve_cni(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    cni: impl Cni,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    Server::builder()
        .add_service(CniServer::new(cni).max_decoding_message_size(LONGEST_REQUEST))
        .serve_with_incoming_shutdown(incoming, stop)
        .await
}

/// Serves operators until `stop` resolves: administration, `grpc.health.v1` and reflection.
///
/// # Errors
/// As [`serve_cni`].
pub async fn serve_admin(
    incoming: impl Stream<Item = io::Result<UnixStream>>,
    admin: impl Admin,
    health: HealthServer<impl Health>,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    // The descriptors are compiled in; should they ever not decode, everything but reflection still works.
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .inspect_err(|error| tracing::error!(%error, "no reflection"))
        .ok();
    Server::builder()
        .add_service(AdminServer::new(admin))
        .add_service(health)
        .add_optional_service(reflection)
        .serve_with_incoming_shutdown(incoming, stop)
        .await
}

#[cfg(all(test, feature = "client"))]
mod tests;
