//! tenure's side: the engine, the executor and the policy of each node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Del, Engine};
use tenure_types::ErrorCode;
use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout};

use super::figures::Figures;
use super::life::{Daemon, Host, SETTLE, account, play};
use super::trace::{NODES, Trace};
use crate::node::{Node, Routes, network, owner_of};

/// How long the runtime waits for an ADD.
const PATIENCE: Duration = Duration::from_secs(120);

/// A node's tenure.
pub(crate) struct Tenure {
    node: Mutex<Node>,
    routes: Arc<Routes>,
    /// The engine that serves, while one does. Changing it cuts all calls off.
    engine: watch::Sender<Option<Arc<Engine>>>,
}

impl Tenure {
    pub(crate) fn new(node: Node) -> Self {
        let engine = watch::Sender::new(Some(Arc::clone(&node.engine)));
        Self { routes: Arc::clone(&node.routes), node: Mutex::new(node), engine }
    }

    /// Asks whatever engine serves; `None` if it does not, or ends meanwhile.
    async fn ask<T, F: Future<Output = T>>(&self, ask: impl FnOnce(Arc<Engine>) -> F) -> Option<T> {
        let mut serving = self.engine.subscribe();
        let engine = serving.borrow_and_update().clone()?;
        tokio::select! {
            biased;
            _ = serving.changed() => None,
            answer = ask(engine) => Some(answer),
        }
    }
}

impl Daemon for Tenure {
    async fn add(&self, container: &str) -> Option<IpAddr> {
        let request = self.node.lock().await.request_of(container);
        let ask =
            |engine: Arc<Engine>| async move { timeout(PATIENCE, engine.add(request, |_| Ok(()))).await };
        Some(self.ask(ask).await?.ok()?.ok()?.addresses[0].ip())
    }

    async fn del(&self, container: &str) {
        loop {
            let ask = |engine: Arc<Engine>| async move {
                let requested_at = engine.now();
                engine.del(Del { network: network(), owner: owner_of(container), requested_at }).await
            };
            match self.ask(ask).await {
                Some(Ok(_)) => return,
                Some(Err(error)) => assert_eq!(error.code, ErrorCode::NotYet, "{error}"),
                None => {}
            }
            // The runtime repeats a DEL until it succeeds.
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn crash(&self) {
        let mut node = self.node.lock().await;
        self.engine.send_replace(None);
        // Whoever asked is cut off before the state is read.
        sleep(Duration::from_millis(1)).await;
        node.crash().await;
        self.engine.send_replace(Some(Arc::clone(&node.engine)));
    }

    fn pods_are(&self, pods: &BTreeSet<IpAddr>) {
        self.routes.pods.lock().unwrap().clone_from(pods);
    }
}

/// A trace under tenure. It must end with nothing lost, nothing left behind, and nothing done that must not be.
pub(crate) async fn tenure(trace: &Trace) -> Figures {
    let cloud = account(trace);
    let mut hosts = Vec::new();
    for _ in 0..NODES {
        let node = Node::start(&cloud, trace.kind, &trace.ipam()).await.with_hints();
        let instance = node.instance.clone();
        hosts.push(Host::new(&cloud, &instance, Tenure::new(node)));
    }
    let mut figures = play(trace, &cloud, &hosts).await;
    let words = format!("TENURE_SEED={}", trace.seed);
    sleep(SETTLE).await;
    for host in &hosts {
        assert_eq!(host.containers(), BTreeSet::new(), "{words}: all pods have ended");
        let node = host.daemon.node.lock().await;
        let ranges = node.ranges().await;
        node.agrees(&ranges, &words);
        let book = node.book().await;
        let held: Vec<_> = book.ranges(0).filter(|view| view.held > 0).map(|view| view.range).collect();
        assert!(held.is_empty(), "{words}: no pod has any of {held:?}");
    }
    figures.judged(&cloud.verdict());
    assert_eq!(figures.found, BTreeMap::new(), "{words}");
    figures
}
