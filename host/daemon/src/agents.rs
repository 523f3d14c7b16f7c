//! Which agent a caller is: by its user, its group and its pod, as the configuration says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_engine::ports::Clock as _;
use tenure_rpc::claims::{Agents, Reload, Rights};
use tenure_rpc::peer::Peer;
use tenure_runtime::{PodName, Runtime};
use tenure_types::{AgentName, Error, ErrorCode, NamePattern, Result, hold};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::KernelClock;
use crate::config::{AgentTable, Config};

/// How many pods to remember. A pod's uid never becomes another's.
const MOST_PODS: usize = 4096;

/// How long to remember that the runtime does not know a pod: it may be about to.
const UNKNOWN_FOR: Duration = Duration::from_secs(2);

/// The agents of the configuration in force.
pub(crate) struct ConfiguredAgents {
    config: watch::Receiver<Arc<Config>>,
    runtime: Option<Runtime>,
    /// Called for each agent that the caller may be, if the runtime does not say which pod calls.
    may_have_called: Box<dyn Fn(&AgentName) + Send + Sync>,
    /// A `std::sync::Mutex`, held to look up and to add.
    pods: Mutex<HashMap<String, KnownPod>>,
    /// Held while the runtime is asked. A `tokio::sync::Mutex`, because the answer is awaited: callers wait for each other's answers instead of
    /// asking at the same time.
    asking: tokio::sync::Mutex<()>,
    refusals: RefusedCallers,
}

/// A pod's name, or when the runtime did not know it.
#[derive(Debug, Clone)]
enum KnownPod {
    Named(PodName),
    Unknown(Instant),
}

impl ConfiguredAgents {
    pub(crate) fn new(
        config: watch::Receiver<Arc<Config>>,
        runtime: Option<Runtime>,
        may_have_called: impl Fn(&AgentName) + Send + Sync + 'static,
    ) -> Self {
        let (pods, asking, refusals) =
            (Mutex::default(), tokio::sync::Mutex::default(), RefusedCallers::default());
        Self { config, runtime, may_have_called: Box::new(may_have_called), pods, asking, refusals }
    }

    /// Notes each agent that a caller may be whose pod the runtime does not tell: its leases must not run out for that.
    fn note_unidentified(&self, config: &Config, peer: &Peer) {
        let may_be = config.agents.iter().filter(|(_, table)| table.pod.is_some() && has_ids(table, peer));
        may_be
            .filter_map(|(name, _)| AgentName::new(name).ok())
            .for_each(|name| (self.may_have_called)(&name));
    }

    async fn is(&self, peer: &Peer, table: &AgentTable) -> Result<bool> {
        if !has_ids(table, peer) {
            return Ok(false);
        }
        let Some((namespace, name)) = table.pod.as_deref().and_then(|pod| pod.split_once('/')) else {
            return Ok(true);
        };
        let Some(uid) = &peer.pod_uid else { return Ok(false) };
        let pod = self.pod(uid).await?;
        let [namespace, name] = [namespace, name].map(NamePattern::new);
        Ok(pod.is_some_and(|pod| namespace.matches(&pod.namespace) && name.matches(&pod.name)))
    }

    /// The pod of this uid; `None` if the runtime does not know it.
    async fn pod(&self, uid: &str) -> Result<Option<PodName>> {
        if let Some(known) = self.known(uid) {
            return Ok(known);
        }
        let Some(runtime) = &self.runtime else { return Ok(None) };
        let _asking = self.asking.lock().await;
        // An earlier caller may have asked for the same pod meanwhile.
        if let Some(known) = self.known(uid) {
            return Ok(known);
        }
        let pod = runtime.pod(uid).await.map_err(|error| {
            Error::new(ErrorCode::NotReady, format_args!("cannot find out which pod is calling: {error}"))
        })?;
        let mut pods = hold(&self.pods);
        if pods.len() >= MOST_PODS {
            pods.clear();
        }
        pods.insert(
            uid.to_owned(),
            pod.clone().map_or_else(|| KnownPod::Unknown(Instant::now()), KnownPod::Named),
        );
        Ok(pod)
    }

