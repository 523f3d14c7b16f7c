//! How a client is made: by which kubeconfig, and with which limits.

use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// The longest that connecting may take.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// The reason for which there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig: {0}")]
    Kubeconfig(#[from] KubeconfigError),
    /// Neither in a pod, nor a kubeconfig where one is looked for.
    #[error("no API server is configured: {0}")]
    Infer(#[from] kube::config::InferConfigError),
    /// The client cannot be made of the configuration.
    #[error("cannot make a client: {0}")]
    Client(#[source] Box<kube::Error>),
}

/// The settings of which a client is made.
pub(super) struct ApiConnection {
    /// The path of the kubeconfig. Without it, the usual one counts if there is one, and otherwise the pod's service account.
    pub(super) kubeconfig: Option<PathBuf>,
    /// The longest silence while an answer is due.
    pub(super) silence: Duration,
}

impl ApiConnection {
    /// The kubeconfig, as it is now.
    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig, KubeconfigError> {
        self.kubeconfig.as_ref().map_or_else(Kubeconfig::read, Kubeconfig::read_from)
    }

    /// Makes a client. Nothing is sent to the API server.
    pub(super) async fn client(&self) -> Result<Client, ConnectError> {
        let mut config = match &self.kubeconfig {
            Some(_) => {
                Config::from_custom_kubeconfig(self.kubeconfig()?, &KubeConfigOptions::default()).await?
            }
            None => Config::infer().await?,
        };
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_DEADLINE);
        config.read_timeout = Some(self.silence);
        config.reset_reader_on_write = true;
        Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
    }
}
