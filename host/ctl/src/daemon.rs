//! The client of the daemon's admin socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_rpc::client::connect;
use tenure_rpc::status::from_status;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};
use tonic::transport::Channel;
use tonic::{Response, Status, Streaming};

/// The longest answer that is read. The daemon bounds what it says; a node's networks and findings may be many.
const LONGEST_ANSWER: usize = 256 << 20;

/// The generated client, connected.
type Admin = v1::admin_client::AdminClient<Channel>;

/// A daemon, identified by its socket. Each call opens its own connection.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    socket: PathBuf,
    /// The time limit for an answer, and for each further message of a streamed one.
    timeout: Duration,
}

impl Daemon {
    /// The daemon whose run directory this is.
    pub(crate) fn at(run_dir: &Path, timeout: Duration) -> Self {
        Self { socket: run_dir.join("admin.sock"), timeout }
    }

    /// The same daemon, with the timeout capped at `limit`.
    pub(crate) fn within(&self, limit: Duration) -> Self {
        Self { socket: self.socket.clone(), timeout: self.timeout.min(limit) }
    }

    /// The same daemon, with a timeout of at least `limit`.
    pub(crate) fn for_at_least(&self, limit: Duration) -> Self {
        Self { socket: self.socket.clone(), timeout: self.timeout.max(limit) }
    }

    /// The time limit for an answer.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Makes one call.
    pub(crate) async fn call<T>(
        &self,
        ask: impl AsyncFnOnce(Admin) -> Result<Response<T>, Status>,
    ) -> Result<T, Error> {
        let answer = async {
            let admin = Admin::new(connect(&self.socket).await?).max_decoding_message_size(LONGEST_ANSWER);
            ask(admin).await.map(Response::into_inner).map_err(|status| from_status(&status))
        };
        self.in_time(answer).await
    }

    /// The next message of a streamed answer; `None` at its end.
    pub(crate) async fn next<T>(&self, answer: &mut Streaming<T>) -> Result<Option<T>, Error> {
        self.in_time(async { answer.message().await.map_err(|status| from_status(&status)) }).await
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.timeout, answer).await.unwrap_or_else(|_| {
            let seconds = self.timeout.as_secs_f64();
            let cause = format!("{}: no answer in {seconds:.1} s", self.socket.display());
            Err(Error::new(ErrorCode::DeadlineExceeded, cause))
        })
    }
}