    /// Returns a remembered pod: its name, or that the runtime does not know it.
    fn known(&self, uid: &str) -> Option<Option<PodName>> {
        match hold(&self.pods).get(uid)? {
            KnownPod::Named(pod) => Some(Some(pod.clone())),
            KnownPod::Unknown(at) => (at.elapsed() < UNKNOWN_FOR).then_some(None),
        }
    }
}

#[tonic::async_trait]
impl Agents for ConfiguredAgents {
    async fn rights(&self, peer: &Peer) -> Result<Rights> {
        let config = Arc::clone(&self.config.borrow());
        let mut found: Option<(&String, &AgentTable)> = None;
        for (name, table) in &config.agents {
            // The configuration was checked: of two that match a caller, one comes first.
            if found.is_some_and(|(_, other)| !table.comes_before(other)) {
                continue;
            }
            let is = self.is(peer, table).await;
            if is.inspect_err(|_| self.note_unidentified(&config, peer))? {
                found = Some((name, table));
            }
        }
        if let Some((name, table)) = found {
            return rights(name, table);
        }
        let pod = peer.pod_uid.as_ref().map_or_else(|| "in no pod".to_owned(), |uid| format!("in pod {uid}"));
        let cause =
            format!("no agent of tenured.toml has user {}, group {} and is {pod}", peer.uid, peer.gid);
        self.refusals.note(KernelClock.monotonic(), &cause);
        Err(Error::new(ErrorCode::AgentUnknown, cause))
    }

    fn next_reload(&self) -> Reload {
        let mut config = self.config.clone();
        config.mark_unchanged();
        Box::pin(async move {
            if config.changed().await.is_err() {
                // Nothing reloads it any more.
                std::future::pending::<()>().await;
            }
        })
    }
}

/// How often refused callers are logged.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// A count of refused callers that are not agents; the log reports it once a minute.
#[derive(Debug, Default)]
struct RefusedCallers(Mutex<(Option<Duration>, u64)>);

impl RefusedCallers {
    /// Counts a refused caller. Logs it, with the number of those before it that were not logged, unless one was logged less
    /// than a minute ago; returns that number if so.
    fn note(&self, now: Duration, cause: &str) -> Option<u64> {
        let untold = {
            let mut noted = hold(&self.0);
            let (told, untold) = &mut *noted;
            if told.is_some_and(|told| now.saturating_sub(told) < TELL_AGAIN) {
                *untold += 1;
                return None;
            }
            *told = Some(now);
            std::mem::take(untold)
        };
        tracing::warn!(cause, untold, "refused a caller on the agents' socket");
        Some(untold)
    }
}

/// Whether a caller has the user and the group of an agent.
fn has_ids(table: &AgentTable, peer: &Peer) -> bool {
    table.uid.is_none_or(|uid| uid == peer.uid) && table.gid.is_none_or(|gid| gid == peer.gid)
}

