//! Asking the daemon over its admin socket.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure_rpc::client::connect;
use tenure_rpc::status::from_status;
use tenure_rpc::v1;
use tenure_types::{Error, ErrorCode};
use tonic::transport::Channel;
use tonic::{Response, Status};

/// How long an answer may take: loading a policy and reading a checkpoint are the longest things asked.
const DEADLINE: Duration = Duration::from_secs(60);

/// The generated client, connected.
type Admin = v1::admin_client::AdminClient<Channel>;

/// A daemon by its socket. Each question is a connection of its own.
pub(crate) struct Daemon {
    socket: PathBuf,
}

impl Daemon {
    /// The daemon that runs in a directory.
    pub(crate) fn at(run_dir: &Path) -> Self {
        Self { socket: run_dir.join("admin.sock") }
    }

    /// Asks one thing.
    pub(crate) async fn call<T>(
        &self,
        ask: impl AsyncFnOnce(Admin) -> Result<Response<T>, Status>,
    ) -> Result<T, Error> {
        let answer = async {
            let admin = Admin::new(connect(&self.socket).await?);
            ask(admin).await.map(Response::into_inner).map_err(|status| from_status(&status))
        };
        tokio::time::timeout(DEADLINE, answer).await.unwrap_or_else(|_| Err(self.silent()))
    }

    /// Everything that [`v1::Allocation`]s are streamed for, together.
    pub(crate) async fn allocations(&self, network: String) -> Result<Vec<v1::Allocation>, Error> {
        let answer = self.call(async |mut admin| {
            let mut stream =
                admin.list_allocations(v1::ListAllocationsRequest { network }).await?.into_inner();
            let mut allocations = Vec::new();
            while let Some(allocation) = stream.message().await? {
                allocations.push(allocation);
            }
            Ok(Response::new(allocations))
        });
        answer.await
    }

    fn silent(&self) -> Error {
        let cause = format!("{}: no answer in {} s", self.socket.display(), DEADLINE.as_secs());
        Error::new(ErrorCode::DeadlineExceeded, cause)
    }
}
