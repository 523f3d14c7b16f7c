//! The socket of the CNI plugin.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_conditions::Conditions;
use tenure_conditions::Report;
use tenure_policy::Policies;
use tenure_rpc::cni::CniService;
use tenure_rpc::server::{self, UnderWay};
use tenure_supervise::{Gate, Part};
use tenure_types::ConditionName;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::listening::Listening;
use crate::policies;

/// How long to delay listening while the policies that served before are loaded and the configured networks are defined. Compiled
/// policies load in a moment, so that the first ADD finds them; an upgrade may have to compile them again. The plugin waits for a
/// daemon that does not listen, but not for one that refuses.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The subject of the condition that holds until the socket is there.
const SOCKET: &str = "cni.sock";

/// Serves the plugin, after the DELs that it spooled while no daemon listened have been replayed.
pub(crate) struct CniPart {
    path: PathBuf,
    service: CniService,
    policies: Arc<Policies>,
    replayed: Gate,
    defined: Gate,
    held_back: Gate,
    conditions: Arc<Conditions>,
    report: Report,
    under_way: UnderWay,
    listening: Gate,
}

impl CniPart {
    pub(crate) fn build(
        path: PathBuf,
        service: CniService,
        policies: Arc<Policies>,
        conditions: &Arc<Conditions>,
        [replayed, defined, held_back]: [Gate; 3],
    ) -> Self {
        // Nobody may take the node for ready before there is a socket.
        let message = "cni.sock opens once spooled DELs are replayed, leased blocks of an earlier boot are held back, and the configured networks are defined";
        conditions.set(ConditionName::Starting, SOCKET, message);
        let (conditions, report) =
            (Arc::clone(conditions), Report::new(conditions, ConditionName::SocketMissing));
        let (under_way, listening) = (UnderWay::default(), Gate::default());
        Self {
            path,
            service,
            policies,
            replayed,
            defined,
            held_back,
            conditions,
            report,
            under_way,
            listening,
        }
    }

    /// Opens once the socket exists.
    pub(crate) fn listening(&self) -> Gate {
        self.listening.clone()
    }
}

impl Part for CniPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        let may_listen = async {
            self.replayed.passed().await;
            // After a reboot, blocks may be another node's by now.
            self.held_back.passed().await;
            let prepared = async { tokio::join!(self.defined.passed(), policies::loaded(&self.policies)) };
            // After the timeout, an ADD that needs a missing policy or network is refused with code 11.
            let _ = timeout(AT_ONCE, prepared).await;
        };
        if stop.run_until_cancelled(may_listen).await.is_none() {
            return Ok(());
        }
        let (_listening, calls) = Listening::at(&self.path, &self.under_way, self.report.clone())?;
        self.conditions.clear(ConditionName::Starting, SOCKET);
        self.listening.open();
        let service = self.service.clone();
        Ok(server::serve_cni(calls, service, self.under_way.clone(), stop.cancelled()).await?)
    }
}