fn rights(name: &str, table: &AgentTable) -> Result<Rights> {
    Ok(Rights {
        // Checked when the configuration was read.
        name: AgentName::new(name).map_err(|error| Error::new(ErrorCode::Internal, error))?,
        networks: table.networks.iter().map(|text| NamePattern::new(text)).collect(),
        names: table.names.iter().map(|text| NamePattern::new(text)).collect(),
        claims: usize::try_from(table.claims).unwrap_or(usize::MAX),
        addresses: table.addresses,
        cni: table.cni,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(tables: &[(&str, AgentTable)]) -> ConfiguredAgents {
        let agents = tables.iter().map(|(name, table)| ((*name).to_owned(), table.clone())).collect();
        let (_, config) = watch::channel(Arc::new(Config { agents, ..Config::default() }));
        let agents = ConfiguredAgents::new(config, None, |_| ());
        let shop = PodName { namespace: "kube-system".into(), name: "cilium-x7".into() };
        agents.pods.lock().unwrap().insert("uid-1".into(), KnownPod::Named(shop));
        agents
    }

    async fn who(agents: &ConfiguredAgents, uid: u32, gid: u32, pod_uid: Option<&str>) -> String {
        let peer = Peer { uid, gid, pod_uid: pod_uid.map(str::to_owned) };
        agents.rights(&peer).await.map_or_else(|error| error.cause, |rights| rights.name.to_string())
    }

    #[tokio::test]
    async fn a_caller_is_the_agent_that_it_matches_in_everything() {
        let pod = |pattern: &str| AgentTable { pod: Some(pattern.to_owned()), ..AgentTable::default() };
        let agents = agents(&[
            ("cilium", AgentTable { uid: Some(0), ..pod("kube-system/cilium-*") }),
            ("monitor", AgentTable { uid: Some(7), gid: Some(8), ..AgentTable::default() }),
            ("other", pod("kube-*/cilium")),
        ]);
        assert_eq!(who(&agents, 0, 0, Some("uid-1")).await, "cilium");
        assert_eq!(who(&agents, 7, 8, None).await, "monitor");
        assert_eq!(who(&agents, 7, 8, Some("uid-1")).await, "monitor");
        for (uid, gid, pod_uid, told) in [
            (0, 0, None, "no agent of tenured.toml has user 0, group 0 and is in no pod"),
            (1, 0, Some("uid-1"), "no agent of tenured.toml has user 1, group 0 and is in pod uid-1"),
            (0, 0, Some("uid-2"), "no agent of tenured.toml has user 0, group 0 and is in pod uid-2"),
            (7, 0, None, "no agent of tenured.toml has user 7, group 0 and is in no pod"),
        ] {
            assert_eq!(who(&agents, uid, gid, pod_uid).await, told);
        }
    }

    /// Regression: an agent that was added under a name before another's took over that one's callers.
    #[tokio::test]
    async fn of_agents_that_a_caller_matches_it_is_the_narrower_one_whatever_their_names() {
        let pod = |pattern: &str| AgentTable { pod: Some(pattern.to_owned()), ..AgentTable::default() };
        let root = || AgentTable { uid: Some(0), ..AgentTable::default() };
        for names in [["a", "b", "c", "d"], ["d", "c", "b", "a"]] {
            let [widest, grouped, pods, cilium] = names;
            let agents = agents(&[
                (widest, root()),
                (grouped, AgentTable { gid: Some(8), ..root() }),
                (pods, pod("kube-system/*")),
                (cilium, AgentTable { uid: Some(0), ..pod("kube-system/cilium-*") }),
            ]);
            assert_eq!(who(&agents, 0, 0, None).await, widest);
            assert_eq!(who(&agents, 0, 8, None).await, grouped);
            assert_eq!(who(&agents, 1, 8, Some("uid-1")).await, pods);
            assert_eq!(who(&agents, 0, 8, Some("uid-1")).await, cilium);
        }
    }

    /// Regression: an agent that was refused because the runtime was away lost its leases.
    #[tokio::test]
    async fn a_caller_whose_pod_the_runtime_does_not_tell_may_be_each_agent_with_its_ids() {
        let pod = |uid| AgentTable { uid, pod: Some("kube-system/*".to_owned()), ..AgentTable::default() };
        let tables = [("cilium", pod(Some(0))), ("any", pod(None)), ("other", pod(Some(7)))];
        let root = ("root", AgentTable { uid: Some(0), ..AgentTable::default() });
        let agents = tables.into_iter().chain([root]).map(|(name, table)| (name.to_owned(), table)).collect();
        let (_, config) = watch::channel(Arc::new(Config { agents, ..Config::default() }));
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime::at(directory.path().join("away.sock"));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let may_have_called = move |agent: &AgentName| hold(&hears).push(agent.to_string());
        let agents = ConfiguredAgents::new(config, Some(runtime), may_have_called);
        assert_eq!(who(&agents, 0, 0, None).await, "root");
        assert_eq!(*hold(&heard), [""; 0]);
        let told = who(&agents, 0, 0, Some("uid-1")).await;
        assert!(told.starts_with("cannot find out which pod is calling"), "{told}");
        assert_eq!(*hold(&heard), ["any", "cilium"]);
    }

    #[test]
    fn refused_callers_are_logged_once_a_minute_with_their_number() {
        let (refusals, second) = (RefusedCallers::default(), Duration::from_secs);
        assert_eq!(refusals.note(second(100), "no agent"), Some(0));
        assert_eq!([101, 120, 159].map(|at| refusals.note(second(at), "no agent")), [None; 3]);
        assert_eq!(refusals.note(second(160), "no agent"), Some(3));
        assert_eq!(refusals.note(second(220), "no agent"), Some(0));
    }
}
