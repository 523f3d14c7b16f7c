//! Verbs that stay: rounds until a signal.

use std::convert::Infallible;

use tenure_types::{Error, ErrorCode};
use tokio::signal::unix::{SignalKind, signal};

/// Makes rounds until SIGTERM or SIGINT, which may end one at any time.
///
/// # Errors
/// `InputOutput` if signals cannot be received.
pub(super) async fn until_signal(rounds: impl Future<Output = Infallible>) -> Result<(), Error> {
    let listen = |kind| signal(kind).map_err(|error| Error::new(ErrorCode::InputOutput, error));
    let (mut term, mut interrupt) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::select! {
        never = rounds => match never {},
        _ = term.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}
