//! Connecting to the daemon.

use std::path::Path;

use tenure_types::{Error, ErrorCode};
use tonic::transport::{Channel, Endpoint};

/// Connects to a daemon's socket.
///
/// # Errors
/// `Unreachable` if the connection fails.
pub async fn connect(socket: &Path) -> Result<Channel, Error> {
    let unreachable = |error: tonic::transport::Error| {
        // The outermost error only says "transport error"; the innermost is the system's.
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Error::new(ErrorCode::Unreachable, format_args!("{}: {cause}", socket.display()))
    };
    let address = format!("unix:{}", socket.display());
    Endpoint::from_shared(address).map_err(unreachable)?.connect().await.map_err(unreachable)
}
