//! An API server with the definitions, and requests to it as a person makes them.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Client, Resource};
use serde_json::Value;
use tenure_cluster::client::{ApiCallError, call, connect};
use tenure_cluster::definitions::definitions;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane};
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

/// The longest that the API server may take to start on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The control plane with the definitions.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    plane: ControlPlane,
}

impl Cluster {
    /// Starts it, and waits until each kind is served.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let mut plane = ControlPlane::start()?;
        let client = runtime.block_on(async {
            let begin = Instant::now();
            loop {
                plane.check()?;
                match install(&plane).await {
                    Ok(client) => return Ok(client),
                    Err(error) if begin.elapsed() > LIMIT => return Err(error),
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        })?;
        Ok(Self { client, runtime, plane })
    }

    /// A client whose token the API server does not know.
    pub(crate) fn stranger(&self) -> anyhow::Result<Client> {
        let kubeconfig = self.plane.kubeconfig("stranger")?;
        Ok(self.runtime.block_on(connect(Some(&kubeconfig)))?)
    }

    /// Creates an object.
    pub(crate) fn create<K: Resource<DynamicType = ()>>(
        &self,
        object: Value,
    ) -> Result<DynamicObject, ApiCallError> {
        let api = self.api::<K>();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        self.runtime.block_on(call(api.create(&PostParams::default(), &object)))
    }

    /// Changes an object by a merge patch.
    pub(crate) fn change<K: Resource<DynamicType = ()>>(
        &self,
        name: &str,
        patch: &Value,
    ) -> Result<DynamicObject, ApiCallError> {
        let api = self.api::<K>();
        self.runtime.block_on(call(api.patch(name, &PatchParams::default(), &Patch::Merge(patch))))
    }

    /// Changes an object's status by a merge patch.
    pub(crate) fn change_status<K: Resource<DynamicType = ()>>(
        &self,
        name: &str,
        patch: &Value,
    ) -> Result<DynamicObject, ApiCallError> {
        let api = self.api::<K>();
        self.runtime.block_on(call(api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch))))
    }

    /// All objects of a kind, without types.
    pub(crate) fn api<K: Resource<DynamicType = ()>>(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &ApiResource::erase::<K>(&()))
    }
}

/// Expects that the API server refuses a write with 422 and these words.
pub(crate) fn refused<T: Debug>(answer: Result<T, ApiCallError>, words: &str) -> anyhow::Result<()> {
    let error = match answer {
        Ok(object) => bail!("accepted, and not refused with {words:?}: {object:?}"),
        Err(error) => error,
    };
    let status = error.status().with_context(|| format!("no answer: {error}"))?;
    ensure!(status.code == 422 && status.message.contains(words), "not refused with {words:?}: {status:?}");
    Ok(())
}

/// Waits for a part of the start: the server, then the definitions.
async fn install(plane: &ControlPlane) -> anyhow::Result<Client> {
    let client = connect(Some(&plane.kubeconfig(ADMIN_TOKEN)?)).await?;
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in definitions() {
        let name = definition.metadata.name.clone().context("a definition without a name")?;
        let patch = PatchParams::apply("tests").force();
        let applied = call(api.patch(&name, &patch, &Patch::Apply(&definition))).await?;
        let conditions = applied.status.and_then(|status| status.conditions).unwrap_or_default();
        for condition in ["Established", "NamesAccepted"] {
            let holds = conditions.iter().any(|given| given.type_ == condition && given.status == "True");
            ensure!(holds, "{name} is not yet {condition}: {conditions:?}");
        }
        let kind = &definition.spec.names;
        let resource = ApiResource {
            group: definition.spec.group.clone(),
            version: "v1alpha1".to_owned(),
            api_version: format!("{}/v1alpha1", definition.spec.group),
            kind: kind.kind.clone(),
            plural: kind.plural.clone(),
        };
        call(Api::<DynamicObject>::all_with(client.clone(), &resource).list(&Default::default())).await?;
    }
    Ok(client)
}
