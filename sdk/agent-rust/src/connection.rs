//! The connection to the daemon, over its unix socket.

use std::path::Path;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::problem::Problem;

/// How often to ask a silent daemon whether it is alive, and how long to wait for its answer.
const ALIVE_EVERY: Duration = Duration::from_secs(10);
const ALIVE_WITHIN: Duration = Duration::from_secs(20);

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Connects to the daemon's socket for agents. The channel ends when the daemon no longer responds.
///
/// # Errors
/// If there is no socket, or no daemon behind it.
pub async fn connect(socket: impl AsRef<Path>) -> Result<Channel, Problem> {
    let endpoint = Endpoint::from_shared(format!("unix:{}", socket.as_ref().display()))
        .map_err(|error| Problem::unreachable(&error))?
        .connect_timeout(CONNECT_WITHIN)
        .http2_keep_alive_interval(ALIVE_EVERY)
        .keep_alive_timeout(ALIVE_WITHIN)
        .keep_alive_while_idle(true);
    endpoint.connect().await.map_err(|error| Problem::unreachable(&error))
}
