//! An API server, Helm, and connections with the tokens of accounts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Client, Resource};
use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_cluster::client::{ApiCallError, call, connect};
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane, helm, kubelets_node};
use tenure_fixtures::wait;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

/// The namespace of the release, and its name.
pub(crate) const NAMESPACE: &str = "tenure-system";
pub(crate) const RELEASE: &str = "tenure";

/// The longest that anything may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The control plane, and Helm.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) folder: TempDir,
    kubeconfig: PathBuf,
    helm: PathBuf,
    _plane: ControlPlane,
}

impl Cluster {
    /// Starts it, and waits until it serves.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let helm = helm()?;
        let mut plane = ControlPlane::start()?;
        let kubeconfig = plane.kubeconfig(ADMIN_TOKEN)?;
        let client = runtime.block_on(async {
            let begin = Instant::now();
            loop {
                plane.check()?;
                match ready(&kubeconfig).await {
                    Ok(client) => return Ok(client),
                    Err(error) if begin.elapsed() > LIMIT => return Err(error),
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        })?;
        Ok(Self { client, runtime, folder: tempfile::tempdir()?, kubeconfig, helm, _plane: plane })
    }

    /// Runs Helm in the release's namespace; returns its standard output.
    pub(crate) fn helm(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.helm_in(NAMESPACE, arguments)
    }

    /// Runs Helm in a namespace; returns its standard output.
    pub(crate) fn helm_in(&self, namespace: &str, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new(&self.helm)
            .args(arguments)
            .args(["--namespace", namespace, "--kubeconfig"])
            .arg(&self.kubeconfig)
            .env("HELM_CACHE_HOME", self.folder.path())
            .env("HELM_CONFIG_HOME", self.folder.path())
            .env("HELM_DATA_HOME", self.folder.path())
            .output()?;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "helm {}: {stderr}", arguments.join(" "));
        Ok(stdout.into_owned())
    }

    /// Installs the chart with profile cluster, unless it is installed.
    pub(crate) fn release(&self) -> anyhow::Result<()> {
        let chart = chart();
        let path = chart.to_str().context("the chart's path is not text")?;
        self.helm(&["upgrade", "--install", RELEASE, path, "--set", "profile=cluster"])?;
        self.until("each kind to be served again", || {
            let served = [
                self.is_served::<AddressPool>(),
                self.is_served::<AddressSpace>(),
                self.is_served::<IPBlock>(),
                self.is_served::<NodeIPAM>(),
            ];
            Ok((served == [true; 4]).then_some(()))
        })
    }

    fn is_served<K: Resource<DynamicType = ()>>(&self) -> bool {
        self.call(all::<K>(&self.client).list(&ListParams::default())).is_ok()
    }

    /// A connection with a token, as somebody else if `more` says so.
    pub(crate) fn connect(&self, token: &str, more: &str) -> anyhow::Result<Client> {
        let path = self.kubeconfig(token, more)?;
        Ok(self.runtime.block_on(connect(Some(&path)))?)
    }

    /// The kubeconfig of a token.
    pub(crate) fn kubeconfig(&self, token: &str, more: &str) -> anyhow::Result<PathBuf> {
        let text = fs::read_to_string(&self.kubeconfig)?;
        let user = format!("{{token: {ADMIN_TOKEN}}}");
        ensure!(text.contains(&user), "unknown kubeconfig: {text}");
        let path = self.folder.path().join(format!("kubeconfig-{}", token.len() + more.len()));
        fs::write(&path, text.replace(&user, &format!("{{token: {token}{more}}}")))?;
        Ok(path)
    }

    /// Makes a call.
    pub(crate) fn call<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, ApiCallError> {
        self.runtime.block_on(call(request))
    }

    /// Creates an object of a kind without namespace, or in the release's.
    pub(crate) fn create(&self, client: &Client, object: &Value) -> Result<DynamicObject, ApiCallError> {
        let api = dynamic(client, object);
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        self.call(api.create(&PostParams::default(), &object))
    }

    /// Applies an object, as `kubectl apply --server-side --validate=strict` does.
    pub(crate) fn apply(
        &self,
        client: &Client,
        object: &Value,
        is_dry: bool,
    ) -> Result<DynamicObject, ApiCallError> {
        let mut parameters = PatchParams::apply("tests").force().validation_strict();
        parameters.dry_run = is_dry;
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        self.call(dynamic(client, object).patch(name, &parameters, &Patch::Apply(object)))
    }

    /// Creates a Node, as the kubelet of a machine registers it, unless there is one.
    pub(crate) fn node(&self, name: &str) -> anyhow::Result<Node> {
        let node = kubelets_node(name, &format!("machine of {name}"), "00000000-0000-4000-8000-000000000001");
        let api: Api<Node> = Api::all(self.client.clone());
        if let Some(node) = self.call(api.get_opt(name))? {
            return Ok(node);
        }
        Ok(self.call(api.create(&PostParams::default(), &serde_json::from_value(node)?))?)
    }

    /// Creates a pod of an account that is bound to a node.
    pub(crate) fn pod(&self, name: &str, account: &str, node: &str) -> anyhow::Result<Pod> {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
            "spec": { "serviceAccountName": account, "nodeName": node, "containers": [{ "name": "c", "image": "i" }] },
        });
        let api: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        Ok(self.call(api.create(&PostParams::default(), &serde_json::from_value(pod)?))?)
    }

    /// Repeats a probe until it returns something.
    pub(crate) fn until<T>(
        &self,
        what: &str,
        probe: impl FnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        wait::until(what, LIMIT, probe)
    }
}

/// The folder of the chart.
pub(crate) fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/chart")
}

/// The objects of a kind that an object says.
pub(crate) fn dynamic(client: &Client, object: &Value) -> Api<DynamicObject> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// All objects of a kind, without types.
pub(crate) fn all<K: Resource<DynamicType = ()>>(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<K>(&()))
}

/// Expects 403 with these words.
pub(crate) fn forbidden<T: std::fmt::Debug>(
    answer: Result<T, ApiCallError>,
    words: &str,
) -> anyhow::Result<()> {
    let error = match answer {
        Ok(object) => bail!("accepted, and not refused with {words:?}: {object:?}"),
        Err(error) => error,
    };
    let status = error.status().with_context(|| format!("no answer: {error}"))?;
    ensure!(status.code == 403 && status.message.contains(words), "not refused with {words:?}: {status:?}");
    Ok(())
}

/// Waits for a part of the start: the server, then the namespace.
async fn ready(kubeconfig: &Path) -> anyhow::Result<Client> {
    let client = connect(Some(kubeconfig)).await?;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    let namespace: Namespace = serde_json::from_value(namespace)?;
    let api: Api<Namespace> = Api::all(client.clone());
    match call(api.create(&PostParams::default(), &namespace)).await {
        Err(error) if !error.is_already_exists() => Err(error.into()),
        _ => Ok(client),
    }
}
