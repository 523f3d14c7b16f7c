//! One GET for a pod that waits for its address, and why labels are not known.

use std::time::Duration;

use tokio::time::timeout;

use crate::client::{ApiCallError, call};

/// The longest that a GET may take: a pod waits for it.
const GET_DEADLINE: Duration = Duration::from_secs(2);

/// The reason for which labels are not known.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// The API server has another pod of this name, which has replaced this one.
    #[error("the API server has another pod of this name")]
    Replaced,
    /// The call failed, or there is no such object.
    #[error(transparent)]
    Call(#[from] ApiCallError),
    /// No answer in time.
    #[error("the API server did not answer within {} s", GET_DEADLINE.as_secs())]
    Late,
}

impl LookupError {
    /// Whether there is no such object.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_not_found())
    }
}

/// Makes one call for a pod that waits.
pub(crate) async fn in_time<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, LookupError> {
    Ok(timeout(GET_DEADLINE, call(answer)).await.map_err(|_| LookupError::Late)??)
}
