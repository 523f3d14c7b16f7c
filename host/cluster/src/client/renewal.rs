//! A client that follows its kubeconfig and the files that it names: they are replaced while programs run, as a kubelet does it with its certificate.
//!
//! ```text
//!   a request ──▶ were the files replaced since the client was made?  ──no──▶ the client
//!                 (looked at each 10 s at most)                       ──yes─▶ another client, if one can be made of them; it is the client then
//! ```
//!
//! The library makes one configuration of TLS for the life of a client; only tokens, and the authority of a pod's service account, it reads again by
//! itself. The owner of a client notices nothing: a watch goes on until its answer ends, and its next request is the new client's.

use std::collections::BTreeMap;
use std::fs;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use kube::config::Kubeconfig;
use serde_json::Value;
use tokio::time::Instant;
use tower_service::Service;

use super::connection::{ApiConnection, ConnectError};

/// How often to look at the files at most. There are few and small ones, and no look without a request.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Makes a client that follows its kubeconfig, if it has one.
///
/// # Errors
/// If no client can be made.
pub(super) async fn followed(connection: ApiConnection) -> Result<Client, ConnectError> {
    // The files come first: if they are replaced meanwhile, the next look finds that.
    let files = KubeconfigFiles::read(&connection);
    let client = connection.client().await?;
    let Some(files) = files else { return Ok(client) };
    let namespace = client.default_namespace().to_owned();
    Ok(Client::new(FollowedClient(Arc::new(Renewal::new(connection, files, client))), namespace))
}

/// A kubeconfig and the files that it names, as they were at one time. Those of tokens are not among them.
#[derive(Clone, PartialEq)]
struct KubeconfigFiles {
    kubeconfig: Value,
    /// The contents by path, without those that cannot be read.
    named: BTreeMap<String, Vec<u8>>,
}

impl KubeconfigFiles {
    /// Reads them; `None` if there is no kubeconfig that can be read.
    fn read(connection: &ApiConnection) -> Option<Self> {
        let kubeconfig = connection.kubeconfig().ok()?;
        let named =
            named(&kubeconfig).filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect();
        Some(Self { named, kubeconfig: serde_json::to_value(&kubeconfig).ok()? })
    }
}

/// The files with certificates and keys that a kubeconfig names.
fn named(kubeconfig: &Kubeconfig) -> impl Iterator<Item = &String> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let of_users = users.flat_map(|user| [&user.client_certificate, &user.client_key]);
    clusters.map(|cluster| &cluster.certificate_authority).chain(of_users).flatten()
}

/// The client of now, and what it was made of.
struct Renewal {
    connection: ApiConnection,
    state: Mutex<RenewalState>,
}

struct RenewalState {
    client: Client,
    files: KubeconfigFiles,
    looked: Instant,
}

impl Renewal {
    fn new(connection: ApiConnection, files: KubeconfigFiles, client: Client) -> Self {
        Self { connection, state: Mutex::new(RenewalState { client, files, looked: Instant::now() }) }
    }

    /// The client for a request.
    async fn client(&self) -> Client {
        if let Some(files) = self.replaced() {
            match self.connection.client().await {
                Ok(client) => {
                    tracing::info!("connecting again: the kubeconfig or a file that it names was replaced");
                    let mut state = self.state();
                    (state.client, state.files) = (client, files);
                }
                // As they are while a pair of files is half replaced. The client of before may still do.
                Err(error) => {
                    tracing::warn!(%error, "the kubeconfig or a file that it names was replaced, and cannot be used");
                }
            }
        }
        self.state().client.clone()
    }

    /// The files, if it is time to look at them and they are others than those of the client.
    fn replaced(&self) -> Option<KubeconfigFiles> {
        let mut state = self.state();
        if state.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        state.looked = Instant::now();
        KubeconfigFiles::read(&self.connection).filter(|files| *files != state.files)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, RenewalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends each request by the client of then.
struct FollowedClient(Arc<Renewal>);

impl Service<Request<Body>> for FollowedClient {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = kube::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<kube::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let renewal = Arc::clone(&self.0);
        Box::pin(async move { renewal.client().await.send(request).await })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use tenure_fixtures::control_plane::CLIENTS;
    use tokio::time::advance;

    use super::*;

    /// Writes a kubeconfig that names a certificate, and makes its client.
    async fn renewal(folder: &Path) -> Renewal {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: \"https://127.0.0.1:1\"}}]\n\
                    users: [{name: a, user: {client-certificate: now.pem, client-key: now.pem}}]\n\
                    contexts: [{name: a, context: {cluster: a, user: a}}]\n";
        fs::write(folder.join("kubeconfig"), text).unwrap();
        let connection =
            ApiConnection { kubeconfig: Some(folder.join("kubeconfig")), silence: Duration::from_secs(1) };
        let (files, client) =
            (KubeconfigFiles::read(&connection).unwrap(), connection.client().await.unwrap());
        Renewal::new(connection, files, client)
    }

    /// Whether the client is one of the files of now, after a request.
    async fn is_of_now(renewal: &Renewal) -> bool {
        advance(LOOK_EVERY).await;
        renewal.client().await;
        KubeconfigFiles::read(&renewal.connection).is_some_and(|files| files == renewal.state().files)
    }

    #[tokio::test(start_paused = true)]
    async fn a_certificate_that_was_replaced_is_used_once_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [first, second] = CLIENTS;
        for (name, text) in [("1.pem", first), ("2.pem", &second[..second.len() / 2]), ("3.pem", second)] {
            fs::write(at(name), text).unwrap();
        }
        symlink("1.pem", at("now.pem")).unwrap();
        let renewal = renewal(folder.path()).await;
        let replace = |name: &str| {
            symlink(name, at("next.pem")).unwrap();
            fs::rename(at("next.pem"), at("now.pem")).unwrap();
        };
        assert!(renewal.replaced().is_none(), "it was read just now");
        replace("2.pem");
        assert!(!is_of_now(&renewal).await, "half a file");
        fs::remove_file(at("now.pem")).unwrap();
        assert!(!is_of_now(&renewal).await, "no file");
        symlink("3.pem", at("now.pem")).unwrap();
        assert!(is_of_now(&renewal).await);
        advance(LOOK_EVERY).await;
        assert!(renewal.replaced().is_none(), "nothing has changed since");
        fs::write(at("kubeconfig"), "another: text").unwrap();
        assert!(!is_of_now(&renewal).await, "a kubeconfig without a server");
    }
}
