//! The connection to the API server: without the library's retries, and with a deadline on each call.
//!
//! The library repeats what was answered with 429, 503 or 504 up to fifteen times, for minutes: a write could then come long after its reason is
//! gone. Here a call is made once, and the caller decides again from what is true then. Nor does it read a client certificate or an authority that
//! was replaced: the module `renewal` does.

mod connection;
mod renewal;

use std::path::Path;
use std::time::Duration;

use kube::Client;
use kube::core::Status;

use self::connection::ApiConnection;

pub use self::connection::ConnectError;

/// The longest that a call may take, connecting included.
pub const CALL_DEADLINE: Duration = Duration::from_secs(15);

/// The longest silence on a connection while an answer is due. A watch has a bookmark about each minute; a list has no other deadline.
pub const SILENCE: Duration = Duration::from_secs(150);

/// The failure of a call.
#[derive(Debug, thiserror::Error)]
pub enum ApiCallError {
    /// No answer in time. The call may have had its effect.
    #[error("the API server did not answer within {} s", CALL_DEADLINE.as_secs())]
    Deadline,
    /// The API server's error, or one on the way to it.
    #[error(transparent)]
    Kube(Box<kube::Error>),
}

/// Connects by a kubeconfig, or as a pod does by its service account.
///
/// # Errors
/// If the configuration cannot be read or used. Nothing is sent to the API server.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Client, ConnectError> {
    connect_with(kubeconfig, SILENCE).await
}

/// Connects with another limit of silence.
///
/// # Errors
/// As [`connect`].
pub async fn connect_with(kubeconfig: Option<&Path>, silence: Duration) -> Result<Client, ConnectError> {
    renewal::followed(ApiConnection { kubeconfig: kubeconfig.map(Path::to_owned), silence }).await
}

/// Makes one call.
///
/// # Errors
/// If it fails, or there is no answer by the deadline.
pub async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, ApiCallError> {
    match tokio::time::timeout(CALL_DEADLINE, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(ApiCallError::Kube(Box::new(error))),
        Err(_) => Err(ApiCallError::Deadline),
    }
}

impl ApiCallError {
    /// Whether there was no answer at all: another call may fare no better.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        match self {
            Self::Deadline => true,
            Self::Kube(error) => matches!(**error, kube::Error::HyperError(_) | kube::Error::Service(_)),
        }
    }

    /// The answer of the API server, if it is one.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Kube(error) => match error.as_ref() {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Self::Deadline => None,
        }
    }

    /// Whether the object is not what its definition lets in.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status().is_some_and(Status::is_invalid)
    }

    /// Whether there is no such object.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether an object with this name exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.status().is_some_and(Status::is_already_exists)
    }

    /// Whether the object has changed since it was read, or is another one.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status().is_some_and(Status::is_conflict)
    }
}
