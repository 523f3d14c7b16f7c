//! How a client is made: by which kubeconfig, and with which limits.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// The variable that lists kubeconfigs.
const KUBECONFIG: &str = "KUBECONFIG";

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
    /// The path of the kubeconfig. Without it, those that the variable lists, or else the usual one if there is one, and otherwise the pod's service
    /// account.
    pub(super) kubeconfig: Option<PathBuf>,
    /// The longest silence while an answer is due.
    pub(super) silence: Duration,
}

impl ApiConnection {
    /// The kubeconfig, as it is now.
    pub(super) fn kubeconfig(&self) -> Result<Kubeconfig, KubeconfigError> {
        self.named().unwrap_or_else(Kubeconfig::read)
    }

    /// The kubeconfig that somebody named; `None` if nobody did.
    fn named(&self) -> Option<Result<Kubeconfig, KubeconfigError>> {
        match &self.kubeconfig {
            Some(path) => Some(Kubeconfig::read_from(path)),
            None => listed(&std::env::var_os(KUBECONFIG)?),
        }
    }

    /// Makes a client. Nothing is sent to the API server.
    pub(super) async fn client(&self) -> Result<Client, ConnectError> {
        let mut config = match self.named() {
            // In a pod, the service account would stand for it otherwise: that is another cluster.
            Some(named) => Config::from_custom_kubeconfig(named?, &KubeConfigOptions::default()).await?,
            None => Config::infer().await?,
        };
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_DEADLINE);
        config.read_timeout = Some(self.silence);
        config.reset_reader_on_write = true;
        Client::try_from(config).map_err(|error| ConnectError::Client(Box::new(error)))
    }
}

/// The kubeconfigs of a list as one, as kubectl reads them: those that do not exist are passed over. `None` if the list is empty.
fn listed(list: &OsStr) -> Option<Result<Kubeconfig, KubeconfigError>> {
    let (mut merged, mut missing) = (None::<Kubeconfig>, None);
    for path in std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()) {
        let next = match Kubeconfig::read_from(&path) {
            Ok(next) => next,
            Err(KubeconfigError::ReadConfig(error, path)) if error.kind() == ErrorKind::NotFound => {
                missing = Some(KubeconfigError::ReadConfig(error, path));
                continue;
            }
            Err(error) => return Some(Err(error)),
        };
        match merged.unwrap_or_default().merge(next) {
            Ok(both) => merged = Some(both),
            Err(error) => return Some(Err(error)),
        }
    }
    merged.map(Ok).or(missing.map(Err))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn listed_kubeconfigs_are_one_and_those_that_are_missing_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, missing] = ["first", "second", "missing"].map(|name| folder.path().join(name));
        fs::write(&first, "{apiVersion: v1, kind: Config, current-context: a}").unwrap();
        fs::write(&second, "{apiVersion: v1, kind: Config, current-context: b, users: [{name: u}]}").unwrap();
        let read = |paths: &[&PathBuf]| listed(&std::env::join_paths(paths).unwrap()).unwrap();
        let both = read(&[&missing, &first, &second]).unwrap();
        assert_eq!((both.current_context.as_deref(), both.auth_infos.len()), (Some("a"), 1));
        // Nothing stands for what was named.
        let error = read(&[&missing]).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
        fs::write(&second, "{").unwrap();
        read(&[&first, &second]).unwrap_err();
        assert!(listed(OsStr::new("")).is_none() && listed(OsStr::new(":")).is_none());
    }
}
