//! Metrics and health over HTTP. The daemon runs without them: if it cannot listen on the address, it retries.

use std::sync::Arc;
use std::time::Duration;

use tenure_conditions::Report;
use tenure_observe::http::{self, ListenAddress};
use tenure_supervise::{Part, idle_beat};
use tenure_types::ConditionName;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::node::DaemonNode;

/// How often to retry the address, or to check for the socket's file.
const AGAIN: Duration = Duration::from_secs(2);

/// Serves scrapers, and listens again if the socket is lost.
pub(crate) struct MetricsPart {
    address: ListenAddress,
    node: Arc<DaemonNode>,
    metrics: Arc<tenure_observe::Metrics>,
    report: Report,
}

impl MetricsPart {
    pub(crate) fn build(
        address: ListenAddress,
        node: Arc<DaemonNode>,
        metrics: Arc<tenure_observe::Metrics>,
    ) -> Self {
        let report = Report::new(node.engine.conditions(), ConditionName::MetricsListener);
        Self { address, node, metrics, report }
    }

    /// Serves until a stop is requested or the socket's file is gone.
    async fn serve(&self, listener: http::Listener, stop: &CancellationToken) {
        let address = &self.address;
        tracing::info!(%address, "serving metrics and health");
        let is_there = listener.presence();
        let (node, metrics) = (Arc::clone(&self.node), Arc::clone(&self.metrics));
        let serving = http::serve(listener, node, metrics, stop.cancelled());
        let gone = async {
            while is_there() {
                idle_beat(AGAIN).await;
            }
        };
        tokio::select! {
            () = serving => {}
            () = gone => self.report.wrong(format!("metrics.listen: {address} was deleted or replaced")),
        }
    }
}

impl Part for MetricsPart {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        while !stop.is_cancelled() {
            match http::Listener::bind(&self.address).await {
                Ok(listener) => {
                    self.report.well();
                    self.serve(listener, stop).await;
                }
                Err(error) => {
                    self.report.wrong(format!("metrics.listen: {}: {error}", self.address));
                    stop.run_until_cancelled(sleep(AGAIN)).await;
                }
            }
        }
        Ok(())
    }
}
