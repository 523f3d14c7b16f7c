//! ipamd's side: the model of it on each node.

use std::net::IpAddr;

use tokio::time::sleep;

use super::figures::Figures;
use super::life::{Daemon, Host, SETTLE, account, play};
use super::trace::{NODES, Trace};
use crate::ipamd::Ipamd;

impl Daemon for Ipamd {
    async fn add(&self, container: &str) -> Option<IpAddr> {
        Ipamd::add(self, container)
    }

    async fn del(&self, container: &str) {
        Ipamd::del(self, container);
    }

    async fn crash(&self) {
        Ipamd::crash(self);
    }
}

/// A trace under ipamd. What must never happen is counted.
pub(crate) async fn ipamd(trace: &Trace) -> Figures {
    let cloud = account(trace);
    let mut hosts = Vec::new();
    for node in 0..NODES as u64 {
        let instance = cloud.launch(trace.kind);
        let daemon = Ipamd::start(&cloud, &instance, trace.rules, trace.seed ^ node);
        hosts.push(Host::new(&cloud, &instance, daemon));
    }
    let mut figures = play(trace, &cloud, &hosts).await;
    sleep(SETTLE).await;
    figures.judged(&cloud.verdict());
    figures
}
